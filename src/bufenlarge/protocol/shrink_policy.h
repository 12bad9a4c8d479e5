// SPDX-License-Identifier: MIT
// When one direction of a channel goes back to a smaller phase (design row B1).
//
// Time is divided into periods. A direction goes back when neither the period that ends nor the one before needed its
// phase, and then to the largest that one of them did need. Three rules keep it from going up and down:
//
//  * No change begins within kCostFactor times of what the one before took, from its request to the exchange, and
//    kRestMaxUs at most: what takes longer than a tenth of that has waited for a packet that was lost, or for a peer
//    that computes, and is no cost of the change. Where none goes back by itself, this holds after one that went back
//    because its memory was wanted.
//  * A direction that has grown keeps its phase for kCostFactor times of what growing took at least, up to kKeepMaxUs:
//    so on a wire that loses packets it does not go back whenever that is silent.
//  * A direction that has to grow within kSoonFactor periods of a shrink becomes more patient: its periods are twice as
//    long from then on, up to kPatienceMax times the set one.
//
// The class does no I/O and reads no clock. Times are in microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bufenlarge {

class ShrinkPolicy {
 public:
  // 0: a direction never goes back.
  explicit ShrinkPolicy(std::uint64_t period_us) : period_us_(period_us) {}

  [[nodiscard]] bool on() const { return period_us_ != 0; }
  // Whether any change may begin at any time, until changed() is called.
  [[nodiscard]] bool idle() const { return !on() && rest_until_us_ == 0; }

  // Called when the direction has gone from one phase to another, or has been refused and kept its own. The change was
  // asked for at `asked_us`.
  void changed(std::uint8_t from, std::uint8_t to, std::uint64_t asked_us, std::uint64_t now_us);

  // Whether a change may begin, after the one before.
  [[nodiscard]] bool may_change(std::uint64_t now_us) const { return now_us >= rest_until_us_; }
  // Whether a period has ended: next() is to be called.
  [[nodiscard]] bool due(std::uint64_t now_us) const { return on() && now_us >= period_end_us_ && may_change(now_us); }
  // Ends a period, in which `used` is the largest phase that was needed, and begins the next. Returns the phase to go
  // to; `present` when the direction stays as it is.
  [[nodiscard]] std::uint8_t next(std::uint8_t present, std::uint8_t used, std::uint64_t now_us);

  // A connection begins, in the first phase. Patience stays: it is the peer's traffic that taught it.
  void restart() {
    rest_until_us_ = period_end_us_ = shrunk_us_ = period_min_us_ = 0;
    used_before_ = 0;
  }

  // How many times as long as the set one a period is.
  [[nodiscard]] std::uint32_t patience() const { return patience_; }

  static constexpr std::uint32_t kPatienceMax = 64;
  static constexpr std::uint32_t kCostFactor = 10;
  static constexpr std::uint64_t kRestMaxUs = 100'000;
  static constexpr std::uint64_t kKeepMaxUs = 60'000'000;
  static constexpr std::uint32_t kSoonFactor = 4;

 private:
  [[nodiscard]] std::uint64_t period_us() const { return std::max(period_us_ * patience_, period_min_us_); }

  std::uint64_t period_us_;
  std::uint64_t period_min_us_ = 0;  // of a direction that has grown
  std::uint64_t period_end_us_ = 0;
  std::uint64_t rest_until_us_ = 0;
  std::uint64_t shrunk_us_ = 0;  // when the direction last went back; 0: not since the connection began
  std::uint32_t patience_ = 1;
  std::uint8_t used_before_ = 0;  // the largest phase that the period before needed
};

inline void ShrinkPolicy::changed(std::uint8_t from, std::uint8_t to, std::uint64_t asked_us, std::uint64_t now_us) {
  const std::uint64_t least_us = kCostFactor * (now_us - asked_us);
  rest_until_us_ = on() || to < from ? now_us + std::min(least_us, kRestMaxUs) : 0;
  if (!on()) return;
  const bool soon = shrunk_us_ != 0 && now_us < shrunk_us_ + kSoonFactor * period_us_ * patience_;
  if (to > from && soon) patience_ = std::min(2 * patience_, kPatienceMax);
  if (to > from) period_min_us_ = std::min(least_us, kKeepMaxUs);
  shrunk_us_ = to < from ? now_us : 0;
  period_end_us_ = now_us + period_us();
  used_before_ = to;
}

inline std::uint8_t ShrinkPolicy::next(std::uint8_t present, std::uint8_t used, std::uint64_t now_us) {
  const std::uint8_t needed = std::max(used, used_before_);
  used_before_ = used;
  period_end_us_ = now_us + period_us();
  return std::min(present, needed);
}

}  // namespace bufenlarge
