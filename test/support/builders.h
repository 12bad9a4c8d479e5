// SPDX-License-Identifier: MIT
// Short ways to write down phases, settings, data and vectors.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "channel/settings.h"
#include "protocol/phase_table.h"
#include "protocol/wire.h"

namespace bufenlarge::test {

using Bytes = std::vector<std::byte>;

// A wire version that this build does not speak, and whose text has no digit of the one it does.
inline constexpr std::uint8_t kOtherWireVersion = 200;
static_assert(kOtherWireVersion != kWireVersion);

struct PhaseSpec {
  std::uint32_t slot_bytes;
  std::uint32_t slots;
  std::uint32_t threshold = 0;  // 0: all of the slot's payload
};

inline PhaseTable phases(std::initializer_list<PhaseSpec> specs) {
  PhaseTable table;
  for (const PhaseSpec& spec : specs) {
    Phase& phase = table.phases[table.count++];
    phase = {spec.slot_bytes, spec.slots, spec.threshold};
    if (spec.threshold == 0) phase.threshold_bytes = phase.capacity();
  }
  return table;
}

// Two phases much like the default ones, and three small ones that take few messages to go through.
inline PhaseTable two_phases() { return phases({{512, 16}, {8192, 16}}); }
inline PhaseTable three_phases() { return phases({{128, 4}, {512, 4}, {2048, 4}}); }

inline ChannelSettings settings(const PhaseTable& table) {
  ChannelSettings made;
  made.phases = table;
  return made;
}

inline ChannelSettings hot_settings(const PhaseTable& table, std::uint32_t hot_max) {
  ChannelSettings made = settings(table);
  made.hot_max = hot_max;
  return made;
}

// Returns bytes that depend on their place and on `seed`.
inline Bytes pattern(std::size_t bytes, std::uint32_t seed = 1) {
  Bytes made(bytes);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& one : made) {
    state = state * 1664525u + 1013904223u;
    one = static_cast<std::byte>(state >> 24);
  }
  return made;
}

// An I/O vector over memory of its own.
class Vector {
 public:
  explicit Vector(std::initializer_list<std::size_t> sizes, std::uint32_t seed = 1)
      : Vector(std::vector<std::size_t>(sizes), seed) {}
  explicit Vector(const std::vector<std::size_t>& sizes, std::uint32_t seed = 1) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size;
    bytes_ = pattern(total, seed);
    std::size_t offset = 0;
    for (const std::size_t size : sizes) {
      elements_.push_back({bytes_.data() + offset, size});
      offset += size;
    }
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  [[nodiscard]] std::span<const iovec> all() const { return elements_; }
  [[nodiscard]] Bytes& bytes() { return bytes_; }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

  // Returns the vector without its first `taken` bytes, which an upper layer sends when the rest was not taken.
  [[nodiscard]] std::vector<iovec> rest(std::size_t taken) const {
    std::vector<iovec> left;
    for (const iovec& element : elements_) {
      const std::size_t skipped = std::min(taken, element.iov_len);
      taken -= skipped;
      if (skipped == element.iov_len && element.iov_len != 0) continue;
      left.push_back({static_cast<std::byte*>(element.iov_base) + skipped, element.iov_len - skipped});
    }
    return left;
  }

 private:
  Bytes bytes_;
  std::vector<iovec> elements_;
};

}  // namespace bufenlarge::test
