// SPDX-License-Identifier: MIT
// The loss of a peer is reported once, its memory is given back, and other channels are unharmed.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

// Loses the link that the fixture opened first, and lets the context see the event.
void lose_opened(ContextFixture& fixture) {
  fixture.port.lost(fixture.port.opened[0], "gone");
  fixture.rounds(FakeContext::kEventRounds);
}

// Does the same with the link that it accepted last.
void lose_accepted(ContextFixture& fixture) {
  fixture.port.lost(fixture.port.accepted.back(), "gone");
  fixture.rounds(FakeContext::kEventRounds);
}

TEST_CASE("a broken connection is reported once, its memory is freed, and the other channels go on",
          "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect(1);
  FakePeer& other = fixture.connect(2);
  fixture.port.news();
  // event
  fixture.port.lost(fixture.port.opened[0], "the peer closed the connection");
  fixture.port.lost(fixture.port.opened[0], "and once more");
  fixture.rounds(FakeContext::kEventRounds);
  // Expect
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].peer == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("the peer closed the connection"));
  CHECK(fixture.channel(1).error() == fixture.upper.failures[0].text);
  CHECK(fixture.port.news() == std::vector<std::string>{"close", "give back 8192", "give back 8192", "free 16384"});
  CHECK(fixture.channel(1).ring_bytes().now == 0);
  CHECK(fixture.channel(1).ring_bytes().most == 2 * 8192);
  CHECK_FALSE(fixture.channel(1).connected());
  CHECK(fixture.send({8}, 1) == Sent{Status::kPeerFailed, 0});
  // Expect
  CHECK(fixture.send({8}, 2) == Sent{Status::kOk, 8});
  CHECK(other.next());
  other.send(pattern(4));
  fixture.rounds();
  CHECK(fixture.upper.messages[2].size() == 1);
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("a write that fails counts as a lost peer", "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect();
  fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
  CHECK(fixture.send({8}).status == Status::kOk);  // it was taken; progress reports that it cannot go
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(fixture.send({8}) == Sent{Status::kPeerFailed, 0});
}

TEST_CASE("a word that cannot be written counts as a lost peer, too", "[channel][fail]") {
  SECTION("a grant") {
    ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
    FakePeer& peer = fixture.ask_in();
    fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    peer.send_hello();
    fixture.rounds(2);
    CHECK(fixture.upper.failures.size() == 1);
  }
  SECTION("an acknowledgement") {
    ContextFixture fixture;
    FakePeer& peer = fixture.accept();
    fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    peer.ask({1, 1});
    fixture.rounds(2);
    CHECK(fixture.upper.failures.size() == 1);
    CHECK(fixture.channel().ring_bytes().now == 0);
  }
  SECTION("a repeat word") {
    ContextFixture fixture;
    fixture.connect();
    CHECK(fixture.send({5000}) == kNothingSent);
    fixture.rounds();
    fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    fixture.port.now += 1'000'000;
    fixture.rounds(3);
    CHECK(fixture.upper.failures.size() == 1);
  }
}

TEST_CASE("a peer that is lost before its first message may come again: nothing was said yet", "[channel][fail]") {
  ContextFixture fixture;
  fixture.ask_in();
  lose_accepted(fixture);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.channel().connection().state() == Connect::State::kIdle);
  FakePeer& peer = fixture.ask_in(1, 2);
  peer.send_hello();
  peer.send(pattern(10));
  fixture.rounds();
  CHECK(fixture.upper.messages[1].size() == 1);
}

TEST_CASE("a channel that was accepted, lost before a word, and then never reached times out",
          "[channel][fail][connect]") {
  ContextFixture fixture;
  fixture.ask_in();
  lose_accepted(fixture);
  fixture.port.lost(fixture.want(), "Connection refused");
  fixture.rounds();
  fixture.port.now += 30'000'000;
  fixture.rounds();
  fixture.port.lost(fixture.port.opened.back(), "Connection refused");
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kTimedOut);
}

TEST_CASE("what the peer wrote before it went is delivered before its loss is reported", "[channel][fail]") {
  ContextFixture fixture(settings(phases({{512, 4}, {8192, 4}})));
  FakePeer& peer = fixture.connect();
  std::size_t before_the_loss = 0;
  fixture.upper.on_failure = [&](const UpperLog::Failure&) { before_the_loss = fixture.upper.fragments.size(); };
  for (std::uint32_t n = 0; n < 3; ++n) peer.send(pattern(20, n));
  fixture.port.lost(fixture.port.opened[0], "gone");
  fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(before_the_loss == 3);
  CHECK(fixture.upper.messages[1].size() == 3);
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("a peer that is lost while a direction grows counts as a lost peer", "[channel][fail][E6]") {
  ContextFixture fixture;
  fixture.connect();
  CHECK(fixture.send({5000}) == kNothingSent);
  lose_opened(fixture);
  CHECK(fixture.upper.failures.size() == 1);
  CHECK(fixture.send({5000}) == Sent{Status::kPeerFailed, 0});
  CHECK(fixture.context.core().pending.empty());
}

TEST_CASE("a channel that fails inside of deliver keeps the delivered bytes readable until it returns",
          "[channel][fail]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.connect();
  std::size_t fragments = 0;
  fixture.upper.on_fragment = [&](const UpperLog::Fragment&) {
    if (++fragments > 1) return;
    REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
    REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
    peer.grant(1000);  // found out by the next send
    CHECK(fixture.send({10}) == Sent{Status::kProtocolError, 0});
    CHECK(fixture.upper.failures.size() == 1);
    CHECK(fixture.channel().ring_bytes().now == 2 * 1024);  // not under the callback that reads it
  };
  peer.send(pattern(200));
  peer.send(pattern(100));
  fixture.rounds(2);
  // Expect: nothing is delivered after the failure was reported
  CHECK(fragments == 1);
  CHECK(fixture.upper.failures.size() == 1);
  CHECK(fixture.channel().ring_bytes().now == 0);
}

TEST_CASE("the failed callback may send on other channels and look at the failed one", "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect(1);
  FakePeer& other = fixture.connect(2);
  fixture.upper.on_failure = [&](const UpperLog::Failure& failure) {
    CHECK(fixture.send({8}, failure.peer) == Sent{Status::kPeerFailed, 0});
    CHECK(fixture.send({8}, 2) == Sent{Status::kOk, 8});
  };
  lose_opened(fixture);
  CHECK(other.next());
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("completions of a lost connection harm nothing", "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect();
  fixture.port.completes = false;
  for (int i = 0; i < 5; ++i) REQUIRE(fixture.send({200}) == Sent{Status::kOk, 200});
  lose_opened(fixture);
  fixture.port.complete(5);
  fixture.rounds(3);
  CHECK(fixture.upper.failures.size() == 1);
  CHECK(fixture.context.idle());
}

TEST_CASE("a failed channel does not keep the context from being idle", "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect();
  fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kAgain; };
  REQUIRE(fixture.send({100}) == Sent{Status::kOk, 100});
  CHECK_FALSE(fixture.context.idle());
  lose_opened(fixture);
  CHECK(fixture.context.idle());
}

TEST_CASE("a request of a peer whose channel has failed is refused, and the channel stays as it is",
          "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect();
  lose_opened(fixture);
  fixture.port.request(fixture.peer().hello_bytes(9));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.rejections.size() == 1);
  CHECK(fixture.port.accepted.empty());
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("a peer of the job whose channel has failed is not refused as unauthorized",
          "[channel][fail]") {
  ContextFixture fixture;
  fixture.connect();
  lose_opened(fixture);
  fixture.port.request(fixture.peer().hello_bytes(9));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(decode_reject(fixture.port.rejections[0]));
}

TEST_CASE("a channel is unused before it connects, and when its failure is over", "[channel][fail][F3]") {
  ContextFixture fixture;
  CHECK(fixture.channel().unused());
  (void)fixture.want();
  CHECK_FALSE(fixture.channel().unused());
  ContextFixture other;
  other.connect();
  CHECK_FALSE(other.channel().unused());
  other.lose();
  CHECK_FALSE(other.channel().unused());
  other.rounds(FakeContext::kEventRounds);
  REQUIRE(other.channel().failed());
  other.rounds(2);
  CHECK(other.channel().unused());
}

TEST_CASE("closing a context closes links before it frees what their writes read", "[channel][fail]") {
  ContextFixture fixture;
  {
    UpperLog upper;
    FakePort port(fixture.fabric);
    FakeContext context(port, settings(two_phases()), 0, 4, kJobKey, upper.layer());
    context.set_addresses(fake_addresses(4));
    FakePeer peer(fixture.fabric, 1, 4, two_phases());
    std::size_t sent = 0;
    CHECK(context.channel(1)->send(Vector({8}).all(), false, sent) == Status::kAgain);
    context.progress();
    peer.meet(port.opened.back()->data);
    port.connected(port.opened.back(), peer.answer_bytes(1));
    context.progress();
    port.completes = false;
    CHECK(context.channel(1)->send(Vector({300}).all(), false, sent) == Status::kOk);
    CHECK(port.posted() == 1);
    // event: the context goes while the write is under way; the port looks at the order
  }
  CHECK(fixture.fabric.violations == std::vector<std::string>{});
}

}  // namespace
}  // namespace bufenlarge::test
