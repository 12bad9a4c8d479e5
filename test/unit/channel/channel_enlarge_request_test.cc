// SPDX-License-Identifier: MIT
// The sending side of an enlargement up to the acknowledgement: when it asks, and that it sends nothing meanwhile.
#include <catch2/catch.hpp>

#include "support/enlarge_fixture.h"

namespace bufenlarge::test {
namespace {

using State = EnlargeSender::State;

TEST_CASE("an element that does not fit sends nothing, without an error, and asks for larger buffers",
          "[channel][E5]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  // event
  CHECK(fixture.send({489}) == kNothingSent);
  // Expect: a control message in the small ring, recorded in the channel, and nothing else
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequested);
  const EnlargeRequest request = request_in(peer.next().value());
  CHECK(request.number == 1);
  CHECK(request.phase == 1);
  CHECK_FALSE(peer.next());
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.channel().send_ring().counters().messages == 0);
}

TEST_CASE("an element of just the threshold asks for no larger ring", "[channel][E3]") {
  ContextFixture fixture(settings(phases({{512, 16, 300}, {8192, 16}})));
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({300}) == Sent{Status::kOk, 300});
  CHECK(peer.next().value().kind() == SlotKind::kPayload);
  CHECK(fixture.send({301}) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("elements before the one that does not fit go, and the retry asks", "[channel][E4]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  const Vector vector({100, 50, 600, 20});
  CHECK(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 150});
  const auto first = peer.next();
  REQUIRE(first);
  CHECK(first->payload.size() == 150);
  CHECK(first->trailer.marks == kMarkFirst);
  CHECK(fixture.channel().enlargement().sender().steady());
  CHECK(send(fixture.channel(), vector.rest(150)) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("in whole mode nothing of a vector goes when any element does not fit", "[channel][E4]") {
  ChannelSettings whole = settings(two_phases());
  whole.vector_mode = VectorMode::kWhole;
  ContextFixture fixture(whole);
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({100, 50, 600, 20}) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("with enlargement off an element that does not fit goes in fragments and asks for nothing", "[channel]") {
  ChannelSettings off = settings(two_phases());
  off.enlargement = false;
  ContextFixture fixture(off);
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({1000}) == Sent{Status::kOk, 1000});
  while (const auto arrival = peer.next()) CHECK(arrival->kind() == SlotKind::kPayload);
  CHECK(fixture.channel().enlargement().sender().steady());
}

TEST_CASE("the request waits for room like any slot, and nothing is sent before it is out", "[channel][E5]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  CHECK(fixture.send({1000}) == kNothingSent);
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequestDue);
  peer.next();
  CHECK(peer.next().value().kind() == SlotKind::kPayload);
  CHECK_FALSE(peer.next());
  // event: room comes, something small is tried before the request could go
  peer.grant_all();
  CHECK(fixture.send({10}) == kNothingSent);
  fixture.rounds();
  // Expect
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequested);
}

// ---- while the acknowledgement is out

TEST_CASE("while the acknowledgement is out every attempt sends nothing, small ones too", "[channel][E6]") {
  EnlargeFixture asked;
  for (int i = 0; i < 100; ++i) {
    CHECK(asked.fixture.send({8}) == kNothingSent);
    CHECK(asked.fixture.send({5000}) == kNothingSent);
    asked.fixture.rounds();
  }
  CHECK_FALSE(asked.peer.next());
  CHECK(asked.fixture.upper.failures.empty());
  CHECK(asked.request.number == 1);
}

TEST_CASE("the request is the last slot of its ring", "[channel][E6]") {
  EnlargeFixture asked;
  for (int i = 0; i < 20; ++i) {
    (void)asked.fixture.send({8});
    asked.peer.send(pattern(20));  // slots of the other direction need grants of this one, and no slots
    asked.fixture.rounds();
  }
  CHECK_FALSE(asked.peer.next());
  CHECK(asked.fixture.upper.messages[1].size() == 20);
}

TEST_CASE("other channels go on while one waits", "[channel][E6][E10]") {
  EnlargeFixture asked;
  FakePeer& other = asked.fixture.connect(2);
  for (int i = 0; i < 10; ++i) {
    CHECK(asked.fixture.send({100}, 2) == Sent{Status::kOk, 100});
    CHECK(other.next().value().payload.size() == 100);
    other.send(pattern(30));
    asked.fixture.rounds();
  }
  CHECK(asked.fixture.upper.messages[2].size() == 10);
  CHECK(asked.state() == State::kRequested);
}

TEST_CASE("data in the other direction arrives while one waits", "[channel][E6]") {
  EnlargeFixture asked;
  asked.peer.send(pattern(50));
  asked.fixture.rounds();
  CHECK(asked.fixture.upper.messages[1].size() == 1);
}

}  // namespace
}  // namespace bufenlarge::test
