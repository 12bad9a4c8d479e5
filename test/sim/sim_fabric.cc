// SPDX-License-Identifier: MIT
#include "sim/sim_fabric.h"

#include "sim/sim_arena.h"
#include "sim/sim_link.h"

namespace bufenlarge::sim {

SimFabric::SimFabric(std::uint64_t seed, std::uint64_t start_us, const SimFaults& faults_in,
                     TraceOutput output)
    : clock(start_us), random(seed), faults(faults_in), trace(clock, output) {}

SimFabric::~SimFabric() = default;

void SimFabric::violate(const std::string& text) {
  if (violation.empty()) violation = text;
  trace.note("VIOLATION %s", text.c_str());
}

void SimFabric::advance() { busy.advance(clock.now_us()); }

void SimFabric::closing(std::uint32_t owner, std::uint32_t key) {
  if (ordered()) return;
  for (const auto& [number, entry] : busy.all()) {
    const SimEndpoint* other = entry.endpoint->other();
    if (other != nullptr && other->open() && other->rank() == owner) entry.endpoint->finish_placing(key);
  }
}

void SimFabric::go_on() {
  if (!random.chance(faults.between_polls)) return;
  const std::uint32_t us_max = random.chance(300) ? 2000 : 8;  // not scheduled for a while
  for (std::uint32_t times = random.between(1, 4); times > 0; --times) {
    clock.advance(random.below(us_max));
    advance();
  }
}

std::uint64_t SimFabric::delay(std::uint32_t us_max) {
  if (faults.slow_us_max != 0 && random.chance(faults.slow)) return random.below(faults.slow_us_max + 1);
  return random.below(us_max + 1);
}

}  // namespace bufenlarge::sim
