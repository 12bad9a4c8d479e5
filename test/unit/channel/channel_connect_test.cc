// SPDX-License-Identifier: MIT
// Attempts, crossings, refusals and the time limit, as a channel and its context act on them. The rules
// are tested in unit/protocol/connect_test.cc.
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

Reject told(const Bytes& data) {
  const auto reject = decode_reject(data);
  REQUIRE(reject);
  return *reject;
}

ChannelSettings limited(std::uint64_t connect_timeout_us) {
  ChannelSettings made = settings(two_phases());
  made.connect_timeout_us = connect_timeout_us;
  return made;
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
    CHECK(pair.side[0].context.core().attempts_out == 0);
    CHECK(pair.side[1].context.core().attempts_out == 0);
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

TEST_CASE("the lower rank refuses a crossing request, with the attempt it responses", "[channel][connect]") {
  ContextFixture fixture;  // rank 0 against rank 1
  fixture.want(1);
  fixture.port.request(fixture.peer(1).hello_bytes(77));
  fixture.rounds();
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(told(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kCrossing));
  CHECK(told(fixture.port.rejections[0]).attempt == 77);
  CHECK(fixture.channel().connection().state() == State::kConnecting);
  CHECK(fixture.context.core().crossings == 1);
}

TEST_CASE("the higher rank drops its own attempt and accepts", "[channel][connect]") {
  ContextFixture fixture(settings(two_phases()), 4, 3);
  fixture.want(1);
  CHECK(fixture.context.core().attempts_out == 1);
  fixture.port.news();
  fixture.ask_in(1);
  CHECK(fixture.port.news() == std::vector<std::string>{"close", "accept"});
  CHECK(fixture.context.core().attempts_out == 0);
  CHECK(fixture.context.core().crossings == 1);
}

TEST_CASE("a crossing refusal is waited out; if the other's request does not come, it is tried again", "[channel][connect]") {
  ContextFixture fixture(settings(two_phases()), 4, 3);
  fixture.port.rejected(fixture.want(1), reject_bytes(RejectReason::kCrossing, fixture.peer().expectation()));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kYielding);
  CHECK(fixture.context.core().attempts_out == 0);
  fixture.port.now += Connect::kYieldUs - 1;
  fixture.rounds(2);
  CHECK(fixture.port.opened.size() == 1);
  fixture.port.now += 1;
  fixture.rounds(2);
  CHECK(fixture.port.opened.size() == 2);
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
  fixture.port.connected(link, fixture.peer().hello_bytes(7));
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
  fixture.port.connected(fixture.port.opened.back(), fixture.peer().hello_bytes(2));
  fixture.rounds(3);
  CHECK(fixture.upper.fragments.empty());
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a refusal at the time limit fails the channel with a clear error", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  fixture.port.now += 50'000;
  fixture.port.lost(link, "Connection refused");
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
  CHECK(fixture.upper.failures[0].peer == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("refused") && Contains("1 attempt") && Contains("50 ms"));
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(fixture.context.core().attempts_out == 0);
  CHECK(fixture.send({8}) == Sent{Status::kTimedOut, 0});
}

TEST_CASE("stale refusals past the time limit are a time limit, too", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  fixture.port.now += 50'000;
  fixture.port.rejected(link, reject_bytes(RejectReason::kStale, fixture.peer().expectation()));
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
}

TEST_CASE("an attempt that nobody responses is waited for: the peer may be computing", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  FakePort::LinkState* link = fixture.want();
  fixture.port.now += 3600ull * 1'000'000;
  fixture.rounds(100);
  CHECK(fixture.upper.failures.empty());
  fixture.peer().meet(link->data);
  fixture.port.connected(link, fixture.peer().hello_bytes(1));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kReady);
}

TEST_CASE("an endpoint that cannot be opened is a refusal", "[channel][connect]") {
  ContextFixture fixture(limited(50'000));
  fixture.port.refuses_open = true;
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == State::kBackoff);
  CHECK(fixture.context.core().attempts_out == 0);
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

TEST_CASE("version and geometry refusals fail at once and name both sides' values", "[channel][connect]") {
  HelloExpectation other = FakePeer(*std::make_unique<FakeFabric>(), 1, 4, two_phases()).expectation();
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
  const HelloBytes bytes = encode_hello(hello);
  fixture.port.request(Bytes(bytes.begin(), bytes.end()));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(told(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kGeometry));
  CHECK(told(fixture.port.rejections[0]).slots == 16);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("24 slots") && Contains("16 slots"));
  CHECK(fixture.context.refused() == 1);
}

TEST_CASE("unauthorized callers are counted, told nothing, and harm no channel", "[channel][connect]") {
  ContextFixture fixture;
  FakePeer& friendly = fixture.connect(1);
  Hello hello = fixture.peer(2).hello(1);
  hello.job_key ^= 1;
  const HelloBytes wrong_key = encode_hello(hello);
  hello = fixture.peer(2).hello(1);
  hello.rank = 0;  // claims to be this very process
  const HelloBytes own_rank = encode_hello(hello);
  // event
  fixture.port.request(Bytes(wrong_key.begin(), wrong_key.end()));
  fixture.port.request(Bytes(own_rank.begin(), own_rank.end()));
  fixture.port.request({});
  fixture.port.request(pattern(300));
  fixture.rounds(FakeContext::kEventRounds);
  // Expect
  REQUIRE(fixture.port.rejections.size() == 4);
  for (const Bytes& told_nothing : fixture.port.rejections) CHECK(told_nothing.empty());
  CHECK(fixture.context.refused() == 4);
  CHECK(fixture.port.accepted.empty());
  CHECK(fixture.upper.failures.empty());
  friendly.send(pattern(10));
  fixture.rounds();
  CHECK(fixture.upper.fragments.size() == 1);
}

TEST_CASE("a unauthorized at the channel's other end is not tried again for ever", "[channel][connect]") {
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
  CHECK(told(fixture.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kStale));
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

TEST_CASE("no more attempts are out than the bound; the others follow as they come free", "[channel][connect]") {
  constexpr std::uint32_t kPeers = 200;
  constexpr std::uint32_t kMost = FakeContext::Core::kAttemptsMax;
  ContextFixture fixture(settings(two_phases()), kPeers + 1);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(fixture.send({8}, rank) == kNothingSent);
  fixture.rounds(3);
  REQUIRE(fixture.port.opened.size() == kMost);
  CHECK(fixture.context.core().attempts_out == kMost);
  std::size_t answered = 0;
  while (answered < kPeers) {
    // event: a few are answered, one of them refused
    for (int i = 0; i < 5 && answered < fixture.port.opened.size(); ++i, ++answered) {
      FakePort::LinkState* link = fixture.port.opened[answered];
      const Hello hello = check_hello(link->data, fixture.peer(1).expectation()).hello.value();
      const std::uint32_t rank = static_cast<FakeChannel*>(link->user)->peer();
      fixture.port.connected(link, fixture.peer(rank).hello_bytes(hello.attempt));
    }
    fixture.rounds(2);
    // Expect
    REQUIRE(fixture.context.core().attempts_out <= kMost);
    REQUIRE(fixture.port.opened.size() == std::min<std::size_t>(answered + kMost, kPeers));
  }
  CHECK(fixture.context.core().attempts_out == 0);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(fixture.channel(rank).connected());
}

}  // namespace
}  // namespace bufenlarge::test
