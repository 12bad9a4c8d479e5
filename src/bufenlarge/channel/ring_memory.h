// SPDX-License-Identifier: MIT
// The registered bytes of one ring and where its slots lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "channel/ledger.h"
#include "protocol/phase_table.h"

namespace bufenlarge {

template <class Region>
class RingMemory {
 public:
  RingMemory() = default;
  RingMemory(Region region, const Phase& phase, Ledger::Entry entry = {})
      : entry_(std::move(entry)), region_(std::move(region)), stride_(phase.stride()), capacity_(phase.capacity()) {}

  explicit operator bool() const { return region_.bytes() != 0; }
  [[nodiscard]] std::byte* slot(std::uint32_t index) const { return region_.data() + std::size_t{index} * stride_; }
  [[nodiscard]] std::uint32_t stride() const { return stride_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] const Region& region() const { return region_; }
  [[nodiscard]] std::size_t registered_bytes() const { return region_.bytes(); }

  // Makes slots of this phase from the memory there is. False, with nothing done, when that is too small.
  [[nodiscard]] bool divide(const Phase& phase) {
    if (phase.ring_bytes() > region_.bytes()) return false;
    stride_ = phase.stride();
    capacity_ = phase.capacity();
    return true;
  }

 private:
  Ledger::Entry entry_;
  Region region_;
  std::uint32_t stride_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace bufenlarge
