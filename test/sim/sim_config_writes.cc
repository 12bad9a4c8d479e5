// SPDX-License-Identifier: MIT
// The one-sided writes of a world. They are drawn from a random sequence of their own, so the rest of a seed does not
// depend on them.
#include <algorithm>

#include "sim/sim_config.h"

namespace bufenlarge::sim {

void draw_writes(SimConfig& config, SimKind kind) {
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x777269746573u);
  const auto one_of = [&random](std::initializer_list<std::uint32_t> values) {
    return values.begin()[random.below(static_cast<std::uint32_t>(values.size()))];
  };
  const bool all = kind == SimKind::kWrites;
  if (kind == SimKind::kStall || (!all && random.chance(600))) return;
  const std::uint32_t count = all ? random.between(5, 60) : random.between(1, 12);
  const std::uint32_t spread_us = one_of({0, 100, 3000});
  for (std::uint32_t i = 0; i < count; ++i) {
    SimWritePlan plan;
    const bool hot = random.chance(500);
    plan.writer = hot ? random.below(2) : random.below(config.peers);
    plan.target = hot ? 1 - plan.writer : (plan.writer + random.between(1, config.peers - 1)) % config.peers;
    plan.bytes = random.between(1, one_of({8, 100, 3000, 30'000, 100'000}));
    plan.after_bytes = random.between(1, config.channel.phases.at(0).threshold_bytes);
    plan.start_us = random.below(spread_us + 1);
    config.writes.push_back(plan);
  }
  std::ranges::stable_sort(config.writes, {}, &SimWritePlan::start_us);
}

}  // namespace bufenlarge::sim
