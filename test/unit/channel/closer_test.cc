// SPDX-License-Identifier: MIT
#include "channel/closer.h"

#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

ChannelSettings at_most(std::uint32_t connections) {
  ChannelSettings made = settings(two_phases());
  made.connections_max = connections;
  return made;
}

// At most two connections, of rank 2 in a job of 6.
struct RoomFixture : ContextFixture {
  RoomFixture() : ContextFixture(at_most(2), 6, 2) {}

  // A connection that was used.
  void use(std::uint32_t rank) {
    connect(rank);
    REQUIRE(send({8}, rank) == Sent{Status::kOk, 8});
    while (peer(rank).next()) continue;
    peer(rank).grant_all();
    rounds();
  }
  // The request to close that this peer has got; 0 when there is none.
  std::uint32_t asked(std::uint32_t rank) {
    const auto slot = peer(rank).next();
    if (!slot) return 0;
    REQUIRE(slot->kind() == SlotKind::kClose);
    CloseMessage message;
    std::memcpy(&message, slot->payload.data(), sizeof message);
    CHECK(message.step == static_cast<std::uint8_t>(CloseStep::kRequest));
    CHECK(message.for_room == 1);
    return message.number;
  }
  void agree(std::uint32_t rank, std::uint32_t number) {
    const CloseMessage made{number, static_cast<std::uint8_t>(CloseStep::kAgree), 0, 0};
    peer(rank).write_slot(SlotKind::kClose, std::as_bytes(std::span(&made, 1)), 0);
  }
  RejectReason last_rejection() {
    return static_cast<RejectReason>(decode_reject(port.rejections.back()).value().reason);
  }
};

TEST_CASE("a connect that finds no room asks the connection that was not used for longest to end", "[closer]") {
  RoomFixture fixture;
  fixture.use(3);
  fixture.port.now += 100;
  fixture.use(4);
  fixture.port.now += 100;
  REQUIRE(fixture.send({8}, 5) == kNothingSent);
  fixture.rounds(4);
  CHECK(fixture.port.opened.size() == 2);
  const std::uint32_t number = fixture.asked(3);
  CHECK(number == 1);
  CHECK(fixture.asked(4) == 0);
  fixture.agree(3, number);
  fixture.rounds(4);
  CHECK(fixture.port.opened.size() == 3);
  CHECK(fixture.context.core().links.size() == 2);
}

TEST_CASE("a peer that does not answer is not waited for: the next is asked", "[closer]") {
  RoomFixture fixture;
  fixture.use(3);
  fixture.port.now += 100;
  fixture.use(4);
  fixture.port.now += 100;
  REQUIRE(fixture.send({8}, 5) == kNothingSent);
  fixture.rounds(4);
  CHECK(fixture.asked(3) == 1);
  fixture.port.now += Closer<FakePort>::kAskPauseUs;
  fixture.rounds(4);
  CHECK(fixture.asked(3) == 0);
  CHECK(fixture.asked(4) == 1);
}

TEST_CASE("a connection that was opened and not used yet is spared for a while", "[closer]") {
  RoomFixture fixture;
  fixture.connect(3);
  fixture.connect(4);
  REQUIRE(fixture.send({8}, 5) == kNothingSent);
  fixture.rounds(4);
  CHECK(fixture.asked(3) == 0);
  fixture.port.now += Closer<FakePort>::kUnusedUs + 1;
  fixture.rounds(4);
  CHECK(fixture.asked(3) + fixture.asked(4) == 1);
}

TEST_CASE("the time of a connection begins when it stands, however long it took to make", "[closer]") {
  RoomFixture fixture;
  fixture.use(4);
  FakePort::LinkState* link = fixture.want(3);
  REQUIRE(fixture.send({8}, 5) == kNothingSent);
  fixture.rounds(4);  // looks for room, at the attempt too
  CHECK(fixture.asked(4) == 1);
  fixture.port.now += Closer<FakePort>::kUnusedUs + 1;
  FakePeer& other = fixture.peer(3);
  other.meet(link->data);
  fixture.port.connected(link, other.answer_bytes(other.theirs().attempt));
  fixture.rounds(4);
  REQUIRE(other.next().value().kind() == SlotKind::kHello);
  other.grant_all();
  fixture.rounds(4);
  CHECK(fixture.asked(3) == 0);
}

TEST_CASE("a caller for whom there is no room is turned away, and room is made", "[closer]") {
  RoomFixture fixture;
  fixture.use(3);
  fixture.use(4);
  fixture.port.now += 100;
  fixture.port.request(fixture.peer(5).hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(fixture.last_rejection() == RejectReason::kNoRoom);
  CHECK(fixture.context.core().closing.no_room == 1);
  CHECK(fixture.asked(3) + fixture.asked(4) == 1);
  CHECK(fixture.context.core().links.size() == 2);
}

TEST_CASE("an own attempt gives way to a caller that comes before it in the order of all pairs", "[closer]") {
  RoomFixture fixture;  // rank 2
  fixture.want(3);
  fixture.want(5);
  // event: of the pair (2,4), before (2,5)
  fixture.port.request(fixture.peer(4).hello_bytes(1));
  fixture.rounds();
  // Expect
  CHECK(fixture.port.accepted.size() == 1);
  CHECK(fixture.channel(3).connection().state() == Connect::State::kConnecting);
  CHECK(fixture.channel(5).connection().state() == Connect::State::kBackoff);
  // event: of the pair (2,5), after (2,3)
  fixture.port.request(fixture.peer(5).hello_bytes(1));
  fixture.rounds();
  // Expect
  CHECK(fixture.port.accepted.size() == 1);
  CHECK(fixture.last_rejection() == RejectReason::kNoRoom);
}

TEST_CASE("a port without a descriptor to spare is served as a process that has all its connections", "[closer][S4]") {
  RoomFixture fixture;
  fixture.use(3);
  fixture.port.now += 100;
  fixture.port.no_descriptors = true;
  // event: a caller
  fixture.port.request(fixture.peer(5).hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(fixture.last_rejection() == RejectReason::kNoRoom);
  const std::uint32_t number = fixture.asked(3);
  CHECK(number == 1);
  // event: the connection ends, which gives back a descriptor; the caller comes again
  fixture.agree(3, number);
  fixture.rounds(4);
  CHECK(fixture.context.core().links.empty());
  fixture.port.no_descriptors = false;
  fixture.port.request(fixture.peer(5).hello_bytes(2));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.accepted.size() == 1);
}

TEST_CASE("an own attempt without a descriptor asks another connection to end", "[closer][S4]") {
  RoomFixture fixture;
  fixture.use(3);
  fixture.port.now += 100;
  fixture.port.no_descriptors = true;
  REQUIRE(fixture.send({8}, 4) == kNothingSent);
  fixture.rounds(4);
  CHECK(fixture.port.opened.size() == 1);
  const std::uint32_t number = fixture.asked(3);
  CHECK(number == 1);
  fixture.port.no_descriptors = false;  // what the end gives back
  fixture.agree(3, number);
  for (int i = 0; i < 4; ++i, fixture.port.now += Connect::kRoomPauseMaxUs) fixture.rounds(4);
  CHECK(fixture.port.opened.size() == 2);
}

TEST_CASE("a caller that replaces its own connection needs no room", "[closer]") {
  RoomFixture fixture;
  fixture.ask_in(3, 1);
  fixture.use(4);
  fixture.request(3, 2);
  CHECK(fixture.port.accepted.size() == 2);
  CHECK(fixture.port.rejections.empty());
}

}  // namespace
}  // namespace bufenlarge::test
