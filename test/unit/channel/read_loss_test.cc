// SPDX-License-Identifier: MIT
// A connection that is lost while there are reads: every end is reported once, and no memory of the user is
// unregistered while the link is open.
#include <catch2/catch.hpp>

#include <map>

#include "support/rendezvous_pair.h"
#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

// Checks that each cookie came once, with any status.
void check_once(const std::vector<UpperLog::End>& ends, std::size_t count) {
  std::map<void*, unsigned> times;
  for (const UpperLog::End& end : ends) ++times[end.cookie];
  CHECK(times.size() == count);
  CHECK(ends.size() == count);
}

// Reads in both directions, by writes and in fragments, with completions that come one at a time, and loses the link
// after `steps` rounds by one side's port. The ports check that no memory goes before its link. Returns false when all
// was over before.
bool lose_after(unsigned steps, std::uint32_t who, bool withheld) {
  RendezvousPair pair({Arrival::kInOrder, Arrival::kInOrder}, smallest_phases());
  const Vector one({3000, 5, 6}, 1), two({700}, 2), three({90, 90}, 3);
  Vector to_one({3011}, 4), to_two({350, 350}, 5), to_three({180}, 6), late({10}, 7);
  unsigned registrations = 0;
  for (auto& side : pair.side) {
    side.port.completes = false;
    side.port.refuses_user_memory = [&](MemoryUse, std::size_t) { return ++registrations % 5 == 0; };
    side.port.withholds = [withheld](const FakePort::Write& write) { return withheld && is_data(write.use); };
  }
  pair.read(1, pair.advertise(0, one, &one), 0, to_one, true);
  pair.read(0, pair.advertise(1, two, &two), 0, to_two, true);
  pair.read(1, pair.advertise(0, three, &three), 0, to_three, false);
  for (unsigned n = 0; n < steps; ++n) {
    for (auto& side : pair.side) side.port.complete(1);
    pair.rounds();
  }
  const bool over = pair.side[0].upper.reads.size() + pair.side[1].upper.reads.size() == 3 &&
                    pair.side[0].context.idle() && pair.side[1].context.idle();
  auto& links = pair.side[who].port.opened.empty() ? pair.side[who].port.accepted : pair.side[who].port.opened;
  pair.side[who].port.lost(links.back(), "the link broke");
  pair.rounds(2 * FakeContext::kEventRounds + 8);

  check_once(pair.side[0].upper.reads, 1);
  check_once(pair.side[1].upper.reads, 2);
  check_once(pair.side[0].upper.releases, 2);
  check_once(pair.side[1].upper.releases, 1);
  for (const std::uint32_t side : {0u, 1u}) {
    CHECK(pair.side[side].upper.failures.size() == 1);
    CHECK(pair.logged(side, "close") == 1);
    CHECK(pair.logged(side, "unregister") == pair.logged(side, "register"));
    CHECK(pair.side[side].context.core().sources.size() == 0);
    CHECK(pair.side[side].channel().read({late.all(), &late, 0, 10, 5, true}) == Status::kPeerFailed);
    std::uint32_t handle = 0;
    CHECK(pair.side[side].channel().advertise(one.all(), nullptr, handle) == Status::kPeerFailed);
  }
  pair.rounds(8);
  check_once(pair.side[1].upper.reads, 2);
  return !over;
}

TEST_CASE("a loss at any step ends every read and every source once", "[read][pair][loss]") {
  for (const bool withheld : {false, true})
    for (const std::uint32_t who : {0u, 1u}) {
      unsigned steps = 0;
      while (lose_after(steps, who, withheld) && steps < (withheld ? 30 : 1000)) ++steps;
      CHECK(steps > 5);
      CHECK(steps < 1000);
    }
}

TEST_CASE("after a loss no late event of the link reaches a read", "[read][loss]") {
  RendezvousFixture fixture;
  fixture.connect(1);
  fixture.connect(2);
  Vector destination({100}, 1), other({100}, 2);
  fixture.read(destination, 8, true, 1);
  fixture.rounds(2);
  const std::uint32_t sequence = fixture.requests(1).at(0).head.sequence;
  fixture.lose(1);
  fixture.rounds(FakeContext::kEventRounds + 4);
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].status == Status::kPeerFailed);
  fixture.port.names_ends = false;
  fixture.read(other, 8, true, 2);  // which has the place of the first in the table
  fixture.rounds(2);
  const std::uint32_t next = fixture.requests(2).at(0).head.sequence;
  CHECK(next != sequence);
  fixture.end_read(sequence, 2);
  fixture.rounds(2);
  CHECK(fixture.upper.reads.size() == 1);
  fixture.end_read(next, 2);
  fixture.rounds(2);
  REQUIRE(fixture.upper.reads.size() == 2);
  CHECK(fixture.upper.reads[1].status == Status::kOk);
}

TEST_CASE("an end that came before the loss counts", "[read][loss]") {
  RendezvousFixture fixture;
  fixture.connect();
  Vector destination({100}, 1);
  fixture.read(destination);
  fixture.rounds(2);
  const auto request = fixture.requests().at(0);
  fixture.place(request, pattern(100, 9));
  fixture.port.before_events = [&] {  // the loss and the end come together
    fixture.port.before_events = nullptr;
    fixture.end_read(request.head.sequence);
    fixture.lose();
  };
  fixture.rounds(FakeContext::kEventRounds + 4);
  REQUIRE(fixture.upper.failures.size() == 1);
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].status == Status::kOk);
  CHECK(destination.bytes() == pattern(100, 9));
}

TEST_CASE("a write of data that fails loses the connection", "[read][loss]") {
  RendezvousFixture fixture;
  fixture.connect();
  const Vector source({1000}, 1);
  const std::uint32_t handle = fixture.advertise(source);
  FakeFabric::Memory& room = fixture.room(1000);
  fixture.port.rule = [](const FakePort::Write& write) -> std::optional<WriteResult> {
    if (is_data(write.use)) return WriteResult::kFailed;
    return std::nullopt;
  };
  fixture.ask({{0, handle, 1000}}, {{room.address, room.key, 1000}});
  fixture.rounds(8);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
  REQUIRE(fixture.upper.releases.size() == 1);
  CHECK(fixture.upper.releases[0].status == Status::kPeerFailed);
}

TEST_CASE("a channel that could never be connected ends its reads and sources", "[read][loss]") {
  ChannelSettings impatient = settings(two_phases());
  impatient.connect_timeout_us = 1000;
  RendezvousFixture fixture(impatient);
  fixture.port.refuses_open = true;
  const Vector source({1000}, 1);
  Vector destination({100}, 1);
  (void)fixture.advertise(source);
  fixture.read(destination);
  for (unsigned n = 0; n < 20; ++n) fixture.rounds(), fixture.port.now += 1'000'000;
  CHECK(fixture.upper.failures.size() == 1);
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].status == Status::kTimedOut);
  REQUIRE(fixture.upper.releases.size() == 1);
  CHECK(fixture.logged("register") == fixture.logged("unregister"));
}

TEST_CASE("a window is given back although a peer was lost in the middle of a read", "[read][loss][R4]") {
  for (const bool deregistered_before : {false, true}) {
    RendezvousPair pair;
    pair.side[0].port.completes = false;  // the writes stay posted
    Bytes memory = pattern(6u << 20, 3);  // more than are posted at once
    Window window;
    REQUIRE(pair.side[0].context.register_window(memory.data(), memory.size(), window));
    const std::uint32_t handle = window.source;
    Vector destination({memory.size()}, 1);
    pair.read(1, handle, 0, destination, false);
    pair.rounds(5);
    REQUIRE(pair.side[0].port.posted() == kDataWritesMax);
    if (deregistered_before) pair.side[0].context.deregister_window(handle);
    CHECK(pair.logged(0, "unregister") == 0);
    pair.side[0].channel().fail(Status::kPeerFailed, "gone");
    pair.rounds(3);
    if (!deregistered_before) pair.side[0].context.deregister_window(handle);
    CHECK(pair.logged(0, "unregister") == 1);
    CHECK(pair.side[0].context.core().sources.size() == 0);
    CHECK(pair.side[0].upper.releases.empty());
  }
}

TEST_CASE("a context that is closed gives back what it registered, and calls nobody", "[read][loss]") {
  UpperLog upper;
  FakeFabric fabric;
  FakePort port(fabric);
  const Vector source({1000}, 1);
  Vector destination({100}, 1);
  Bytes room(1000);
  {
    FakeContext context(port, settings(two_phases()), 0, 2, kJobKey, upper.layer());
    context.set_addresses(fake_addresses(2));
    std::uint32_t handle = 0;
    Window window;
    REQUIRE(context.channel(1)->advertise(source.all(), nullptr, handle) == Status::kOk);
    REQUIRE(context.register_window(room.data(), room.size(), window));
    REQUIRE(context.channel(1)->read({destination.all(), nullptr, 0, 100, 7, true}) == Status::kOk);
  }
  CHECK(upper.releases.empty());
  CHECK(upper.reads.empty());
  CHECK(std::ranges::count(port.log, "register 1000") == 1);
  CHECK(std::ranges::count(port.log, "unregister 1000") == 1);
}

}  // namespace
}  // namespace bufenlarge::test
