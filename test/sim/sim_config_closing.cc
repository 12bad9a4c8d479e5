// SPDX-License-Identifier: MIT
// Worlds in which connections end and are made again, or directions go back to smaller rings and grow again: what is
// sent comes in bursts, with pauses between them in which connections are not used.
#include <algorithm>
#include <utility>

#include "channel/control_slab.h"
#include "channel/ring_slabs.h"
#include "sim/sim_config.h"
#include "sim/sim_port.h"

namespace bufenlarge::sim {

namespace {

template <class Plans>
void spread(Plans& plans, SimRandom& random, std::uint32_t bursts, std::uint32_t pause_us) {
  for (auto& plan : plans) plan.start_us = std::uint64_t{random.below(bursts)} * pause_us + random.below(200);
  std::ranges::stable_sort(plans, {}, [](const auto& plan) { return plan.start_us; });
}

std::uint32_t draw_one(SimRandom& random, std::initializer_list<std::uint32_t> values) {
  return values.begin()[random.below(static_cast<std::uint32_t>(values.size()))];
}

// Returns how long all bursts take, in microseconds.
std::uint32_t draw_bursts(SimConfig& config, SimRandom& random) {
  const std::uint32_t bursts = draw_one(random, {2, 5, 20});
  const std::uint32_t pause_us = draw_one(random, {300, 3000, 20'000});
  spread(config.plan, random, bursts, pause_us);
  spread(config.reads, random, bursts, pause_us);
  spread(config.writes, random, bursts, pause_us);
  return bursts * pause_us;
}

}  // namespace

void draw_closing(SimConfig& config, SimKind kind) {
  if (!closes(kind) && kind != SimKind::kEarned) return;
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x636c6f7365u);
  if (kind == SimKind::kEarned && random.chance(600)) return;
  const auto one_of = [&random](std::initializer_list<std::uint32_t> values) { return draw_one(random, values); };
  const bool for_room = kind != SimKind::kIdle && kind != SimKind::kEarned;
  if (kind == SimKind::kRoom) config.channel.connections_max = one_of({1, 1, 2, 3});
  if (kind == SimKind::kCrowd) config.channel.connections_max = one_of({1, 3, 8, 16});
  if (kind == SimKind::kThousands) {
    config.channel.connections_max = 16;
    config.channel.connect_timeout_us *= 5;  // a process gets few turns in a second: the limit is a few dozen attempts
  }
  if (!for_room || random.chance(300)) config.channel.idle_close_us = one_of({20, 100, 500, 2000});
  if (for_room && random.chance(400)) std::swap(config.port_links_max, config.channel.connections_max);
  config.until_closed = config.channel.idle_close_us != 0 && random.chance(500);
  const std::uint32_t all_us = draw_bursts(config, random);
  if (random.chance(150)) {
    config.death = SimDeath{random.below(config.peers), random.between(20, all_us)};
    config.until_closed = false;
  }
}

// Also where connections end, but not in worlds of thousands: those are about connections.
void draw_shrinking(SimConfig& config, SimKind kind) {
  if (kind == SimKind::kBudget) return;
  const bool closing = (closes(kind) || config.channel.idle_close_us != 0) && kind != SimKind::kThousands;
  if (!closing && kind != SimKind::kShrink && kind != SimKind::kEarned) return;
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x736872696e6bu);
  if (closing && !random.chance(300)) return;
  if (kind == SimKind::kEarned && random.chance(400)) return;
  config.channel.shrink_after_us = draw_one(random, {20, 100, 500, 2000});
  if (closing) return;
  const std::uint32_t all_us = draw_bursts(config, random);
  if (random.chance(100))
    config.death = SimDeath{random.below(config.peers), random.between(20, all_us)};
  else
    config.until_small = random.chance(500);
}

// From two connections on. In a third of the worlds directions also go back, or connections end, after some time.
void draw_budget(SimConfig& config, SimKind kind) {
  if (kind != SimKind::kBudget) return;
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x627564u);
  const PhaseTable& phases = config.channel.phases;
  const std::size_t beginning = least_slab_bytes(phases.at(0).ring_bytes()) + ControlSlab<SimPort>::kPageBytes;
  std::size_t largest = 0;
  for (std::uint8_t i = 0; i < phases.count; ++i) largest = std::max(largest, phases.at(i).ring_bytes());
  const std::size_t more = config.peers * beginning + 3 * largest;
  config.channel.memory_max = 2 * beginning + random.below(static_cast<std::uint32_t>(more));
  if (random.chance(300)) config.channel.shrink_after_us = draw_one(random, {100, 2000});
  if (random.chance(300)) config.channel.idle_close_us = draw_one(random, {100, 2000});
  (void)draw_bursts(config, random);
}

// Where directions change often anyway: of some worlds each process by chance.
void draw_earning(SimConfig& config, SimKind kind) {
  const bool some = kind == SimKind::kShrink || kind == SimKind::kBudget ||
                    (closes(kind) && kind != SimKind::kThousands);
  if (!some && kind != SimKind::kEarned) return;
  SimRandom random(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x6561726eu);
  if (some && !random.chance(300)) return;
  for (std::uint32_t rank = 0; rank < config.peers; ++rank) config.earns.push_back(random.chance(some ? 500 : 800));
}

}  // namespace bufenlarge::sim
