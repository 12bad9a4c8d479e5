// SPDX-License-Identifier: MIT
// What ports of tests check of the memory that they are handed.
#pragma once

#include <cstddef>

namespace bufenlarge::test {

// Returns true if the bytes lie in the region.
template <class Region>
[[nodiscard]] bool holds(const Region& region, const std::byte* from, std::size_t bytes) {
  return region.data() != nullptr && from >= region.data() && from + bytes <= region.data() + region.bytes();
}

}  // namespace bufenlarge::test
