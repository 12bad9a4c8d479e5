// SPDX-License-Identifier: MIT
#include "channel/user_registrations.h"

#include <catch2/catch.hpp>

#include "support/registrations_fixture.h"

namespace bufenlarge::test {
namespace {

using Fixture = RegistrationsFixture;

TEST_CASE("a registration stays after its last holder, and the next transfer finds it", "[registrations][K1]") {
  Fixture test;
  CHECK(test.use(100, 50) == Log{"register 50"});
  CHECK(test.registrations.bytes() == 0);
  CHECK(test.keeper.idle_bytes() == 50);
  CHECK(test.use(100, 50).empty());
  CHECK(test.keeper.counters.misses == 1);
  CHECK(test.keeper.counters.hits == 1);
  const auto held = test.hold(100, 50);
  CHECK(test.registrations.bytes() == 50);
  CHECK(test.keeper.idle_bytes() == 0);
  test.registrations.release(*held);
}

TEST_CASE("without a monitor, or with no bytes to keep, it ends with its last holder", "[registrations][K1]") {
  for (const bool watched : {false, true}) {
    Fixture test(watched ? 0 : 10'000, watched);
    CHECK(test.use(100, 50) == Log{"register 50", "unregister 50"});
    const auto one = test.hold(100, 50), same = test.hold(100, 50), part = test.hold(110, 10);
    CHECK(test.port.news() == Log{"register 50", "register 10"});  // a part may outlive the rest of the memory
    CHECK(*one == *same);
    test.registrations.release(*one);
    CHECK(test.port.news().empty());
    test.registrations.release(*same);
    test.registrations.release(*part);
    CHECK(test.port.news() == Log{"unregister 50", "unregister 10"});
    CHECK(test.registrations.bytes() == 0);
    CHECK(test.keeper.idle_bytes() == 0);
  }
}

TEST_CASE("a part of a registered range needs no registration of its own", "[registrations][K1]") {
  Fixture test;
  (void)test.use(1000, 500);
  CHECK(test.use(1000, 100).empty());
  CHECK(test.use(1400, 100).empty());
  CHECK(test.use(1100, 100).empty());
  const auto held = test.hold(1200, 10);
  CHECK(test.registrations.bytes() == 500);  // all of it is held
  CHECK(test.use(1000, 500).empty());
  test.registrations.release(*held);
  CHECK(test.use(999, 100) == Log{"register 100"});
  CHECK(test.use(1401, 100) == Log{"register 100"});
  CHECK(test.keeper.idle_bytes() == 700);
}

TEST_CASE("a larger registration takes the place of those that it contains", "[registrations][K1]") {
  Fixture test;
  (void)test.use(1000, 100);
  (void)test.use(1200, 100);
  const auto held = test.hold(1300, 100);
  (void)test.port.news();
  (void)test.use(1450, 100);
  (void)test.port.news();
  CHECK(test.use(1000, 500) == Log{"register 500", "unregister 100", "unregister 100"});
  CHECK(test.keeper.idle_bytes() == 600);
  CHECK(test.use(1310, 10).empty());  // of the larger one
  test.registrations.release(*held);
  CHECK(test.port.news() == Log{"unregister 100"});
  CHECK(test.use(1450, 100).empty());
  CHECK(test.keeper.counters.evictions == 3);
}

TEST_CASE("the one that was not used for longest gives way first", "[registrations][K1]") {
  Fixture test(300);
  (void)test.use(0, 100);
  (void)test.use(1000, 101);
  (void)test.use(2000, 99);
  CHECK(test.use(0, 100).empty());
  (void)test.port.news();
  CHECK(test.use(3000, 50) == Log{"register 50", "unregister 101"});
  CHECK(test.keeper.idle_bytes() == 249);
  CHECK(test.use(4000, 301) == Log{"register 301", "unregister 301"});  // more than may stay at all
  CHECK(test.use(5000, 300) == Log{"register 300", "unregister 99", "unregister 100", "unregister 50"});
  CHECK(test.keeper.idle_bytes() == 300);
  CHECK(test.keeper.counters.evictions == 4);
}

TEST_CASE("sources and destinations share what may stay, by their age", "[registrations][K1]") {
  Fixture test(300);
  Registrations destinations(test.keeper);
  const auto arrive = [&](std::size_t at, std::size_t bytes) {
    const auto held = destinations.hold(test.port, test.room.data() + at, bytes, MemoryUse::kDestination);
    destinations.release(held.value());
    return test.port.news();
  };
  (void)test.use(0, 100);
  CHECK(arrive(0, 100) == Log{"register 100"});  // with other rights
  CHECK(arrive(1000, 101) == Log{"register 101", "unregister 100"});
  CHECK(arrive(0, 100).empty());
  CHECK(test.use(0, 90) == Log{"register 90"});
  CHECK(test.use(1000, 20) == Log{"register 20", "unregister 101"});
  test.unmap(0, 1);
  CHECK(arrive(0, 100) == Log{"unregister 90", "unregister 100", "register 100"});
}

TEST_CASE("idle registrations keep no transfer waiting", "[registrations][K1]") {
  Fixture test(20'000);
  (void)test.use(0, 9'000);
  (void)test.use(10'000, 9'000);
  CHECK_FALSE(test.registrations.full(15'000));
  CHECK(test.registrations.more_for(test.room.data(), 9'000) == 9'000);
  CHECK(test.registrations.more_for(test.room.data() + 50'000, 7) == 7);
  const auto held = test.hold(30'000, 10'000);
  CHECK(test.port.news() == Log{"unregister 9000", "register 10000"});
  CHECK_FALSE(test.registrations.full(10'000));
  CHECK(test.registrations.full(10'001));
  CHECK(test.registrations.more_for(test.room.data() + 30'000, 100) == 0);
  test.registrations.release(*held);
}

TEST_CASE("what the device refuses is tried again when idle registrations have ended", "[registrations][K1]") {
  Fixture test;
  std::uint64_t registered = 0;
  test.port.refuses_user_memory = [&](MemoryUse, std::size_t bytes) {
    registered = test.keeper.idle_bytes() + test.registrations.bytes();
    return registered + bytes > 1000;
  };
  (void)test.use(0, 400);
  (void)test.use(1000, 300);
  (void)test.use(2000, 300);
  (void)test.port.news();
  CHECK(test.use(3000, 350) == Log{"refuse 350", "unregister 400", "register 350"});
  CHECK(test.use(4000, 700) ==
        Log{"refuse 700", "unregister 300", "unregister 300", "unregister 350", "register 700"});
  CHECK_FALSE(test.hold(5000, 1001).has_value());
  CHECK(test.port.news() == Log{"refuse 1001", "unregister 700", "refuse 1001"});
}

TEST_CASE("a ring that the device refuses makes idle registrations give way, too", "[registrations][K1]") {
  Fixture test;
  (void)test.use(0, 400);
  test.port.refuses_memory = [&](std::size_t) { return test.keeper.idle_bytes() != 0; };
  CHECK(test.port.allocate(100).bytes() == 100);
}

TEST_CASE("an idle registration whose memory changes its mapping is not used again", "[registrations][K1]") {
  Fixture test;
  (void)test.use(4096, 1000);
  test.unmap(0, 4096);  // up to it
  test.unmap(5096, 4096);
  CHECK(test.use(4096, 1000).empty());
  test.unmap(5095, 1);
  CHECK(test.use(4096, 1000) == Log{"unregister 1000", "register 1000"});
  test.unmap(0, 4097);
  CHECK(test.use(5000, 10) == Log{"unregister 1000", "register 10"});
  CHECK(test.keeper.counters.invalidations == 2);
  CHECK(test.keeper.idle_bytes() == 10);
}

TEST_CASE("of many registrations those end that overlap what was unmapped", "[registrations][K1]") {
  Fixture test;
  for (std::size_t at = 0; at < 5000; at += 100) (void)test.use(at, 150);  // each overlaps the next
  CHECK(test.keeper.idle_bytes() == 50 * 150);
  test.unmap(1000, 100);
  (void)test.use(90'000, 1);
  CHECK(test.keeper.counters.invalidations == 2);  // from 900 and from 1000
  CHECK(test.use(800, 150).empty());
  CHECK(test.use(1100, 150).empty());
  CHECK(test.use(900, 150) == Log{"register 150"});
  CHECK(test.use(1000, 150) == Log{"register 150"});
}

TEST_CASE("one that is held ends with its last holder, and is not shared before", "[registrations][K1]") {
  Fixture test;
  const auto first = test.hold(0, 1000), second = test.hold(100, 100);
  (void)test.port.news();
  test.unmap(500, 100);  // no holder has it: the first is past that
  const auto third = test.hold(100, 100);
  CHECK(test.port.news() == Log{"register 100"});
  CHECK(*third != *second);
  CHECK(test.registrations.bytes() == 1100);
  test.registrations.release(*first);
  CHECK(test.port.news().empty());
  test.registrations.release(*second);
  CHECK(test.port.news() == Log{"unregister 1000"});
  test.registrations.release(*third);
  CHECK(test.keeper.idle_bytes() == 100);
  CHECK(test.keeper.counters.invalidations == 1);
}

TEST_CASE("one that is unmapped while it is held does not stay", "[registrations][K1]") {
  Fixture test;
  const auto held = test.hold(0, 1000);
  test.unmap(0, 1);
  (void)test.port.news();
  test.registrations.release(*held);  // the first look since then
  CHECK(test.port.news() == Log{"unregister 1000"});
  CHECK(test.keeper.idle_bytes() == 0);
}

TEST_CASE("when more was unmapped than is recorded nothing idle is used again", "[registrations][K1]") {
  Fixture test;
  (void)test.use(0, 100);
  const auto held = test.hold(1000, 100);
  (void)test.port.news();
  for (std::size_t i = 0; i <= UnmappedRanges::kCapacity; ++i) test.unmap(50'000, 10);
  CHECK(test.use(0, 100) == Log{"unregister 100", "register 100"});
  test.registrations.release(*held);
  CHECK(test.port.news() == Log{"unregister 100"});
}

TEST_CASE("when the monitor works no more nothing stays", "[registrations][K1]") {
  Fixture test;
  (void)test.use(0, 100);
  const auto held = test.hold(1000, 100);
  (void)test.port.news();
  test.monitor.stop();
  CHECK(test.use(0, 100) == Log{"unregister 100", "register 100", "unregister 100"});
  test.registrations.release(*held);
  CHECK(test.port.news() == Log{"unregister 100"});
  CHECK_FALSE(test.keeper.watches());
}

TEST_CASE("memory whose mapping may end unseen is registered for each transfer", "[registrations][K1]") {
  Fixture test;
  test.monitor.overlook(test.room.data() + 1000, 100);
  CHECK(test.use(1050, 200) == Log{"register 200", "unregister 200"});
  const auto one = test.hold(1050, 200), same = test.hold(1050, 200);
  CHECK(test.port.news() == Log{"register 200"});
  test.registrations.release(*one);
  CHECK(test.port.news().empty());
  test.registrations.release(*same);
  CHECK(test.port.news() == Log{"unregister 200"});
  CHECK(test.use(1100, 200) == Log{"register 200"});
}

}  // namespace
}  // namespace bufenlarge::test
