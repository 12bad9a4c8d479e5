// SPDX-License-Identifier: MIT
// Whether a read fits into a request that others are in, and how much of it.
#include <catch2/catch.hpp>
#include <vector>

#include "protocol/read_request.h"

namespace bufenlarge::test {

TEST_CASE("a plan does not fit where bytes, sources or destinations would be too many", "[read_request][R2]") {
  const std::vector<ReadDestination> small{{0, 1, 8}}, large{{0, 1, kReadSegmentBytesMax}};
  const ReadPlan one(9, 0, 8, small), most(9, 0, kReadSegmentBytesMax, large);
  constexpr std::size_t kPlenty = 100'000;
  CHECK(most.fits({}, kPlenty));
  ReadRequestParts parts;
  parts.bytes = kReadSegmentBytesMax - 8;
  CHECK(one.fits(parts, kPlenty));
  parts.bytes = 1;
  CHECK_FALSE(most.fits(parts, kPlenty));
  parts.bytes = kReadSegmentBytesMax - 7;
  CHECK_FALSE(one.fits(parts, kPlenty));
  parts.bytes = 254;
  parts.sources.resize(254);
  parts.destinations.resize(254);
  CHECK(one.fits(parts, kPlenty));
  parts.sources.resize(255);
  CHECK_FALSE(one.fits(parts, kPlenty));
  parts.sources.resize(254);
  parts.destinations.resize(255);
  CHECK_FALSE(one.fits(parts, kPlenty));
}

TEST_CASE("what is left of a plan fits where the whole plan would not", "[read_request][R2]") {
  const std::uint32_t half = kReadSegmentBytesMax / 2;
  const std::vector<ReadDestination> two{{0, 1, half}, {half, 1, half}};
  ReadPlan plan(9, 0, kReadSegmentBytesMax, two);
  constexpr std::size_t kRoomForOne = 40;
  ReadRequestParts first;
  plan.take(first, kRoomForOne);
  REQUIRE(plan.asked_bytes() == half);
  CHECK(plan.fits({}, kRoomForOne));
  ReadRequestParts halfway;
  halfway.bytes = half;
  CHECK(plan.fits(halfway, 1000));
  ++halfway.bytes;
  CHECK_FALSE(plan.fits(halfway, 1000));
}

TEST_CASE("a request takes no more of a plan than its bytes leave room for", "[read_request][R2]") {
  const std::vector<ReadDestination> two{{0, 1, 5}, {5, 1, 20}};
  ReadPlan plan(9, 0, 25, two);
  ReadRequestParts parts;
  parts.bytes = kReadSegmentBytesMax - 10;
  plan.take(parts, 1000);
  CHECK(parts.destinations.size() == 1);
  CHECK(plan.asked_bytes() == 5);
}

}  // namespace bufenlarge::test
