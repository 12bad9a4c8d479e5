// SPDX-License-Identifier: MIT
// Enlargement: the receiving direction.
#include <cstring>

#include "channel/enlargement.h"
#include "protocol/words.h"

namespace bufenlarge {

template <class PortT>
void Enlargement<PortT>::on_request(EnlargeRequest request) {
  if (!receiver_.on_request(request, link_.core().settings.phases)) {
    link_.fail(Status::kProtocolError, "the peer asked for a ring that is not possible");
    return;
  }
  acknowledge(provision_receive_ring(static_cast<std::uint8_t>(request.phase)));
}

// A ring of the phase that is wanted. When it is the present one, or cannot be had, that is used again: what lies in it
// has positions of before.
template <class PortT>
AckStatus Enlargement<PortT>::provision_receive_ring(std::uint8_t wanted) {
  const std::uint8_t present = receive_ring_.phase();
  const Phase& geometry = link_.core().settings.phases.at(wanted);
  const bool provisioned = wanted == present || receive_ring_.provision(geometry, use_of(wanted));
  count(receive_ring_.counters(), provisioned && wanted > present, provisioned && wanted < present, !provisioned);
  receive_ring_.next_epoch();
  receive_ring_.start(receive_ring_.consumer().consumed(), provisioned ? wanted : present);
  const bool by_limit = !provisioned && link_.beyond_limit(geometry, use_of(wanted));
  const Refusal refusal = provisioned ? Refusal::kNone : by_limit ? Refusal::kHereByLimit : Refusal::kHere;
  tell({.sends = false, .former = present, .phase = receive_ring_.phase(), .wanted = wanted, .refusal = refusal});
  if (provisioned) return AckStatus::kProvisioned;
  return by_limit ? AckStatus::kRefusedByLimit : AckStatus::kRefused;
}

template <class PortT>
void Enlargement<PortT>::acknowledge(AckStatus status) {
  const Phase& geometry = link_.core().settings.phases.at(receive_ring_.phase());
  EnlargeAck ack{};
  ack.ring_address = receive_ring_.remote_address();
  ack.ring_key = receive_ring_.remote_key();
  ack.base = receive_ring_.consumer().consumed();
  ack.slot_bytes = geometry.slot_bytes;
  ack.slots = geometry.slots;
  ack.phase = receive_ring_.phase();
  ack.status = static_cast<std::uint8_t>(status);
  ack.epoch = receive_ring_.epoch();
  link_.trace("receive ring: phase ", ack.phase, ", ", ack.slots, " slots of ", ack.slot_bytes, " bytes, epoch ",
              ack.epoch);
  receiver_.swapped(seal_ack(ack, receiver_.request().number));
  post_acknowledgement();
  if (!link_.failed()) link_.want_service();  // for the acknowledgement, and for repeat words until it is confirmed
}

template <class PortT>
void Enlargement<PortT>::post_acknowledgement() {
  link_.outbox().ack = receiver_.ack();
  ack_due_ = !link_.post_word(offsetof(ControlInbox, ack), sizeof(EnlargeAck));
}

template <class PortT>
void Enlargement<PortT>::serve_repeat_word() {
  RepeatWord& word = link_.inbox().repeat;
  const auto request = read_repeat(word);
  if (!request || !receiver_.on_repeat(*request)) return;
  std::memset(&word, 0, sizeof word);
  ack_due_ = true;
}

}  // namespace bufenlarge
