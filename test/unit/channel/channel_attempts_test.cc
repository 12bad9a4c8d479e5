// SPDX-License-Identifier: MIT
// Attempts of many channels at once, as a context acts on them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

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
    fixture.port.connected(link, fixture.peer(ready).hello_bytes(1));
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
    fixture.port.connected(link, fixture.peer(rank).hello_bytes(1));
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
  const Reject stale = make_reject(RejectReason::kStale, fixture.peer().expectation(), 1);
  const auto bytes = std::as_bytes(std::span(&stale, 1));
  fixture.port.rejected(fixture.port.opened.back(), Bytes(bytes.begin(), bytes.end()));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kBackoff);
  CHECK(fixture.upper.failures.empty());
}

}  // namespace
}  // namespace bufenlarge::test
