// SPDX-License-Identifier: MIT
// Growth that is earned by messages that wait for a slot (GROWTH=earned).
#include <catch2/catch.hpp>

#include "support/earning_fixture.h"

namespace bufenlarge::test {
namespace {

using Limits = GrowthPolicy;

// Sends messages of 8 bytes, a ring full each time, until nothing is sent although all is granted, at most so often.
// Returns how often there was no slot.
unsigned fill_until_it_asks(Earning& fixture, unsigned most) {
  for (unsigned waits = 0; waits < most; ++waits) {
    const std::uint32_t slots = fixture.channel().send_ring().producer().slots();
    for (std::uint32_t i = 0; i < slots; ++i) {
      if (fixture.send({8}) == kNothingSent) return waits;
      CHECK(fixture.other.next());
    }
    for (int again = 0; again < 3; ++again) CHECK(fixture.send({8}) == kNothingSent);  // one wait
    if (!fixture.channel().enlargement().sender().steady()) return waits + 1;
    fixture.grant();
  }
  return most;
}

TEST_CASE("messages that wait for a slot make a direction grow to a phase with more slots", "[growth][G1]") {
  Earning fixture(earning(phases({{256, 4}, {512, 16}, {8256, 16}})));
  CHECK(fill_until_it_asks(fixture, 100) == Limits::kCost / (Limits::kWaitFactor * 4));
  fixture.grant();
  CHECK(fixture.grow() == 1);
  // Expect: no other phase has more
  CHECK(fill_until_it_asks(fixture, 100) == 100);
  CHECK(fixture.send_phase() == 1);
}

TEST_CASE("fragments that wait for a slot are counted once", "[growth][G1]") {
  Earning fixture(earning(phases({{256, 4}, {512, 16}, {8256, 16}})));
  unsigned waits = 0;
  for (; fixture.channel().enlargement().sender().steady(); ++waits) {
    const Vector vector({2000}, waits);
    std::size_t done = 0;
    while (done < 2000 && fixture.channel().enlargement().sender().steady()) {
      const iovec rest{const_cast<std::byte*>(vector.bytes().data()) + done, 2000 - done};
      std::size_t sent = 0;
      CHECK(fixture.channel().send({&rest, 1}, false, sent) != Status::kPeerFailed);
      done += sent;
      if (sent != 0) continue;
      while (fixture.other.next()) continue;
      fixture.grant();
    }
  }
  CHECK(fixture.channel().send_ring().producer().posted() >= Limits::kCost / Limits::kWaitFactor);
}

TEST_CASE("the seeds' rule knows elements that do not fit, and no waiting", "[growth][G1]") {
  ChannelSettings how = earning(phases({{256, 4}, {512, 16}}));
  how.growth = GrowthRule::kFirst;
  Earning fixture(how);
  CHECK(fill_until_it_asks(fixture, 100) == 100);
  CHECK(fixture.send_phase() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
