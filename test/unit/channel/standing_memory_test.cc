// SPDX-License-Identifier: MIT
// Memory whose owner says that its mapping stays.
#include "channel/user_registrations.h"

#include <catch2/catch.hpp>

#include "support/registrations_fixture.h"

namespace bufenlarge::test {
namespace {

using Fixture = RegistrationsFixture;

TEST_CASE("standing memory is registered as a whole by its first transfer, and stays", "[registrations][K1]") {
  for (const bool watched : {false, true}) {
    Fixture test(10'000, watched);
    REQUIRE(test.stand(1000, 500));
    CHECK(test.port.news().empty());
    CHECK(test.registrations.more_for(test.room.data() + 1200, 10) == 500);
    CHECK(test.use(1200, 10) == Log{"register 500"});
    CHECK(test.use(1000, 500).empty());
    CHECK(test.use(1499, 1).empty());
    CHECK(test.use(1499, 2).size() == (watched ? 1 : 2));  // beyond its end
    (void)test.port.news();
    CHECK(test.fall(1000));
    CHECK(test.port.news() == Log{"unregister 500"});
    CHECK_FALSE(test.fall(1000));
  }
}

TEST_CASE("standing memory that ends while it is held is not found any more", "[registrations][K1]") {
  Fixture test(10'000, false);
  REQUIRE(test.stand(1000, 500));
  const auto held = test.hold(1100, 10);
  CHECK(test.fall(1000));
  (void)test.port.news();
  CHECK(test.use(1100, 10) == Log{"register 10", "unregister 10"});
  test.registrations.release(*held);
  CHECK(test.port.news() == Log{"unregister 500"});
  CHECK(test.keeper.idle_bytes() == 0);
}

TEST_CASE("standing memory does not overlap other standing memory", "[registrations][K1]") {
  Fixture test;
  CHECK(test.stand(1000, 500));
  CHECK_FALSE(test.stand(1000, 500));
  CHECK_FALSE(test.stand(999, 2));
  CHECK_FALSE(test.stand(1499, 1));
  CHECK_FALSE(test.stand(900, 1000));
  CHECK(test.stand(1500, 1));
  CHECK(test.stand(0, 1000));
}

TEST_CASE("standing memory gives way last, and is registered again when it is used", "[registrations][K1]") {
  Fixture test(1000);
  REQUIRE(test.stand(0, 600));
  (void)test.use(0, 600);
  (void)test.use(2000, 400);
  CHECK(test.use(3000, 300) == Log{"register 300", "unregister 400"});
  CHECK(test.keeper.give_way(301));
  CHECK(test.port.news() == Log{"unregister 300", "unregister 600"});
  CHECK_FALSE(test.keeper.give_way(1));
  CHECK(test.use(10, 5) == Log{"register 600"});
}

TEST_CASE("standing memory that is too large, or refused as a whole, is as any other", "[registrations][K1]") {
  Fixture test(1000);
  REQUIRE(test.stand(0, 1001));
  CHECK(test.use(10, 5) == Log{"register 5"});
  test.port.refuses_user_memory = [](MemoryUse, std::size_t bytes) { return bytes > 100; };
  REQUIRE(test.stand(2000, 600));
  CHECK(test.use(2000, 50) == Log{"refuse 600", "unregister 5", "refuse 600", "register 50"});
}

TEST_CASE("standing memory whose mapping changes is registered again", "[registrations][K1]") {
  Fixture test;
  REQUIRE(test.stand(0, 600));
  (void)test.use(0, 10);
  test.unmap(100, 1);
  CHECK(test.use(0, 10) == Log{"unregister 600", "register 600"});
}

}  // namespace
}  // namespace bufenlarge::test
