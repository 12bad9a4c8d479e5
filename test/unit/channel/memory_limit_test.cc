// SPDX-License-Identifier: MIT
// What a context does at the limit on its pinned memory (MEMORY_MAX).
#include <catch2/catch.hpp>

#include "channel/reclaimer.h"
#include "support/context_fixture.h"
#include "support/fake_monitor.h"
#include "support/rendezvous_pair.h"

namespace bufenlarge::test {
namespace {

using Tested = Enlargement<FakePort>;

// Two phases, and a limit that is set by how many beginnings and large rings it holds.
std::uint64_t beginning() {
  return 2 * two_phases().at(0).ring_bytes() + ControlSlab<FakePort>::kPageBytes;
}

ChannelSettings limited_to(std::uint64_t bytes) {
  ChannelSettings made = settings(two_phases());
  made.memory_max = bytes;
  return made;
}

// Rank 0 of 4. Holds all beginnings, and so many large rings more.
struct LimitFixture : ContextFixture {
  explicit LimitFixture(std::uint64_t bytes) : ContextFixture(limited_to(bytes)) {}

  Ledger& ledger() { return const_cast<Ledger&>(context.core().ledger); }
  // The peer answers the request of its direction, whose slot has come.
  void answer(std::uint32_t rank, std::uint8_t phase, AckStatus status = AckStatus::kProvisioned) {
    const auto slot = peer(rank).next();
    REQUIRE(slot);
    REQUIRE(slot->kind() == SlotKind::kEnlargeRequest);
    EnlargeRequest request{};
    std::memcpy(&request, slot->payload.data(), sizeof request);
    peer(rank).acknowledge(peer(rank).provision(phase, request.number, status));
    rounds(2);
  }
  void grow(std::uint32_t rank) {
    REQUIRE(send({two_phases().at(0).threshold_bytes + 1u}, rank) == kNothingSent);
    rounds();
    answer(rank, 1);
  }
  void look() { rounds(FakeContext::kEventRounds); }
};

TEST_CASE("the limit keeps half of itself at most for beginnings", "[memory][B2]") {
  CHECK(LimitFixture(100 * beginning()).ledger().limits().reserve ==
        beginning() + 3 * (2 * two_phases().at(0).ring_bytes() + sizeof(ControlBlock)));
  CHECK(LimitFixture(4 * beginning()).ledger().limits().reserve == 2 * beginning());
  CHECK(LimitFixture(4 * beginning()).ledger().limits().spare == beginning());
  CHECK_FALSE(ContextFixture().context.core().ledger.limited());
}

TEST_CASE("a connection for which there is no memory waits, and one that is not used is asked to end", "[memory][B2]") {
  LimitFixture fixture(2 * beginning());
  fixture.connect(1);
  REQUIRE(fixture.send({8}, 1) == Sent{Status::kOk, 8});
  REQUIRE(fixture.peer(1).next());
  fixture.peer(1).grant_all();
  fixture.port.now += 100;
  fixture.connect(2);
  const std::uint64_t before = fixture.ledger().bytes();
  REQUIRE(fixture.send({8}, 3) == kNothingSent);
  fixture.rounds(4);
  CHECK(fixture.port.opened.size() == 3 - (before > beginning() ? 1 : 0));
  CHECK(fixture.ledger().most() <= 2 * beginning());
}

TEST_CASE("a connection needs memory for control blocks when no page has a free one", "[memory][B2]") {
  LimitFixture too_little(beginning() - 1);
  REQUIRE(too_little.send({8}, 1) == kNothingSent);
  too_little.rounds(4);
  CHECK(too_little.port.opened.empty());
  CHECK_FALSE(too_little.channel(1).failed());

  const std::uint64_t two = beginning() + 2 * two_phases().at(0).ring_bytes();
  LimitFixture enough(two);
  enough.connect(1);
  enough.connect(2);
  CHECK(enough.ledger().bytes() == two);
}

TEST_CASE("a caller for whom there is no memory is turned away, and comes again", "[memory][B2]") {
  LimitFixture fixture(beginning() + 1);
  fixture.connect(1);
  fixture.port.request(fixture.peer(2).hello_bytes(1));
  fixture.look();
  REQUIRE(fixture.port.rejections.size() == 1);
  CHECK(static_cast<RejectReason>(decode_reject(fixture.port.rejections.back()).value().reason) ==
        RejectReason::kNoRoom);
  CHECK_FALSE(fixture.channel(2).failed());
  CHECK(fixture.channel(2).ring_bytes().now == 0);
}

TEST_CASE("an attempt that ends gives its memory back where that is limited", "[memory][B2]") {
  const bool limited = GENERATE(false, true);
  ChannelSettings made = settings(two_phases());
  if (limited) made.memory_max = 10 * beginning();
  ContextFixture fixture(made);
  FakePort::LinkState* link = fixture.want(1);
  CHECK(fixture.channel(1).ring_bytes().now != 0);
  fixture.port.lost(link, "refused");
  fixture.rounds();
  CHECK(fixture.channel(1).connection().state() == Connect::State::kBackoff);
  CHECK((fixture.channel(1).ring_bytes().now == 0) == limited);
}

TEST_CASE("a receiver at its limit refuses a larger ring and says why", "[memory][B3]") {
  LimitFixture fixture(4 * beginning());
  FakePeer& peer = fixture.connect(1);
  fixture.ledger().set_limits({fixture.ledger().bytes(), 0, 0});
  peer.ask({1, 1});
  fixture.rounds(2);
  CHECK(peer.inbox().ack.status == static_cast<std::uint8_t>(AckStatus::kRefusedByLimit));
  CHECK(peer.inbox().ack.phase == 0);
  CHECK(fixture.ledger().refusals() == 1);
}

TEST_CASE("a direction that a limit of the peer's refused asks again soon", "[memory][B3]") {
  LimitFixture fixture(Ledger::kNoLimit - 1);
  fixture.connect(1);
  REQUIRE(fixture.send({two_phases().at(0).threshold_bytes + 1u}) == kNothingSent);
  fixture.rounds();
  fixture.answer(1, 0, AckStatus::kRefusedByLimit);
  fixture.peer(1).grant_all();
  const auto asks = [&fixture] {
    (void)fixture.send({two_phases().at(0).threshold_bytes + 1u});
    fixture.rounds();
    return !fixture.channel(1).enlargement().sender().steady();
  };
  fixture.port.now += Tested::kLimitPauseUs - 1;
  CHECK_FALSE(asks());
  while (fixture.peer(1).next()) continue;
  fixture.peer(1).grant_all();
  fixture.port.now += 1;
  CHECK(asks());
}

TEST_CASE("a direction that the own limit kept small grows at once when memory is back", "[memory][B3]") {
  LimitFixture fixture(Ledger::kNoLimit - 1);
  fixture.connect(1);
  REQUIRE(fixture.send({two_phases().at(0).threshold_bytes + 1u}) == kNothingSent);
  fixture.rounds();
  fixture.ledger().set_limits({fixture.ledger().bytes(), 0, 0});
  fixture.answer(1, 1);
  REQUIRE(fixture.channel(1).send_ring().phase() == 0);
  while (fixture.peer(1).next()) continue;
  fixture.peer(1).grant_all();
  (void)fixture.send({two_phases().at(0).threshold_bytes + 1u});
  CHECK(fixture.channel(1).enlargement().sender().steady());
  while (fixture.peer(1).next()) continue;
  fixture.peer(1).grant_all();
  fixture.rounds();
  fixture.ledger().set_limits({});
  (void)fixture.send({two_phases().at(0).threshold_bytes + 1u});
  CHECK_FALSE(fixture.channel(1).enlargement().sender().steady());
}

// The peer's larger ring has 16 slots, the own one 1.
TEST_CASE("a sender that could be left without any ring does not ask", "[memory][B2]") {
  ChannelSettings made = settings(phases({{512, 1}, {1104, 16}}));
  made.memory_max = Ledger::kNoLimit - 1;
  ContextFixture fixture(made);
  fixture.connect(1);
  Ledger& ledger = const_cast<Ledger&>(fixture.context.core().ledger);
  ledger.set_limits({ledger.bytes() + 15 * 512, 0, 0});
  const auto asks = [&fixture] {
    (void)fixture.send({600});
    fixture.rounds();
    return !fixture.channel(1).enlargement().sender().steady();
  };
  CHECK_FALSE(asks());
  CHECK(ledger.refusals() == 1);
  CHECK_FALSE(asks());  // it goes in fragments
  CHECK(fixture.peer(1).next().value().kind() == SlotKind::kPayload);
  fixture.peer(1).grant_all();
  ledger.set_limits({});
  fixture.port.now += Tested::kLimitPauseUs;
  CHECK(asks());
}

TEST_CASE("a channel that fails while it asks gives back what it held for the answer", "[memory][B2]") {
  ChannelSettings made = settings(phases({{512, 1}, {1104, 16}}));
  made.memory_max = Ledger::kNoLimit - 1;
  const auto left_after_failure = [&made](bool asks) {
    ContextFixture fixture(made);
    fixture.connect(1);
    if (asks) CHECK(fixture.send({600}) == kNothingSent);
    fixture.rounds();
    CHECK(fixture.channel(1).enlargement().sender().steady() == !asks);
    fixture.lose(1);
    fixture.rounds(2 * FakeContext::kEventRounds);
    CHECK(fixture.channel(1).failed());
    return fixture.context.core().ledger.bytes();
  };
  CHECK(left_after_failure(true) == left_after_failure(false));
}

TEST_CASE("of large rings that are not used the one that was not used for longest goes back", "[memory][B2]") {
  LimitFixture fixture(Ledger::kNoLimit - 1);
  for (const std::uint32_t rank : {1u, 2u}) {
    fixture.connect(rank);
    fixture.grow(rank);
    REQUIRE(fixture.channel(rank).send_ring().phase() == 1);
    fixture.port.now += 100;
  }
  fixture.look();
  fixture.port.now += 2 * Reclaimer<FakePort>::kIdleUs;
  fixture.look();
  CHECK(fixture.channel(1).enlargement().sender().steady());  // nothing was refused
  fixture.ledger().set_limits({fixture.ledger().bytes(), 0, 0});
  REQUIRE_FALSE(fixture.ledger().enter(Ledger::Use::kUser, 1));
  fixture.look();  // sees when they were used last
  fixture.port.now += Reclaimer<FakePort>::kIdleUs;
  REQUIRE_FALSE(fixture.ledger().enter(Ledger::Use::kUser, 1));
  fixture.look();
  const bool first = !fixture.channel(1).enlargement().sender().steady();
  const bool second = !fixture.channel(2).enlargement().sender().steady();
  CHECK(first != second);
  fixture.port.now += Reclaimer<FakePort>::kPauseUs;
  REQUIRE_FALSE(fixture.ledger().enter(Ledger::Use::kUser, 1));
  fixture.look();
  CHECK_FALSE(fixture.channel(1).enlargement().sender().steady());
  CHECK_FALSE(fixture.channel(2).enlargement().sender().steady());
}

TEST_CASE("a connection whose receive ring has grown is asked to end when that memory is wanted", "[memory][B2]") {
  LimitFixture fixture(Ledger::kNoLimit - 1);
  FakePeer& peer = fixture.connect(1);
  peer.ask({1, 1});
  fixture.rounds(2);
  peer.follow_ack();
  peer.send(pattern(8));
  fixture.rounds(2);
  REQUIRE(fixture.channel(1).receive_ring().phase() == 1);
  REQUIRE(fixture.channel(1).send_ring().phase() == 0);
  fixture.ledger().set_limits({fixture.ledger().bytes(), 0, 0});
  for (int i = 0; i < 2; ++i) {
    REQUIRE_FALSE(fixture.ledger().enter(Ledger::Use::kUser, 1));
    fixture.look();
    fixture.port.now += 2 * Reclaimer<FakePort>::kIdleUs;
  }
  CHECK(fixture.context.core().closing.for_room == 1);
}

TEST_CASE("user memory beyond the limit is refused as by a device", "[memory][B2]") {
  LimitFixture fixture(Ledger::kNoLimit - 1);
  std::byte memory[64];
  Window window;
  fixture.ledger().set_limits({fixture.ledger().bytes() + 63, 0, 0});
  CHECK_FALSE(fixture.context.register_window(memory, sizeof memory, window));
  fixture.ledger().set_limits({fixture.ledger().bytes() + 64, 0, 0});
  REQUIRE(fixture.context.register_window(memory, sizeof memory, window));
  CHECK(fixture.ledger().bytes(Ledger::Use::kUser) == 64);
  fixture.context.deregister_window(window.source);
  CHECK(fixture.ledger().bytes(Ledger::Use::kUser) == 0);
}

TEST_CASE("registrations that stay give way before the limit refuses anything", "[memory][B2]") {
  FakeFabric fabric;
  FakePort port(fabric);
  UpperLog upper;
  FakeMonitor monitor;
  Core<FakePort> core(port, settings(two_phases()), {}, upper.layer());
  core.keeper.set(1000, &monitor);
  core.ledger.set_limits({100, 0, 0});
  std::byte memory[64];
  const auto held = core.source_registrations.hold(port, memory, sizeof memory, MemoryUse::kSource);
  REQUIRE(held);
  CHECK_FALSE(core.ledger.enter(Ledger::Use::kBeginning, 80));
  core.source_registrations.release(*held);
  REQUIRE(core.keeper.idle_bytes() == sizeof memory);
  const Ledger::Entry rings = core.ledger.enter(Ledger::Use::kBeginning, 80);
  CHECK(rings);
  CHECK(core.keeper.idle_bytes() == 0);
  CHECK(core.ledger.bytes() == 80);
}

TEST_CASE("memory that is unmapped is given back though no transfer follows", "[memory][K1]") {
  FakeMonitor monitor;
  RendezvousPair pair;
  for (auto& side : pair.side) side.context.keep_registrations(100'000, &monitor);
  const Vector source({9000});
  Vector destination({9000});
  pair.read_all(source, destination);
  REQUIRE(pair.side[0].context.core().keeper.idle_bytes() != 0);
  REQUIRE(pair.side[1].context.core().keeper.idle_bytes() != 0);
  monitor.unmap(source.bytes().data(), 1);
  monitor.unmap(destination.bytes().data(), 1);
  pair.rounds(FakeContext::kEventRounds);
  CHECK(pair.side[0].context.core().keeper.idle_bytes() == 0);
  CHECK(pair.side[1].context.core().keeper.idle_bytes() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
