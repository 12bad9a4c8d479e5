// SPDX-License-Identifier: MIT
// A seed can be replayed: everything that happens depends on it and on nothing else.
#include <catch2/catch.hpp>
#include <set>

#include "sim/sim_world.h"

using namespace bufenlarge::sim;

namespace {

SimResult run(std::uint64_t seed, SimKind kind, TraceOutput output) {
  SimWorld world(draw_config(seed, kind), output);
  return world.run();
}

}  // namespace

TEST_CASE("the same seed makes the same run", "[sim]") {
  for (const SimKind kind : {SimKind::kMixed, SimKind::kConnections, SimKind::kDeath, SimKind::kKept}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const SimResult first = run(seed, kind, TraceOutput::kKeep);
      const SimResult second = run(seed, kind, TraceOutput::kKeep);
      REQUIRE(first.trace == second.trace);
      REQUIRE(first.hash == second.hash);
      REQUIRE(run(seed, kind, TraceOutput::kNone).hash == first.hash);
    }
  }
}

TEST_CASE("different seeds make different runs", "[sim]") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    hashes.insert(run(seed, SimKind::kMixed, TraceOutput::kNone).hash);
  REQUIRE(hashes.size() == 50);
}

TEST_CASE("the generator of chance gives known numbers", "[sim]") {
  SimRandom random(1);
  const std::uint64_t first = random.next();
  const std::uint64_t second = random.next();
  CHECK(first == 0xb3f2af6d0fc710c5u);
  CHECK(second == 0x853b559647364ceau);
}
