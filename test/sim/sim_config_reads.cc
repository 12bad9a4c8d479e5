// SPDX-License-Identifier: MIT
// The reads of a world. They are drawn from a random sequence of their own, so the rest of a seed does not depend on
// them.
#include <algorithm>

#include "sim/sim_config.h"

namespace bufenlarge::sim {

namespace {

class Reads {
 public:
  Reads(SimConfig& config, SimKind kind)
      : random_(config.seed * 16 + static_cast<std::uint64_t>(kind) + 0x7265616473u), config_(config), kind_(kind) {}

  void draw() {
    const bool kept = kind_ == SimKind::kKept;
    const bool scarce = kind_ == SimKind::kScarce;
    const bool all = kind_ == SimKind::kReads || kept || scarce;
    if (kind_ == SimKind::kStall || (!all && random_.chance(500))) return;
    config_.faults.registration_fails = one_of({0, 0, 100, 500, 1000});
    const std::uint32_t count = all ? random_.between(5, 60) : random_.between(1, 15);
    const std::uint32_t spread_us = kept ? one_of({3000, 30'000}) : one_of({0, 100, 3000});
    std::uint32_t bytes = 0;
    for (std::uint32_t i = 0; i < count && bytes < kBytes; ++i) {
      SimReadPlan plan = one();
      plan.start_us = random_.below(spread_us + 1);
      for (const std::uint32_t size : plan.segments) bytes += size;
      config_.reads.push_back(plan);
      if (!random_.chance(150)) continue;
      // Another reads the same memory at about the same time.
      plan.reader = (plan.source + random_.between(1, config_.peers - 1)) % config_.peers;
      plan.start_us += random_.below(100);
      config_.reads.push_back(std::move(plan));
    }
    if (scarce) {
      config_.source_bytes_max = one_of({1, 1, 3000, 30'000});
      config_.destination_bytes_max = one_of({1, 3000, 30'000, kBytes, kBytes});
      config_.requests_max = one_of({1, 1, 2, 3});
    }
    std::ranges::stable_sort(config_.reads, {}, &SimReadPlan::start_us);
  }

 private:
  static constexpr std::uint32_t kBytes = 600'000;

  std::uint32_t one_of(std::initializer_list<std::uint32_t> values) {
    return values.begin()[random_.below(static_cast<std::uint32_t>(values.size()))];
  }

  std::vector<std::uint32_t> cut(std::uint32_t bytes) {
    std::vector<std::uint32_t> sizes;
    // Of many segments not all are asked for at once.
    const std::uint32_t count = kind_ == SimKind::kScarce ? 60 : random_.chance(400) ? 1 : one_of({2, 3, 10, 70});
    for (std::uint32_t left = bytes; left != 0;) {
      const bool rest = sizes.size() + 1 >= count;
      sizes.push_back(rest ? left : std::min(left, random_.between(1, 2 * bytes / count + 1)));
      left -= sizes.back();
    }
    return sizes;
  }

  SimReadPlan one() {
    SimReadPlan plan;
    const bool hot = random_.chance(500);
    plan.source = hot ? random_.below(2) : random_.below(config_.peers);
    plan.reader = hot ? 1 - plan.source : (plan.source + random_.between(1, config_.peers - 1)) % config_.peers;
    const std::uint32_t bytes = random_.between(1, one_of({8, 100, 3000, 30'000, 200'000}));
    plan.segments = cut(bytes);
    plan.gap = one_of({0, 0, 8, 5000});
    plan.by_flag = random_.chance(700);
    std::uint32_t offset = random_.chance(300) ? random_.below(bytes) : 0;
    for (std::uint32_t parts = one_of({1, 1, 1, 2, 12}); parts > 0 && offset < bytes; --parts) {
      const std::uint32_t most = bytes - offset;
      const std::uint32_t part = parts == 1 && random_.chance(700) ? most : random_.between(1, most);
      plan.parts.push_back({offset, cut(part), random_.chance(150)});
      offset += random_.chance(100) ? 0 : part;  // now and then the same once more
    }
    return plan;
  }

  SimRandom random_;
  SimConfig& config_;
  SimKind kind_;
};

}  // namespace

void draw_reads(SimConfig& config, SimKind kind) { Reads(config, kind).draw(); }

}  // namespace bufenlarge::sim
