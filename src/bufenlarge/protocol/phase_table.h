// SPDX-License-Identifier: MIT
// The phases a ring can be in: slot size, number of slots, and the largest element that counts as fitting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/wire.h"

namespace bufenlarge {

inline constexpr std::uint8_t kPhasesMax = 8;  // BUFENLARGE_PHASES_MAX of bufenlarge.h
inline constexpr std::uint32_t kSlotBytesMin = 64;
inline constexpr std::uint32_t kSlotBytesMax = 4u << 20;
inline constexpr std::uint32_t kSlotsMin = 1;
inline constexpr std::uint32_t kSlotsMax = 4096;

struct Phase {
  std::uint32_t slot_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t threshold_bytes = 0;  // the largest element that counts as fitting; at most capacity()

  [[nodiscard]] std::uint32_t stride() const { return slot_stride(slot_bytes); }
  [[nodiscard]] std::uint32_t capacity() const { return slot_capacity(slot_bytes); }
  [[nodiscard]] std::size_t ring_bytes() const { return std::size_t{stride()} * slots; }
};

struct PhaseTable {
  std::array<Phase, kPhasesMax> phases{};
  std::uint8_t count = 0;

  [[nodiscard]] const Phase& at(std::uint8_t phase) const { return phases[phase]; }
  [[nodiscard]] std::uint8_t last() const { return static_cast<std::uint8_t>(count - 1); }

  // Returns the smallest phase, from `from` on, whose threshold an element of `bytes` does not exceed; the
  // last phase if the element exceeds them all (it then goes in fragments).
  [[nodiscard]] std::uint8_t phase_for(std::size_t bytes, std::uint8_t from) const;
  // Returns the smallest phase in which a message of `bytes` takes one slot, and its largest element, of `largest`
  // bytes, fits; the last phase if there is none.
  [[nodiscard]] std::uint8_t phase_for_message(std::size_t bytes, std::size_t largest) const;
};

// Returns a hash of every phase's slot size and number of slots, in which both sides of a connection have
// to agree.
std::uint32_t geometry_hash(const PhaseTable& table);

}  // namespace bufenlarge
