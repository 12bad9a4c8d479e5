// SPDX-License-Identifier: MIT
// The registrations of persistent requests' memory, without a monitor.
#include <catch2/catch.hpp>

#include "channel/user_registrations.h"
#include "support/registrations_fixture.h"

namespace bufenlarge::test {
namespace {

struct Fixture : RegistrationsFixture {
  explicit Fixture(std::uint64_t idle_max = 10'000) : RegistrationsFixture(idle_max, false) {}
};

TEST_CASE("memory of a persistent request stays registered until the request ends", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  CHECK(test.port.news().empty());
  CHECK(test.use(1000, 500, true) == Log{"register 500"});
  CHECK(test.registrations.bytes() == 0);
  CHECK(test.keeper.idle_bytes() == 500);
  CHECK(test.registrations.more_for(test.room.data() + 1000, 500, true) == 500);
  CHECK(test.use(1000, 500, true).empty());
  CHECK(test.use(1000, 200, true).empty());  // the message was shorter than the receive
  CHECK(test.use(1000, 1, true).empty());
  CHECK(test.keeper.counters.hits == 3);
  CHECK(test.cease(1000, 500));
  CHECK(test.port.news() == Log{"unregister 500"});
  CHECK_FALSE(test.cease(1000, 500));
  CHECK(test.use(1000, 500, true) == Log{"register 500", "unregister 500"});
}

TEST_CASE("the first transfer of a persistent request registers all of its memory", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  CHECK(test.registrations.more_for(test.room.data() + 1000, 200, true) == 500);
  CHECK(test.use(1000, 200, true) == Log{"register 500"});
  CHECK(test.use(1000, 501, true) == Log{"register 501", "unregister 501"});  // goes beyond it
  CHECK(test.use(1001, 100, true) == Log{"register 100", "unregister 100"});  // of no request that is known
}

// It may be freed while the request is inactive, and mapped anew for this transfer.
TEST_CASE("no other transfer uses the registration of a persistent request", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  (void)test.use(1000, 500, true);
  CHECK(test.use(1000, 500) == Log{"register 500", "unregister 500"});
  CHECK(test.use(1100, 100) == Log{"register 100", "unregister 100"});
  CHECK(test.registrations.more_for(test.room.data() + 1000, 500) == 500);
  CHECK(test.use(1000, 500, true).empty());
}

// The memory of the first one may have been freed, and the second one's be another at the same address.
TEST_CASE("a second request with the same memory begins with a registration of its own", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  (void)test.use(1000, 500, true);
  test.persist(1000, 500);
  CHECK(test.port.news() == Log{"unregister 500"});
  CHECK(test.use(1000, 500, true) == Log{"register 500"});
  CHECK(test.cease(1000, 500));
  CHECK(test.port.news().empty());
  CHECK(test.use(1000, 500, true).empty());
  CHECK(test.cease(1000, 500));
  CHECK(test.port.news() == Log{"unregister 500"});
}

TEST_CASE("a registration that is held outlives its request, and is used no more", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  const auto held = test.hold(1000, 500, true);
  const bool second = GENERATE(false, true);
  if (second)
    test.persist(1000, 500);
  else
    CHECK(test.cease(1000, 500));
  CHECK(test.port.news() == Log{"register 500"});
  CHECK(test.use(1000, 500, true).front() == "register 500");
  test.registrations.release(*held);
  CHECK(test.port.news() == Log{"unregister 500"});
  CHECK(test.keeper.idle_bytes() == (second ? 500 : 0));
}

TEST_CASE("requests may have parts of the same memory", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 500);
  test.persist(1000, 300);
  test.persist(1200, 300);
  CHECK(test.use(1000, 300, true) == Log{"register 300"});
  CHECK(test.use(1000, 301, true) == Log{"register 500"});
  CHECK(test.use(1200, 300, true) == Log{"register 300"});
  CHECK(test.cease(1000, 500));
  CHECK(test.port.news() == Log{"unregister 500"});
  CHECK(test.use(1000, 300, true).empty());
  CHECK(test.use(1200, 300, true).empty());
  CHECK(test.keeper.idle_bytes() == 600);
}

// The older one may be inactive, its memory freed, and a part of that be the memory of the new one.
TEST_CASE("a new request ends what others keep of its memory", "[registrations][K1]") {
  Fixture test;
  test.persist(1000, 900);
  test.persist(1950, 50);
  (void)test.use(1000, 900, true);
  (void)test.use(1950, 50, true);
  // At its beginning, in its middle, at its end, around it.
  const AddressRange part = GENERATE(AddressRange{1000, 1300}, AddressRange{1500, 1600}, AddressRange{1899, 1950},
                                     AddressRange{999, 1901});
  test.persist(part.begin, part.end - part.begin);
  CHECK(test.port.news() == Log{"unregister 900"});
  CHECK(test.use(1950, 50, true).empty());
  CHECK(test.use(1000, 900, true) == Log{"register 900"});
}

TEST_CASE("what persistent requests keep gives way as all that is idle", "[registrations][K1]") {
  Fixture test(700);
  test.persist(1000, 500);
  test.persist(2000, 300);
  test.persist(3000, 800);
  CHECK(test.use(1000, 500, true) == Log{"register 500"});
  CHECK(test.use(2000, 300, true) == Log{"register 300", "unregister 500"});
  CHECK(test.keeper.counters.evictions == 1);
  CHECK(test.use(3000, 800, true) == Log{"register 800", "unregister 800"});  // more than may stay
  CHECK(test.keeper.give_way(1));
  CHECK(test.port.news() == Log{"unregister 300"});
  CHECK(test.use(2000, 300, true) == Log{"register 300"});
}

TEST_CASE("memory of MPI's own serves persistent requests in it, too", "[registrations][K1]") {
  Fixture test;
  REQUIRE(test.stand(1000, 1000));
  test.persist(1200, 300);
  CHECK(test.use(1200, 300, true) == Log{"register 1000"});
  CHECK(test.use(1200, 300).empty());
  CHECK(test.cease(1200, 300));
  CHECK(test.use(1200, 300).empty());
}

TEST_CASE("under a monitor persistent requests use what all use", "[registrations][K1]") {
  RegistrationsFixture test;
  test.persist(1000, 500);
  CHECK(test.use(1000, 200, true) == Log{"register 200"});
  CHECK(test.use(1000, 200).empty());
  CHECK(test.cease(1000, 500));
  CHECK(test.port.news().empty());
  test.persist(2000, 500);
  test.monitor.stop();
  CHECK(test.use(2000, 200, true).back() == "register 500");  // what was idle ended
  CHECK(test.use(2000, 200, true).empty());
  CHECK(test.use(2000, 200).size() == 2);
}

}  // namespace
}  // namespace bufenlarge::test
