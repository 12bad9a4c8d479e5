// SPDX-License-Identifier: MIT
#include "channel/stats.h"

#include <catch2/catch.hpp>

namespace bufenlarge::test {
namespace {

TEST_CASE("a message counts once, with its last fragment; bytes count in the phase they went in", "[stats]") {
  DirectionCounters counters;
  counters.count(0, 100, true, true);
  CHECK(counters.messages == 1);
  CHECK(counters.messages_fragmented == 0);
  counters.count(0, 480, true, false);
  counters.count(0, 480, false, false);
  CHECK(counters.messages == 1);
  counters.count(0, 40, false, true);
  CHECK(counters.messages == 2);
  CHECK(counters.messages_fragmented == 1);
  counters.count(1, 7000, true, true);
  CHECK(counters.bytes_in_phase[0] == 1100);
  CHECK(counters.bytes_in_phase[1] == 7000);
  CHECK(counters.messages == 3);
}

}  // namespace
}  // namespace bufenlarge::test
