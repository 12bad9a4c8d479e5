// SPDX-License-Identifier: MIT
// A write into window memory of a peer that is not connected holds nothing that those need who are to make room for its
// connection.
#include <catch2/catch.hpp>

#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::size_t kBytes = 1000;
constexpr std::uint64_t kLongUnusedUs = 30'000;  // a new connection that was not used is not spared any more

ChannelSettings one_connection() {
  ChannelSettings made = settings(two_phases());
  made.connections_max = 1;
  return made;
}

// One connection at most, to rank 1; one source of kBytes can be registered at a time.
struct RoomFixture : RendezvousFixture {
  RoomFixture() : RendezvousFixture(one_connection()) {
    context.bound_transfers(kBytes, kBytes, kReadsPerPortMax);
    connect(1);
    port.now += kLongUnusedUs;
  }

  // Orders a write of all of `data` into the window, with `data` as the cookie.
  Status write(std::uint32_t rank = 2) {
    return channel(rank).write({data.data(), &data, window.address, data.size(), window.key});
  }
  // Lets rank 1 read all of `source`, into the memory that is returned.
  const FakeFabric::Memory& read_by_peer(const Vector& source) {
    const FakeFabric::Memory& to = room(kBytes);
    ask({{0, advertise(source), kBytes}}, {{to.address, to.key, kBytes}}, 5, kReadLast);
    rounds(4);
    return to;
  }
  // Rank 1 has got a request to close its connection for room, and agrees.
  void agree_to_close() {
    const auto slot = peer(1).next();
    REQUIRE(slot);
    REQUIRE(slot->kind() == SlotKind::kClose);
    CloseMessage asked{};
    std::memcpy(&asked, slot->payload.data(), sizeof asked);
    const CloseMessage agreed{asked.number, static_cast<std::uint8_t>(CloseStep::kAgree), 0, 0};
    peer(1).write_slot(SlotKind::kClose, std::as_bytes(std::span(&agreed, 1)), 0);
    rounds(4);
  }
  // Rank 2 accepts the call that it has got.
  void accept_call() {
    REQUIRE(port.opened.size() == 2);
    peer(2).meet(port.opened.back()->data);
    port.connected(port.opened.back(), peer(2).answer_bytes(peer(2).theirs().attempt));
    rounds(4);
  }
  void make_room() {
    port.now += kLongUnusedUs;
    rounds(4);
    agree_to_close();
    accept_call();
  }
  [[nodiscard]] bool written() const {
    return std::memcmp(window.data(), data.data(), data.size()) == 0 && upper.writes.size() == 1 &&
           upper.writes[0].cookie == &data && upper.writes[0].status == Status::kOk;
  }

  Bytes data = pattern(kBytes, 1);
  FakeFabric::Memory& window = room(kBytes);
};

TEST_CASE("a write that needs a connection keeps no read from its end, so that there will be room", "[write][room]") {
  RoomFixture fixture;
  const Vector source({kBytes}, 3);
  const Status first = fixture.write();
  fixture.rounds(4);
  const FakeFabric::Memory& to = fixture.read_by_peer(source);
  CHECK(fixture.upper.releases.size() == 1);
  CHECK(std::memcmp(to.data(), source.bytes().data(), kBytes) == 0);
  fixture.make_room();
  CHECK(first == Status::kAgain);
  CHECK(fixture.write() == Status::kOk);
  fixture.rounds(4);
  CHECK(fixture.written());
  CHECK(fixture.logged("register") == fixture.logged("unregister"));
}

TEST_CASE("a write after the agreement to end the connection holds no memory", "[write][room]") {
  RoomFixture fixture;
  const CloseMessage asked{1, static_cast<std::uint8_t>(CloseStep::kRequest), 0, 0};
  fixture.peer(1).write_slot(SlotKind::kClose, std::as_bytes(std::span(&asked, 1)), 0);
  fixture.rounds(4);
  REQUIRE(fixture.peer(1).next().value().kind() == SlotKind::kClose);
  CHECK(fixture.write(1) == Status::kAgain);
  CHECK(fixture.context.core().source_registrations.bytes() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
