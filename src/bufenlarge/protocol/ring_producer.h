// SPDX-License-Identifier: MIT
// The sending side's view of one ring, as monotonic 64-bit positions that go on from ring to ring.
//
//   completed     the fabric no longer reads staging memory of earlier slots
//   granted       the peer has read every earlier slot
//   posted        every earlier slot has been handed to the fabric
//   staged        every earlier slot has been filled
//
//   completed, granted <= posted <= staged <= min(granted, completed) + slots
//
// A slot is the producer's again only when it is granted *and* completed: a reliable-connection
// device may read the staging memory once more for a retransmission until its write is complete,
// and the peer's grant can arrive before that completion does.
#pragma once

#include <algorithm>
#include <cstdint>

#include "check.h"
#include "protocol/wire.h"

namespace bufenlarge {

class RingProducer {
 public:
  // Begins with an empty ring whose slot 0 has position `base`.
  void start(std::uint64_t base, std::uint32_t slots) {
    completed_ = granted_ = posted_ = staged_ = base;
    slots_ = slots;
    stage_index_ = post_index_ = 0;
    stage_lap_ = {};
  }

  // Returns how many slots can be filled now.
  [[nodiscard]] std::uint32_t room() const {
    const std::uint64_t free_from = std::min(granted_, completed_);
    return slots_ - static_cast<std::uint32_t>(staged_ - free_from);
  }

  [[nodiscard]] std::uint64_t staged() const { return staged_; }
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  [[nodiscard]] std::uint64_t granted() const { return granted_; }
  [[nodiscard]] std::uint32_t stage_index() const { return stage_index_; }
  // Returns the commit word of the slot at stage_index().
  [[nodiscard]] std::uint64_t stage_commit() const { return stage_lap_.commit_word(staged_); }
  [[nodiscard]] std::uint32_t post_index() const { return post_index_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] bool all_posted() const { return posted_ == staged_; }

  // Called when the slot at stage_index() was filled.
  void stage_one() {
    BUFENLARGE_CHECK(room() > 0);
    ++staged_;
    if (++stage_index_ == slots_) {
      stage_index_ = 0;
      stage_lap_.next();
    }
  }

  // Called when the `count` slots from post_index() on were posted; they do not cross the ring's end.
  void post(std::uint32_t count) {
    BUFENLARGE_CHECK(posted_ + count <= staged_ && post_index_ + count <= slots_);
    posted_ += count;
    post_index_ += count;
    if (post_index_ == slots_) post_index_ = 0;
  }

  // Called when the writes of all slots before `position` are complete.
  void complete(std::uint64_t position) {
    BUFENLARGE_CHECK(position <= posted_);
    completed_ = std::max(completed_, position);
  }

  // Called when a grant has arrived. An older grant changes nothing: a grant in a slot and a grant word may
  // overtake each other. Returns false if the peer broke the protocol: it grants a slot that was never posted.
  [[nodiscard]] bool grant(std::uint64_t consumed) {
    if (consumed > posted_) return false;
    granted_ = std::max(granted_, consumed);
    return true;
  }

  // The same for the low half of the position, which a slot trailer carries.
  [[nodiscard]] bool grant_low(std::uint32_t consumed_low) {
    const auto ahead = static_cast<std::int32_t>(consumed_low - static_cast<std::uint32_t>(granted_));
    if (ahead <= 0) return true;
    return grant(granted_ + static_cast<std::uint32_t>(ahead));
  }

 private:
  std::uint64_t completed_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t staged_ = 0;
  Lap stage_lap_;
  std::uint32_t slots_ = 0;
  std::uint32_t stage_index_ = 0;
  std::uint32_t post_index_ = 0;
};

}  // namespace bufenlarge
