// SPDX-License-Identifier: MIT
// All channels together: finding them, the loopback, and what a round of progress costs.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a channel is made once per peer, and there is none to oneself or to nobody", "[context]") {
  ContextFixture fixture;
  CHECK(fixture.context.peers().size() == 4);
  CHECK(fixture.context.find(1) == nullptr);
  FakeChannel* one = fixture.context.channel(1);
  REQUIRE(one != nullptr);
  CHECK(fixture.context.channel(1) == one);
  CHECK(fixture.context.find(1) == one);
  CHECK(one->peer() == 1);
  CHECK(fixture.context.channel(0) == nullptr);
  CHECK(fixture.context.channel(4) == nullptr);
  CHECK(fixture.context.channel(UINT32_MAX) == nullptr);
  CHECK(fixture.context.find(4) == nullptr);
}

// ---- loopback

TEST_CASE("what is sent to oneself is delivered by a later round, whole and in order", "[context][loopback]") {
  ContextFixture fixture;
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const Vector vector({n * 1000, 0, 7}, n);
    CHECK(fixture.context.loopback().send(vector.all(), false) == n * 1000 + 7);
  }
  CHECK(fixture.upper.fragments.empty());
  CHECK_FALSE(fixture.context.idle());
  fixture.rounds(3);
  CHECK(fixture.context.idle());
  REQUIRE(fixture.upper.messages[0].size() == 3);
  for (std::uint32_t n = 1; n <= 3; ++n) CHECK(fixture.upper.messages[0][n - 1] == Vector({n * 1000, 0, 7}, n).bytes());
  CHECK(fixture.port.log.empty());
}

TEST_CASE("a loopback copies, so the memory is the caller's again at once", "[context][loopback][E12]") {
  ContextFixture fixture;
  Vector vector({100});
  const Bytes original = vector.bytes();
  fixture.context.loopback().send(vector.all(), false);
  std::fill(vector.bytes().begin(), vector.bytes().end(), std::byte{0});
  fixture.rounds();
  CHECK(fixture.upper.messages[0].at(0) == original);
}

TEST_CASE("MORE leaves a message to oneself open", "[context][loopback]") {
  ContextFixture fixture;
  fixture.context.loopback().send(Vector({3}).all(), true);
  fixture.context.loopback().send(Vector({4}).all(), true);
  fixture.context.loopback().send(Vector({5}).all(), false);
  fixture.context.loopback().send(Vector({6}).all(), false);
  fixture.rounds(4);
  const auto fragments = fixture.upper.take();
  REQUIRE(fragments.size() == 4);
  CHECK(fragments[0].marks == kMarkFirst);
  CHECK(fragments[1].marks == 0);
  CHECK(fragments[2].marks == kMarkLast);
  CHECK(fragments[3].marks == (kMarkFirst | kMarkLast));
}

TEST_CASE("deliver may send to oneself again", "[context][loopback]") {
  ContextFixture fixture;
  unsigned left = 5;
  fixture.upper.on_fragment = [&](const UpperLog::Fragment&) {
    if (left-- > 0) fixture.context.loopback().send(Vector({8}).all(), false);
  };
  fixture.context.loopback().send(Vector({8}).all(), false);
  fixture.rounds(10);
  CHECK(fixture.upper.fragments.size() == 6);
  CHECK(fixture.context.idle());
}

// ---- rounds

TEST_CASE("progress says how many things moved, and nothing when nothing did", "[context]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.accept();
  CHECK(fixture.context.progress() == 0);
  peer.send(pattern(5));
  peer.send(pattern(5));
  CHECK(fixture.context.progress() == 2);
  CHECK(fixture.context.progress() == 0);
  fixture.context.loopback().send(Vector({1}).all(), false);
  CHECK(fixture.context.progress() == 1);
}

TEST_CASE("a connected channel with nothing to do is on no list", "[context]") {
  ContextFixture fixture;
  fixture.connect(1);
  FakePeer& two = fixture.accept(2);
  two.send(pattern(5));
  fixture.rounds(3);
  CHECK(fixture.context.core().pending.empty());
  CHECK(fixture.context.core().timed.empty());
  CHECK(fixture.context.core().rings.size() == 2);
}

TEST_CASE("connection events are seen within the bound of rounds, and at once while an attempt is out", "[context]") {
  ContextFixture fixture;
  fixture.port.request(fixture.peer(1).hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.accepted.size() == 1);
  FakePort::LinkState* link = fixture.want(2);
  fixture.peer(2).meet(link->data);
  fixture.port.connected(link, fixture.peer(2).answer_bytes(1));
  fixture.rounds(1);
  CHECK(fixture.channel(2).connection().state() == Connect::State::kReady);
}

TEST_CASE("a lost channel leaves the poll set, and the one that moves into its place still receives", "[context]") {
  ContextFixture fixture;
  fixture.connect(1);
  fixture.connect(2);
  FakePeer& three = fixture.connect(3);
  fixture.port.lost(fixture.port.opened[0], "gone");
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.context.core().rings.size() == 2);
  for (int i = 0; i < 3; ++i) {
    three.send(pattern(20));
    fixture.rounds();
  }
  CHECK(fixture.upper.messages[3].size() == 3);
}

TEST_CASE("a round looks at the rings of the groups that the port reports, and at no other", "[context][S1]") {
  ContextFixture fixture;
  fixture.port.next_group = 1;
  FakePeer& one = fixture.connect(1);
  fixture.port.next_group = 5;
  FakePeer& two = fixture.connect(2);
  fixture.port.placed.emplace();
  one.send(pattern(20));
  two.send(pattern(20));
  fixture.rounds(100);
  CHECK(fixture.upper.messages.empty());
  fixture.port.placed = {5};
  CHECK(fixture.context.progress() == 1);
  CHECK(fixture.upper.messages[2].size() == 1);
  CHECK(fixture.upper.messages[1].empty());
  fixture.port.placed = {1, 1, 9};  // a group twice, and one without a link
  CHECK(fixture.context.progress() == 1);
  CHECK(fixture.upper.messages[1].size() == 1);
}

TEST_CASE("of a group the ring that had something before is read first, and keeps no other waiting", "[context][S1]") {
  ContextFixture fixture;
  FakePeer& one = fixture.connect(1);
  FakePeer& two = fixture.connect(2);
  fixture.port.placed.emplace();
  const auto messages = [&](std::uint32_t rank) { return fixture.upper.messages[rank].size(); };
  one.send(pattern(20));
  CHECK(fixture.context.on_placed(0) == 1);
  one.send(pattern(20));
  two.send(pattern(20));
  CHECK(fixture.context.on_placed(0) == 1);
  CHECK(messages(1) == 2);
  CHECK(messages(2) == 0);
  CHECK(fixture.context.on_placed(0) == 1);  // as the port does after a round that found something
  CHECK(messages(2) == 1);
  one.send(pattern(20));
  CHECK(fixture.context.on_placed(0) == 1);
  two.send(pattern(20));
  for (unsigned round = 0; round <= PollSet<FakeChannel>::kAloneMax; ++round) {
    one.send(pattern(20));
    (void)fixture.context.on_placed(0);
  }
  CHECK(messages(2) == 2);
}

TEST_CASE("the port learns from the context how many slots it took of a group", "[context][S1]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect(1);
  fixture.port.placed.emplace();
  for (int i = 0; i < 3; ++i) peer.send(pattern(20));
  CHECK(fixture.context.on_placed(0) == 3);
  CHECK(fixture.context.on_placed(0) == 0);
}

TEST_CASE("a channel whose endpoint was replaced is looked at in the group of the new one", "[context][S1]") {
  ContextFixture fixture;
  fixture.port.next_group = 2;
  fixture.ask_in(1, 1);
  fixture.port.next_group = 3;
  FakePeer& peer = fixture.ask_in(1, 2);
  peer.send_hello();
  peer.send(pattern(20));
  fixture.port.placed = {2};
  fixture.rounds();
  CHECK(fixture.upper.messages[1].empty());
  fixture.port.placed = {3};
  fixture.rounds();
  CHECK(fixture.upper.messages[1].size() == 1);
  CHECK(fixture.context.core().rings.size() == 1);
}

TEST_CASE("a context sleeps in its port when it has nothing to do, and not when a list has work", "[context][S2]") {
  ContextFixture fixture;
  fixture.connect(1);
  fixture.rounds(3);
  CHECK(fixture.context.sleep(700));
  CHECK(fixture.port.slept_us == std::vector<std::uint32_t>{700});
  fixture.port.slept_us.clear();

  SECTION("a message to oneself waits") { CHECK(fixture.context.loopback().send(Vector({8}).all(), false) == 8); }
  SECTION("a write was not accepted") {
    fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kAgain; };
    CHECK(fixture.send({8}).bytes == 8);
  }
  SECTION("a connection waits for its time") { CHECK(fixture.send({8}, 2) == kNothingSent); }
  SECTION("a notification is not read") {
    fixture.port.arrives = Arrival::kMixed;
    fixture.notify(1);
    CHECK(fixture.port.poll(fixture.context) == 1);
  }
  CHECK_FALSE(fixture.context.sleep(700));
  CHECK(fixture.port.slept_us.empty());
}

TEST_CASE("connection events that end a sleep are handled before the next round", "[context][S2]") {
  ContextFixture fixture;
  fixture.connect(2);
  fixture.rounds(FakeContext::kEventRounds);
  fixture.port.request(fixture.peer(1).hello_bytes(1));
  CHECK(fixture.context.sleep(700));
  CHECK(fixture.port.accepted.empty());
  fixture.port.sleep_end = SleepEnd::kEvents;
  CHECK(fixture.context.sleep(700));
  CHECK(fixture.port.accepted.size() == 1);
}

TEST_CASE("where every slot is notified a round looks at no ring", "[context][S1]") {
  ContextFixture fixture;
  fixture.port.arrives = Arrival::kNotified;
  FakePeer& peer = fixture.connect(1);
  peer.send(pattern(20));
  fixture.rounds(3);
  CHECK(fixture.upper.messages[1].size() == 1);
}

TEST_CASE("each of many channels receives what its own peer sent", "[context][E1]") {
  constexpr std::uint32_t kPeers = 100;
  ContextFixture fixture(settings(phases({{64, 2}, {512, 2}})), kPeers + 1);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) fixture.connect(rank);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) fixture.peer(rank).send(pattern(40, rank));
  fixture.rounds();
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) {
    REQUIRE(fixture.upper.messages[rank].size() == 1);
    CHECK(fixture.upper.messages[rank][0] == pattern(40, rank));
  }
}

TEST_CASE("a peer of the own job that goes before its first slot keeps its rings for the next attempt", "[context]") {
  ContextFixture fixture;
  fixture.ask_in(1);
  fixture.lose(1);
  fixture.rounds(2 * FakeContext::kEventRounds);
  CHECK(fixture.channel(1).connection().state() == Connect::State::kIdle);
  CHECK(fixture.channel(1).ring_bytes().now != 0);
}

}  // namespace
}  // namespace bufenlarge::test
