// SPDX-License-Identifier: MIT
// When one direction of a channel has earned a larger phase: GROWTH=earned,
// docs/decisions/0030-growth-that-is-earned.md.
//
// A message that does not fit goes in fragments. What the slots cost that they take is spent on the phase that the
// message needs. When as much is spent as an exchange of the ring costs, a larger phase is earned: the smallest one
// that carries at least half of what was spent. So a direction that grows has lost no more than growing before would
// have cost. The unit is a slot for which there is room; one more than there is room for makes all wait for a grant.
//
// A message for which all slots are taken waits for a grant, too. That is spent on the next phase that has more slots.
//
// What was spent counts half as much after each kHalfLifeUs: elements that come seldom earn nothing, however many. Time
// in which a message waits for a grant does not count: it passes because the ring is small, or the wire slow.
//
// The same figures tell, where directions go back (protocol/shrink_policy.h), whether one that has grown still earns
// its phase: by the slots that its elements would have taken in a smaller one.
//
// The class does no I/O and reads no clock. Times are in microseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "protocol/phase_table.h"

namespace bufenlarge {

enum class GrowthRule : std::uint8_t {
  kFirst,   // the first element that does not fit makes the direction grow
  kEarned,  // see above
};

class GrowthPolicy {
 public:
  // A message that needs `phase` takes so many slots in fragments, of which as many go now as there is room for.
  void spend(std::uint8_t phase, std::uint64_t slots, std::uint32_t room, std::uint64_t now_us);
  // All of these slots were taken and more was to go, for which `phase` has some.
  void wait(std::uint8_t phase, std::uint32_t slots, std::uint64_t now_us);
  // A message waits for a grant: the time since the last call fades nothing.
  void stand_still(std::uint64_t now_us) {
    faded_us_ += now_us - called_us_;
    called_us_ = now_us;
  }
  // Returns the phase that was earned beyond `present`, where growing costs so much; `present` when none was.
  [[nodiscard]] std::uint8_t earned(std::uint8_t present, std::uint32_t cost, std::uint64_t now_us);
  // The direction begins in a smaller phase.
  void restart() { spent_ = {}; }

  // What growing costs when the quickest growth that is known took so long; 0: none is known. One that took long has
  // waited for a peer that computes, and tells little.
  [[nodiscard]] static std::uint32_t cost(std::uint64_t exchange_us) {
    if (exchange_us == 0) return kCost;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(exchange_us, kCostMin / kCostPerUs,
                                                                kCostMax / kCostPerUs)) * kCostPerUs;
  }

  static constexpr std::uint64_t kHalfLifeUs = 50'000;
  static constexpr std::uint32_t kWaitFactor = 4;  // of slots that leave no room for the rest
  static constexpr std::uint32_t kCostPerUs = 4;
  static constexpr std::uint32_t kCost = 256;
  static constexpr std::uint32_t kCostMin = 64;
  static constexpr std::uint32_t kCostMax = 1024;

 private:
  using Spent = std::uint16_t;

  void fade(std::uint64_t now_us);
  void add(std::uint8_t phase, std::uint64_t cost);

  std::uint64_t faded_us_ = 0;             // up to when spent_ is halved
  std::uint64_t called_us_ = 0;            // the last call
  std::array<Spent, kPhasesMax> spent_{};  // for elements that need this phase
};

inline void GrowthPolicy::spend(std::uint8_t phase, std::uint64_t slots, std::uint32_t room, std::uint64_t now_us) {
  fade(now_us);
  add(phase, slots > room ? std::uint64_t{kWaitFactor} * room : slots);
}

inline void GrowthPolicy::wait(std::uint8_t phase, std::uint32_t slots, std::uint64_t now_us) {
  fade(now_us);
  add(phase, std::uint64_t{kWaitFactor} * slots);
}

inline void GrowthPolicy::add(std::uint8_t phase, std::uint64_t cost) {
  spent_[phase] = static_cast<Spent>(std::min<std::uint64_t>(spent_[phase] + cost, std::numeric_limits<Spent>::max()));
}

inline std::uint8_t GrowthPolicy::earned(std::uint8_t present, std::uint32_t cost, std::uint64_t now_us) {
  fade(now_us);
  std::uint32_t all = 0;
  for (std::size_t phase = present + 1u; phase < spent_.size(); ++phase) all += spent_[phase];
  if (all < cost) return present;
  std::uint32_t beyond = all;
  std::uint8_t phase = present;
  while (2 * beyond > all) beyond -= spent_[++phase];
  return phase;
}

inline void GrowthPolicy::fade(std::uint64_t now_us) {
  called_us_ = now_us;
  const std::uint64_t halves = (now_us - faded_us_) / kHalfLifeUs;
  if (halves == 0) return;
  faded_us_ += halves * kHalfLifeUs;
  for (Spent& spent : spent_) spent = static_cast<Spent>(halves < 16 ? spent >> halves : 0);
}

}  // namespace bufenlarge
