// SPDX-License-Identifier: MIT
// Hot channels, often fewer than a process has connections, and hints that are lost, late or doubled.
#include "sim/sim_config.h"

namespace bufenlarge::sim {

void draw_hot_channels(SimConfig& config, SimKind kind) {
  static constexpr std::uint32_t kRounds[]{1, 4, 64, 4096};
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x686f74u);
  config.channel.hot_max = random.chance(250) ? 32 : random.below(4);
  config.channel.quiet_rounds = kRounds[random.below(4)];
  config.faults.hint_lost = random.chance(500) ? random.below(1001) : 0;
  config.faults.hint_late = random.chance(500) ? random.below(600) : 0;
  config.faults.hint_twice = random.chance(500) ? random.below(600) : 0;
}

}  // namespace bufenlarge::sim
