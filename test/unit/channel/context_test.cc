// SPDX-License-Identifier: MIT
// All channels together: finding them, the loopback, and what a round of progress costs.
#include <catch2/catch.hpp>

#include "support/solo.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a channel is made once per peer, and there is none to oneself or to nobody", "[context]") {
  Solo solo;
  CHECK(solo.context.size() == 4);
  CHECK(solo.context.find(1) == nullptr);
  FakeChannel* one = solo.context.channel(1);
  REQUIRE(one != nullptr);
  CHECK(solo.context.channel(1) == one);
  CHECK(solo.context.find(1) == one);
  CHECK(one->peer() == 1);
  CHECK(solo.context.channel(0) == nullptr);
  CHECK(solo.context.channel(4) == nullptr);
  CHECK(solo.context.channel(UINT32_MAX) == nullptr);
  CHECK(solo.context.find(4) == nullptr);
}

// ---- loopback

TEST_CASE("what is sent to oneself is delivered by a later round, whole and in order", "[context][loopback]") {
  Solo solo;
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const Vector vector({n * 1000, 0, 7}, n);
    CHECK(solo.context.send_to_self(vector.all(), false) == n * 1000 + 7);
  }
  CHECK(solo.upper.pieces.empty());
  CHECK_FALSE(solo.context.idle());
  solo.rounds(3);
  CHECK(solo.context.idle());
  REQUIRE(solo.upper.messages[0].size() == 3);
  for (std::uint32_t n = 1; n <= 3; ++n) CHECK(solo.upper.messages[0][n - 1] == Vector({n * 1000, 0, 7}, n).bytes());
  CHECK(solo.port.log.empty());
}

TEST_CASE("loopback copies: the memory is the caller's again at once", "[context][loopback][E12]") {
  Solo solo;
  Vector vector({100});
  const Bytes original = vector.bytes();
  solo.context.send_to_self(vector.all(), false);
  std::fill(vector.bytes().begin(), vector.bytes().end(), std::byte{0});
  solo.rounds();
  CHECK(solo.upper.messages[0].at(0) == original);
}

TEST_CASE("MORE leaves a message to oneself open", "[context][loopback]") {
  Solo solo;
  solo.context.send_to_self(Vector({3}).all(), true);
  solo.context.send_to_self(Vector({4}).all(), true);
  solo.context.send_to_self(Vector({5}).all(), false);
  solo.context.send_to_self(Vector({6}).all(), false);
  solo.rounds(4);
  const auto pieces = solo.upper.take();
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[0].marks == kMarkFirst);
  CHECK(pieces[1].marks == 0);
  CHECK(pieces[2].marks == kMarkLast);
  CHECK(pieces[3].marks == (kMarkFirst | kMarkLast));
}

TEST_CASE("deliver may send to oneself again", "[context][loopback]") {
  Solo solo;
  unsigned left = 5;
  solo.upper.on_piece = [&](const UpperLog::Piece&) {
    if (left-- > 0) solo.context.send_to_self(Vector({8}).all(), false);
  };
  solo.context.send_to_self(Vector({8}).all(), false);
  solo.rounds(10);
  CHECK(solo.upper.pieces.size() == 6);
  CHECK(solo.context.idle());
}

// ---- rounds

TEST_CASE("progress says how many things moved, and nothing when nothing did", "[context]") {
  Solo solo;
  FakePeer& peer = solo.accept();
  CHECK(solo.context.progress() == 0);
  peer.send(pattern(5));
  peer.send(pattern(5));
  CHECK(solo.context.progress() == 2);
  CHECK(solo.context.progress() == 0);
  solo.context.send_to_self(Vector({1}).all(), false);
  CHECK(solo.context.progress() == 1);
}

TEST_CASE("a connected channel with nothing to do is on no list", "[context]") {
  Solo solo;
  solo.connect(1);
  FakePeer& two = solo.accept(2);
  two.send(pattern(5));
  solo.rounds(3);
  CHECK(solo.context.core().attention.empty());
  CHECK(solo.context.core().timed.empty());
  CHECK(solo.context.core().rings.size() == 2);
}

TEST_CASE("connection events are seen within the bound of rounds, and at once while an attempt is out", "[context]") {
  Solo solo;
  solo.port.request(solo.peer(1).hello_bytes(1));
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.port.accepted.size() == 1);
  FakePort::LinkState* link = solo.want(2);
  solo.peer(2).meet(link->data);
  solo.port.connected(link, solo.peer(2).hello_bytes(1));
  solo.rounds(1);
  CHECK(solo.channel(2).connect_state() == Connect::State::kReady);
}

TEST_CASE("a lost channel leaves the poll set, and the one that moves into its place still receives", "[context]") {
  Solo solo;
  solo.connect(1);
  solo.connect(2);
  FakePeer& three = solo.connect(3);
  solo.port.lost(solo.port.opened[0], "gone");
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.context.core().rings.size() == 2);
  for (int i = 0; i < 3; ++i) {
    three.send(pattern(20));
    solo.rounds();
  }
  CHECK(solo.upper.messages[3].size() == 3);
}

TEST_CASE("many channels receive, each what is its own", "[context][E1]") {
  constexpr std::uint32_t kPeers = 100;
  Solo solo(settings(phases({{64, 2}, {512, 2}})), kPeers + 1);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) solo.connect(rank);
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) solo.peer(rank).send(pattern(40, rank));
  solo.rounds();
  for (std::uint32_t rank = 1; rank <= kPeers; ++rank) {
    REQUIRE(solo.upper.messages[rank].size() == 1);
    CHECK(solo.upper.messages[rank][0] == pattern(40, rank));
  }
}

}  // namespace
}  // namespace bufenlarge::test
