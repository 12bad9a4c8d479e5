// SPDX-License-Identifier: MIT
#include "channel/in_flight.h"

#include <catch2/catch.hpp>

#include "support/aborts.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("posted writes complete in order, each with the positions it covers", "[in_flight]") {
  InFlight in_flight;
  CHECK(in_flight.empty());
  in_flight.posted(3);
  in_flight.posted(4);
  in_flight.posted(9);
  CHECK(in_flight.completed() == 3);
  CHECK(in_flight.completed() == 4);
  CHECK_FALSE(in_flight.empty());
  CHECK(in_flight.completed() == 9);
  CHECK(in_flight.empty());
}

TEST_CASE("a copied write is complete at once when nothing is in flight before it", "[in_flight]") {
  InFlight in_flight;
  CHECK(in_flight.copied(5));
  CHECK(in_flight.empty());
}

TEST_CASE("a copied write counts as complete with the last one posted before it", "[in_flight]") {
  InFlight in_flight;
  in_flight.posted(1);
  in_flight.posted(2);
  CHECK_FALSE(in_flight.copied(3));
  CHECK_FALSE(in_flight.copied(4));
  CHECK(in_flight.completed() == 1);
  CHECK(in_flight.completed() == 4);
  CHECK(in_flight.copied(5));
}

TEST_CASE("the queue is full with as many writes as the port allows, wherever the oldest lies", "[in_flight]") {
  InFlight in_flight;
  for (std::uint64_t shift = 0; shift < 2 * InFlight::kWritesMax; ++shift) {
    for (std::uint32_t n = 0; n < InFlight::kWritesMax; ++n) {
      CHECK_FALSE(in_flight.full());
      in_flight.posted(100 * shift + n);
    }
    CHECK(in_flight.full());
    CHECK_FALSE(in_flight.copied(100 * shift + 99));  // copied writes take no room
    for (std::uint32_t n = 0; n + 1 < InFlight::kWritesMax; ++n) CHECK(in_flight.completed() == 100 * shift + n);
    CHECK(in_flight.completed() == 100 * shift + 99);
    in_flight.posted(1);
    CHECK(in_flight.completed() == 1);
  }
}

TEST_CASE("a cleared queue forgets what was in flight", "[in_flight]") {
  InFlight in_flight;
  in_flight.posted(3);
  in_flight.clear();
  CHECK(in_flight.empty());
  in_flight.posted(7);
  CHECK(in_flight.completed() == 7);
}

TEST_CASE("more writes than there may be, or a completion without a write, end the process", "[in_flight]") {
  InFlight in_flight;
  CHECK(aborts([&] { (void)in_flight.completed(); }));
  for (std::uint32_t n = 0; n < InFlight::kWritesMax; ++n) in_flight.posted(n);
  CHECK(aborts([&] { in_flight.posted(99); }));
}

}  // namespace
}  // namespace bufenlarge::test
