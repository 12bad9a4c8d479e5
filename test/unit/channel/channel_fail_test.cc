// SPDX-License-Identifier: MIT
// Losing a peer: told once, memory given back, others unharmed.
#include <catch2/catch.hpp>

#include "support/solo.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a broken connection is told once, its memory is freed, the other channels go on", "[channel][fail]") {
  Solo solo;
  solo.connect(1);
  FakePeer& other = solo.connect(2);
  solo.port.news();
  // event
  solo.port.lost(solo.port.opened[0], "the peer closed the connection");
  solo.port.lost(solo.port.opened[0], "and once more");
  solo.rounds(FakeContext::kEventRounds);
  // Expect
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].peer == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
  CHECK_THAT(solo.upper.failures[0].text, Contains("the peer closed the connection"));
  CHECK(solo.channel(1).error() == solo.upper.failures[0].text);
  CHECK(solo.port.news() == std::vector<std::string>{"close", "free 8192", "free 8192"});
  CHECK(solo.channel(1).registered_bytes() == 0);
  CHECK(solo.channel(1).registered_bytes_max() == 2 * 8192);
  CHECK_FALSE(solo.channel(1).connected());
  CHECK(solo.send({8}, 1) == Sent{Status::kPeerFailed, 0});
  // Expect
  CHECK(solo.send({8}, 2) == Sent{Status::kOk, 8});
  CHECK(other.next());
  other.send(pattern(4));
  solo.rounds();
  CHECK(solo.upper.messages[2].size() == 1);
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("a write that fails is a lost peer", "[channel][fail]") {
  Solo solo;
  solo.connect();
  solo.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
  CHECK(solo.send({8}).status == Status::kOk);  // it was taken; that it cannot go is told by progress
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
  CHECK(solo.channel().registered_bytes() == 0);
  CHECK(solo.send({8}) == Sent{Status::kPeerFailed, 0});
}

TEST_CASE("a word that cannot be written is a lost peer, too", "[channel][fail]") {
  SECTION("a grant") {
    Solo solo(settings(phases({{512, 2}, {8192, 2}})));
    FakePeer& peer = solo.ask_in();
    solo.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    peer.greet();
    solo.rounds(2);
    CHECK(solo.upper.failures.size() == 1);
  }
  SECTION("an acknowledgement") {
    Solo solo;
    FakePeer& peer = solo.accept();
    solo.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    peer.ask({1, 1});
    solo.rounds(2);
    CHECK(solo.upper.failures.size() == 1);
    CHECK(solo.channel().registered_bytes() == 0);
  }
  SECTION("a repeat word") {
    Solo solo;
    solo.connect();
    CHECK(solo.send({5000}) == kNothingSent);
    solo.rounds();
    solo.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
    solo.port.now += 1'000'000;
    solo.rounds(3);
    CHECK(solo.upper.failures.size() == 1);
  }
}

TEST_CASE("a peer that is lost before its first message may come again: nothing was said yet", "[channel][fail]") {
  Solo solo;
  solo.ask_in();
  solo.port.lost(solo.port.accepted.back(), "gone");
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.upper.failures.empty());
  CHECK(solo.channel().connect_state() == Connect::State::kIdle);
  FakePeer& peer = solo.ask_in(1, 2);
  peer.greet();
  peer.send(pattern(10));
  solo.rounds();
  CHECK(solo.upper.messages[1].size() == 1);
}

TEST_CASE("a channel that was accepted, lost before a word, and then never reached, timed out", "[channel][fail][connect]") {
  Solo solo;
  solo.ask_in();
  solo.port.lost(solo.port.accepted.back(), "gone");
  solo.rounds(FakeContext::kEventRounds);
  FakePort::LinkState* link = solo.want();
  solo.port.now += 30'000'000;
  solo.port.lost(link, "Connection refused");
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kTimedOut);
}

TEST_CASE("what the peer wrote before it went is delivered before its loss is told", "[channel][fail]") {
  Solo solo(settings(phases({{512, 4}, {8192, 4}})));
  FakePeer& peer = solo.connect();
  std::size_t before_the_loss = 0;
  solo.upper.on_failure = [&](const UpperLog::Failure&) { before_the_loss = solo.upper.pieces.size(); };
  for (std::uint32_t n = 0; n < 3; ++n) peer.send(pattern(20, n));
  solo.port.lost(solo.port.opened[0], "gone");
  solo.port.rule = [](const FakePort::Write&) { return WriteResult::kFailed; };
  solo.rounds(FakeContext::kEventRounds);
  CHECK(before_the_loss == 3);
  CHECK(solo.upper.messages[1].size() == 3);
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("a peer that is lost while it enlarges is a lost peer", "[channel][fail][E6]") {
  Solo solo;
  solo.connect();
  CHECK(solo.send({5000}) == kNothingSent);
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.upper.failures.size() == 1);
  CHECK(solo.send({5000}) == Sent{Status::kPeerFailed, 0});
  CHECK(solo.context.core().attention.empty());
}

TEST_CASE("a channel that fails inside of deliver keeps the delivered bytes readable until it returns", "[channel][fail]") {
  Solo solo(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = solo.connect();
  std::size_t pieces = 0;
  solo.upper.on_piece = [&](const UpperLog::Piece&) {
    if (++pieces > 1) return;
    REQUIRE(solo.send({10}) == Sent{Status::kOk, 10});
    REQUIRE(solo.send({10}) == Sent{Status::kOk, 10});
    peer.grant(1000);  // found out by the next send
    CHECK(solo.send({10}) == Sent{Status::kProtocolError, 0});
    CHECK(solo.upper.failures.size() == 1);
    CHECK(solo.channel().registered_bytes() == 2 * 1024);  // not under the callback that reads it
  };
  peer.send(pattern(200));
  peer.send(pattern(100));
  solo.rounds(2);
  // Expect: nothing is delivered after the failure was told
  CHECK(pieces == 1);
  CHECK(solo.upper.failures.size() == 1);
  CHECK(solo.channel().registered_bytes() == 0);
}

TEST_CASE("the failed callback may send on other channels and look at the failed one", "[channel][fail]") {
  Solo solo;
  solo.connect(1);
  FakePeer& other = solo.connect(2);
  solo.upper.on_failure = [&](const UpperLog::Failure& failure) {
    CHECK(solo.send({8}, failure.peer) == Sent{Status::kPeerFailed, 0});
    CHECK(solo.send({8}, 2) == Sent{Status::kOk, 8});
  };
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  CHECK(other.next());
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("completions of a lost connection harm nothing", "[channel][fail]") {
  Solo solo;
  solo.connect();
  solo.port.completes = false;
  for (int i = 0; i < 5; ++i) REQUIRE(solo.send({200}) == Sent{Status::kOk, 200});
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  solo.port.complete(5);
  solo.rounds(3);
  CHECK(solo.upper.failures.size() == 1);
  CHECK(solo.context.idle());
}

TEST_CASE("a failed channel does not keep the context from being idle", "[channel][fail]") {
  Solo solo;
  solo.connect();
  solo.port.rule = [](const FakePort::Write&) { return WriteResult::kAgain; };
  REQUIRE(solo.send({100}) == Sent{Status::kOk, 100});
  CHECK_FALSE(solo.context.idle());
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.context.idle());
}

TEST_CASE("a request of a peer whose channel has failed is refused, and the channel stays as it is", "[channel][fail]") {
  Solo solo;
  solo.connect();
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  solo.port.request(solo.peer().hello_bytes(9));
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.port.rejections.size() == 1);
  CHECK(solo.port.accepted.empty());
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("a peer of the job that is refused because its channel has failed is not called a stranger", "[channel][fail]") {
  Solo solo;
  solo.connect();
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  solo.port.request(solo.peer().hello_bytes(9));
  solo.rounds(FakeContext::kEventRounds);
  REQUIRE(solo.port.rejections.size() == 1);
  CHECK(decode_reject(solo.port.rejections[0]));
}

TEST_CASE("closing a context closes links before it frees what their writes read", "[channel][fail]") {
  Solo solo;
  {
    UpperLog upper;
    FakePort port(solo.fabric);
    FakeContext context(port, settings(two_phases()), 0, 4, kJobKey, upper.layer());
    context.set_cards(fake_cards(4));
    FakePeer peer(solo.fabric, 1, 4, two_phases());
    std::size_t sent = 0;
    CHECK(context.channel(1)->send(Vector({8}).all(), false, sent) == Status::kAgain);
    context.progress();
    peer.meet(port.opened.back()->data);
    port.connected(port.opened.back(), peer.hello_bytes(1));
    context.progress();
    port.completes = false;
    CHECK(context.channel(1)->send(Vector({300}).all(), false, sent) == Status::kOk);
    CHECK(port.posted() == 1);
    // event: the context goes while the write is under way; the port looks at the order
  }
  CHECK(solo.fabric.violations == std::vector<std::string>{});
}

}  // namespace
}  // namespace bufenlarge::test
