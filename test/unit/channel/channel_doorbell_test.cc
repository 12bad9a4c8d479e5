// SPDX-License-Identifier: MIT
// Arrival by doorbell: slots are taken as far as a doorbell covers them and no further, whatever lies
// there, and none that was rung for is missed.
#include <catch2/catch.hpp>

#include "support/solo.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint8_t kWhole = kMarkFirst | kMarkLast;
constexpr std::uint8_t kWholeRung = kWhole | kMarkRung;

// One side that takes slots by doorbell; slots are placed, and rung for, apart.
class Rung : public Solo {
 public:
  explicit Rung(const ChannelSettings& how = settings(two_phases())) : Solo(how) {
    port.arrives = Arrival::kDoorbell;
  }
  // A slot of the peer that lies there whole, with no doorbell yet.
  void place(const Bytes& payload, std::uint8_t marks, std::uint32_t rank = 1) {
    FakePeer& from = peer(rank);
    const Bytes slot = from.seal(SlotKind::kPayload, payload, marks);
    from.place(slot, 0, slot.size());
    from.advance();
  }
  [[nodiscard]] std::vector<Bytes>& messages(std::uint32_t rank = 1) { return upper.messages[rank]; }
};

TEST_CASE("a side that takes slots by doorbell asks for them, and for no checks", "[channel][doorbell]") {
  Rung solo;
  FakePeer& peer = solo.peer();
  peer.meet(solo.want()->data);
  CHECK(peer.theirs().flags == kHelloWantsDoorbells);
}

TEST_CASE("slots beyond the last doorbell are not taken although they look whole", "[channel][doorbell][E12]") {
  Rung solo;
  solo.accept();
  for (std::uint32_t n = 1; n <= 3; ++n) solo.place(pattern(n * 10, n), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages().empty());
  for (std::uint32_t n = 1; n <= 3; ++n) {
    solo.ring();
    solo.rounds(4);
    REQUIRE(solo.messages().size() == n);
    CHECK(solo.messages().back() == pattern(n * 10, n));
  }
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a doorbell covers all slots of its write, and no other", "[channel][doorbell][E12]") {
  Rung solo;
  solo.accept();
  for (std::uint32_t n = 1; n <= 3; ++n) solo.place(pattern(n, n), n == 3 ? kWholeRung : kWhole);
  solo.place(pattern(4, 4), kWholeRung);
  solo.ring();
  solo.rounds(3);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(1, 1), pattern(2, 2), pattern(3, 3)});
  solo.ring();
  solo.rounds();
  CHECK(solo.messages().size() == 4);
}

TEST_CASE("doorbells that come together are all answered", "[channel][doorbell]") {
  Rung solo;
  FakePeer& peer = solo.accept();
  for (std::uint32_t n = 1; n <= 5; ++n) peer.send(pattern(n, n));
  solo.rounds();
  CHECK(solo.messages().size() == 5);
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a slot that lands in pieces is not taken before its doorbell", "[channel][doorbell][E12]") {
  Rung solo;
  FakePeer& peer = solo.accept();
  const Bytes payload = pattern(60);
  // event: behind a slot that was rung for, trailer and commit word are there, the payload is not
  peer.send(pattern(10));
  const Bytes slot = peer.seal(SlotKind::kPayload, payload, kWholeRung);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  solo.rounds(4);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(10)});
  peer.place(slot, payload_offset(512, 60), 64);
  peer.advance();
  solo.rounds(4);
  CHECK(solo.messages().size() == 1);
  solo.ring();
  solo.rounds();
  // Expect
  CHECK(solo.messages() == std::vector<Bytes>{pattern(10), payload});
}

TEST_CASE("the upper layer sees the marks of its message and nothing else", "[channel][doorbell]") {
  Rung solo;
  FakePeer& peer = solo.accept();
  peer.send(pattern(488), kMarkFirst);
  peer.send(pattern(488), 0);
  peer.send(pattern(9), kMarkLast);
  peer.send(pattern(9), kWhole);
  solo.rounds();
  std::vector<unsigned> marks;
  for (const UpperLog::Piece& piece : solo.upper.pieces) marks.push_back(piece.marks);
  CHECK(marks == std::vector<unsigned>{kMarkFirst, 0, kMarkLast, kWhole});
}

TEST_CASE("a doorbell without a slot fails its channel, and only it", "[channel][doorbell]") {
  Rung solo;
  solo.accept(1);
  FakePeer& other = solo.accept(2);
  solo.ring(1);
  solo.rounds();
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].peer == 1);
  CHECK(solo.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(solo.upper.failures[0].text, Contains("breaks the wire"));
  other.send(pattern(30));
  solo.rounds();
  CHECK(solo.messages(2).size() == 1);
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("a doorbell that was not asked for fails its channel, and only it", "[channel][doorbell]") {
  Solo solo;
  solo.accept(1);
  FakePeer& other = solo.accept(2);
  solo.ring(1);
  solo.rounds();
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].peer == 1);
  CHECK(solo.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(solo.upper.failures[0].text, Contains("not asked for"));
  other.send(pattern(30));
  solo.rounds();
  CHECK(solo.upper.messages[2].size() == 1);
  CHECK(solo.upper.failures.size() == 1);
}

TEST_CASE("a doorbell of a failed channel is of no account", "[channel][doorbell][fail]") {
  Rung solo;
  solo.accept();
  for (unsigned n = 0; n < 3; ++n) solo.ring();
  solo.rounds(4);
  CHECK(solo.upper.failures.size() == 1);
}

// ---- opening and losing

TEST_CASE("doorbells that come before the connected event are not lost", "[channel][doorbell][connect]") {
  Rung solo;
  FakePeer& peer = solo.request();
  peer.greet();
  peer.send(pattern(40));
  solo.rounds(4);
  CHECK(solo.messages().empty());
  solo.port.connected(solo.port.accepted.back(), {});
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(40)});
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("doorbells of an attempt that was lost do not count for the next", "[channel][doorbell][connect]") {
  Rung solo;
  solo.request(1, 1).greet();
  solo.rounds(2);
  solo.port.lost(solo.port.accepted.back(), "reset");
  solo.rounds(FakeContext::kEventRounds);
  FakePeer& peer = solo.request(1, 2);
  solo.port.connected(solo.port.accepted.back(), {});
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.upper.failures.empty());
  peer.greet();
  peer.send(pattern(40));
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(40)});
}

// While an attempt of another channel is out, events are looked for in every round.
TEST_CASE("a loss waits for the doorbells in the queue", "[channel][doorbell][fail]") {
  Rung solo;
  FakePeer& peer = solo.accept(1);
  solo.want(2);
  solo.port.doorbells_per_poll = 1;
  for (std::uint32_t n = 1; n <= 5; ++n) peer.send(pattern(n, n));
  solo.port.lost(solo.port.accepted.back(), "the peer closed the connection");
  solo.rounds(10);
  CHECK(solo.messages().size() == 5);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
}

TEST_CASE("a doorbell that comes between the empty poll and the loss is read before it",
          "[channel][doorbell][fail]") {
  Rung solo;
  FakePeer& peer = solo.accept(1);
  solo.want(2);
  solo.port.before_events = [&] {
    solo.port.before_events = nullptr;
    peer.send(pattern(40));
    solo.port.lost(solo.port.accepted.back(), "the peer closed the connection");
  };
  solo.rounds(4);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(40)});
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
}

TEST_CASE("what lies there without a doorbell is not delivered when the peer is lost", "[channel][doorbell][fail]") {
  Rung solo;
  solo.accept();
  solo.place(pattern(40), kWholeRung);
  solo.port.lost(solo.port.accepted.back(), "gone");
  solo.rounds(FakeContext::kEventRounds + 2);
  CHECK(solo.messages().empty());
  CHECK(solo.upper.failures.size() == 1);
}

// ---- growing

TEST_CASE("the request for a larger ring, and the slots of that ring, are taken by doorbell",
          "[channel][doorbell][E5]") {
  Rung solo;
  FakePeer& peer = solo.accept();
  peer.ask({1, 1});
  solo.rounds(2);
  CHECK(solo.channel().receive_phase() == 1);
  peer.follow_ack();
  const Bytes slot = peer.seal(SlotKind::kPayload, pattern(5000), kWholeRung);
  peer.place(slot, 0, slot.size());
  peer.advance();
  solo.rounds(4);
  CHECK(solo.messages().empty());
  solo.ring();
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(5000)});
}

TEST_CASE("by doorbell, both directions and all phases work the same", "[channel][duo][doorbell][E12]") {
  for (const Arrival other : {Arrival::kDoorbell, Arrival::kChecked}) {
    Duo duo(settings(three_phases()));
    duo.side[0].port.arrives = Arrival::kDoorbell;
    duo.side[1].port.arrives = other;
    duo.open();
    for (std::uint32_t n = 0; n < 20; ++n) {
      const Vector vector({1 + n * n * 9}, n);
      duo.send_all(n % 2, vector);
      duo.settle();
      CHECK(duo.side[1 - n % 2].messages().back() == vector.bytes());
    }
  }
}

}  // namespace
}  // namespace bufenlarge::test
