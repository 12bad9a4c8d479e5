// SPDX-License-Identifier: MIT
// Mixed arrival: a channel takes small slots when their check holds, and larger ones as far as a notification covers
// them and no further, whatever lies there.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint8_t kWhole = kMarkFirst | kMarkLast;
constexpr std::uint8_t kWholeNotified = kWhole | kMarkNotified;
constexpr std::uint32_t kStride = 2048;

// One side that takes slots by check and by notification. The test places slots and notifies for them apart.
class Mixed : public ContextFixture {
 public:
  Mixed() : ContextFixture(settings(phases({{kStride, 16}, {8192, 16}}))) { port.arrives = Arrival::kMixed; }
  // Places a whole slot of the peer, with no notification yet.
  void place(const Bytes& payload, std::uint8_t marks) {
    place_slot(peer().seal(SlotKind::kPayload, payload, marks));
  }
  // Does the same with a check that holds, whether the protocol has one there or not.
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

TEST_CASE("a mixed side asks for checks and for notifications", "[channel][mixed]") {
  Mixed fixture;
  FakePeer& peer = fixture.peer();
  peer.meet(fixture.want()->data);
  CHECK(peer.theirs().flags == (kHelloVerifiesSlots | kHelloWantsNotifications));
}

TEST_CASE("small slots are taken without a notification", "[channel][mixed][E12]") {
  Mixed fixture;
  fixture.accept();
  for (std::uint32_t n = 1; n <= 4; ++n) fixture.place(pattern(n * 128, n), kWhole);
  fixture.rounds();
  REQUIRE(fixture.messages().size() == 4);
  for (std::uint32_t n = 1; n <= 4; ++n) CHECK(fixture.messages()[n - 1] == pattern(n * 128, n));
}

TEST_CASE("a small slot that is torn is not taken before its check holds", "[channel][mixed][E12]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  const Bytes payload = pattern(60);
  const Bytes slot = peer.seal(SlotKind::kPayload, payload, kWhole);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  peer.place(slot, payload_offset(kStride, 60), 32);
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  peer.place(slot, 0, slot.size());
  peer.advance();
  fixture.rounds();
  // Expect
  CHECK(fixture.messages() == std::vector<Bytes>{payload});
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a large slot that looks whole is not taken before its notification", "[channel][mixed][E12]") {
  for (const bool check_holds : {false, true}) {
    Mixed fixture;
    fixture.accept();
    INFO("its check holds: " << check_holds);
    if (check_holds)
      fixture.place_checked(pattern(513), kWhole);
    else
      fixture.place(pattern(513), kWhole);
    fixture.place(pattern(1000), kWholeNotified);
    fixture.rounds(4);
    CHECK(fixture.messages().empty());
    fixture.notify();
    fixture.rounds();
    // Expect
    CHECK(fixture.messages() == std::vector<Bytes>{pattern(513), pattern(1000)});
    CHECK(fixture.upper.failures.empty());
  }
}

TEST_CASE("a large slot that lands in parts is not taken before its notification", "[channel][mixed][E12]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  // event: behind a slot that was notified for, trailer and commit word are there, the payload is not
  peer.send(pattern(600));
  const Bytes slot = peer.seal(SlotKind::kPayload, pattern(1000), kWholeNotified);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  fixture.rounds(4);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(600)});
  peer.place(slot, 0, slot.size());
  peer.advance();
  fixture.notify();
  fixture.rounds();
  // Expect
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(600), pattern(1000)});
}

// The count of notifications ends at 0: what comes behind is neither missed nor taken too early.
TEST_CASE("small slots at the front of a notified write may be taken early, the marked one may not",
          "[channel][mixed][E12]") {
  Mixed fixture;
  fixture.accept();
  fixture.place(pattern(10), kWhole);
  fixture.place(pattern(20), kWhole);
  fixture.place(pattern(1000), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(10), pattern(20)});
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.messages().size() == 3);
  // event: another write that is notified for, and no notification yet
  fixture.place(pattern(1100), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages().size() == 3);
  fixture.notify();
  fixture.place(pattern(30), kWhole);
  fixture.rounds();
  // Expect
  CHECK(fixture.messages().size() == 5);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a small slot that is marked waits for its notification even if its check holds", "[channel][mixed][E12]") {
  Mixed fixture;
  fixture.accept();
  fixture.place_checked(pattern(20), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(20)});
  // Taken early, its notification would cover what comes behind it.
  fixture.place(pattern(1000), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages().size() == 1);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a small slot between two notifications does not hold up the second", "[channel][mixed]") {
  Mixed fixture;
  fixture.accept();
  fixture.place(pattern(1000), kWholeNotified);
  fixture.notify();
  fixture.place(pattern(20), kWhole);
  fixture.place(pattern(1100), kWholeNotified);
  fixture.notify();
  fixture.place(pattern(30), kWhole);
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(1000), pattern(20), pattern(1100), pattern(30)});
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a notification counts whether it comes before the commit word was looked at or after", "[channel][mixed]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  peer.send(pattern(1000));
  fixture.rounds();
  CHECK(fixture.messages().size() == 1);
  fixture.place(pattern(1100), kWholeNotified);
  fixture.rounds(3);
  CHECK(fixture.messages().size() == 1);
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(1000), pattern(1100)});
}

TEST_CASE("the upper layer sees no mark of a notification in mixed arrival", "[channel][mixed]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  peer.send(pattern(2024), kMarkFirst);
  peer.send(pattern(9), kMarkLast);
  fixture.rounds();
  std::vector<unsigned> marks;
  for (const UpperLog::Fragment& fragment : fixture.upper.fragments) marks.push_back(fragment.marks);
  CHECK(marks == std::vector<unsigned>{kMarkFirst, kMarkLast});
}

TEST_CASE("a notification without a slot fails the channel of a mixed side, too", "[channel][mixed][fail]") {
  Mixed fixture;
  fixture.accept();
  fixture.notify();
  fixture.rounds();
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("breaks the wire"));
}

TEST_CASE("a large slot that breaks the protocol fails the channel when its notification comes",
          "[channel][mixed][fail]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  peer.epoch = 7;
  fixture.place(pattern(1000), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.upper.failures.empty());
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.upper.failures.size() == 1);
}

// While an attempt of another channel is out, every round polls for events.
TEST_CASE("a loss waits for the notifications in the queue of a mixed side", "[channel][mixed][fail]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept(1);
  fixture.want(2);
  fixture.port.notifications_per_poll = 1;
  for (std::uint32_t n = 0; n < 6; ++n) peer.send(pattern(n % 2 == 0 ? 1000 : 20, n));
  fixture.port.lost(fixture.port.accepted.back(), "the peer closed the connection");
  fixture.rounds(10);
  CHECK(fixture.messages().size() == 6);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
}

// ---- growing

TEST_CASE("in a larger ring a mixed side takes slots by check and by notification", "[channel][mixed][E5]") {
  Mixed fixture;
  FakePeer& peer = fixture.accept();
  peer.ask({1, 1});
  fixture.rounds(2);
  REQUIRE(fixture.channel().receive_ring().phase() == 1);
  peer.follow_ack();
  fixture.place(pattern(5000), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  fixture.notify();
  fixture.place(pattern(40), kWhole);
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(5000), pattern(40)});
}

TEST_CASE("mixed arrival works in both directions and all phases, beside any other", "[channel][pair][mixed][E12]") {
  for (const Arrival other : {Arrival::kMixed, Arrival::kNotified, Arrival::kChecked}) {
    ContextPair pair(hot_settings(phases({{128, 4}, {1024, 4}, {4096, 4}}), 1));
    pair.side[0].port.arrives = Arrival::kMixed;
    pair.side[1].port.arrives = other;
    pair.open();
    for (std::uint32_t n = 0; n < 40; ++n) {
      const Vector vector({1 + n / 2 * n * 6, 1 + n}, n);
      pair.send_all(n % 2, vector);
      pair.settle();
      CHECK(pair.side[1 - n % 2].messages().back() == vector.bytes());
    }
    CHECK(pair.side[0].channel().receive_ring().phase() == 2);
    unsigned notified = 0;
    unsigned slots = 0;
    for (const FakePort::Write& write : pair.side[1].port.writes) {
      notified += write.use == WriteUse::kNotifiedSlots;
      slots += write.use == WriteUse::kSlots;
    }
    CHECK(notified > 0);
    CHECK(slots > 0);
  }
}

}  // namespace
}  // namespace bufenlarge::test
