// SPDX-License-Identifier: MIT
// Growth of one direction of one channel (002 fig 3, 4, 6; 000 c1, c15 to c18). The rules are in
// protocol/enlarge_sender.h and protocol/enlarge_receiver.h; here they get their memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "channel/channel.h"
#include "protocol/words.h"

namespace bufenlarge {

// ---- sender

template <class PortT>
void Channel<PortT>::begin_enlargement(std::uint8_t phase) {
  enlarge_sender_.need(phase);
  serve_request();
  if (!failed()) want_service();
}

// The request is the last slot of its ring: nothing is staged after it before the swap.
template <class PortT>
void Channel<PortT>::serve_request() {
  if (room() == 0) return;
  // An response to an earlier request may still lie there.
  std::memset(&control_.block->inbox.ack, 0, sizeof(EnlargeAck));
  const EnlargeRequest request = enlarge_sender_.request();
  stage_control(SlotKind::kEnlargeRequest, std::as_bytes(std::span(&request, 1)));
  enlarge_sender_.requested(producer_.staged(), core_.port.now_us());
  flush();
}

template <class PortT>
void Channel<PortT>::serve_acknowledgement(std::uint64_t now_us) {
  std::atomic_thread_fence(std::memory_order_acquire);
  EnlargeAck seen;
  std::memcpy(&seen, &control_.block->inbox.ack, sizeof seen);
  switch (enlarge_sender_.poll(seen, core_.settings.phases, now_us)) {
    case EnlargeSender::Verdict::kNothing:
      return;
    case EnlargeSender::Verdict::kAccepted:
      provision_retry_us_ = now_us;
      provision_give_up_us_ = now_us + core_.settings.connect_timeout_us;
      return;
    case EnlargeSender::Verdict::kRepeat:
      std::memset(&control_.block->inbox.ack, 0, sizeof(EnlargeAck));
      control_.block->outbox.repeat = make_repeat(enlarge_sender_.request());
      repeat_due_ = true;
      return;
  }
}

// Small ring out, large ring in (002 fig 4, blocks 455 to 459).
template <class PortT>
void Channel<PortT>::swap_send_ring(std::uint64_t now_us) {
  // The staging memory may still be read for a retransmission until its writes are complete.
  if (!in_flight_.empty() || now_us < provision_retry_us_) return;
  const EnlargeAck& ack = enlarge_sender_.ack();
  send_ring_ = Ring();
  const std::optional<std::uint8_t> phase = provision_send_ring(ack);
  if (!phase) {
    provision_retry_us_ = now_us + Connect::kPauseMinUs;
    if (now_us >= provision_give_up_us_) fail(Status::kMemoryError, no_memory("a send ring of any size"));
    return;
  }
  aim_at(ack.ring_address, ack.ring_key, slot_stride(ack.slot_bytes));
  producer_.start(ack.base, ack.slots);
  send_epoch_ = ack.epoch;
  if (*phase > send_phase_) ++sent_.enlargements;
  if (*phase < enlarge_sender_.request().phase) {
    // What one side has no memory for goes in fragments.
    send_limit_ = *phase;
    ++sent_.refused;
  }
  send_phase_ = *phase;
  enlarge_sender_.swapped();
}

// Memory for as many slots as the peer's ring has, of the largest phase that can be had: slots that are smaller than
// the peer's end where the peer's end (docs/wire-protocol.md, section 4.1). Its phase; nothing when not even that of
// the smallest can be had now.
template <class PortT>
std::optional<std::uint8_t> Channel<PortT>::provision_send_ring(const EnlargeAck& ack) {
  for (int phase = ack.phase; phase >= 0; --phase) {
    Phase geometry = core_.settings.phases.at(static_cast<std::uint8_t>(phase));
    geometry.slots = ack.slots;
    if (provision(send_ring_, geometry)) return static_cast<std::uint8_t>(phase);
  }
  return std::nullopt;
}

// The peer's ring to write to. The send ring's slots are as long as its, or shorter.
template <class PortT>
void Channel<PortT>::aim_at(std::uint64_t ring_address, std::uint32_t ring_key, std::uint32_t stride) {
  remote_.stride = stride;
  remote_.ring_address = ring_address + (stride - send_ring_.stride());
  remote_.ring_key = ring_key;
}

// ---- receiver

// Every slot of the old ring has been read: the request was its last.
template <class PortT>
void Channel<PortT>::swap_receive_ring() {
  const EnlargeRequest request = enlarge_receiver_.request();
  const auto wanted = static_cast<std::uint8_t>(request.phase);
  receive_ring_ = Ring();
  const PhaseTable& phases = core_.settings.phases;
  const bool provisioned = provision(receive_ring_, phases.at(wanted));
  if (!provisioned && !provision(receive_ring_, phases.at(receive_phase_))) {
    fail(Status::kMemoryError, no_memory("a receive ring"));
    return;
  }
  if (provisioned) {
    receive_phase_ = wanted;
    ++received_.enlargements;
  } else {
    ++received_.refused;
  }
  ++receive_epoch_;
  const Phase& phase = phases.at(receive_phase_);
  consumer_.start(consumer_.consumed(), phase.slots);
  EnlargeAck ack{};
  ack.ring_address = receive_ring_.region().remote_address();
  ack.ring_key = receive_ring_.region().remote_key();
  ack.base = consumer_.consumed();
  ack.slot_bytes = phase.slot_bytes;
  ack.slots = phase.slots;
  ack.phase = receive_phase_;
  ack.status = static_cast<std::uint8_t>(provisioned ? AckStatus::kProvisioned : AckStatus::kRefused);
  ack.epoch = receive_epoch_;
  enlarge_receiver_.swapped(seal_ack(ack, request.number));
  grant_due_ = false;
  control_.block->outbox.ack = enlarge_receiver_.ack();
  ack_due_ = !post_word(offsetof(ControlInbox, ack), sizeof(EnlargeAck));
  if (!failed()) want_service();  // for the ack, and for repeat words until it is confirmed
}

template <class PortT>
void Channel<PortT>::serve_repeat_word() {
  RepeatWord& word = control_.block->inbox.repeat;
  const auto request = read_repeat(word);
  if (!request || !enlarge_receiver_.on_repeat(*request)) return;
  std::memset(&word, 0, sizeof word);
  ack_due_ = true;
}

template <class PortT>
bool Channel<PortT>::provision(Ring& ring, const Phase& geometry) {
  Region region = core_.port.allocate(geometry.ring_bytes());
  if (region.bytes() == 0) return false;
  ring = Ring(std::move(region), geometry);
  note_registered();
  return true;
}

// Of a port that can say what there is and what was asked for, that too.
template <class PortT>
std::string Channel<PortT>::no_memory(std::string_view what) const {
  const std::string text = "no memory could be registered for " + std::string(what);
  if constexpr (requires { core_.port.memory_error(); }) return text + ": " + core_.port.memory_error();
  return text;
}

template <class PortT>
void Channel<PortT>::note_registered() {
  registered_bytes_max_ = std::max(registered_bytes_max_, registered_bytes());
}

}  // namespace bufenlarge
