// SPDX-License-Identifier: MIT
// Counters of one direction; c_api.cc hands them out as bufenlarge_direction_stats_t.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/phase_table.h"

namespace bufenlarge {

struct DirectionCounters {
  std::array<std::uint64_t, kPhasesMax> bytes_in_phase{};
  std::uint64_t messages = 0;
  std::uint64_t messages_fragmented = 0;
  std::uint32_t enlargements = 0;
  std::uint32_t refused = 0;

  // One slot's payload.
  void count(std::uint8_t phase, std::uint32_t bytes, bool first, bool last) {
    bytes_in_phase[phase] += bytes;
    messages += last;
    messages_fragmented += last && !first;
  }
};

}  // namespace bufenlarge
