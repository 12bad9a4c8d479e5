// SPDX-License-Identifier: MIT
// The settings of channels, made from the knobs. They do not change while a context is open.
#pragma once

#include <cstdint>

#include "protocol/growth_policy.h"
#include "protocol/phase_table.h"
#include "protocol/vector_plan.h"

namespace bufenlarge {

struct ChannelSettings {
  PhaseTable phases;
  VectorMode vector_mode = VectorMode::kPartial;
  bool enlargement = true;
  GrowthRule growth = GrowthRule::kFirst;
  std::uint64_t ack_timeout_us = 1'000'000;
  std::uint64_t connect_timeout_us = 30'000'000;
  std::uint64_t idle_close_us = 0;      // 0: connections that are not used stay
  std::uint64_t shrink_after_us = 0;    // 0: a direction that has grown stays large
  std::uint64_t peer_timeout_us = 0;    // 0: silence is never a failure
  std::uint32_t connections_max = 0;  // 0: no bound, or one that is found later
  std::uint64_t memory_max = 0;       // pinned bytes; 0: no limit, or one that is found later
  // See hot_channels.h. Without hot channels all arrivals are told of.
  std::uint32_t hot_max = 0;
  std::uint32_t quiet_rounds = 4096;
};

}  // namespace bufenlarge
