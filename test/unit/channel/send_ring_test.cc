// SPDX-License-Identifier: MIT
#include "channel/send_ring.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using Arrivals = std::vector<FakePeer::Arrival>;
using Uses = std::vector<WriteUse>;

// Rings of 4 slots with room for 104 bytes each.
ChannelSettings small_ring() { return settings(phases({{128, 4}, {512, 4}})); }

Uses take_uses(RingsFixture& fixture) {
  Uses uses;
  for (const FakePort::Write& write : std::exchange(fixture.port.writes, {})) uses.push_back(write.use);
  return uses;
}

TEST_CASE("a message of one slot goes at once, in one write without the unused front", "[sendring]") {
  RingsFixture fixture;
  std::size_t sent = 0;
  const Vector message({100, 1, 99});
  REQUIRE(fixture.send_ring.send_single_slot(message.all(), sent));
  CHECK(sent == 200);
  CHECK(fixture.send_ring.all_posted());
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].bytes.size() == 200 + kTrailerBytes);
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].payload == message.bytes());
  CHECK(slots[0].trailer.marks == kMarksOfMessage);
  CHECK(fixture.send_ring.counters().messages == 1);
}

TEST_CASE("a message that is not the common case is left alone", "[sendring]") {
  RingsFixture fixture(small_ring());
  CHECK_FALSE(fixture.send({0}));
  CHECK_FALSE(fixture.send({105}));
  CHECK(fixture.stage(10, false) == 10);
  fixture.send_ring.flush();
  CHECK_FALSE(fixture.send({8}));  // a message is open
  CHECK(fixture.stage(10, true) == 10);
  CHECK_FALSE(fixture.send({8}));  // something is staged before it
  fixture.send_ring.flush();
  CHECK(fixture.send({104}));
  CHECK(fixture.send({1}));
  CHECK_FALSE(fixture.send({1}));  // no room
  CHECK(fixture.arrived().size() == 4);
  CHECK(fixture.send_ring.counters().messages == 3);
}

TEST_CASE("a full ring takes what fits, and goes on when slots are granted and their writes complete", "[sendring]") {
  RingsFixture fixture(small_ring());
  fixture.port.completes = false;
  CHECK(fixture.stage(1000, false) == 64 + 3 * 104);
  CHECK(fixture.send_ring.room() == 0);
  fixture.send_ring.flush();
  CHECK(fixture.arrived().size() == 4);
  fixture.peer.grant(2);
  CHECK(fixture.send_ring.room() == 0);  // the device may still read the slots
  fixture.port.complete(1);
  fixture.poll();
  CHECK(fixture.send_ring.room() == 2);
  CHECK(fixture.stage(300, true) == 92 + 104);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a peer that grants slots that were never posted breaks the protocol", "[sendring]") {
  RingsFixture fixture(small_ring());
  fixture.answer(WriteResult::kAgain);
  CHECK(fixture.stage(4 * 104) == 4 * 104);
  CHECK(fixture.send_ring.grant_low(0));
  CHECK_FALSE(fixture.send_ring.grant_low(1));
  fixture.peer.grant(1);
  CHECK(fixture.send_ring.room() == 0);
  fixture.check_failure(Status::kProtocolError, "granted slots that were never written");
}

TEST_CASE("a grant that comes with a slot makes room, and an older one changes nothing", "[sendring]") {
  RingsFixture fixture(small_ring());
  for (unsigned n = 0; n < 4; ++n) REQUIRE(fixture.send({8}));
  CHECK(fixture.send_ring.grant_low(3));
  CHECK(fixture.send_ring.room() == 3);
  CHECK(fixture.send_ring.grant_low(1));
  CHECK(fixture.send_ring.room() == 3);
  CHECK_FALSE(fixture.send_ring.grant_low(5));
}

TEST_CASE("what the port does not take stays staged, asks for service, and goes later in order", "[sendring]") {
  RingsFixture fixture;
  fixture.answer(WriteResult::kAgain);
  CHECK(fixture.send({100}, 1));  // it is taken all the same
  CHECK(fixture.wants_service());
  CHECK(fixture.stage(50, true, 2) == 50);
  fixture.send_ring.flush();
  CHECK(fixture.wants_service());
  CHECK_FALSE(fixture.send_ring.all_posted());
  CHECK(fixture.arrived().empty());
  fixture.answer_as_usual();
  fixture.send_ring.flush();
  CHECK_FALSE(fixture.wants_service());
  CHECK(fixture.send_ring.all_posted());
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].payload == pattern(100, 1));
  CHECK(slots[1].payload == pattern(50, 2));
}

TEST_CASE("a write that fails is a loss and leaves the slot unposted", "[sendring][loss]") {
  RingsFixture fixture;
  fixture.answer(WriteResult::kFailed);
  CHECK(fixture.send({100}));
  CHECK(fixture.link.lost());
  CHECK_FALSE(fixture.send_ring.all_posted());
  CHECK(fixture.port.refused_writes == 1);
  fixture.link.fail(Status::kPeerFailed, "gone");
  fixture.send_ring.flush();
  CHECK(fixture.port.refused_writes == 1);  // a failed channel writes no more
}

TEST_CASE("a copied write is complete with the one posted before it", "[sendring]") {
  RingsFixture fixture(small_ring());
  fixture.port.completes = false;
  CHECK(fixture.send({8}));
  CHECK(fixture.send_ring.all_complete());
  CHECK(fixture.send({104}));
  CHECK(fixture.send({8}));
  CHECK_FALSE(fixture.send_ring.all_complete());
  fixture.peer.grant(3);
  CHECK(fixture.send({8}));  // the last slot of the ring
  CHECK(fixture.send_ring.room() == 1);
  fixture.port.complete(1);
  fixture.poll();
  CHECK(fixture.send_ring.all_complete());
  CHECK(fixture.send_ring.room() == 3);
}

TEST_CASE("no more writes are in flight than a channel may have", "[sendring]") {
  RingsFixture fixture(settings(phases({{128, 64}})));
  fixture.port.completes = false;
  for (unsigned n = 0; n < kWritesInFlightMax; ++n) REQUIRE(fixture.send({104}));
  CHECK_FALSE(fixture.send({8}));
  CHECK(fixture.stage(8) == 8);
  fixture.send_ring.flush();
  CHECK(fixture.wants_service());
  CHECK(fixture.port.writes.size() == kWritesInFlightMax);
  fixture.port.complete(1);
  fixture.poll();
  fixture.send_ring.flush();
  CHECK(fixture.send_ring.all_posted());
}

TEST_CASE("neighbouring slots share a write, up to the ring's end and to a wide gap", "[sendring]") {
  RingsFixture fixture(small_ring());
  CHECK(fixture.stage(3 * 104) == 3 * 104);
  fixture.send_ring.flush();
  CHECK(take_uses(fixture) == Uses{WriteUse::kSlots});
  CHECK(fixture.arrived().size() == 3);
  fixture.peer.grant_all();
  fixture.poll();
  CHECK(fixture.stage(3 * 104) == 3 * 104);
  fixture.send_ring.flush();
  CHECK(take_uses(fixture) == Uses{WriteUse::kMoreSlots, WriteUse::kSlots});
  CHECK(fixture.arrived().size() == 3);

  RingsFixture wide(settings(phases({{8192, 4}})));
  for (const std::size_t bytes : {8u, 8u, 8000u}) CHECK(wide.stage(bytes) == bytes);
  wide.send_ring.flush();
  CHECK(take_uses(wide) == Uses{WriteUse::kMoreSlots, WriteUse::kSlots});
}

TEST_CASE("slots that are shorter than the peer's go one by one and end where the peer's end", "[sendring]") {
  RingsFixture fixture(small_ring());
  Phase shorter = phases({{64, 4}}).at(0);
  REQUIRE(fixture.send_ring.provision(shorter));
  fixture.send_ring.start(0, 4, 0, 0);
  fixture.send_ring.aim_at(fixture.peer.ring().address, fixture.peer.ring().key, 128);
  CHECK(fixture.send_ring.capacity() == 40);
  CHECK(fixture.stage(100) == 100);
  fixture.send_ring.flush();
  CHECK(take_uses(fixture) == Uses{WriteUse::kMoreSlots, WriteUse::kMoreSlots, WriteUse::kSlots});
  Bytes whole;
  for (const auto& slot : fixture.arrived()) whole.insert(whole.end(), slot.payload.begin(), slot.payload.end());
  CHECK(whole == pattern(100));
}

TEST_CASE("a paused direction takes nothing new and still writes what is staged", "[sendring]") {
  RingsFixture fixture;
  CHECK(fixture.stage(100) == 100);
  fixture.send_ring.pause();
  CHECK_FALSE(fixture.send_ring.open());
  CHECK_FALSE(fixture.send_ring.may_stage());
  fixture.send_ring.flush();
  CHECK(fixture.arrived().size() == 1);
  fixture.send_ring.resume();
  CHECK(fixture.send_ring.may_stage());
  fixture.link.set_state(PeerLink<FakePort>::State::kConnected);
  CHECK_FALSE(fixture.send_ring.open());
}

TEST_CASE("every slot carries a grant for all that was consumed, and is of the ring in use", "[sendring]") {
  RingsFixture fixture;
  SlotTrailer trailer;
  for (unsigned n = 0; n < 9; ++n) {
    fixture.peer.send(pattern(8));
    fixture.take_slot(trailer);
  }
  CHECK(fixture.receive_ring.consumer().owes_grant());
  const Bytes payload = pattern(20, 5);
  fixture.send_ring.stage_control(SlotKind::kReadRequest, payload);
  fixture.send_ring.flush();
  CHECK_FALSE(fixture.receive_ring.consumer().owes_grant());
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].kind() == SlotKind::kReadRequest);
  CHECK(slots[0].payload == payload);
  CHECK(slots[0].trailer.grant == 9);
  CHECK(slots[0].trailer.marks == 0);
  fixture.send_ring.start(1, 16, 1, 7);
  CHECK(fixture.stage(8) == 8);
  fixture.send_ring.flush();
  SlotTrailer last;
  std::memcpy(&last, fixture.port.writes.back().bytes.data() + 8, sizeof last);
  CHECK(last.epoch == 7);
  CHECK(last.commit == commit_word(1, 0));
}

TEST_CASE("each write for a peer that wants notifications has one, and its last slot is marked", "[sendring][R3]") {
  RingsFixture fixture(small_ring(), Arrival::kInOrder, kHelloWantsNotifications);
  CHECK(fixture.stage(3 * 104) == 3 * 104);
  fixture.send_ring.flush();
  CHECK(take_uses(fixture) == Uses{WriteUse::kNotifiedSlots});
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) CHECK(((slots[n].trailer.marks & kMarkNotified) != 0) == (n == 2));
  CHECK(slots[0].trailer.check == 0);
}

constexpr std::uint8_t kMixed = kHelloWantsNotifications | kHelloVerifiesSlots;

TEST_CASE("for a mixed peer small slots are checked and large ones notified", "[sendring][mixed]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kInOrder, kMixed);
  CHECK(fixture.send({100}));
  CHECK(take_uses(fixture) == Uses{WriteUse::kSlots});
  const Arrivals slots = fixture.arrived();
  CHECK(slots[0].trailer.check != 0);
  RingsFixture large(settings(phases({{1024, 4}})), Arrival::kInOrder, kMixed);
  CHECK(large.send({kCheckedBytesMax}));
  CHECK(large.send({kCheckedBytesMax + 1}));
  CHECK(take_uses(large) == Uses{WriteUse::kSlots, WriteUse::kNotifiedSlots});
}

TEST_CASE("a notified write that waits is marked at its last slot only, however long it becomes", "[sendring][mixed]") {
  RingsFixture fixture(settings(phases({{1024, 4}})), Arrival::kInOrder, kMixed);
  fixture.answer(WriteResult::kAgain);
  CHECK(fixture.send({600}));
  CHECK(fixture.stage(8) == 8);
  fixture.send_ring.flush();
  CHECK(fixture.stage(8) == 8);
  fixture.answer_as_usual();
  fixture.send_ring.flush();
  CHECK(take_uses(fixture) == Uses{WriteUse::kNotifiedSlots});
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) CHECK(((slots[n].trailer.marks & kMarkNotified) != 0) == (n == 2));
}

// What a fence does: Channel::send_fenced().
TEST_CASE("a fence notifies the slots that are staged under it, and none behind", "[sendring][mixed]") {
  for (const bool late : {false, true}) {
    RingsFixture fixture(settings(two_phases()), Arrival::kInOrder, kMixed);
    if (late) fixture.answer(WriteResult::kAgain);
    const std::uint64_t before = fixture.send_ring.notify_all();
    CHECK(fixture.send({8}));
    fixture.send_ring.restore_notify(before, true);
    fixture.answer_as_usual();
    fixture.send_ring.flush();
    CHECK(take_uses(fixture) == Uses{WriteUse::kNotifiedSlots});
    CHECK(fixture.send({8}));
    CHECK(take_uses(fixture) == Uses{WriteUse::kSlots});
  }
}

TEST_CASE("a fence under which nothing was staged leaves the slots before it readable", "[sendring][mixed]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kInOrder, kMixed);
  fixture.answer(WriteResult::kAgain);
  CHECK(fixture.send({8}));
  const std::uint64_t before = fixture.send_ring.notify_all();
  fixture.send_ring.flush();
  fixture.send_ring.restore_notify(before, false);
  fixture.answer_as_usual();
  fixture.send_ring.flush();
  const Arrivals slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  const bool notified = take_uses(fixture) == Uses{WriteUse::kNotifiedSlots};
  CHECK(((slots[0].trailer.marks & kMarkNotified) != 0) == notified);
  CHECK((slots[0].trailer.check != 0) == !notified);
  CHECK(fixture.send({8}));
  CHECK(take_uses(fixture) == Uses{WriteUse::kSlots});
}

TEST_CASE("a ring for which there is no memory stays as it is, or is divided anew", "[sendring][memory]") {
  RingsFixture fixture;
  fixture.refuse_memory();
  CHECK_FALSE(fixture.send_ring.provision(two_phases().at(1)));
  CHECK(fixture.link.ring_bytes().now == 2 * two_phases().at(0).ring_bytes());
  CHECK_FALSE(fixture.send_ring.divide(two_phases().at(1)));
  CHECK(fixture.send_ring.capacity() == two_phases().at(0).capacity());
  CHECK(fixture.send_ring.divide(phases({{128, 4}}).at(0)));
  CHECK(fixture.send_ring.capacity() == phases({{128, 4}}).at(0).capacity());
  CHECK(fixture.link.ring_bytes().now == 2 * two_phases().at(0).ring_bytes());
  fixture.send_ring.drop();
}

}  // namespace
}  // namespace bufenlarge::test
