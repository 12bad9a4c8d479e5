// SPDX-License-Identifier: MIT
#include "protocol/vector_plan.h"

#include <algorithm>

namespace bufenlarge {

namespace {

VectorPlan grow(const PhaseTable& table, std::size_t element_bytes, std::uint8_t present,
                std::uint8_t limit) {
  const std::uint8_t wanted = table.phase_for(element_bytes, present);
  return {0, 0, std::min(wanted, limit)};
}

}  // namespace

VectorPlan plan_vector(std::span<const iovec> vector, const PhaseTable& table, std::uint8_t present,
                       std::uint8_t limit, VectorMode mode) {
  const bool may_grow = present < limit;
  const std::size_t threshold = table.at(present).threshold_bytes;
  VectorPlan plan{0, 0, present};
  std::size_t too_large = 0;
  for (const iovec& element : vector) {
    if (may_grow && element.iov_len > threshold) {
      if (mode == VectorMode::kPartial) {
        return plan.bytes == 0 ? grow(table, element.iov_len, present, limit) : plan;
      }
      too_large = std::max(too_large, element.iov_len);
    }
    ++plan.elements;
    plan.bytes += element.iov_len;
  }
  return too_large == 0 ? plan : grow(table, too_large, present, limit);
}

}  // namespace bufenlarge
