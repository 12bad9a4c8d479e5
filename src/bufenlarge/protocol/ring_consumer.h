// SPDX-License-Identifier: MIT
// The receiving side's view of one ring, and when it owes the sender a grant.
//
//   reported      the peer has been told that every earlier slot was read
//   consumed      every earlier slot has been read
//
//   reported <= consumed <= reported + slots
//
// Grants ride on slots going the other way. When there are none, half a ring of unreported slots is
// written to the peer's control block: the sender has the other half to fill while the grant travels, and
// on tcp each grant costs both sides as much as a message. One slot, when the ring has fewer than four.
#pragma once

#include <cstdint>

#include "check.h"
#include "protocol/wire.h"

namespace bufenlarge {

class RingConsumer {
 public:
  // Begins with an empty ring whose slot 0 has position `base`; the peer knows that all before it
  // was read.
  void start(std::uint64_t base, std::uint32_t slots) {
    reported_ = consumed_ = base;
    slots_ = slots;
    index_ = 0;
    lap_ = {};
  }

  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // The commit word the next slot will carry.
  [[nodiscard]] std::uint64_t expected_commit() const { return lap_.commit_word(consumed_); }

  // The sender has used all the credit it was given: a slot that arrives now breaks the protocol.
  [[nodiscard]] bool credit_used_up() const { return consumed_ - reported_ == slots_; }

  void consume() {
    ++consumed_;
    if (++index_ == slots_) {
      index_ = 0;
      lap_.next();
    }
    BUFENLARGE_CHECK(consumed_ - reported_ <= slots_);
  }

  [[nodiscard]] bool owes_grant() const {
    const std::uint32_t enough = slots_ > 3 ? slots_ / 2 : 1;
    return consumed_ - reported_ >= enough;
  }
  void report() { reported_ = consumed_; }

 private:
  std::uint64_t reported_ = 0;
  std::uint64_t consumed_ = 0;
  Lap lap_;
  std::uint32_t slots_ = 0;
  std::uint32_t index_ = 0;
};

}  // namespace bufenlarge
