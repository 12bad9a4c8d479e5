// SPDX-License-Identifier: MIT
// When a slab gets the memory of a receive ring back.
#include <catch2/catch.hpp>

#include <cstring>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

ChannelSettings large_slots() { return settings(phases({{1024, 4}})); }

TEST_CASE("a ring whose slots were taken by their checks goes back when a notification tells that all is placed",
          "[receivering][E7]") {
  RingsFixture fixture(large_slots(), Arrival::kMixed);
  fixture.peer.on_notified = [] {};
  REQUIRE(fixture.receive_ring.provision(phases({{8192, 4}}).at(0), Ledger::Use::kGrown));
  CHECK(fixture.logged("give back") == 0);
  CHECK(fixture.receive_ring.replaced_bytes() == large_slots().phases.at(0).ring_bytes());
  SlotTrailer marked{};
  marked.marks = kMarkNotified;
  fixture.receive_ring.take_notification(marked);  // none has come
  CHECK(fixture.logged("give back") == 0);
  fixture.receive_ring.on_notification();
  fixture.receive_ring.take_notification(SlotTrailer{});
  CHECK(fixture.logged("give back") == 0);
  fixture.receive_ring.take_notification(marked);
  CHECK(fixture.logged("give back") == 1);
  CHECK(fixture.receive_ring.replaced_bytes() == 0);
}

TEST_CASE("where nothing tells that all is placed the next small ring is the one before", "[receivering][E7]") {
  RingsFixture fixture(settings(phases({{128, 4}, {1024, 4}})), Arrival::kChecked);
  const PhaseTable table = phases({{128, 4}, {1024, 4}});
  const std::byte* const place = fixture.receive_ring.next_slot();
  REQUIRE(fixture.receive_ring.provision(table.at(1), Ledger::Use::kGrown));
  CHECK(fixture.logged("give back") == 0);
  std::memset(const_cast<std::byte*>(place), 1, 1);
  fixture.refuse_memory();
  REQUIRE(fixture.receive_ring.provision(table.at(0)));
  fixture.receive_ring.start(0, 0);
  CHECK(fixture.receive_ring.next_slot() == place);
  CHECK(*place == std::byte{0});
  CHECK(fixture.logged("free 4") == 1);
  CHECK(fixture.link.ring_bytes().now == 2 * table.at(0).ring_bytes());
  fixture.receive_ring.end();
  CHECK(fixture.logged("give back") == 1);
}

TEST_CASE("a ring on a port that places in order, or of notified slots, goes back at once", "[receivering][E7]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kNotified}) {
    RingsFixture fixture(settings(phases({{128, 4}, {1024, 4}})), arrival);
    REQUIRE(fixture.receive_ring.provision(phases({{1024, 4}}).at(0), Ledger::Use::kGrown));
    CHECK(fixture.logged("give back") == 1);
  }
}

}  // namespace
}  // namespace bufenlarge::test
