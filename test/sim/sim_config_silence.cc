// SPDX-License-Identifier: MIT
// Worlds in which hosts are asked whether they are there. A response may take a third of the time limit, and a process
// may pause for many times as long as that.
#include "sim/sim_config.h"

namespace bufenlarge::sim {

void draw_silence(SimConfig& config, SimKind kind) {
  if (kind != SimKind::kSilence) return;
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x73696c656e63u);
  static constexpr std::uint32_t kTimeoutsUs[] = {1000, 5000, 50'000};
  static constexpr std::uint32_t kPauses[] = {1, 5, 20};
  const std::uint32_t timeout_us = kTimeoutsUs[random.below(3)];
  config.channel.peer_timeout_us = timeout_us;
  config.faults.response_us_max = timeout_us / 3;
  config.faults.pause = kPauses[random.below(3)];
  config.faults.pause_us_max = random.chance(500) ? 2000 : 200'000;
  if (random.chance(300)) return;
  config.death = SimDeath{random.below(config.peers), random.between(20, 3000)};
  config.black_hole = config.vanishes = true;
}

}  // namespace bufenlarge::sim
