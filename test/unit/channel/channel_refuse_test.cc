// SPDX-License-Identifier: MIT
// Which requests a channel takes and which it refuses, and what it does when its own is refused: crossings, other
// versions and geometries, unauthorized callers, old attempts.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using State = Connect::State;

Bytes reject_bytes(RejectReason reason, const HelloExpectation& own) {
  const Reject reject = make_reject(reason, own, 1);
  const auto bytes = std::as_bytes(std::span(&reject, 1));
  return Bytes(bytes.begin(), bytes.end());
}

Reject decoded(const Bytes& data) {
  const auto reject = decode_reject(data);
  REQUIRE(reject);
  return *reject;
}

TEST_CASE("attempts that cross leave one connection, whoever is asked first", "[channel][connect]") {
  for (const bool zero_first : {true, false}) {
    ContextPair pair(settings(two_phases()));
    REQUIRE(send(pair.side[0].channel(), Vector({5}).all()) == kNothingSent);
    REQUIRE(send(pair.side[1].channel(), Vector({6}).all()) == kNothingSent);
    // event: both attempts are out before either side reads its events
    pair.side[zero_first ? 0 : 1].context.progress();
    pair.side[zero_first ? 1 : 0].context.progress();
    pair.rounds(FakeContext::kEventRounds);
    // Expect
    INFO("rank 0 first: " << zero_first);
    CHECK(pair.side[0].channel().connection().state() == State::kReady);
    CHECK(pair.side[1].channel().connection().state() == State::kReady);
    CHECK(pair.side[0].port.accepted.size() == 0);
    CHECK(pair.side[1].port.accepted.size() == 1);
    CHECK(pair.side[0].context.core().attempts.out() == 0);
    CHECK(pair.side[1].context.core().attempts.out() == 0);
    CHECK(pair.side[0].context.core().crossings + pair.side[1].context.core().crossings >= 1);
    pair.send_all(0, Vector({100}));
    pair.send_all(1, Vector({200}));
    pair.settle();
    CHECK(pair.side[1].messages().size() == 1);
    CHECK(pair.side[0].messages().size() == 1);
    CHECK(pair.side[0].upper.failures.empty());
    CHECK(pair.side[1].upper.failures.empty());
  }
}

TEST_CASE("the lower rank refuses a crossing request, and names its attempt", "[channel][connect]") {
  ContextFixture fixture;  // rank 0 against rank 1
  fixture.want(1);
  fixture.port.request(fixture.peer(1).hello_bytes(77));
  fixture.rounds();
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(decoded(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kCrossing));
  CHECK(decoded(fixture.port.rejections[0]).attempt == 77);
  CHECK(fixture.channel().connection().state() == State::kConnecting);
  CHECK(fixture.context.core().crossings == 1);
}

TEST_CASE("the higher rank drops its own attempt and accepts", "[channel][connect]") {
  ContextFixture fixture(settings(two_phases()), 4, 3);
  fixture.want(1);
  CHECK(fixture.context.core().attempts.out() == 1);
  fixture.port.news();
  fixture.ask_in(1);
  CHECK(fixture.port.news() == std::vector<std::string>{"close", "accept"});
  CHECK(fixture.context.core().attempts.out() == 0);
  CHECK(fixture.context.core().crossings == 1);
}

TEST_CASE("the higher rank waits out a crossing refusal, and tries again if the other's request does not come",
          "[channel][connect]") {
  ContextFixture fixture(settings(two_phases()), 4, 3);
  fixture.port.rejected(fixture.want(1), reject_bytes(RejectReason::kCrossing, fixture.peer().expectation(0)));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kYielding);
  CHECK(fixture.context.core().attempts.out() == 0);
  fixture.port.now += Connect::kYieldUs - 1;
  fixture.rounds(2);
  CHECK(fixture.port.opened.size() == 1);
  fixture.port.now += 1;
  fixture.rounds(2);
  CHECK(fixture.port.opened.size() == 2);
}

TEST_CASE("a stale refusal past the time limit fails the channel, too", "[channel][connect]") {
  ChannelSettings limited = settings(two_phases());
  limited.connect_timeout_us = 50'000;
  ContextFixture fixture(limited);
  const Bytes stale = reject_bytes(RejectReason::kStale, fixture.peer().expectation(0));
  fixture.port.rejected(fixture.want(), stale);
  fixture.rounds();
  fixture.port.now += 50'000;
  fixture.rounds();
  fixture.port.rejected(fixture.port.opened.back(), stale);
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
}

TEST_CASE("version and geometry refusals fail at once and name both sides' values", "[channel][connect]") {
  HelloExpectation other = FakePeer(*std::make_unique<FakeFabric>(), 1, 4, two_phases()).expectation(0);
  other.slots = 24;
  for (const RejectReason reason : {RejectReason::kVersion, RejectReason::kGeometry}) {
    ContextFixture fixture;
    fixture.port.rejected(fixture.want(), reject_bytes(reason, other));
    fixture.rounds(2);
    REQUIRE(fixture.upper.failures.size() == 1);
    CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
    if (reason == RejectReason::kGeometry)
      CHECK_THAT(fixture.upper.failures[0].text, Contains("24 slots") && Contains("16 slots"));
    else
      CHECK_THAT(fixture.upper.failures[0].text, Contains("version"));
  }
}

TEST_CASE("a request of another geometry fails the channel on this side with both values, too", "[channel][connect]") {
  ContextFixture fixture;
  Hello hello = fixture.peer().hello(1);
  hello.slots = 24;
  fixture.port.request(fixture.peer().sealed(hello, false));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(decoded(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kGeometry));
  CHECK(decoded(fixture.port.rejections[0]).slots == 16);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("24 slots") && Contains("16 slots"));
  CHECK(fixture.context.refused() == 1);
}

TEST_CASE("a request of another geometry does not fail a channel that is in use", "[channel][connect][F4]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  Hello hello = peer.hello(2);
  hello.slots = 24;
  fixture.port.request(peer.sealed(hello, false));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.rejections.size() == 1);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
}

TEST_CASE("unauthorized callers are counted, get no reason, and harm no channel", "[channel][connect]") {
  ContextFixture fixture;
  FakePeer& friendly = fixture.connect(1);
  const FakePeer& stranger = fixture.peer(2);
  Hello hello = stranger.hello(1);
  const Bytes wrong_key = stranger.sealed(hello, false, kJobKey ^ 1);
  hello.rank = 0;  // claims to be this very process
  const Bytes own_rank = stranger.sealed(hello, false);
  // event
  fixture.port.request(wrong_key);
  fixture.port.request(own_rank);
  fixture.port.request({});
  fixture.port.request(pattern(300));
  fixture.rounds(FakeContext::kEventRounds);
  // Expect
  REQUIRE(fixture.port.rejections.size() == 4);
  for (const Bytes& reason : fixture.port.rejections) CHECK(reason.empty());
  CHECK(fixture.context.refused() == 4);
  CHECK(fixture.port.accepted.empty());
  CHECK(fixture.upper.failures.empty());
  friendly.send(pattern(10));
  fixture.rounds();
  CHECK(fixture.upper.fragments.size() == 1);
}

TEST_CASE("a channel whose peer refuses it as unauthorized does not try for ever", "[channel][connect]") {
  ContextFixture fixture;
  fixture.port.rejected(fixture.want(), Bytes(16));
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("does not take this process"));
}

TEST_CASE("a second request of a connected peer is stale, and the connection goes on", "[channel][connect]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.accept();
  fixture.port.request(peer.hello_bytes(2));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(decoded(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kStale));
  peer.send(pattern(10));
  fixture.rounds();
  CHECK(fixture.upper.fragments.size() == 1);
}

TEST_CASE("a newer attempt of a silent peer replaces the older one", "[channel][connect]") {
  ContextFixture fixture;
  fixture.ask_in(1, 1);
  FakePort::LinkState* first = fixture.port.accepted.back();
  fixture.ask_in(1, 2);
  CHECK(first->user == nullptr);
  FakePeer& peer = fixture.peer();
  CHECK(peer.theirs().attempt == 2);
  peer.send_hello();
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kReady);
  peer.send(pattern(10));
  fixture.rounds();
  CHECK(fixture.upper.fragments.size() == 1);
}

TEST_CASE("an older attempt does not replace a newer one", "[channel][connect]") {
  ContextFixture fixture;
  fixture.ask_in(1, 5);
  fixture.port.request(fixture.peer().hello_bytes(4));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.accepted.size() == 1);
  CHECK(fixture.port.rejections.size() == 1);
  CHECK(fixture.channel().connection().state() == State::kSilent);
}

}  // namespace
}  // namespace bufenlarge::test
