// SPDX-License-Identifier: MIT
// Attempts of many channels at once, as a context acts on them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using State = Connect::State;
using Attempts = FakeContext::Core::Attempts;

ChannelSettings limited(std::uint64_t connect_timeout_us) {
  ChannelSettings made = settings(two_phases());
  made.connect_timeout_us = connect_timeout_us;
  return made;
}

// Makes the side under test want all peers, in order of rank.
void want_all(ContextFixture& fixture, std::uint32_t peers) {
  for (std::uint32_t rank = 1; rank <= peers; ++rank) {
    CHECK(fixture.send({8}, rank) == kNothingSent);
    fixture.rounds();
  }
}

TEST_CASE("peers that compute do not block one that is ready", "[channel][connect][S4]") {
  for (const std::uint32_t silent : {Attempts::kYoungMax, 1000u}) {
    ContextFixture fixture(settings(two_phases()), silent + 2);
    want_all(fixture, silent);
    const std::uint32_t ready = silent + 1;
    CHECK(fixture.send({8}, ready) == kNothingSent);
    const auto is_out = [&] { return fixture.channel(ready).connection().state() == State::kConnecting; };
    const std::uint64_t before = fixture.port.now;
    for (; !is_out() && fixture.port.now < before + 10'000; fixture.port.now += 100) fixture.rounds();
    REQUIRE(is_out());
    FakePort::LinkState* link = fixture.port.opened.back();
    for (FakePort::LinkState* one : fixture.port.opened)
      if (static_cast<FakeChannel*>(one->user)->peer() == ready) link = one;
    fixture.peer(ready).meet(link->data);
    fixture.port.connected(link, fixture.peer(ready).answer_bytes(1));
    fixture.rounds();
    CHECK(fixture.send({8}, ready) == Sent{Status::kOk, 8});
    CHECK(fixture.upper.failures.empty());
  }
}

TEST_CASE("silent peers are all asked in the end, and answer when they like", "[channel][connect][S4]") {
  constexpr std::uint32_t kPeers = 300;
  ContextFixture fixture(settings(two_phases()), kPeers + 1);
  want_all(fixture, kPeers);
  for (int i = 0; i < 1000; ++i, fixture.port.now += 100) {
    fixture.rounds();
    const std::size_t batches = fixture.port.opened.size() / Attempts::kYoungMax;
    REQUIRE(batches <= 1 + static_cast<std::size_t>(i) * 100 / Attempts::kYoungUs);
  }
  REQUIRE(fixture.port.opened.size() == kPeers);
  fixture.port.now += 3600ull * 1'000'000;
  fixture.rounds(3);
  CHECK(fixture.context.core().attempts.out() == kPeers);
  for (FakePort::LinkState* link : fixture.port.opened) {
    const std::uint32_t rank = static_cast<FakeChannel*>(link->user)->peer();
    fixture.port.connected(link, fixture.peer(rank).answer_bytes(1));
  }
  fixture.rounds(3);
  CHECK(fixture.context.core().attempts.empty());
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(fixture.channel(rank).connected());
}

TEST_CASE("a channel that waited for an attempt for longer than the limit survives a refusal", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.port.now += 1'000'000;
  fixture.rounds();
  const Reject stale = make_reject(RejectReason::kStale, fixture.peer().expectation(0), 1);
  const auto bytes = std::as_bytes(std::span(&stale, 1));
  fixture.port.rejected(fixture.port.opened.back(), Bytes(bytes.begin(), bytes.end()));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kBackoff);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("an attempt that a host does not respond to ends at the limit", "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  link->reached = false;
  fixture.port.now += 49'999;
  fixture.rounds(100);
  CHECK(fixture.upper.failures.empty());
  fixture.port.now += 1;
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("50 ms") && Contains("no response from its host"));
  CHECK(link->user == nullptr);
  CHECK(fixture.context.core().attempts.empty());
}

TEST_CASE("a response that lies unread at the limit counts", "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000), 3);
  FakePort::LinkState* link = fixture.want(1);
  link->reached = false;  // as of a socket that was reset since
  fixture.port.events_per_poll = 1;
  fixture.port.request(fixture.peer(2).hello_bytes(1));
  fixture.port.lost(link, "Connection reset");
  fixture.port.now += 50'000;
  fixture.rounds(3);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.channel(1).connection().state() == State::kBackoff);
}

TEST_CASE("a host that cannot be reached is tried again until the limit", "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  fixture.port.now += 30'000;
  fixture.port.unreachable(link, "No route to host");
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kBackoff);
  fixture.port.now += 19'999;
  fixture.rounds();
  REQUIRE(fixture.port.opened.size() == 2);
  fixture.port.now += 1;
  fixture.port.unreachable(fixture.port.opened.back(), "No route to host");
  fixture.rounds();
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("No route to host") && Contains("2 attempts"));
}

TEST_CASE("an attempt that lacks a file descriptor is made again and uses up no time", "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000));
  fixture.port.no_descriptors = true;
  CHECK(fixture.send({8}) == kNothingSent);
  for (int i = 0; i < 100; ++i, fixture.port.now += 2 * Connect::kPauseMaxUs) fixture.rounds();
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.context.core().attempts.empty());
  CHECK(fixture.port.opened.empty());
  fixture.port.no_descriptors = false;
  fixture.rounds(3);
  REQUIRE(fixture.port.opened.size() == 1);
  fixture.peer().meet(fixture.port.opened.back()->data);
  const std::uint16_t attempt = fixture.peer().theirs().attempt;
  fixture.port.connected(fixture.port.opened.back(), fixture.peer().answer_bytes(attempt));
  fixture.rounds();
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
}

TEST_CASE("connection events that a port leaves unread are read in the next round", "[channel][connect][S4]") {
  constexpr std::uint32_t kCallers = 20;
  ContextFixture fixture(settings(two_phases()), kCallers + 1);
  fixture.port.events_per_poll = 3;
  for (std::uint32_t rank = 1; rank <= kCallers; ++rank) fixture.port.request(fixture.peer(rank).hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.accepted.size() == 3);
  for (std::size_t round = 2; round <= 6; ++round) {
    fixture.rounds();
    CHECK(fixture.port.accepted.size() == 3 * round);
  }
  fixture.rounds();
  CHECK(fixture.port.accepted.size() == kCallers);
}

// ---- failures that the port has no name for

TEST_CASE("a failure without a name restarts the attempts that may have failed, half as many at once",
          "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000), 6);
  FakePort::LinkState* silent = fixture.want(1);
  fixture.port.now += Attempts::kRouteUs;
  fixture.rounds();
  const std::vector<FakePort::LinkState*> fresh{fixture.want(2), fixture.want(3), fixture.want(4), fixture.want(5)};
  const auto in = [&fixture](State state) {
    int count = 0;
    for (const std::uint32_t rank : {2u, 3u, 4u, 5u}) count += fixture.channel(rank).connection().state() == state;
    return count;
  };
  for (const int at_once : {2, 1}) {
    fixture.port.unnamed_failure("rdma_connect failed");
    fixture.rounds();
    CHECK(in(State::kBackoff) == 2 * at_once);  // all that were under way
    fixture.port.now += 2 * Connect::kPauseMaxUs;
    fixture.rounds();
    CHECK(in(State::kConnecting) == at_once);
    CHECK(in(State::kWanted) == 4 - at_once);
  }
  CHECK(silent->user != nullptr);
  CHECK(std::ranges::all_of(fresh, [](const auto* link) { return link->user == nullptr; }));
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a failure without a name is a refusal of the only attempt that it can be", "[channel][connect][S4]") {
  ContextFixture fixture(limited(50'000), 3);
  FakePort::LinkState* silent = fixture.want(1);
  fixture.port.now += Attempts::kRouteUs;
  fixture.rounds();
  (void)fixture.want(2);
  fixture.port.unnamed_failure("rdma_connect failed");
  fixture.rounds();
  CHECK(fixture.channel(2).connection().state() == State::kBackoff);
  fixture.port.now += 50'000;
  fixture.rounds();
  fixture.port.unnamed_failure("rdma_connect failed");
  fixture.rounds();
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].peer == 2);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("rdma_connect failed"));
  CHECK(silent->user != nullptr);
}

TEST_CASE("a failure without a name while no attempt is under way harms nobody", "[channel][connect][S4]") {
  ContextFixture fixture;
  fixture.connect();
  fixture.port.unnamed_failure("device error");
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
}

}  // namespace
}  // namespace bufenlarge::test
