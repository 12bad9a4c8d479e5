// SPDX-License-Identifier: MIT
// The receiving side's view of one ring, and when it owes the sender a grant.
//
//   reported      a grant for every earlier slot was sent to the peer
//   consumed      this side has read every earlier slot
//
//   reported <= consumed <= reported + slots
//
// Every slot in the other direction carries a grant. When there are none, the receiver writes a grant word
// to the peer's control block as soon as half of the ring is unreported: the sender can fill the other half
// while the grant travels. On tcp each grant word costs both sides as much as a message. So a ring of four to seven
// slots waits until one is left: a rendezvous in each direction takes two slots before one goes back. In a ring of
// fewer than four slots one unreported slot is enough.
#pragma once

#include <cstdint>

#include "check.h"
#include "protocol/wire.h"

namespace bufenlarge {

class RingConsumer {
 public:
  // Begins with an empty ring whose slot 0 has position `base`. The peer knows that this side has read all
  // earlier slots.
  void start(std::uint64_t base, std::uint32_t slots) {
    reported_ = consumed_ = base;
    slots_ = slots;
    index_ = 0;
    lap_ = {};
  }

  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // Returns the commit word that the next slot will have.
  [[nodiscard]] std::uint64_t expected_commit() const { return lap_.commit_word(consumed_); }

  // Returns true if the sender has used all its credit: a slot that arrives now breaks the protocol.
  [[nodiscard]] bool credit_used_up() const { return consumed_ - reported_ == slots_; }

  // Called when the slot at index() was read.
  void consume() {
    ++consumed_;
    if (++index_ == slots_) {
      index_ = 0;
      lap_.next();
    }
    BUFENLARGE_CHECK(consumed_ - reported_ <= slots_);
  }

  // Returns true if the peer has to get a grant word when no slot goes to it.
  [[nodiscard]] bool owes_grant() const {
    const std::uint32_t enough = slots_ > 7 ? slots_ / 2 : slots_ > 3 ? slots_ - 1 : 1;
    return consumed_ - reported_ >= enough;
  }
  // Called when a grant for all consumed slots goes to the peer.
  void report() { reported_ = consumed_; }

 private:
  std::uint64_t reported_ = 0;
  std::uint64_t consumed_ = 0;
  Lap lap_;
  std::uint32_t slots_ = 0;
  std::uint32_t index_ = 0;
};

}  // namespace bufenlarge
