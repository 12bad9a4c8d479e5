// SPDX-License-Identifier: MIT
#include "channel/receive_ring.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using Marks = std::vector<std::uint8_t>;

ChannelSettings large_slots() { return settings(phases({{1024, 4}})); }

SlotTrailer part(std::uint32_t bytes, std::uint8_t marks) {
  SlotTrailer trailer{};
  trailer.bytes = bytes;
  trailer.marks = marks;
  return trailer;
}

TEST_CASE("a slot that is placed in order is there when its commit word is", "[receivering]") {
  RingsFixture fixture;
  CHECK(fixture.look() == SlotState::kEmpty);
  const Bytes slot = fixture.peer.seal(SlotKind::kPayload, pattern(100), kMarksOfMessage);
  fixture.peer.place(slot, 0, slot.size() - 1);
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.peer.place(slot, slot.size() - 1, 1);
  SlotTrailer trailer;
  CHECK(fixture.look(trailer) == SlotState::kReady);
  CHECK(trailer.bytes == 100);
  CHECK(trailer.marks == kMarksOfMessage);
}

TEST_CASE("a slot of another ring or longer than one is not valid", "[receivering]") {
  RingsFixture fixture;
  fixture.peer.epoch = 1;
  fixture.peer.send(pattern(8));
  CHECK(fixture.look() == SlotState::kInvalid);
  fixture.receive_ring.next_epoch();
  CHECK(fixture.look() == SlotState::kReady);

  RingsFixture other;
  Bytes slot = other.peer.seal(SlotKind::kPayload, pattern(8), 0);
  trailer_of(slot.data(), 512)->bytes = 512 - kTrailerBytes + 1;
  other.peer.place(slot, 0, slot.size());
  CHECK(other.look() == SlotState::kInvalid);
}

TEST_CASE("slots are found in order, over the end of the ring", "[receivering]") {
  RingsFixture fixture(settings(phases({{128, 4}})));
  for (std::uint32_t n = 0; n < 11; ++n) {
    fixture.peer.send(pattern(20, n));
    SlotTrailer trailer;
    const std::byte* payload = fixture.take_slot(trailer);
    CHECK(std::ranges::equal(std::span(payload, trailer.bytes), pattern(20, n)));
    CHECK(fixture.look() == SlotState::kEmpty);
    fixture.receive_ring.consumer().report();
  }
}

TEST_CASE("where bytes come in any order, a slot is there when its check holds", "[receivering]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kChecked);
  const Bytes slot = fixture.peer.seal(SlotKind::kPayload, pattern(100), kMarksOfMessage);
  const std::size_t hole = slot.size() - kTrailerBytes - 50;
  fixture.peer.place(slot, hole + 1, slot.size() - hole - 1);
  fixture.peer.place(slot, 0, hole);
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.peer.place(slot, hole, 1);
  CHECK(fixture.look() == SlotState::kReady);
}

TEST_CASE("where writes are notified, a slot is there only after its notification", "[receivering][R3]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kNotified);
  fixture.peer.on_notified = [] {};
  fixture.peer.send(pattern(8));
  CHECK(fixture.look() == SlotState::kEmpty);
  CHECK_FALSE(fixture.receive_ring.notified());
  fixture.receive_ring.on_notification();
  CHECK(fixture.receive_ring.notified());
  CHECK(fixture.listed_as_notified());
  SlotTrailer trailer;
  fixture.take_slot(trailer);
  CHECK_FALSE(fixture.receive_ring.notified());
  CHECK(fixture.look() == SlotState::kEmpty);
}

TEST_CASE("a notification is for all slots of its write, and ends with the marked one", "[receivering][R3]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kNotified);
  for (const std::uint8_t marks : Marks{0, 0, kMarkNotified, kMarkNotified}) fixture.peer.send(pattern(8), marks);
  fixture.receive_ring.on_notification();
  fixture.receive_ring.on_notification();
  SlotTrailer trailer;
  for (unsigned n = 0; n < 3; ++n) {
    CHECK(fixture.receive_ring.notified());
    fixture.take_slot(trailer);
  }
  CHECK(fixture.receive_ring.notified());
  fixture.take_slot(trailer);
  CHECK_FALSE(fixture.receive_ring.notified());
}

TEST_CASE("a notification without the slot that it is for breaks the protocol", "[receivering][R3]") {
  for (const Arrival arrival : {Arrival::kNotified, Arrival::kMixed}) {
    RingsFixture fixture(settings(two_phases()), arrival);
    fixture.receive_ring.on_notification();
    CHECK(fixture.look() == SlotState::kInvalid);
  }
}

TEST_CASE("a mixed ring takes small slots by their check and marked ones by notification", "[receivering][mixed]") {
  RingsFixture fixture(large_slots(), Arrival::kMixed);
  fixture.peer.on_notified = [] {};
  SlotTrailer trailer;
  fixture.peer.send(pattern(kCheckedBytesMax));
  fixture.take_slot(trailer);
  fixture.peer.send(pattern(kCheckedBytesMax + 1));
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.receive_ring.on_notification();
  fixture.take_slot(trailer);
  CHECK((trailer.marks & kMarkNotified) != 0);
  CHECK_FALSE(fixture.receive_ring.notified());
}

TEST_CASE("a mixed ring takes a marked slot by its notification even if its check holds", "[receivering][mixed]") {
  RingsFixture fixture(large_slots(), Arrival::kMixed);
  Bytes slot = fixture.peer.seal(SlotKind::kPayload, pattern(8), kMarksOfMessage | kMarkNotified);
  SlotTrailer* trailer = trailer_of(slot.data(), 1024);
  trailer->check = slot_check(slot.data() + payload_offset(1024, 8), *trailer);
  fixture.peer.place(slot, 0, slot.size());
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.receive_ring.on_notification();
  CHECK(fixture.look() == SlotState::kReady);
}

TEST_CASE("a notification that was not asked for breaks the protocol", "[receivering][R3]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kChecked}) {
    RingsFixture fixture(settings(two_phases()), arrival);
    fixture.receive_ring.on_notification();
    fixture.check_failure(Status::kProtocolError, "not asked for");
    CHECK_FALSE(fixture.receive_ring.notified());
  }
}

TEST_CASE("notifications before the connection's event count when the ring is watched", "[receivering][R3]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kNotified);
  fixture.receive_ring.on_notification();
  CHECK(fixture.listed_as_notified());  // nobody could take the slot then
  fixture.receive_ring.watch();
  CHECK(fixture.listed_as_notified());
  fixture.receive_ring.forget_notifications();
  fixture.receive_ring.watch();
  CHECK_FALSE(fixture.listed_as_notified());
  fixture.link.fail(Status::kPeerFailed, "gone");
  fixture.receive_ring.on_notification();
  CHECK_FALSE(fixture.receive_ring.notified());
}

TEST_CASE("a watched ring stands in the poll set once, with the next slot that is to come", "[receivering]") {
  RingsFixture fixture;
  auto& rings = fixture.core.rings;
  fixture.receive_ring.watch();
  fixture.receive_ring.watch();
  REQUIRE(rings.size() == 1);
  CHECK(rings.of(0)[0].channel == &fixture.channel);
  CHECK_FALSE(rings.of(0)[0].arrived());
  SlotTrailer trailer;
  for (unsigned n = 0; n < 20; ++n) {
    fixture.peer.send(pattern(8));
    CHECK(rings.of(0)[0].arrived());
    fixture.take_slot(trailer);
    fixture.receive_ring.watch_next_slot();
    CHECK_FALSE(rings.of(0)[0].arrived());
    fixture.receive_ring.consumer().report();
  }
  fixture.receive_ring.unwatch();
  fixture.receive_ring.unwatch();
  CHECK(rings.size() == 0);
}

TEST_CASE("a ring that learns of slots by notification alone is not looked at", "[receivering][R3]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kNotified);
  fixture.receive_ring.watch();
  fixture.peer.send(pattern(8));
  CHECK_FALSE(fixture.core.rings.of(0)[0].arrived());
  fixture.receive_ring.unwatch();
}

TEST_CASE("fragments go up with their marks and are counted", "[receivering]") {
  RingsFixture fixture;
  const Bytes data = pattern(60);
  for (const std::uint8_t marks : Marks{kMarkFirst, 0, kMarkLast | kMarkNotified, kMarksOfMessage})
    fixture.receive_ring.deliver(data.data(), part(60, marks));
  std::vector<unsigned> marks;
  for (const auto& fragment : fixture.upper.take()) {
    marks.push_back(fragment.marks);
    CHECK(fragment.peer == kPeerRank);
    CHECK(fragment.bytes == data);
  }
  CHECK(marks == std::vector<unsigned>{kMarkFirst, 0, kMarkLast, kMarksOfMessage});
  CHECK(fixture.receive_ring.counters().messages == 2);
  CHECK(fixture.receive_ring.counters().messages_fragmented == 1);
  CHECK(fixture.receive_ring.counters().bytes_in_phase[0] == 240);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a fragment that begins an open message or goes on with none breaks the protocol", "[receivering]") {
  for (const bool open : {false, true}) {
    RingsFixture fixture;
    const Bytes data = pattern(60);
    if (open) fixture.receive_ring.deliver(data.data(), part(60, kMarkFirst));
    (void)fixture.upper.take();
    fixture.receive_ring.deliver(data.data(), part(60, open ? kMarkFirst : kMarkLast));
    fixture.check_failure(Status::kProtocolError, "mixed up the fragments");
    CHECK(fixture.upper.fragments.empty());
  }
}

TEST_CASE("a message stays open when its ring is exchanged", "[receivering]") {
  RingsFixture fixture;
  const Bytes data = pattern(60);
  fixture.receive_ring.deliver(data.data(), part(60, kMarkFirst));
  REQUIRE(fixture.receive_ring.provision(two_phases().at(1)));
  fixture.receive_ring.start(1, 1);
  fixture.receive_ring.deliver(data.data(), part(60, kMarkLast));
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.upper.messages[kPeerRank].size() == 1);
  CHECK(fixture.receive_ring.counters().bytes_in_phase[1] == 60);
}

TEST_CASE("the peer gets a grant word when half of the ring is unreported", "[receivering]") {
  RingsFixture fixture;
  SlotTrailer trailer;
  for (unsigned n = 1; n <= 8; ++n) {
    CHECK(fixture.port.writes.empty());
    fixture.peer.send(pattern(8));
    fixture.take_slot(trailer);
    fixture.receive_ring.maybe_grant();
  }
  CHECK(fixture.port.writes.size() == 1);
  CHECK(read_grant(fixture.peer.inbox().grant) == 8);
  fixture.receive_ring.maybe_grant();
  CHECK(fixture.port.writes.size() == 1);
}

TEST_CASE("a grant that could not be written is due until it is, and says what is consumed by then", "[receivering]") {
  RingsFixture fixture(settings(phases({{128, 4}})));
  SlotTrailer trailer;
  fixture.answer(WriteResult::kAgain);
  for (unsigned n = 0; n < 3; ++n) {
    fixture.peer.send(pattern(8));
    fixture.take_slot(trailer);
    fixture.receive_ring.maybe_grant();
  }
  CHECK(fixture.receive_ring.grant_due());
  CHECK(fixture.wants_service());
  fixture.answer_as_usual();
  fixture.send_ring.stage_control(SlotKind::kHello, {});  // reports it, but is not on its way yet
  fixture.receive_ring.maybe_grant();
  CHECK_FALSE(fixture.receive_ring.grant_due());
  CHECK(read_grant(fixture.peer.inbox().grant) == 3);
  CHECK_FALSE(fixture.wants_service());
  CHECK_FALSE(fixture.receive_ring.consumer().owes_grant());
}

TEST_CASE("a ring that starts anew is empty, owes nothing and has no old bytes", "[receivering]") {
  RingsFixture fixture(settings(phases({{128, 4}})));
  SlotTrailer trailer;
  fixture.answer(WriteResult::kAgain);
  for (unsigned n = 0; n < 3; ++n) {
    fixture.peer.send(pattern(8));
    fixture.take_slot(trailer);
  }
  fixture.receive_ring.maybe_grant();
  CHECK(fixture.receive_ring.grant_due());
  fixture.receive_ring.clear();
  fixture.receive_ring.start(0, 0);
  CHECK_FALSE(fixture.receive_ring.grant_due());
  CHECK(fixture.look() == SlotState::kEmpty);  // the first slot's commit word was this one
  CHECK(fixture.receive_ring.consumer().consumed() == 0);
  fixture.refuse_memory();
  CHECK_FALSE(fixture.receive_ring.provision(phases({{128, 8}}).at(0), Ledger::Use::kGrown));
  CHECK(fixture.receive_ring.has_ring());
}

}  // namespace
}  // namespace bufenlarge::test
