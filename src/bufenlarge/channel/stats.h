// SPDX-License-Identifier: MIT
// Counters of one direction and of a channel's memory; c_api_stats.cc hands them out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/phase_table.h"

namespace bufenlarge {

// Registered bytes, now and at most.
struct RingBytes {
  std::size_t now = 0;
  std::size_t most = 0;

  void add(std::size_t bytes) {
    now += bytes;
    if (now > most) most = now;
  }
  void remove(std::size_t bytes) { now -= bytes; }
};

struct DirectionCounters {
  std::array<std::uint64_t, kPhasesMax> bytes_in_phase{};
  std::uint64_t messages = 0;
  std::uint64_t messages_fragmented = 0;
  std::uint32_t enlargements = 0;
  std::uint32_t shrinks = 0;
  std::uint32_t refused = 0;

  // One slot's payload.
  void count(std::uint8_t phase, std::uint32_t bytes, bool first, bool last) {
    bytes_in_phase[phase] += bytes;
    messages += last;
    messages_fragmented += last && !first;
  }
};

}  // namespace bufenlarge
