// SPDX-License-Identifier: MIT
// Attempts to connect and their time limit, as a channel and its context act on them. The rules are tested in
// unit/protocol/connect_test.cc.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using State = Connect::State;

ChannelSettings limited(std::uint64_t connect_timeout_us) {
  ChannelSettings made = settings(two_phases());
  made.connect_timeout_us = connect_timeout_us;
  return made;
}

TEST_CASE("a refused attempt is tried again after a pause that grows", "[channel][connect]") {
  ContextFixture fixture;
  FakePort::LinkState* link = fixture.want();
  std::uint64_t pause = Connect::kPauseMinUs;
  for (unsigned attempt = 1; attempt <= 6; ++attempt, pause *= 2) {
    fixture.port.lost(link, "Connection refused");
    fixture.rounds();
    CHECK(fixture.channel().connection().state() == State::kBackoff);
    fixture.port.now += pause - 1;
    fixture.rounds();
    CHECK(fixture.port.opened.size() == attempt);
    fixture.port.now += pause + 1;  // jitter is at most another pause
    fixture.rounds();
    REQUIRE(fixture.port.opened.size() == attempt + 1);
    link = fixture.port.opened.back();
  }
  CHECK(fixture.upper.failures.empty());
  // event: the peer is there now
  fixture.peer().meet(link->data);
  CHECK(fixture.peer().theirs().attempt == 7);
  fixture.port.connected(link, fixture.peer().answer_bytes(7));
  fixture.rounds();
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
}

TEST_CASE("memory of a failed attempt is used again for the next, zeroed", "[channel][connect][E1]") {
  ContextFixture fixture;
  FakePort::LinkState* link = fixture.want();
  fixture.peer().meet(link->data);
  const Hello first = fixture.peer().theirs();
  fixture.peer().send(pattern(100));  // a late write of the attempt that is then lost
  fixture.peer().grant(1);
  fixture.port.lost(link, "reset");
  fixture.rounds();
  fixture.port.now += 2 * Connect::kPauseMinUs;
  fixture.port.news();
  fixture.rounds();
  CHECK(fixture.port.news() == std::vector<std::string>{"open"});
  fixture.peer().meet(fixture.port.opened.back()->data);
  CHECK(fixture.peer().theirs().ring_address == first.ring_address);
  fixture.port.connected(fixture.port.opened.back(), fixture.peer().answer_bytes(2));
  fixture.rounds(3);
  CHECK(fixture.upper.fragments.empty());
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a refusal at the time limit fails the channel with a clear error", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  fixture.port.now += 100'000;  // that nobody refuses
  fixture.port.lost(fixture.want(), "Connection refused");
  fixture.rounds(2);
  CHECK(fixture.upper.failures.empty());
  fixture.port.now += 50'000;
  fixture.rounds();
  fixture.port.lost(fixture.port.opened.back(), "Connection refused");
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
  CHECK(fixture.upper.failures[0].peer == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("refused") && Contains("2 attempt") && Contains("50 ms"));
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(fixture.context.core().attempts.out() == 0);
  CHECK(fixture.send({8}) == Sent{Status::kTimedOut, 0});
}

TEST_CASE("a channel waits for an attempt that nobody answers, for the peer may be computing", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  fixture.port.now += 3600ull * 1'000'000;
  fixture.rounds(100);
  CHECK(fixture.upper.failures.empty());
  fixture.peer().meet(link->data);
  fixture.port.connected(link, fixture.peer().answer_bytes(1));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kReady);
}

TEST_CASE("an endpoint that cannot be opened counts as a refusal", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  fixture.port.refuses_open = true;
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kBackoff);
  CHECK(fixture.context.core().attempts.out() == 0);
  fixture.port.now += 50'000;
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("endpoint"));
}

TEST_CASE("a request that cannot be accepted leaves the channel to be opened another time", "[channel][connect]") {
  ContextFixture fixture;
  fixture.port.refuses_accept = true;
  fixture.port.request(fixture.peer().hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.channel().connection().state() == State::kIdle);
  CHECK(fixture.upper.failures.empty());
  fixture.port.refuses_accept = false;
  fixture.connect();
}

TEST_CASE("no more attempts are out than the bound; the others follow as they come free", "[channel][connect]") {
  constexpr std::uint32_t kPeers = 200;
  constexpr std::uint32_t kMost = FakeContext::Core::Attempts::kYoungMax;
  ContextFixture fixture(settings(two_phases()), kPeers + 1);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(fixture.send({8}, rank) == kNothingSent);
  fixture.rounds(3);
  REQUIRE(fixture.port.opened.size() == kMost);
  CHECK(fixture.context.core().attempts.out() == kMost);
  std::size_t answered = 0;
  while (answered < kPeers) {
    // event: a few are answered, one of them refused
    for (int i = 0; i < 5 && answered < fixture.port.opened.size(); ++i, ++answered) {
      FakePort::LinkState* link = fixture.port.opened[answered];
      FakePeer& peer = fixture.peer(static_cast<FakeChannel*>(link->user)->peer());
      peer.meet(link->data);
      fixture.port.connected(link, peer.answer_bytes(peer.theirs().attempt));
    }
    fixture.rounds(2);
    // Expect
    REQUIRE(fixture.context.core().attempts.out() <= kMost);
    REQUIRE(fixture.port.opened.size() == std::min<std::size_t>(answered + kMost, kPeers));
  }
  CHECK(fixture.context.core().attempts.out() == 0);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(fixture.channel(rank).connected());
}

}  // namespace
}  // namespace bufenlarge::test
