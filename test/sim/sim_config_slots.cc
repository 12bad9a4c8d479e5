// SPDX-License-Identifier: MIT
// Whether slots have completions on an ordered fabric: over tcp they have none.
#include "sim/sim_config.h"

namespace bufenlarge::sim {

void draw_slots(SimConfig& config, SimKind kind) {
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x736c6fu);
  config.unsignaled = config.arrival == Arrival::kInOrder && random.chance(600);
}

}  // namespace bufenlarge::sim
