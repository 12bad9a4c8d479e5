// SPDX-License-Identifier: MIT
#include "protocol/growth_policy.h"

#include <catch2/catch.hpp>

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kCost = 64;
constexpr std::uint32_t kRoom = 1'000'000;
constexpr std::uint64_t kNow = 10 * GrowthPolicy::kHalfLifeUs;

// Whether so many slots for elements of one phase, with so long before each of them, ever earn it.
bool ever_earns(std::uint32_t slots_each, std::uint64_t pause_us, unsigned times) {
  GrowthPolicy policy;
  std::uint64_t now_us = kNow;
  for (unsigned i = 0; i < times; ++i, now_us += pause_us) {
    if (policy.earned(0, kCost, now_us) != 0) return true;
    policy.spend(1, slots_each, kRoom, now_us);
  }
  return policy.earned(0, kCost, now_us) != 0;
}

TEST_CASE("a larger phase is earned when its elements have taken what growing costs", "[growth_policy][G1]") {
  GrowthPolicy policy;
  CHECK(policy.earned(0, kCost, kNow) == 0);
  policy.spend(1, kCost - 1, kRoom, kNow);
  CHECK(policy.earned(0, kCost, kNow) == 0);
  policy.spend(1, 1, kRoom, kNow);
  CHECK(policy.earned(0, kCost, kNow) == 1);
  CHECK(policy.earned(1, kCost, kNow) == 1);  // not what is there
}

TEST_CASE("messages that wait for a grant earn a phase with more slots", "[growth_policy][G1]") {
  GrowthPolicy policy;
  for (std::uint32_t waits = 0; waits < kCost / 16 - 1; ++waits) policy.wait(1, 4, kNow);
  CHECK(policy.earned(0, kCost, kNow) == 0);
  policy.wait(1, 4, kNow);
  CHECK(policy.earned(0, kCost, kNow) == 1);
}

TEST_CASE("what was spent counts half as much after each half-life", "[growth_policy][G1]") {
  GrowthPolicy policy;
  policy.spend(1, 4 * kCost, kRoom, kNow);
  CHECK(policy.earned(0, kCost, kNow + 2 * GrowthPolicy::kHalfLifeUs) == 1);
  CHECK(policy.earned(0, kCost, kNow + 3 * GrowthPolicy::kHalfLifeUs) == 0);
  policy.spend(1, 60'000, kRoom, kNow + 4 * GrowthPolicy::kHalfLifeUs);
  CHECK(policy.earned(0, 1, kNow + 100 * GrowthPolicy::kHalfLifeUs) == 0);
}

TEST_CASE("while a message waits for a grant nothing fades", "[growth_policy][G1]") {
  GrowthPolicy policy;
  std::uint64_t now_us = kNow;
  policy.spend(1, 10, 4, now_us);
  for (int i = 0; i < 100; ++i) policy.stand_still(now_us += GrowthPolicy::kHalfLifeUs / 10);
  policy.spend(1, 6, 4, now_us);
  CHECK(policy.earned(0, 32, now_us) == 1);
  CHECK(policy.earned(0, 32, now_us + GrowthPolicy::kHalfLifeUs - 1) == 1);
  CHECK(policy.earned(0, 32, now_us + GrowthPolicy::kHalfLifeUs) == 0);
  CHECK(policy.earned(0, 16, now_us + GrowthPolicy::kHalfLifeUs) == 1);
}

TEST_CASE("what passed before a message waited fades", "[growth_policy][G1]") {
  GrowthPolicy policy;
  policy.spend(1, 32, kRoom, kNow);
  CHECK(policy.earned(0, 32, kNow + GrowthPolicy::kHalfLifeUs - 1) == 1);
  policy.stand_still(kNow + 10 * GrowthPolicy::kHalfLifeUs);
  CHECK(policy.earned(0, 32, kNow + 10 * GrowthPolicy::kHalfLifeUs) == 1);
  CHECK(policy.earned(0, 32, kNow + 10 * GrowthPolicy::kHalfLifeUs + 1) == 0);
}

TEST_CASE("elements that come seldom never earn anything, and a stream does soon", "[growth_policy][G1]") {
  CHECK_FALSE(ever_earns(17, 60'000'000, 100'000));                 // 8 KiB each minute
  CHECK_FALSE(ever_earns(17, GrowthPolicy::kHalfLifeUs, 100'000));  // or 20 times in a second
  CHECK(ever_earns(17, 1000, 5));
  CHECK(ever_earns(2, 10, kCost / 2));
  CHECK_FALSE(ever_earns(2, 0, kCost / 2 - 1));
}

TEST_CASE("the phase that is earned carries at least half of what was spent", "[growth_policy][G1][E11]") {
  struct Case {
    std::uint32_t first, second, third;
    std::uint8_t earned;
  };
  for (const Case& one : {Case{64, 0, 0, 1}, {0, 64, 0, 2}, {0, 0, 64, 3}, {40, 24, 0, 1}, {32, 32, 0, 1},
                          {31, 33, 0, 2}, {30, 30, 30, 2}, {20, 20, 60, 3}, {21, 21, 21, 0}, {64, 0, 63, 1}}) {
    GrowthPolicy policy;
    policy.spend(1, one.first, kRoom, kNow);
    policy.spend(2, one.second, kRoom, kNow);
    policy.spend(3, one.third, kRoom, kNow);
    INFO(one.first << ", " << one.second << ", " << one.third);
    CHECK(policy.earned(0, kCost, kNow) == one.earned);
  }
}

TEST_CASE("what larger phases have earned stays when the direction grows, and is gone when it begins anew",
          "[growth_policy][G1]") {
  GrowthPolicy policy;
  policy.spend(1, kCost, kRoom, kNow);
  policy.spend(2, kCost, kRoom, kNow);
  CHECK(policy.earned(0, kCost, kNow) == 1);
  CHECK(policy.earned(1, kCost, kNow) == 2);
  policy.restart();
  CHECK(policy.earned(0, 1, kNow) == 0);
}

TEST_CASE("slots that leave no room for the rest cost more, and only those count that go", "[growth_policy][G1]") {
  constexpr std::uint32_t kSlots = 8;
  GrowthPolicy policy;
  policy.spend(1, kSlots, kSlots, kNow);
  CHECK(policy.earned(0, kSlots, kNow) == 1);
  CHECK(policy.earned(0, kSlots + 1, kNow) == 0);
  policy.restart();
  policy.spend(1, 100 * kSlots, kSlots, kNow);
  CHECK(policy.earned(0, kSlots * GrowthPolicy::kWaitFactor, kNow) == 1);
  CHECK(policy.earned(0, kSlots * GrowthPolicy::kWaitFactor + 1, kNow) == 0);
  policy.restart();
  policy.spend(1, 100 * kSlots, 0, kNow);
  CHECK(policy.earned(0, 1, kNow) == 0);
}

TEST_CASE("no number of slots is too large", "[growth_policy][G1]") {
  GrowthPolicy policy;
  for (int i = 0; i < 3; ++i) policy.spend(kPhasesMax - 1, ~std::uint64_t{0}, ~0u, kNow);
  CHECK(policy.earned(0, kCost, kNow) == kPhasesMax - 1);
}

TEST_CASE("growing costs what the quickest exchange took, within bounds", "[growth_policy][G1]") {
  using P = GrowthPolicy;
  CHECK(P::cost(0) == P::kCost);
  CHECK(P::cost(1) == P::kCostMin);
  CHECK(P::cost(100) == 100 * P::kCostPerUs);
  CHECK(P::cost(3'600'000'000) == P::kCostMax);
  CHECK(P::cost(~std::uint64_t{0}) == P::kCostMax);
}

}  // namespace
}  // namespace bufenlarge::test
