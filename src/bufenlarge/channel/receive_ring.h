// SPDX-License-Identifier: MIT
// The receiving half of a channel: the ring the peer writes, which slot comes next, and the credit the peer is owed.
//
// Who may call it: Channel, which takes the slots; Enlargement to exchange the ring; Connection to start it. SendRing
// reads and reports the consumer's position.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/peer_link.h"
#include "channel/ring_memory.h"
#include "channel/stats.h"
#include "protocol/ring_consumer.h"
#include "protocol/slot.h"

namespace bufenlarge {

template <class PortT>
class ReceiveRing {
 public:
  using Port = PortT;
  using Region = typename Port::Region;

  explicit ReceiveRing(PeerLink<Port>& link) : link_(link) {}

  // ---- life
  // Memory for a ring of this geometry in place of what there was. False, with the ring as it was, when none could be
  // registered.
  [[nodiscard]] bool provision(const Phase& geometry, Ledger::Use use = Ledger::Use::kBeginning);
  void drop();
  // Of the ring before, as long as the device may place bytes there.
  [[nodiscard]] std::size_t replaced_bytes() const { return replaced_.registered_bytes(); }
  // The connection has ended: nothing of it is left, not the phase either.
  void end();
  void clear();
  // Begins with an empty ring: `base` is the position of slot 0.
  void start(std::uint64_t base, std::uint8_t phase);
  void forget_notifications() { notifications_ = 0; }
  // The context looks for slots from now on, until unwatch(), in the group of the present endpoint.
  void watch();
  void unwatch();

  // ---- hot channels
  // The channel's place in the core's poll set; PollSet::kNone while it is not watched.
  [[nodiscard]] std::size_t poll_index() const { return poll_index_; }
  [[nodiscard]] bool watched() const { return poll_index_ != PollSet<Channel<Port>>::kNone; }
  void set_poll_index(std::size_t index) { poll_index_ = index; }
  // Tells the peer whether rounds look at this ring; what could not be written goes with tell_hot().
  void set_hot(bool hot);
  void tell_hot();
  [[nodiscard]] bool hot_due() const { return hot_due_; }

  // ---- arrival
  // The next slot, in order, and whether it is there as this side learns of it.
  [[nodiscard]] const std::byte* next_slot() const { return ring_.slot(consumer_.index()); }
  [[nodiscard]] SlotState look(const std::byte* slot, SlotTrailer& trailer) const;
  // The slot is being taken: one of the writes notified ends with it.
  void take_notification(const SlotTrailer& trailer) {
    if (notifications_ == 0 || (trailer.marks & kMarkNotified) == 0) return;
    --notifications_;
    if (replaced_) [[unlikely]] replaced_ = {};  // all that was written before is placed
  }
  // A completion says that a write, and all before it, is placed.
  void on_notification();
  [[nodiscard]] bool notified() const { return notifications_ != 0; }
  [[nodiscard]] bool listed() const { return notified_listed_ || watched(); }
  // Hands a fragment of a message to the upper layer.
  void deliver(const std::byte* payload, const SlotTrailer& trailer);
  void watch_next_slot();
  // The first slot of a message was taken, and its last was not.
  [[nodiscard]] bool message_open() const { return message_open_; }

  // Everything that has come is taken, no message is under way, and no grant is due.
  [[nodiscard]] bool drained() const { return !message_open_ && !grant_due_ && !notified(); }

  // ---- credit
  // Writes a grant if the peer is owed one, or if one could not be written before.
  void maybe_grant();
  // The peer gets a grant, though it needs none yet.
  void owe_grant() { grant_due_ = true; }
  [[nodiscard]] bool grant_due() const { return grant_due_; }

  [[nodiscard]] bool has_ring() const { return static_cast<bool>(ring_); }
  // Of slot 0, and the key, for the peer.
  [[nodiscard]] std::uint64_t remote_address() const { return ring_.remote_address(); }
  [[nodiscard]] std::uint32_t remote_key() const { return ring_.region().remote_key(); }
  [[nodiscard]] std::uint32_t stride() const { return ring_.stride(); }
  [[nodiscard]] std::uint8_t phase() const { return phase_; }
  [[nodiscard]] std::uint16_t epoch() const { return epoch_; }
  void next_epoch() { ++epoch_; }
  [[nodiscard]] RingConsumer& consumer() { return consumer_; }
  [[nodiscard]] const RingConsumer& consumer() const { return consumer_; }
  [[nodiscard]] DirectionCounters& counters() { return counters_; }
  [[nodiscard]] const DirectionCounters& counters() const { return counters_; }

 private:
  PeerLink<Port>& link_;
  RingMemory<Port> ring_;
  // The ring before, where it is part of a slab and slots were taken by their checks: bytes between two slots of one
  // write may still be placed there. (The end of a registration waits for them.) The next ring of the first phase is
  // this one.
  RingMemory<Port> replaced_;
  RingConsumer consumer_;
  DirectionCounters counters_;
  std::size_t poll_index_ = PollSet<Channel<Port>>::kNone;
  std::uint32_t poll_group_ = 0;
  std::uint32_t notifications_ = 0;  // writes whose last slot is not read yet
  std::uint16_t epoch_ = 0;
  std::uint8_t phase_ = 0;
  bool message_open_ = false;  // its first slot was delivered, its last was not
  bool grant_due_ = false;
  bool notified_listed_ = false;
  bool hot_due_ = false;
};

}  // namespace bufenlarge
