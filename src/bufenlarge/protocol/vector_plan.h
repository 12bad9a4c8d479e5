// SPDX-License-Identifier: MIT
// Which part of an I/O vector may go now (002 fig 5; 000 c3 c4).
//
// Elements are compared one by one with the present phase's threshold. The elements before the first
// that is too large may go; when that is the very first, the channel has to grow. The alternative
// of the seed, "the whole vector goes large if any element is", is VectorMode::kWhole.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/phase_table.h"

namespace bufenlarge {

enum class VectorMode : std::uint8_t { kPartial, kWhole };

struct VectorPlan {
  std::size_t elements;      // leading elements that may go now
  std::size_t bytes;         // their sum
  std::uint8_t phase;        // phase to grow to; the present one when there is no need
};

// `limit` is the highest phase the direction may use: the table's last one, or the present one when
// enlargement is off or has been refused. At the limit nothing is too large: it goes in fragments.
VectorPlan plan_vector(std::span<const iovec> vector, const PhaseTable& table, std::uint8_t present,
                       std::uint8_t limit, VectorMode mode);

}  // namespace bufenlarge
