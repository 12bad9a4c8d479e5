// SPDX-License-Identifier: MIT
// The one source of chance of a simulated world: xoshiro256**, seeded by splitmix64. The distributions
// of <random> differ between standard libraries, so a seed would not replay everywhere.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace bufenlarge::sim {

class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 .. bound - 1; `bound` is not 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }
  // Both ends included.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool chance(std::uint32_t per_mille) { return per_mille != 0 && below(1000) < per_mille; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace bufenlarge::sim
