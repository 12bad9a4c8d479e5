// SPDX-License-Identifier: MIT
// Connection: the memory that a Hello names, the Hello, and what answers it.
#include "channel/connection.h"
#include "protocol/handshake.h"

namespace bufenlarge {

// An attempt before this one may have used it.
template <class PortT>
bool Connection<PortT>::prepare_memory() {
  const Phase& first = link_.core().settings.phases.at(0);
  if (!link_.enter_queues() || !link_.take_control()) return false;
  if (first_rings() == FirstRings::kThere)
    receive_ring_.clear();
  else if (!send_ring_.provision(first) || !receive_ring_.provision(first))
    return false;
  send_ring_.start(0, first.slots, 0, 0);
  receive_ring_.start(0, 0);
  receive_ring_.forget_notifications();
  return true;
}

template <class PortT>
std::uint64_t Connection<PortT>::called_key() const {
  return other_job_ != nullptr ? other_job_->name_key : link_.core().expected.job_key;
}

template <class PortT>
std::uint32_t Connection<PortT>::peer_rank() const {
  return other_job_ != nullptr ? other_job_->rank : link_.peer();
}

template <class PortT>
Hello Connection<PortT>::own_hello(std::uint16_t attempt) const {
  const auto& core = link_.core();
  const HelloExpectation& own = core.expected;
  Hello hello{};
  hello.magic = kHelloMagic;
  hello.version = kWireVersion;
  const Arrival arrival = core.port.arrival();
  const bool checks = arrival == Arrival::kChecked || arrival == Arrival::kMixed;
  hello.flags = static_cast<std::uint8_t>((checks ? kHelloVerifiesSlots : 0) |
                                          (has_notifications(arrival) ? kHelloWantsNotifications : 0));
  hello.rank = core.rank;
  hello.ring_address = receive_ring_.remote_address();
  hello.ring_key = receive_ring_.remote_key();
  hello.control_address = link_.inbox_address();
  hello.control_key = link_.inbox_key();
  hello.slot_bytes = own.slot_bytes;
  hello.slots = own.slots;
  hello.attempt = attempt;
  hello.geometry = own.geometry;
  hello.block = link_.hint();
  if (other_job_ != nullptr) {
    hello.flags |= kHelloOtherJob;
    hello.slot_bytes = core.job_id;
    hello.slots = 0;
  }
  return hello;
}

template <class PortT>
void Connection<PortT>::adopt(const Hello& hello) {
  send_ring_.aim_at(hello.ring_address, hello.ring_key, link_.core().settings.phases.at(0).stride());
  send_ring_.set_peer_wants((hello.flags & kHelloVerifiesSlots) != 0, (hello.flags & kHelloWantsNotifications) != 0);
  link_.aim_words(hello.control_address, hello.control_key, hello.block);
  link_.trace("Hello of the peer: attempt ", hello.attempt, ", flags ", hello.flags);
}

template <class PortT>
void Connection<PortT>::serve_hello() {
  if (!hello_due_ || send_ring_.room() == 0) return;
  hello_due_ = false;
  send_ring_.stage_slot(SlotKind::kHello, 0, 0);
}

// ---- what follows it

// The passive side grants when it has the Hello slot.
template <class PortT>
void Connection<PortT>::look_for_answer() {
  if (receive_ring_.consumer().consumed() != 0 || link_.inbox().grant.consumed != 0) connect_.on_answer();
}

template <class PortT>
void Connection<PortT>::on_first_slot() {
  connect_.on_first_message();
  update_link();
  if (link_.port().first_write_may_stall()) receive_ring_.owe_grant();
}

}  // namespace bufenlarge
