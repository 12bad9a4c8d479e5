// SPDX-License-Identifier: MIT
// Virtual time, in microseconds. It does not begin at 0: code that takes 0 for "never" is to be seen.
#pragma once

#include <cstdint>

namespace bufenlarge::sim {

class SimClock {
 public:
  explicit SimClock(std::uint64_t start_us) : start_us_(start_us), now_us_(start_us) {}

  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  [[nodiscard]] std::uint64_t since_start_us() const { return now_us_ - start_us_; }
  void advance(std::uint64_t us) { now_us_ += us; }

 private:
  std::uint64_t start_us_;
  std::uint64_t now_us_;
};

}  // namespace bufenlarge::sim
