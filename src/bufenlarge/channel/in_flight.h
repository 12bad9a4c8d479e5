// SPDX-License-Identifier: MIT
// Writes of slots whose completion is still to come, oldest first. A write that the port copied has no completion of
// its own: it is complete with the last one posted before it.
#pragma once

#include <array>
#include <cstdint>

#include "channel/port.h"
#include "check.h"

namespace bufenlarge {

class InFlight {
 public:
  static constexpr std::uint32_t kWritesMax = kWritesInFlightMax;

  [[nodiscard]] bool full() const { return count_ == kWritesMax; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

  // A write that covers all positions before `end` was posted.
  void posted(std::uint64_t end) {
    BUFENLARGE_CHECK(!full());
    ends_[(first_ + count_) % kWritesMax] = end;
    ++count_;
  }
  // The same for a write that was copied. True when it is complete now.
  [[nodiscard]] bool copied(std::uint64_t end) {
    if (empty()) return true;
    ends_[(first_ + count_ - 1) % kWritesMax] = end;
    return false;
  }
  // The oldest is complete: every position before the returned one is.
  std::uint64_t completed() {
    BUFENLARGE_CHECK(!empty());
    const std::uint64_t end = ends_[first_];
    first_ = (first_ + 1) % kWritesMax;
    --count_;
    return end;
  }
  void clear() { first_ = count_ = 0; }

 private:
  std::array<std::uint64_t, kWritesMax> ends_{};
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace bufenlarge
