// SPDX-License-Identifier: MIT
#include "channel/receive_ring.h"

#include <cstring>
#include <utility>

#include "protocol/words.h"

namespace bufenlarge {

template <class PortT>
bool ReceiveRing<PortT>::provision(const Phase& geometry, Ledger::Use use) {
  if (use == Ledger::Use::kBeginning && replaced_) {
    link_.exchange(ring_, std::exchange(replaced_, {}));
    std::memset(ring_.slot(0), 0, ring_.registered_bytes());
    return true;
  }
  RingMemory<Port> before;
  if (!link_.provision(ring_, before, geometry, use)) return false;
  const Arrival arrival = link_.port().arrival();
  const bool by_checks = arrival == Arrival::kChecked || arrival == Arrival::kMixed;
  if (before.is_part() && by_checks) replaced_ = std::move(before);
  return true;
}

template <class PortT>
void ReceiveRing<PortT>::drop() {
  link_.drop(ring_);
  replaced_ = {};
}

template <class PortT>
void ReceiveRing<PortT>::clear() {
  std::memset(ring_.slot(0), 0, link_.core().settings.phases.at(phase_).ring_bytes());
}

template <class PortT>
void ReceiveRing<PortT>::start(std::uint64_t base, std::uint8_t phase) {
  phase_ = phase;
  consumer_.start(base, link_.core().settings.phases.at(phase).slots);
  grant_due_ = false;
}

template <class PortT>
void ReceiveRing<PortT>::end() {
  unwatch();
  drop();
  start(0, 0);
  epoch_ = 0;
  hot_due_ = false;
  forget_notifications();
}

template <class PortT>
void ReceiveRing<PortT>::watch() {
  if (watched() && poll_group_ != link_.group()) unwatch();  // an endpoint was replaced
  if (!watched()) {
    poll_group_ = link_.group();
    poll_index_ = link_.core().rings.of(poll_group_).add(&link_.channel());
  }
  watch_next_slot();
  hot_due_ = false;  // of the connection before
  if (notified())
    link_.core().notified.add(link_.channel(), notified_listed_);  // some came before the connection's event
}

template <class PortT>
void ReceiveRing<PortT>::unwatch() {
  if (watched()) link_.core().rings.of(poll_group_).remove(poll_index_);
  poll_index_ = PollSet<Channel<Port>>::kNone;  // remove() has moved the entry
}

template <class PortT>
void ReceiveRing<PortT>::set_hot(bool hot) {
  link_.outbox().hot.hot = hot;
  tell_hot();
}

template <class PortT>
void ReceiveRing<PortT>::tell_hot() {
  hot_due_ = !link_.ready() || !link_.post_word(offsetof(ControlInbox, hot), sizeof(HotWord));
  if (hot_due_) link_.want_service();
}

template <class PortT>
void ReceiveRing<PortT>::on_notification() {
  if (link_.failed()) return;
  if (!has_notifications(link_.port().arrival())) {
    link_.fail(Status::kProtocolError, "the peer sent a notification that was not asked for");
    return;
  }
  ++notifications_;
  link_.core().notified.add(link_.channel(), notified_listed_);
}

template <class PortT>
inline SlotState ReceiveRing<PortT>::look(const std::byte* slot, SlotTrailer& trailer) const {
  const Arrival arrival = link_.port().arrival();
  const auto inspect = [&](bool checked, std::uint32_t checked_max) {
    return inspect_slot(slot, ring_.stride(), consumer_.expected_commit(), epoch_, checked, trailer, checked_max);
  };
  if (arrival == Arrival::kInOrder || arrival == Arrival::kChecked)
    return inspect(arrival == Arrival::kChecked, ring_.stride());
  if (notifications_ != 0) {  // all slots up to the next mark are placed
    const SlotState state = inspect(false, 0);
    return state == SlotState::kEmpty ? SlotState::kInvalid : state;
  }
  // Beyond the last notification a slot may look whole and not be.
  if (arrival == Arrival::kNotified) return SlotState::kEmpty;
  const SlotState state = inspect(true, kCheckedBytesMax);
  return state == SlotState::kReady && (trailer.marks & kMarkNotified) != 0 ? SlotState::kEmpty : state;
}

template <class PortT>
inline void ReceiveRing<PortT>::deliver(const std::byte* payload, const SlotTrailer& trailer) {
  const bool first = (trailer.marks & kMarkFirst) != 0;
  const bool last = (trailer.marks & kMarkLast) != 0;
  if (first == message_open_) {
    link_.fail(Status::kProtocolError, "the peer mixed up the fragments of a message");
    return;
  }
  message_open_ = !last;
  counters_.count(phase_, trailer.bytes, first, last);
  const UpperLayer& upper = link_.upper();
  upper.deliver(upper.user, link_.peer(), payload, trailer.bytes, trailer.marks & kMarksOfMessage);
}

template <class PortT>
inline void ReceiveRing<PortT>::watch_next_slot() {
  if (!polls(link_.port().arrival())) return;
  const auto* commit = reinterpret_cast<const std::uint64_t*>(next_slot() + ring_.stride()) - 1;
  link_.core().rings.of(poll_group_).update(poll_index_, commit, consumer_.expected_commit());
}

template <class PortT>
inline void ReceiveRing<PortT>::maybe_grant() {
  if (!consumer_.owes_grant() && !grant_due_) return;
  link_.outbox().grant = make_grant(consumer_.consumed());
  grant_due_ = !link_.post_word(offsetof(ControlInbox, grant), sizeof(GrantWord));
  if (grant_due_)
    link_.want_service();
  else
    consumer_.report();
}

}  // namespace bufenlarge
