// SPDX-License-Identifier: MIT
// The processes of a large world that have something to do, as far as is known: most turns are theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/sim_random.h"

namespace bufenlarge::sim {

class SimActive {
 public:
  // Of so many processes; of 0 none is ever noted.
  void watch(std::uint32_t peers) { noted_.assign(peers, false); }
  [[nodiscard]] bool watches() const { return !noted_.empty(); }
  void note(std::uint32_t rank) {
    if (noted_.empty() || noted_[rank]) return;
    noted_[rank] = true;
    ranks_.push_back(rank);
  }
  [[nodiscard]] std::size_t count() const { return ranks_.size(); }
  // Takes one of them out; there has to be one.
  [[nodiscard]] std::uint32_t take(SimRandom& random) {
    std::uint32_t& chosen = ranks_[random.below(static_cast<std::uint32_t>(ranks_.size()))];
    const std::uint32_t rank = chosen;
    chosen = ranks_.back();
    ranks_.pop_back();
    noted_[rank] = false;
    return rank;
  }

 private:
  std::vector<std::uint32_t> ranks_;
  std::vector<bool> noted_;  // by rank
};

}  // namespace bufenlarge::sim
