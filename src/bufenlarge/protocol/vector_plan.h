// SPDX-License-Identifier: MIT
// Which part of an I/O vector may go now.
//
// plan_vector() compares the elements one by one with the present phase's threshold. With
// VectorMode::kPartial the elements before the first that is too large may go; when that is the very first,
// the channel has to grow. With VectorMode::kWhole no element goes, and the channel has to grow, when any
// of them is too large.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/phase_table.h"

namespace bufenlarge {

struct VectorSize {
  std::size_t bytes = 0;    // of all elements
  std::size_t largest = 0;  // of one element
};

[[nodiscard]] inline VectorSize size_of(std::span<const iovec> vector) {
  VectorSize size;
  for (const iovec& element : vector) {
    size.bytes += element.iov_len;
    size.largest = std::max(size.largest, element.iov_len);
  }
  return size;
}

enum class VectorMode : std::uint8_t { kPartial, kWhole };

struct VectorPlan {
  std::size_t elements;  // leading elements that may go now
  std::size_t bytes;     // the sum of their bytes
  std::uint8_t phase;    // the phase to grow to; the present one when there is no need
};

// `limit` is the highest phase the direction may use: the table's last one, or the present one when
// enlargement is off or was refused, or a larger ring is not earned yet. At the limit no element is too
// large: it goes in fragments.
VectorPlan plan_vector(std::span<const iovec> vector, const PhaseTable& table, std::uint8_t present,
                       std::uint8_t limit, VectorMode mode);

}  // namespace bufenlarge
