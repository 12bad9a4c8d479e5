// SPDX-License-Identifier: MIT
// The registered bytes of one ring and where its slots lie: a region of the ring's own, or a part of a slab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "channel/ledger.h"
#include "channel/ring_slabs.h"
#include "protocol/phase_table.h"

namespace bufenlarge {

template <class Port>
class RingMemory {
 public:
  using Region = typename Port::Region;

  RingMemory() = default;
  RingMemory(Region region, const Phase& phase, Ledger::Entry entry)
      : entry_(std::move(entry)), own_(std::move(region)), data_(own_.data()), bytes_(own_.bytes()) {
    set_slots(phase);
  }
  RingMemory(typename RingSlabs<Port>::Ring part, const Phase& phase)
      : part_(std::move(part)), data_(part_.data()), bytes_(part_.bytes()) {
    set_slots(phase);
  }

  explicit operator bool() const { return bytes_ != 0; }
  [[nodiscard]] std::byte* slot(std::uint32_t index) const { return data_ + std::size_t{index} * stride_; }
  [[nodiscard]] std::uint32_t stride() const { return stride_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  // Nothing is deregistered when it is destroyed.
  [[nodiscard]] bool is_part() const { return static_cast<bool>(part_); }
  // Where the slots are.
  [[nodiscard]] const Region& region() const { return part_ ? part_.region() : own_; }
  // Of slot 0, for the peer.
  [[nodiscard]] std::uint64_t remote_address() const {
    return region().remote_address() + static_cast<std::uint64_t>(data_ - region().data());
  }
  [[nodiscard]] std::size_t registered_bytes() const { return bytes_; }

  // Makes slots of this phase from the memory there is. False, with nothing done, when that is too small.
  [[nodiscard]] bool divide(const Phase& phase) {
    if (phase.ring_bytes() > bytes_) return false;
    set_slots(phase);
    return true;
  }

 private:
  void set_slots(const Phase& phase) {
    stride_ = phase.stride();
    capacity_ = phase.capacity();
  }

  Ledger::Entry entry_;
  Region own_;
  typename RingSlabs<Port>::Ring part_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t stride_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace bufenlarge
