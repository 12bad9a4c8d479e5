// SPDX-License-Identifier: MIT
// Arrival: slots of the receive ring, in order, each handed up exactly once (000 c19).
#pragma once

#include "channel/channel.h"
#include "protocol/words.h"

namespace bufenlarge {

template <class PortT>
void Channel<PortT>::on_notification() {
  if (failed()) return;
  if (!has_notifications(core_.port.arrival())) {
    fail(Status::kProtocolError, "the peer rang a notification that was not asked for");
    return;
  }
  ++notifications_;
  list_notified();
}

template <class PortT>
unsigned Channel<PortT>::receive() {
  unsigned taken = 0;
  if (!connected()) return taken;
  // One ring full at most: a fast peer may not keep the others waiting.
  for (std::uint32_t budget = consumer_.slots(); budget > 0 && !failed(); --budget) {
    const std::byte* slot = receive_ring_.slot(consumer_.index());
    SlotTrailer trailer;
    const SlotState state = look(slot, trailer);
    if (state == SlotState::kEmpty) break;
    ++taken;
    if (state == SlotState::kInvalid || consumer_.credit_used_up() ||
        !producer_.grant_low(trailer.grant)) {
      fail(Status::kProtocolError, "the peer wrote a slot that breaks the wire protocol");
      break;
    }
    if (notifications_ != 0 && (trailer.marks & kMarkNotified) != 0) --notifications_;
    if (connect_.state() == Connect::State::kSilent) connect_.on_first_message();
    if (enlarge_receiver_.acked()) enlarge_receiver_.confirmed();
    if (!take_slot(slot, trailer)) break;
  }
  if (taken != 0 && !failed()) {
    watch_next_slot();
    maybe_grant();
  }
  return taken;
}

// Whether the next slot is there, as this side learns of it.
template <class PortT>
SlotState Channel<PortT>::look(const std::byte* slot, SlotTrailer& trailer) const {
  const Arrival arrival = core_.port.arrival();
  const auto inspect = [&](bool checked, std::uint32_t checked_max) {
    return inspect_slot(slot, receive_ring_.stride(), consumer_.expected_commit(), receive_epoch_, checked,
                        trailer, checked_max);
  };
  if (arrival == Arrival::kInOrder || arrival == Arrival::kChecked)
    return inspect(arrival == Arrival::kChecked, receive_ring_.stride());
  if (notifications_ != 0) {  // all slots up to the next mark are placed
    const SlotState state = inspect(false, 0);
    return state == SlotState::kEmpty ? SlotState::kInvalid : state;
  }
  // Beyond the last notification a slot may look whole and not be.
  if (arrival == Arrival::kNotified) return SlotState::kEmpty;
  const SlotState state = inspect(true, kCheckedBytesMax);
  return state == SlotState::kReady && (trailer.marks & kMarkNotified) != 0 ? SlotState::kEmpty : state;
}

// False when the ring was swapped: what follows lies in the new one, which is empty.
template <class PortT>
bool Channel<PortT>::take_slot(const std::byte* slot, const SlotTrailer& trailer) {
  const std::byte* payload = slot + payload_offset(receive_ring_.stride(), trailer.bytes);
  switch (static_cast<SlotKind>(trailer.kind)) {
    case SlotKind::kPayload:
      deliver(payload, trailer);
      consumer_.consume();
      return true;
    case SlotKind::kHello:
      consumer_.consume();
      return true;
    case SlotKind::kReadRequest:
    case SlotKind::kReadFragment:
      take_rendezvous({payload, trailer.bytes}, trailer);
      consumer_.consume();
      return true;
    case SlotKind::kEnlargeRequest:
      break;
  }
  EnlargeRequest request{};
  std::memcpy(&request, payload, std::min<std::size_t>(sizeof request, trailer.bytes));
  consumer_.consume();
  if (enlarge_receiver_.on_request(request, receive_phase_, core_.settings.phases))
    swap_receive_ring();
  else
    fail(Status::kProtocolError, "the peer asked for an enlargement that is not possible");
  return false;
}

template <class PortT>
void Channel<PortT>::take_rendezvous(std::span<const std::byte> payload, const SlotTrailer& trailer) {
  if (trailer.kind == static_cast<std::uint8_t>(SlotKind::kReadRequest)) {
    if (!rendezvous().on_request(payload))
      fail(Status::kProtocolError, "the peer asked to read what it may not");
  } else if (!rendezvous().on_fragment(payload, (trailer.marks & kMarkLast) != 0)) {
    fail(Status::kProtocolError, "the peer answered a read request in a way that was not asked for");
  }
}

template <class PortT>
void Channel<PortT>::deliver(const std::byte* payload, const SlotTrailer& trailer) {
  const bool first = (trailer.marks & kMarkFirst) != 0;
  const bool last = (trailer.marks & kMarkLast) != 0;
  if (first == receive_open_) {
    fail(Status::kProtocolError, "the peer mixed up the fragments of a message");
    return;
  }
  receive_open_ = !last;
  received_.count(receive_phase_, trailer.bytes, first, last);
  core_.upper.deliver(core_.upper.user, peer_, payload, trailer.bytes, trailer.marks & kMarksOfMessage);
}

template <class PortT>
void Channel<PortT>::watch_next_slot() {
  if (!polls(core_.port.arrival())) return;
  const std::byte* slot = receive_ring_.slot(consumer_.index());
  const auto* commit = reinterpret_cast<const std::uint64_t*>(slot + receive_ring_.stride()) - 1;
  core_.rings.update(poll_index_, commit, consumer_.expected_commit());
}

template <class PortT>
void Channel<PortT>::maybe_grant() {
  if (!consumer_.owes_grant() && !grant_due_) return;
  control_.block->outbox.grant = make_grant(consumer_.consumed());
  grant_due_ = !post_word(offsetof(ControlInbox, grant), sizeof(GrantWord));
  if (grant_due_)
    want_service();
  else
    consumer_.report();
}

}  // namespace bufenlarge
