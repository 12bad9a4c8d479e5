// SPDX-License-Identifier: MIT
// Mixed arrival: small slots are taken when their check holds, what was rung for as far as a doorbell
// covers it and no further, whatever lies there.
#include <catch2/catch.hpp>

#include "support/solo.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint8_t kWhole = kMarkFirst | kMarkLast;
constexpr std::uint8_t kWholeRung = kWhole | kMarkRung;
constexpr std::uint32_t kStride = 2048;

// One side that takes slots both ways; slots are placed, and rung for, apart.
class Mixed : public Solo {
 public:
  Mixed() : Solo(settings(phases({{kStride, 16}, {8192, 16}}))) { port.arrives = Arrival::kMixed; }
  // A slot of the peer that lies there whole, with no doorbell yet.
  void place(const Bytes& payload, std::uint8_t marks) {
    place_slot(peer().seal(SlotKind::kPayload, payload, marks));
  }
  // The same with a check that holds, whether the protocol has one there or not.
  void place_checked(const Bytes& payload, std::uint8_t marks) {
    Bytes slot = peer().seal(SlotKind::kPayload, payload, marks);
    SlotTrailer* trailer = trailer_of(slot.data(), kStride);
    trailer->check = 0;
    trailer->check = slot_check(payload.data(), *trailer);
    place_slot(slot);
  }
  [[nodiscard]] std::vector<Bytes>& messages() { return upper.messages[1]; }

 private:
  void place_slot(const Bytes& slot) {
    peer().place(slot, 0, slot.size());
    peer().advance();
  }
};

TEST_CASE("a mixed side asks for checks and for doorbells", "[channel][mixed]") {
  Mixed solo;
  FakePeer& peer = solo.peer();
  peer.meet(solo.want()->data);
  CHECK(peer.theirs().flags == (kHelloVerifiesSlots | kHelloWantsDoorbells));
}

TEST_CASE("small slots are taken without a doorbell", "[channel][mixed][E12]") {
  Mixed solo;
  solo.accept();
  for (std::uint32_t n = 1; n <= 4; ++n) solo.place(pattern(n * 128, n), kWhole);
  solo.rounds();
  REQUIRE(solo.messages().size() == 4);
  for (std::uint32_t n = 1; n <= 4; ++n) CHECK(solo.messages()[n - 1] == pattern(n * 128, n));
}

TEST_CASE("a small slot that is torn is not taken before its check holds", "[channel][mixed][E12]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  const Bytes payload = pattern(60);
  const Bytes slot = peer.seal(SlotKind::kPayload, payload, kWhole);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  solo.rounds(4);
  CHECK(solo.messages().empty());
  peer.place(slot, payload_offset(kStride, 60), 32);
  solo.rounds(4);
  CHECK(solo.messages().empty());
  peer.place(slot, 0, slot.size());
  peer.advance();
  solo.rounds();
  // Expect
  CHECK(solo.messages() == std::vector<Bytes>{payload});
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a large slot that looks whole is not taken before its doorbell", "[channel][mixed][E12]") {
  for (const bool check_holds : {false, true}) {
    Mixed solo;
    solo.accept();
    INFO("its check holds: " << check_holds);
    if (check_holds)
      solo.place_checked(pattern(513), kWhole);
    else
      solo.place(pattern(513), kWhole);
    solo.place(pattern(1000), kWholeRung);
    solo.rounds(4);
    CHECK(solo.messages().empty());
    solo.ring();
    solo.rounds();
    // Expect
    CHECK(solo.messages() == std::vector<Bytes>{pattern(513), pattern(1000)});
    CHECK(solo.upper.failures.empty());
  }
}

TEST_CASE("a large slot that lands in pieces is not taken before its doorbell", "[channel][mixed][E12]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  // event: behind a slot that was rung for, trailer and commit word are there, the payload is not
  peer.send(pattern(600));
  const Bytes slot = peer.seal(SlotKind::kPayload, pattern(1000), kWholeRung);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  solo.rounds(4);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(600)});
  peer.place(slot, 0, slot.size());
  peer.advance();
  solo.ring();
  solo.rounds();
  // Expect
  CHECK(solo.messages() == std::vector<Bytes>{pattern(600), pattern(1000)});
}

// The count of doorbells ends at 0: what comes behind is neither missed nor taken too early.
TEST_CASE("small slots at the front of a rung write may be taken early, the marked one may not",
          "[channel][mixed][E12]") {
  Mixed solo;
  solo.accept();
  solo.place(pattern(10), kWhole);
  solo.place(pattern(20), kWhole);
  solo.place(pattern(1000), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages() == std::vector<Bytes>{pattern(10), pattern(20)});
  solo.ring();
  solo.rounds();
  CHECK(solo.messages().size() == 3);
  // event: another write that is rung for, and no doorbell yet
  solo.place(pattern(1100), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages().size() == 3);
  solo.ring();
  solo.place(pattern(30), kWhole);
  solo.rounds();
  // Expect
  CHECK(solo.messages().size() == 5);
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a small slot that is marked waits for its doorbell even if its check holds", "[channel][mixed][E12]") {
  Mixed solo;
  solo.accept();
  solo.place_checked(pattern(20), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages().empty());
  solo.ring();
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(20)});
  // Taken early, its doorbell would cover what comes behind it.
  solo.place(pattern(1000), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages().size() == 1);
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a small slot between two doorbells is not in the way of the second", "[channel][mixed]") {
  Mixed solo;
  solo.accept();
  solo.place(pattern(1000), kWholeRung);
  solo.ring();
  solo.place(pattern(20), kWhole);
  solo.place(pattern(1100), kWholeRung);
  solo.ring();
  solo.place(pattern(30), kWhole);
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(1000), pattern(20), pattern(1100), pattern(30)});
  CHECK(solo.upper.failures.empty());
}

TEST_CASE("a doorbell counts whether it comes before the commit word was looked at or after", "[channel][mixed]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  peer.send(pattern(1000));
  solo.rounds();
  CHECK(solo.messages().size() == 1);
  solo.place(pattern(1100), kWholeRung);
  solo.rounds(3);
  CHECK(solo.messages().size() == 1);
  solo.ring();
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(1000), pattern(1100)});
}

TEST_CASE("the upper layer sees no mark of a doorbell in mixed arrival", "[channel][mixed]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  peer.send(pattern(2024), kMarkFirst);
  peer.send(pattern(9), kMarkLast);
  solo.rounds();
  std::vector<unsigned> marks;
  for (const UpperLog::Piece& piece : solo.upper.pieces) marks.push_back(piece.marks);
  CHECK(marks == std::vector<unsigned>{kMarkFirst, kMarkLast});
}

TEST_CASE("a doorbell without a slot fails the channel of a mixed side, too", "[channel][mixed][fail]") {
  Mixed solo;
  solo.accept();
  solo.ring();
  solo.rounds();
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(solo.upper.failures[0].text, Contains("breaks the wire"));
}

TEST_CASE("a large slot that breaks the protocol is told when its doorbell comes", "[channel][mixed][fail]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  peer.epoch = 7;
  solo.place(pattern(1000), kWholeRung);
  solo.rounds(4);
  CHECK(solo.upper.failures.empty());
  solo.ring();
  solo.rounds();
  CHECK(solo.upper.failures.size() == 1);
}

// While an attempt of another channel is out, events are looked for in every round.
TEST_CASE("a loss waits for the doorbells in the queue of a mixed side", "[channel][mixed][fail]") {
  Mixed solo;
  FakePeer& peer = solo.accept(1);
  solo.want(2);
  solo.port.doorbells_per_poll = 1;
  for (std::uint32_t n = 0; n < 6; ++n) peer.send(pattern(n % 2 == 0 ? 1000 : 20, n));
  solo.port.lost(solo.port.accepted.back(), "the peer closed the connection");
  solo.rounds(10);
  CHECK(solo.messages().size() == 6);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
}

// ---- growing

TEST_CASE("in a larger ring a mixed side takes slots both ways", "[channel][mixed][E5]") {
  Mixed solo;
  FakePeer& peer = solo.accept();
  peer.ask({1, 1});
  solo.rounds(2);
  REQUIRE(solo.channel().receive_phase() == 1);
  peer.follow_ack();
  solo.place(pattern(5000), kWholeRung);
  solo.rounds(4);
  CHECK(solo.messages().empty());
  solo.ring();
  solo.place(pattern(40), kWhole);
  solo.rounds();
  CHECK(solo.messages() == std::vector<Bytes>{pattern(5000), pattern(40)});
}

TEST_CASE("mixed arrival works in both directions and all phases, beside any other", "[channel][duo][mixed][E12]") {
  for (const Arrival other : {Arrival::kMixed, Arrival::kDoorbell, Arrival::kChecked}) {
    Duo duo(settings(phases({{128, 4}, {1024, 4}, {4096, 4}})));
    duo.side[0].port.arrives = Arrival::kMixed;
    duo.side[1].port.arrives = other;
    duo.open();
    for (std::uint32_t n = 0; n < 40; ++n) {
      const Vector vector({1 + n / 2 * n * 6, 1 + n}, n);
      duo.send_all(n % 2, vector);
      duo.settle();
      CHECK(duo.side[1 - n % 2].messages().back() == vector.bytes());
    }
    CHECK(duo.side[0].channel().receive_phase() == 2);
    unsigned rung = 0;
    unsigned slots = 0;
    for (const FakePort::Write& write : duo.side[1].port.writes) {
      rung += write.use == WriteUse::kRungSlots;
      slots += write.use == WriteUse::kSlots;
    }
    CHECK(rung > 0);
    CHECK(slots > 0);
  }
}

}  // namespace
}  // namespace bufenlarge::test
