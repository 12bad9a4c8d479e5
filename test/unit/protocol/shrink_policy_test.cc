// SPDX-License-Identifier: MIT
#include "protocol/shrink_policy.h"

#include <catch2/catch.hpp>

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kPeriodUs = 1000;

// A direction that has grown to a phase at a time, which took so long.
ShrinkPolicy grown(std::uint8_t phase, std::uint64_t now_us, std::uint64_t took_us = 0) {
  ShrinkPolicy policy(kPeriodUs);
  policy.changed(0, phase, now_us - took_us, now_us);
  return policy;
}

TEST_CASE("without a period nothing is due, and any change may begin", "[shrink_policy][B1]") {
  ShrinkPolicy policy(0);
  CHECK_FALSE(policy.on());
  policy.changed(0, 2, 0, 50);
  CHECK_FALSE(policy.due(1'000'000'000));
  CHECK(policy.may_change(50));
}

TEST_CASE("without a period, too, a direction that gave its memory back rests before it grows", "[shrink_policy][B1]") {
  ShrinkPolicy policy(0);
  CHECK(policy.idle());
  policy.changed(2, 0, 1000, 1300);
  CHECK_FALSE(policy.idle());
  CHECK_FALSE(policy.may_change(1300 + 2999));
  CHECK(policy.may_change(1300 + 3000));
  policy.changed(0, 2, 5000, 5300);
  CHECK(policy.idle());
  CHECK(policy.may_change(5300));
}

TEST_CASE("a direction goes back when two periods did not need its phase", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(2, 5000);
  CHECK_FALSE(policy.due(5999));
  REQUIRE(policy.due(6000));
  CHECK(policy.next(2, 0, 6000) == 2);  // it grew in the period before
  CHECK_FALSE(policy.due(6999));
  REQUIRE(policy.due(7000));
  CHECK(policy.next(2, 0, 7000) == 0);
}

TEST_CASE("a phase that was needed in either period stays", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(2, 5000);
  CHECK(policy.next(2, 2, 6000) == 2);
  CHECK(policy.next(2, 0, 7000) == 2);
  CHECK(policy.next(2, 2, 8000) == 2);
  CHECK(policy.next(2, 1, 9000) == 2);
  CHECK(policy.next(2, 0, 10'000) == 1);  // as far as the period before needed
}

TEST_CASE("a need beyond the present phase asks for nothing", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(1, 5000);
  CHECK(policy.next(1, 3, 6000) == 1);
  CHECK(policy.next(1, 3, 7000) == 1);
}

TEST_CASE("no change begins within ten times what the one before took", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(2, 5000, 300);
  CHECK_FALSE(policy.may_change(7999));
  CHECK_FALSE(policy.due(7999));
  CHECK(policy.may_change(8000));
  CHECK(policy.due(8000));
}

TEST_CASE("a change that waited for a lost packet does not keep the next one waiting for long", "[shrink_policy][B1]") {
  constexpr std::uint64_t kNowUs = 5'000'000;
  const ShrinkPolicy policy = grown(2, kNowUs, 1'000'000);
  CHECK_FALSE(policy.may_change(kNowUs + ShrinkPolicy::kRestMaxUs - 1));
  CHECK(policy.may_change(kNowUs + ShrinkPolicy::kRestMaxUs));
}

TEST_CASE("a direction keeps a phase for ten times of what growing to it took, and twice that unused",
          "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(2, 5000, 300);
  CHECK_FALSE(policy.due(7999));
  REQUIRE(policy.due(8000));
  CHECK(policy.next(2, 0, 8000) == 2);  // it grew in the period before
  CHECK_FALSE(policy.due(10'999));
  REQUIRE(policy.due(11'000));
  CHECK(policy.next(2, 0, 11'000) == 0);
  policy.changed(2, 0, 11'000, 11'001);
  policy.changed(0, 1, 100'000, 100'000);  // it was quick this time
  CHECK(policy.due(100'000 + kPeriodUs));
}

TEST_CASE("a direction whose growth waited for a peer that computed keeps its phase for a minute at most",
          "[shrink_policy][B1]") {
  constexpr std::uint64_t kAnHourUs = 3'600'000'000;
  ShrinkPolicy policy{kPeriodUs};
  policy.changed(0, 2, 0, kAnHourUs);
  CHECK_FALSE(policy.due(kAnHourUs + ShrinkPolicy::kKeepMaxUs - 1));
  CHECK(policy.due(kAnHourUs + ShrinkPolicy::kKeepMaxUs));
}

TEST_CASE("a direction that grows without a shrink before is not more patient for it", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(1, 10);
  CHECK(policy.patience() == 1);
  policy.changed(1, 2, 20, 20);
  CHECK(policy.patience() == 1);
  policy.restart();
  policy.changed(0, 1, 30, 30);
  CHECK(policy.patience() == 1);
}

TEST_CASE("a direction that keeps its phase has neither grown nor gone back", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(2, 5000);
  SECTION("soon after a shrink") {
    policy.changed(2, 1, 7000, 7000);
    policy.changed(1, 1, 7100, 7100);
    CHECK(policy.patience() == 1);
  }
  SECTION("and grows soon after that") {
    policy.changed(2, 2, 7000, 7000);
    policy.changed(2, 3, 7100, 7100);
    CHECK(policy.patience() == 1);
  }
}

TEST_CASE("a direction that grows soon after a shrink becomes more patient, up to a bound", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(1, 5000);
  std::uint64_t now_us = 5000;
  for (std::uint32_t patience = 1; patience < ShrinkPolicy::kPatienceMax; patience *= 2) {
    CHECK(policy.patience() == patience);
    now_us += 1;
    policy.changed(1, 0, now_us, now_us);
    now_us += ShrinkPolicy::kSoonFactor * kPeriodUs * patience - 1;
    policy.changed(0, 1, now_us, now_us);
    CHECK(policy.patience() == 2 * patience);
    CHECK_FALSE(policy.due(now_us + 2 * patience * kPeriodUs - 1));
    CHECK(policy.due(now_us + 2 * patience * kPeriodUs));
  }
  policy.changed(1, 0, now_us, now_us);
  policy.changed(0, 1, now_us, now_us);
  CHECK(policy.patience() == ShrinkPolicy::kPatienceMax);
}

TEST_CASE("growth long after a shrink, or after none, changes no patience", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(1, 5000);
  policy.changed(1, 2, 5000, 5000);
  CHECK(policy.patience() == 1);
  policy.changed(2, 0, 6000, 6000);
  policy.changed(0, 1, 6000, 6000 + ShrinkPolicy::kSoonFactor * kPeriodUs);
  CHECK(policy.patience() == 1);
  policy.changed(1, 2, 10'001, 10'001);  // the shrink before was answered by the growth before
  CHECK(policy.patience() == 1);
}

TEST_CASE("a new connection begins anew, with the patience that was learnt", "[shrink_policy][B1]") {
  ShrinkPolicy policy = grown(1, 5000, 300);
  policy.changed(1, 0, 5000, 5000);
  policy.changed(0, 1, 4000, 5000);
  REQUIRE(policy.patience() == 2);
  policy.restart();
  CHECK(policy.may_change(5000));
  CHECK(policy.due(5000));
  CHECK(policy.next(1, 0, 5000) == 0);
  CHECK(policy.patience() == 2);
}

}  // namespace
}  // namespace bufenlarge::test
