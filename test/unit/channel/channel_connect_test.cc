// SPDX-License-Identifier: MIT
// Attempts, crossings, refusals and the time limit, as a channel and its context act on them. The rules
// are tested in unit/protocol/connect_test.cc.
#include <catch2/catch.hpp>

#include "support/solo.h"

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
    Duo duo(settings(two_phases()));
    REQUIRE(send(duo.side[0].channel(), Vector({5}).all()) == kNothingSent);
    REQUIRE(send(duo.side[1].channel(), Vector({6}).all()) == kNothingSent);
    // event: both attempts are out before either side reads its events
    duo.side[zero_first ? 0 : 1].context.progress();
    duo.side[zero_first ? 1 : 0].context.progress();
    duo.rounds(FakeContext::kEventRounds);
    // Expect
    INFO("rank 0 first: " << zero_first);
    CHECK(duo.side[0].channel().connect_state() == State::kReady);
    CHECK(duo.side[1].channel().connect_state() == State::kReady);
    CHECK(duo.side[0].port.accepted.size() == 0);
    CHECK(duo.side[1].port.accepted.size() == 1);
    CHECK(duo.side[0].context.core().attempts_out == 0);
    CHECK(duo.side[1].context.core().attempts_out == 0);
    CHECK(duo.side[0].context.core().crossings + duo.side[1].context.core().crossings >= 1);
    duo.send_all(0, Vector({100}));
    duo.send_all(1, Vector({200}));
    duo.settle();
    CHECK(duo.side[1].messages().size() == 1);
    CHECK(duo.side[0].messages().size() == 1);
    CHECK(duo.side[0].upper.failures.empty());
    CHECK(duo.side[1].upper.failures.empty());
  }
}

TEST_CASE("the lower rank refuses a crossing request, with the attempt it answers", "[channel][connect]") {
  Solo solo;  // rank 0 against rank 1
  solo.want(1);
  solo.port.request(solo.peer(1).hello_bytes(77));
  solo.rounds();
  REQUIRE(solo.port.rejections.size() == 1);
  CHECK(told(solo.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kCrossing));
  CHECK(told(solo.port.rejections[0]).attempt == 77);
  CHECK(solo.channel().connect_state() == State::kConnecting);
  CHECK(solo.context.core().crossings == 1);
}

TEST_CASE("the higher rank drops its own attempt and accepts", "[channel][connect]") {
  Solo solo(settings(two_phases()), 4, 3);
  solo.want(1);
  CHECK(solo.context.core().attempts_out == 1);
  solo.port.news();
  solo.ask_in(1);
  CHECK(solo.port.news() == std::vector<std::string>{"close", "accept"});
  CHECK(solo.context.core().attempts_out == 0);
  CHECK(solo.context.core().crossings == 1);
}

TEST_CASE("a crossing refusal is waited out; if the other's request does not come, it is tried again", "[channel][connect]") {
  Solo solo(settings(two_phases()), 4, 3);
  solo.port.rejected(solo.want(1), reject_bytes(RejectReason::kCrossing, solo.peer().expectation()));
  solo.rounds();
  CHECK(solo.channel().connect_state() == State::kYielding);
  CHECK(solo.context.core().attempts_out == 0);
  solo.port.now += Connect::kYieldUs - 1;
  solo.rounds(2);
  CHECK(solo.port.opened.size() == 1);
  solo.port.now += 1;
  solo.rounds(2);
  CHECK(solo.port.opened.size() == 2);
}

TEST_CASE("a refused attempt is tried again after a pause that grows", "[channel][connect]") {
  Solo solo;
  FakePort::LinkState* link = solo.want();
  std::uint64_t pause = Connect::kPauseMinUs;
  for (unsigned attempt = 1; attempt <= 6; ++attempt, pause *= 2) {
    solo.port.lost(link, "Connection refused");
    solo.rounds();
    CHECK(solo.channel().connect_state() == State::kBackoff);
    solo.port.now += pause - 1;
    solo.rounds();
    CHECK(solo.port.opened.size() == attempt);
    solo.port.now += pause + 1;  // jitter is at most another pause
    solo.rounds();
    REQUIRE(solo.port.opened.size() == attempt + 1);
    link = solo.port.opened.back();
  }
  CHECK(solo.upper.failures.empty());
  // event: the peer is there now
  solo.peer().meet(link->data);
  CHECK(solo.peer().theirs().attempt == 7);
  solo.port.connected(link, solo.peer().hello_bytes(7));
  solo.rounds();
  CHECK(solo.send({8}) == Sent{Status::kOk, 8});
}

TEST_CASE("memory of a failed attempt is used again for the next, zeroed", "[channel][connect][E1]") {
  Solo solo;
  FakePort::LinkState* link = solo.want();
  solo.peer().meet(link->data);
  const Hello first = solo.peer().theirs();
  solo.peer().send(pattern(100));  // a late write of the attempt that is then lost
  solo.peer().grant(1);
  solo.port.lost(link, "reset");
  solo.rounds();
  solo.port.now += 2 * Connect::kPauseMinUs;
  solo.port.news();
  solo.rounds();
  CHECK(solo.port.news() == std::vector<std::string>{"open"});
  solo.peer().meet(solo.port.opened.back()->data);
  CHECK(solo.peer().theirs().ring_address == first.ring_address);
  solo.port.connected(solo.port.opened.back(), solo.peer().hello_bytes(2));
  solo.rounds(3);
  CHECK(solo.upper.pieces.empty());
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a refusal at the time limit fails the channel with a clear error", "[channel][connect]") {
  Solo solo(limited(50'000));
  FakePort::LinkState* link = solo.want();
  solo.port.now += 50'000;
  solo.port.lost(link, "Connection refused");
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kTimedOut);
  CHECK(solo.upper.failures[0].peer == 1);
  CHECK_THAT(solo.upper.failures[0].text, Contains("refused") && Contains("1 attempt") && Contains("50 ms"));
  CHECK(solo.channel().registered_bytes() == 0);
  CHECK(solo.context.core().attempts_out == 0);
  CHECK(solo.send({8}) == Sent{Status::kTimedOut, 0});
}

TEST_CASE("stale refusals past the time limit are a time limit, too", "[channel][connect]") {
  Solo solo(limited(50'000));
  FakePort::LinkState* link = solo.want();
  solo.port.now += 50'000;
  solo.port.rejected(link, reject_bytes(RejectReason::kStale, solo.peer().expectation()));
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kTimedOut);
}

TEST_CASE("an attempt that nobody answers is waited for: the peer may be computing", "[channel][connect]") {
  Solo solo(limited(50'000));
  FakePort::LinkState* link = solo.want();
  solo.port.now += 3600ull * 1'000'000;
  solo.rounds(100);
  CHECK(solo.upper.failures.empty());
  solo.peer().meet(link->data);
  solo.port.connected(link, solo.peer().hello_bytes(1));
  solo.rounds();
  CHECK(solo.channel().connect_state() == State::kReady);
}

TEST_CASE("an endpoint that cannot be opened is a refusal", "[channel][connect]") {
  Solo solo(limited(50'000));
  solo.port.refuses_open = true;
  CHECK(solo.send({8}) == kNothingSent);
  solo.rounds();
  CHECK(solo.channel().connect_state() == State::kBackoff);
  CHECK(solo.context.core().attempts_out == 0);
  solo.port.now += 50'000;
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK_THAT(solo.upper.failures[0].text, Contains("endpoint"));
}

TEST_CASE("a request that cannot be accepted leaves the channel to be opened another time", "[channel][connect]") {
  Solo solo;
  solo.port.refuses_accept = true;
  solo.port.request(solo.peer().hello_bytes(1));
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.channel().connect_state() == State::kIdle);
  CHECK(solo.upper.failures.empty());
  solo.port.refuses_accept = false;
  solo.connect();
}

TEST_CASE("version and geometry refusals fail at once and name both sides' values", "[channel][connect]") {
  HelloExpectation other = FakePeer(*std::make_unique<FakeFabric>(), 1, 4, two_phases()).expectation();
  other.slots = 24;
  for (const RejectReason reason : {RejectReason::kVersion, RejectReason::kGeometry}) {
    Solo solo;
    solo.port.rejected(solo.want(), reject_bytes(reason, other));
    solo.rounds(2);
    REQUIRE(solo.upper.failures.size() == 1);
    CHECK(solo.upper.failures[0].status == Status::kProtocolError);
    if (reason == RejectReason::kGeometry)
      CHECK_THAT(solo.upper.failures[0].text, Contains("24 slots") && Contains("16 slots"));
    else
      CHECK_THAT(solo.upper.failures[0].text, Contains("version"));
  }
}

TEST_CASE("a request of another geometry fails the channel on this side with both values, too", "[channel][connect]") {
  Solo solo;
  Hello hello = solo.peer().hello(1);
  hello.slots = 24;
  const HelloBytes bytes = encode_hello(hello);
  solo.port.request(Bytes(bytes.begin(), bytes.end()));
  solo.rounds(FakeContext::kEventRounds);
  REQUIRE(solo.port.rejections.size() == 1);
  CHECK(told(solo.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kGeometry));
  CHECK(told(solo.port.rejections[0]).slots == 16);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK_THAT(solo.upper.failures[0].text, Contains("24 slots") && Contains("16 slots"));
  CHECK(solo.context.refused() == 1);
}

TEST_CASE("strangers are counted, told nothing, and harm no channel", "[channel][connect]") {
  Solo solo;
  FakePeer& friendly = solo.connect(1);
  Hello hello = solo.peer(2).hello(1);
  hello.job_key ^= 1;
  const HelloBytes wrong_key = encode_hello(hello);
  hello = solo.peer(2).hello(1);
  hello.rank = 0;  // claims to be this very process
  const HelloBytes own_rank = encode_hello(hello);
  // event
  solo.port.request(Bytes(wrong_key.begin(), wrong_key.end()));
  solo.port.request(Bytes(own_rank.begin(), own_rank.end()));
  solo.port.request({});
  solo.port.request(pattern(300));
  solo.rounds(FakeContext::kEventRounds);
  // Expect
  REQUIRE(solo.port.rejections.size() == 4);
  for (const Bytes& told_nothing : solo.port.rejections) CHECK(told_nothing.empty());
  CHECK(solo.context.refused() == 4);
  CHECK(solo.port.accepted.empty());
  CHECK(solo.upper.failures.empty());
  friendly.send(pattern(10));
  solo.rounds();
  CHECK(solo.upper.pieces.size() == 1);
}

TEST_CASE("a stranger at the channel's other end is not tried again for ever", "[channel][connect]") {
  Solo solo;
  solo.port.rejected(solo.want(), Bytes(16));
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(solo.upper.failures[0].text, Contains("does not take this process"));
}

TEST_CASE("a second request of a connected peer is stale, and the connection goes on", "[channel][connect]") {
  Solo solo;
  FakePeer& peer = solo.accept();
  solo.port.request(peer.hello_bytes(2));
  solo.rounds(FakeContext::kEventRounds);
  REQUIRE(solo.port.rejections.size() == 1);
  CHECK(told(solo.port.rejections[0]).reason == static_cast<std::uint8_t>(RejectReason::kStale));
  peer.send(pattern(10));
  solo.rounds();
  CHECK(solo.upper.pieces.size() == 1);
}

TEST_CASE("a newer attempt of a silent peer replaces the older one", "[channel][connect]") {
  Solo solo;
  solo.ask_in(1, 1);
  FakePort::LinkState* first = solo.port.accepted.back();
  solo.ask_in(1, 2);
  CHECK(first->user == nullptr);
  FakePeer& peer = solo.peer();
  CHECK(peer.theirs().attempt == 2);
  peer.greet();
  solo.rounds();
  CHECK(solo.channel().connect_state() == State::kReady);
  peer.send(pattern(10));
  solo.rounds();
  CHECK(solo.upper.pieces.size() == 1);
}

TEST_CASE("an older attempt does not replace a newer one", "[channel][connect]") {
  Solo solo;
  solo.ask_in(1, 5);
  solo.port.request(solo.peer().hello_bytes(4));
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.port.accepted.size() == 1);
  CHECK(solo.port.rejections.size() == 1);
  CHECK(solo.channel().connect_state() == State::kSilent);
}

TEST_CASE("no more attempts are out than the bound; the others follow as they come free", "[channel][connect]") {
  constexpr std::uint32_t kPeers = 200;
  constexpr std::uint32_t kMost = FakeContext::Core::kAttemptsMax;
  Solo solo(settings(two_phases()), kPeers + 1);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(solo.send({8}, rank) == kNothingSent);
  solo.rounds(3);
  REQUIRE(solo.port.opened.size() == kMost);
  CHECK(solo.context.core().attempts_out == kMost);
  std::size_t answered = 0;
  while (answered < kPeers) {
    // event: a few are answered, one of them refused
    for (int i = 0; i < 5 && answered < solo.port.opened.size(); ++i, ++answered) {
      FakePort::LinkState* link = solo.port.opened[answered];
      const Hello hello = check_hello(link->data, solo.peer(1).expectation()).hello.value();
      const std::uint32_t rank = static_cast<FakeChannel*>(link->user)->peer();
      solo.port.connected(link, solo.peer(rank).hello_bytes(hello.attempt));
    }
    solo.rounds(2);
    // Expect
    REQUIRE(solo.context.core().attempts_out <= kMost);
    REQUIRE(solo.port.opened.size() == std::min<std::size_t>(answered + kMost, kPeers));
  }
  CHECK(solo.context.core().attempts_out == 0);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) CHECK(solo.channel(rank).connected());
}

}  // namespace
}  // namespace bufenlarge::test
