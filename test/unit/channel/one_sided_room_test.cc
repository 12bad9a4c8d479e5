// SPDX-License-Identifier: MIT
// A write into window memory of a peer that is not connected waits for room, and holds nothing meanwhile that those
// need who are to make the room.
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

  // Orders a write of all of `data` into the window of rank 2, with `data` as the cookie.
  Status write() {
    const std::uint64_t address = window.address;
    return channel(2).write({data.data(), &data, address, data.size(), window.key});
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
  // What is ordered to rank 2 may go now, and not before.
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

TEST_CASE("a write that waits for a connection keeps no read from its end, so that there will be room",
          "[write][room]") {
  RoomFixture fixture;
  const Vector source({kBytes}, 3);
  REQUIRE(fixture.write() == Status::kOk);
  fixture.rounds(4);
  const FakeFabric::Memory& to = fixture.read_by_peer(source);
  CHECK(fixture.upper.releases.size() == 1);
  CHECK(std::memcmp(to.data(), source.bytes().data(), kBytes) == 0);
  fixture.make_room();
  CHECK(fixture.written());
  CHECK(fixture.logged("register") == fixture.logged("unregister"));
}

TEST_CASE("a write to a peer that has agreed to the end of its connection holds no memory", "[write][room]") {
  RoomFixture fixture;
  const CloseMessage asked{1, static_cast<std::uint8_t>(CloseStep::kRequest), 0, 0};
  fixture.peer(1).write_slot(SlotKind::kClose, std::as_bytes(std::span(&asked, 1)), 0);
  fixture.rounds(4);
  REQUIRE(fixture.peer(1).next().value().kind() == SlotKind::kClose);
  const WriteOrder order{fixture.data.data(), nullptr, fixture.window.address, kBytes, fixture.window.key};
  REQUIRE(fixture.channel(1).write(order) == Status::kOk);
  fixture.rounds(4);
  CHECK(fixture.upper.writes.empty());
  CHECK(fixture.context.core().source_registrations.bytes() == 0);
}

// A write to rank 2, which is connected to after the memory has gone.
struct LateFixture : RendezvousFixture {
  LateFixture() {
    context.bound_transfers(kBytes, kBytes, kReadsPerPortMax);
    connect(1);
    REQUIRE(write(2, data) == Status::kOk);
  }
  Status write(std::uint32_t rank, Bytes& from) {
    return channel(rank).write({from.data(), &from, window.address, from.size(), window.key});
  }

  Bytes data = pattern(kBytes, 1);
  FakeFabric::Memory& window = room(kBytes);
};

TEST_CASE("a write behind one that waits for memory holds none", "[write][room]") {
  LateFixture fixture;
  Bytes other = pattern(600, 2), behind = pattern(400, 3);
  fixture.port.completes = false;
  REQUIRE(fixture.write(1, other) == Status::kOk);
  fixture.connect(2);
  fixture.rounds(4);
  REQUIRE(fixture.write(2, behind) == Status::kOk);
  CHECK(fixture.context.core().source_registrations.bytes() == 600);
  fixture.port.completes = true;
  fixture.rounds(8);
  REQUIRE(fixture.upper.writes.size() == 3);
  CHECK(fixture.upper.writes[0].cookie == &other);
  CHECK(fixture.upper.writes[1].cookie == &fixture.data);
  CHECK(fixture.upper.writes[2].cookie == &behind);
}

TEST_CASE("a write whose memory is refused when the peer is connected waits, and fails at the time limit",
          "[write][room]") {
  const bool comes_free = GENERATE(false, true);
  LateFixture fixture;
  bool refuses = true;
  fixture.port.refuses_user_memory = [&refuses](MemoryUse, std::size_t) { return refuses; };
  fixture.connect(2);
  fixture.port.now += fixture.context.core().settings.connect_timeout_us - 1;
  fixture.rounds(4);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.upper.writes.empty());
  refuses = !comes_free;
  fixture.port.now += 1;
  fixture.rounds(4);
  CHECK(fixture.upper.failures.size() == (comes_free ? 0 : 1));
  REQUIRE(fixture.upper.writes.size() == 1);
  CHECK(fixture.upper.writes[0].status == (comes_free ? Status::kOk : Status::kMemoryError));
  if (!comes_free) CHECK(fixture.upper.failures[0].text.find("the data of a write") != std::string::npos);
}

TEST_CASE("a write that is refused memory waits as long as reads hold some", "[write][room]") {
  LateFixture fixture;
  Vector destination({kBytes}, 5);
  fixture.read(destination);
  fixture.port.refuses_user_memory = [](MemoryUse use, std::size_t) { return use == MemoryUse::kSource; };
  fixture.connect(2);
  fixture.port.now += 2 * fixture.context.core().settings.connect_timeout_us;
  fixture.rounds(4);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.upper.writes.empty());
}

}  // namespace
}  // namespace bufenlarge::test
