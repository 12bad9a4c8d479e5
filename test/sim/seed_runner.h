// SPDX-License-Identifier: MIT
// Runs one kind of world for many seeds.
//
//   BUFENLARGE_SIM_SEEDS=10000   so many seeds of each kind instead of the few a normal run takes
//   BUFENLARGE_SIM_PART=2        the half of those few, which is enough where each step is slow
//   BUFENLARGE_SIM_SEED=n        this one only, with its trace
#pragma once

#include <cstdint>
#include <string>

#include "sim/sim_world.h"

namespace bufenlarge::sim {

struct SeedRun {
  std::string failure;  // "" or what broke, with the seed and the command that shows it again
  SimTotals totals;
  bool replayed = false;  // a single seed: its totals say nothing
};

// `test` is the name of the Catch2 test, for the command.
[[nodiscard]] SeedRun run_seeds(SimKind kind, std::uint32_t seeds, const char* test);

}  // namespace bufenlarge::sim
