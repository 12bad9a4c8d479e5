// SPDX-License-Identifier: MIT
// Growth that is earned: what goes in fragments, when the direction grows, and how far (GROWTH=earned).
#include <catch2/catch.hpp>

#include "support/arrived.h"
#include "support/earning_fixture.h"
#include "support/enlarge_fixture.h"
#include "support/enlargement_fixture.h"
#include "support/responder_fixture.h"

namespace bufenlarge::test {
namespace {

using Limits = GrowthPolicy;

TEST_CASE("what does not fit goes in fragments until growing is earned, and then the direction grows", "[growth][G1]") {
  Earning fixture(earning(two_phases()));
  CHECK(fixture.send_many({600}, 1000) == Limits::kCost / 2);
  CHECK(fixture.send_phase() == 0);
  CHECK(fixture.grow() == 1);
  CHECK(fixture.send_phase() == 1);
  CHECK(fixture.channel().send_ring().counters().enlargements == 1);
  CHECK(fixture.send({600}) == Sent{Status::kOk, 600});
  CHECK(drain(fixture.other).marks == std::vector<unsigned>{kMarksOfMessage});
}

TEST_CASE("messages that do not fit and come seldom leave the direction small", "[growth][G1]") {
  Earning fixture(earning(two_phases()));
  CHECK(fixture.send_many({5000}, 1000, Limits::kHalfLifeUs) == 1000);
  CHECK(fixture.channel().send_ring().counters().enlargements == 0);
  CHECK(fixture.channel().send_ring().counters().messages_fragmented == 1000);
}

TEST_CASE("what takes one slot earns nothing, in whatever way it goes", "[growth][G1]") {
  Earning fixture(earning(two_phases()));
  CHECK(fixture.send_many({200, 200, 88}, 1000) == 1000);
  CHECK(fixture.send_many({488}, 1000) == 1000);
  CHECK(fixture.send_phase() == 0);
}

TEST_CASE("a message whose elements fit, but not in one slot together, earns by its slots", "[growth][G1]") {
  Earning fixture(earning(two_phases()));
  SECTION("two elements") { CHECK(fixture.send_many({440, 49}, 1000) == Limits::kCost / 2); }
  SECTION("three") { CHECK(fixture.send_many({200, 200, 200}, 1000) == Limits::kCost / 2); }
  CHECK(fixture.send_phase() == 0);
  CHECK(fixture.grow() == 1);
  CHECK(fixture.send_phase() == 1);
}

TEST_CASE("a message that takes one slot where an element is beyond no threshold earns nothing", "[growth][G1][E3]") {
  Earning fixture(earning(phases({{512, 16, 200}, {8192, 16}})));
  CHECK(fixture.send_many({200, 200}, 1000) == 1000);
  CHECK(fixture.send_phase() == 0);
}

TEST_CASE("an element beyond the threshold earns a larger ring though a slot has room for it", "[growth][G1][E3]") {
  Earning fixture(earning(phases({{512, 16, 200}, {8192, 16}})));
  CHECK(fixture.send_many({201, 10}, 1000) == Limits::kCost);
  CHECK(fixture.grow() == 1);
}

TEST_CASE("a message that waits for room is counted once, however often it is tried", "[growth][G1]") {
  Earning fixture(earning(three_phases()));
  const Vector vector({2000});  // 20 slots of a ring that has 4
  std::size_t sent = 0;
  for (unsigned laps = 0; laps < 2; ++laps) {
    const Sent one = test::send(fixture.channel(), vector.rest(sent));
    CHECK(one.status == Status::kOk);
    sent += one.bytes;
    for (unsigned i = 0; i < 1000; ++i) CHECK(test::send(fixture.channel(), vector.rest(sent)) == kNothingSent);
    CHECK(drain(fixture.other).bytes.size() == one.bytes);
    fixture.grant();
  }
  CHECK(fixture.send_phase() == 0);
}

TEST_CASE("slots that leave no room for the rest of a message earn more, however long each grant takes",
          "[growth][G1]") {
  const unsigned tries = GENERATE(0u, 20u);
  Earning fixture(earning(three_phases()));
  const Vector vector({104'000});
  std::size_t sent = 0;
  unsigned laps = 0;
  for (; laps < 1000; ++laps) {
    const Sent one = test::send(fixture.channel(), vector.rest(sent));
    if (one == kNothingSent) break;
    CHECK(one.bytes == std::size_t{4} * 104);
    sent += one.bytes;
    for (unsigned i = 0; i < tries; ++i) {
      fixture.port.now += Limits::kHalfLifeUs / 2;
      CHECK(test::send(fixture.channel(), vector.rest(sent)) == kNothingSent);
    }
    CHECK(drain(fixture.other).marks.size() == 4);
    fixture.grant();
  }
  CHECK(laps == Limits::kCost / (4 * Limits::kWaitFactor));
  CHECK(fixture.grow() == 2);
}

TEST_CASE("a long element grows in its middle, and arrives whole", "[growth][G1]") {
  for (const VectorMode mode : {VectorMode::kPartial, VectorMode::kWhole}) {
    ChannelSettings how = earning(three_phases());
    how.vector_mode = mode;
    ContextPair pair(how);
    pair.open();
    const Vector vector({8, 60'000, 8, 300});
    pair.send_all(0, vector);
    pair.settle();
    CHECK(pair.side[1].messages().back() == vector.bytes());
    CHECK(pair.side[0].channel().send_ring().phase() == 2);
    CHECK(pair.side[0].channel().send_ring().counters().enlargements == 1);
  }
}

TEST_CASE("before a larger ring is earned nothing of a vector waits, in whole mode either", "[growth][G1][E4]") {
  ChannelSettings how = earning(two_phases());
  how.vector_mode = VectorMode::kWhole;
  Earning fixture(how);
  CHECK(fixture.send_many({8, 600, 8}, 1000) == Limits::kCost / 2);
  CHECK(fixture.grow() == 1);
}

TEST_CASE("the direction grows to the phase that its traffic needs, and what is left earns the next", "[growth][G1]") {
  Earning fixture(earning(phases({{128, 32}, {512, 32}, {2048, 32}})));
  CHECK(fixture.send_many({600}, 4) == 4);  // 6 slots each, for the third phase
  constexpr unsigned kTimes = (Limits::kCost - 4 * 6) / 4;
  CHECK(fixture.send_many({400}, kTimes) == kTimes);  // 4 slots each, for the second
  CHECK(fixture.send({600}) == kNothingSent);
  CHECK(fixture.grow() == 1);
  CHECK(fixture.send_many({600}, 1000) < 1000);
  CHECK(fixture.grow() == 2);
}

TEST_CASE("a message that must go whole makes the direction grow at once", "[growth][G1][write]") {
  Earning fixture(earning(two_phases()));
  std::size_t sent = 1;
  CHECK(fixture.channel().send_fenced(Vector({600}).all(), sent) == Status::kAgain);
  CHECK(sent == 0);
  CHECK(fixture.grow() == 1);
  CHECK(fixture.channel().send_fenced(Vector({600}).all(), sent) == Status::kOk);
  CHECK(sent == 600);
}

TEST_CASE("growing costs as much as it took when it was quickest", "[growth][G1]") {
  Earning fixture(earning(three_phases()));
  CHECK(fixture.send_many({300}, 1000) < 1000);
  CHECK(fixture.grow(50) == 1);
  CHECK(fixture.context.core().exchange_us == 50);
  CHECK(fixture.send_many({600}, 1000) == Limits::cost(50) / 2);
  CHECK(fixture.grow(5000) == 2);
  CHECK(fixture.context.core().exchange_us == 50);
}

TEST_CASE("a direction that was refused has to earn it again, after the pause", "[growth][G1][B3]") {
  Earning fixture(earning(two_phases()));
  CHECK(fixture.send_many({600}, 1000) == Limits::kCost / 2);
  CHECK(fixture.grow(1, AckStatus::kRefused) == 1);
  CHECK(fixture.send_phase() == 0);
  CHECK(fixture.send_many({600}, 1000) == 1000);
  fixture.port.now += Enlargement<FakePort>::kRefusedPauseUs;
  CHECK(fixture.send_many({600}, 1000) == Limits::kCost / 2);
  CHECK(fixture.grow() == 1);
}

TEST_CASE("a new connection earns from the beginning", "[growth][G1]") {
  EnlargementFixture fixture(earning(two_phases()));
  const Vector vector({5000});  // 11 slots
  for (unsigned i = 0; i < 20; ++i) CHECK(fixture.enlargement.plan(vector.all()).phase == 0);
  fixture.enlargement.end();
  for (unsigned i = 0; i < 24; ++i) CHECK(fixture.enlargement.plan(vector.all()).phase == 0);
  CHECK(fixture.enlargement.plan(vector.all()).phase == 1);
}

TEST_CASE("a response through the ring earns a larger one by its fragments", "[growth][G1][responder]") {
  ResponderFixture fixture(earning(three_phases()));
  const Vector source({60'000}, 3);
  fixture.request({{0, fixture.advertise(source), 60'000}}, {}, kReadThroughRing);
  Bytes all;
  for (unsigned rounds = 0; !fixture.enlargement.pending() && rounds < 100; ++rounds) {
    fixture.serve();
    fixture.poll();
    const Bytes some = fixture.fragments();
    all.insert(all.end(), some.begin(), some.end());
  }
  CHECK(all.size() == Limits::kCost * (104 - sizeof(ReadFragment)));
  fixture.enlargement.service(fixture.port.now);
  CHECK(fixture.arrived().at(0).kind() == SlotKind::kEnlargeRequest);
}

// ---- with directions that go back

constexpr std::uint64_t kPeriodUs = 100'000;

// A direction that has grown.
struct Grown : Earning {
  Grown() : Earning(earning(two_phases(), kPeriodUs)) {
    CHECK(send_many({600}, 1000) < 1000);
    CHECK(grow() == 1);
    pass(ShrinkPolicy::kCostFactor);
  }
};

TEST_CASE("a direction that would not earn its phase again goes back, though it is used", "[growth][G1][B1]") {
  Grown fixture;
  for (unsigned periods = 0; fixture.send_many({600}, 1) == 1; ++periods) {
    REQUIRE(periods < 4);
    fixture.pass(kPeriodUs);
  }
  CHECK(fixture.grow() == 0);
  CHECK(fixture.send_phase() == 0);
}

TEST_CASE("what goes in fragments while the direction may not change earns, too", "[growth][G1][B1]") {
  EnlargementFixture fixture(earning(three_phases(), kPeriodUs));
  fixture.enlargement.begin(1);
  const EnlargeRequest request = fixture.requested();
  fixture.port.now += 50;
  fixture.peer.acknowledge(fixture.peer.provision(1, request.number));
  fixture.service();
  const Vector vector({2000});
  for (unsigned i = 0; i < 100; ++i) CHECK(fixture.enlargement.plan(vector.all()).phase == 1);
  fixture.port.now += 50 * ShrinkPolicy::kCostFactor;
  CHECK(fixture.enlargement.plan(vector.all()).phase == 2);
}

TEST_CASE("a direction that has gone back earns from the beginning", "[growth][G1][B1]") {
  EnlargementFixture fixture(earning(two_phases(), 1000));
  const Vector vector({5000});  // 11 slots
  fixture.exchange(1, 1);
  fixture.peer.grant_all();
  fixture.port.now += ShrinkPolicy::kCostFactor;
  for (unsigned i = 0; i < 7; ++i) CHECK(fixture.enlargement.plan(vector.all()).phase == 1);
  CHECK(fixture.send_ring.used_phase() == 1);
  for (unsigned i = 0; i < 4 && !fixture.enlargement.pending(); ++i)
    fixture.enlargement.look_at_use(fixture.port.now += 1000);
  fixture.peer.acknowledge(fixture.peer.provision(0, fixture.requested().number));
  fixture.service();
  REQUIRE(fixture.send_ring.phase() == 0);
  for (unsigned i = 0; i < 3; ++i) CHECK(fixture.enlargement.plan(vector.all()).phase == 0);
}

TEST_CASE("a direction in which a message waits for a grant keeps its phase", "[growth][G1][B1]") {
  Grown fixture;
  const Vector vector({100});  // the small ring has room for it
  while (test::send(fixture.channel(), vector.all()).status == Status::kOk) {
  }
  CHECK(drain(fixture.other).marks.size() == two_phases().at(1).slots);
  for (unsigned periods = 0; periods < 6; ++periods) {
    fixture.pass(kPeriodUs);
    CHECK(test::send(fixture.channel(), vector.all()) == kNothingSent);
  }
  fixture.grant();
  CHECK(test::send(fixture.channel(), vector.all()).status == Status::kOk);
  CHECK(drain(fixture.other).bytes == vector.bytes());
  CHECK(fixture.send_phase() == 1);
}

TEST_CASE("a direction that goes on earning its phase keeps it, and its messages take the short path",
          "[growth][G1][B1]") {
  Grown fixture;
  for (unsigned periods = 0; periods < 20; ++periods) {
    CHECK(fixture.send_many({600}, 100) == 100);
    CHECK(fixture.channel().send_ring().used_phase() == 1);
    fixture.pass(kPeriodUs);
  }
  CHECK(fixture.send_phase() == 1);
}

}  // namespace
}  // namespace bufenlarge::test
