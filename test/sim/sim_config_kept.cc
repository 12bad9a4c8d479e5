// SPDX-License-Identifier: MIT
// How much stays registered, and how often memory is unmapped.
#include "sim/sim_config.h"

namespace bufenlarge::sim {

void draw_kept(SimConfig& config, SimKind kind) {
  if (kind != SimKind::kKept && kind != SimKind::kBudget) return;
  static constexpr std::uint32_t kUnmaps[]{20, 200, 700, 1000};
  static constexpr std::uint64_t kBytes[]{2'000, 50'000, 300'000, 100'000'000};
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x6b657074u);
  if (kind == SimKind::kBudget && random.chance(600)) return;
  config.kept_bytes = kBytes[random.below(4)];
  config.faults.unmap = kUnmaps[random.below(4)];
}

}  // namespace bufenlarge::sim
