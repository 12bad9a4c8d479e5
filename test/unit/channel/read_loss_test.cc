// SPDX-License-Identifier: MIT
// A connection that is lost while there are reads: everything is told once, and no memory of the user is
// unregistered while the link is open.
#include <catch2/catch.hpp>

#include <map>

#include "support/read_duo.h"
#include "support/read_solo.h"

namespace bufenlarge::test {
namespace {

// Each cookie once, with any status.
void check_once(const std::vector<UpperLog::End>& ends, std::size_t count) {
  std::map<void*, unsigned> times;
  for (const UpperLog::End& end : ends) ++times[end.cookie];
  CHECK(times.size() == count);
  CHECK(ends.size() == count);
}

// Reads in both directions, by writes and in pieces, with completions that come one at a time; lost after
// `steps` rounds, by one side's port; the ports see to it that no memory goes before its link. False when all
// was over before.
bool lose_after(unsigned steps, std::uint32_t who, bool withheld) {
  ReadDuo duo({Arrival::kInOrder, Arrival::kInOrder}, smallest_phases());
  const Vector one({3000, 5, 6}, 1), two({700}, 2), three({90, 90}, 3);
  Vector to_one({3011}, 4), to_two({350, 350}, 5), to_three({180}, 6), late({10}, 7);
  unsigned registrations = 0;
  for (auto& side : duo.side) {
    side.port.completes = false;
    side.port.refuses_user_memory = [&](MemoryUse, std::size_t) { return ++registrations % 5 == 0; };
    side.port.withholds = [withheld](const FakePort::Write& write) { return withheld && write.use >= WriteUse::kData; };
  }
  duo.read(1, duo.expose(0, one, &one), 0, to_one, true);
  duo.read(0, duo.expose(1, two, &two), 0, to_two, true);
  duo.read(1, duo.expose(0, three, &three), 0, to_three, false);
  for (unsigned n = 0; n < steps; ++n) {
    for (auto& side : duo.side) side.port.complete(1);
    duo.rounds();
  }
  const bool over = duo.side[0].upper.reads.size() + duo.side[1].upper.reads.size() == 3 && duo.side[0].context.idle() &&
                    duo.side[1].context.idle();
  auto& links = duo.side[who].port.opened.empty() ? duo.side[who].port.accepted : duo.side[who].port.opened;
  duo.side[who].port.lost(links.back(), "the link broke");
  duo.rounds(2 * FakeContext::kEventRounds + 8);

  check_once(duo.side[0].upper.reads, 1);
  check_once(duo.side[1].upper.reads, 2);
  check_once(duo.side[0].upper.releases, 2);
  check_once(duo.side[1].upper.releases, 1);
  for (const std::uint32_t side : {0u, 1u}) {
    CHECK(duo.side[side].upper.failures.size() == 1);
    CHECK(duo.logged(side, "close") == 1);
    CHECK(duo.logged(side, "unregister") == duo.logged(side, "register"));
    CHECK(duo.side[side].context.core().exposures.size() == 0);
    CHECK(duo.side[side].channel().read({late.all(), &late, 0, 10, 5, true}) == Status::kPeerFailed);
    std::uint32_t name = 0;
    CHECK(duo.side[side].channel().expose(one.all(), nullptr, name) == Status::kPeerFailed);
  }
  duo.rounds(8);
  check_once(duo.side[1].upper.reads, 2);
  return !over;
}

TEST_CASE("a loss at any step tells every read and every exposure once", "[read][duo][loss]") {
  for (const bool withheld : {false, true})
    for (const std::uint32_t who : {0u, 1u}) {
      unsigned steps = 0;
      while (lose_after(steps, who, withheld) && steps < (withheld ? 30 : 1000)) ++steps;
      CHECK(steps > 5);
      CHECK(steps < 1000);
    }
}

TEST_CASE("after a loss no late event of the link reaches a read", "[read][loss]") {
  ReadSolo solo;
  solo.connect(1);
  solo.connect(2);
  Vector destination({100}, 1), other({100}, 2);
  solo.read(destination, 8, true, 1);
  solo.rounds(2);
  const std::uint32_t sequence = solo.requests(1).at(0).head.sequence;
  solo.lose(1);
  solo.rounds(FakeContext::kEventRounds + 4);
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(solo.upper.reads[0].status == Status::kPeerFailed);
  solo.port.names_ends = false;
  solo.read(other, 8, true, 2);  // which has the place of the first in the table
  solo.rounds(2);
  const std::uint32_t next = solo.requests(2).at(0).head.sequence;
  CHECK(next != sequence);
  solo.end_read(sequence, 2);
  solo.rounds(2);
  CHECK(solo.upper.reads.size() == 1);
  solo.end_read(next, 2);
  solo.rounds(2);
  REQUIRE(solo.upper.reads.size() == 2);
  CHECK(solo.upper.reads[1].status == Status::kOk);
}

TEST_CASE("an end that was told before the loss counts", "[read][loss]") {
  ReadSolo solo;
  solo.connect();
  Vector destination({100}, 1);
  solo.read(destination);
  solo.rounds(2);
  const auto request = solo.requests().at(0);
  solo.place(request, pattern(100, 9));
  solo.port.before_events = [&] {  // the loss and the end come together
    solo.port.before_events = nullptr;
    solo.end_read(request.head.sequence);
    solo.lose();
  };
  solo.rounds(FakeContext::kEventRounds + 4);
  REQUIRE(solo.upper.failures.size() == 1);
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(solo.upper.reads[0].status == Status::kOk);
  CHECK(destination.bytes() == pattern(100, 9));
}

TEST_CASE("a write of data that fails loses the connection", "[read][loss]") {
  ReadSolo solo;
  solo.connect();
  const Vector source({1000}, 1);
  const std::uint32_t name = solo.expose(source);
  FakeFabric::Memory& room = solo.room(1000);
  solo.port.rule = [](const FakePort::Write& write) -> std::optional<WriteResult> {
    if (write.use >= WriteUse::kData) return WriteResult::kFailed;
    return std::nullopt;
  };
  solo.ask({{0, name, 1000}}, {{room.address, room.key, 1000}});
  solo.rounds(8);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kPeerFailed);
  REQUIRE(solo.upper.releases.size() == 1);
  CHECK(solo.upper.releases[0].status == Status::kPeerFailed);
}

TEST_CASE("a channel that could never be connected ends its reads and exposures", "[read][loss]") {
  ChannelSettings impatient = settings(two_phases());
  impatient.connect_timeout_us = 1000;
  ReadSolo solo(impatient);
  solo.port.refuses_open = true;
  const Vector source({1000}, 1);
  Vector destination({100}, 1);
  (void)solo.expose(source);
  solo.read(destination);
  for (unsigned n = 0; n < 20; ++n) solo.rounds(), solo.port.now += 1'000'000;
  CHECK(solo.upper.failures.size() == 1);
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(solo.upper.reads[0].status == Status::kTimedOut);
  REQUIRE(solo.upper.releases.size() == 1);
  CHECK(solo.logged("register") == solo.logged("unregister"));
}

TEST_CASE("what is shared is given back although a peer was lost in the middle of it", "[read][loss][R4]") {
  for (const bool unshared_before : {false, true}) {
    ReadDuo duo;
    duo.side[0].port.completes = false;  // the writes stay posted
    Bytes memory = pattern(6u << 20, 3);  // more than are posted at once
    Shared shared;
    REQUIRE(duo.side[0].context.share(memory.data(), memory.size(), shared));
    const std::uint32_t name = shared.name;
    Vector destination({memory.size()}, 1);
    duo.read(1, name, 0, destination, false);
    duo.rounds(5);
    REQUIRE(duo.side[0].port.posted() == kDataWritesMax);
    if (unshared_before) duo.side[0].context.unshare(name);
    CHECK(duo.logged(0, "unregister") == 0);
    duo.side[0].channel().fail(Status::kPeerFailed, "gone");
    duo.rounds(3);
    if (!unshared_before) duo.side[0].context.unshare(name);
    CHECK(duo.logged(0, "unregister") == 1);
    CHECK(duo.side[0].context.core().exposures.size() == 0);
    CHECK(duo.side[0].upper.releases.empty());
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
    context.set_cards(fake_cards(2));
    std::uint32_t name = 0;
    Shared shared;
    REQUIRE(context.channel(1)->expose(source.all(), nullptr, name) == Status::kOk);
    REQUIRE(context.share(room.data(), room.size(), shared));
    REQUIRE(context.channel(1)->read({destination.all(), nullptr, 0, 100, 7, true}) == Status::kOk);
  }
  CHECK(upper.releases.empty());
  CHECK(upper.reads.empty());
  CHECK(std::ranges::count(port.log, "register 1000") == 1);
  CHECK(std::ranges::count(port.log, "unregister 1000") == 1);
}

}  // namespace
}  // namespace bufenlarge::test
