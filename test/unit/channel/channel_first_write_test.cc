// SPDX-License-Identifier: MIT
// A channel on a device where the first writes of a connection may stay unseen at the passive side until another one
// comes: the active side writes a word again until the passive side has answered.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

struct StallFixture : ContextFixture {
  explicit StallFixture(bool stalls = true) { port.first_write_stalls = stalls; }

  // Active, with the Hello slot written and no answer.
  void connect_unanswered() {
    FakePort::LinkState* link = want();
    peer().meet(link->data);
    port.connected(link, peer().answer_bytes(peer().theirs().attempt));
    rounds();
    REQUIRE(peer().next().value().kind() == SlotKind::kHello);
  }
  // How many writes there are when so much time has passed.
  std::size_t writes_after(std::uint64_t us) {
    const std::size_t before = port.writes.size();
    port.now += us;
    rounds(2);
    return port.writes.size() - before;
  }
};

TEST_CASE("the active side writes a word again until the passive side grants or sends", "[channel][S3]") {
  for (const bool grants : {true, false}) {
    StallFixture fixture;
    fixture.connect_unanswered();
    CHECK(fixture.writes_after(Connect::kRepeatPauseUs - 1) == 0);
    CHECK(fixture.writes_after(1) == 1);
    CHECK(fixture.writes_after(2 * Connect::kRepeatPauseUs) == 1);
    if (grants)
      fixture.peer().grant(1);
    else
      fixture.peer().send(pattern(8));
    CHECK(fixture.writes_after(10'000'000) == 0);
    CHECK(fixture.upper.failures.empty());
    CHECK(fixture.context.core().timed.empty());
  }
}

TEST_CASE("the active side repeats nothing where the first write is seen", "[channel][S3]") {
  StallFixture fixture(false);
  fixture.connect_unanswered();
  CHECK(fixture.writes_after(10'000'000) == 0);
  CHECK(fixture.context.core().timed.empty());
}

TEST_CASE("the passive side answers the Hello slot with a grant where the first write may stall", "[channel][S3]") {
  for (const bool stalls : {true, false}) {
    StallFixture fixture(stalls);
    fixture.accept();
    CHECK(fixture.peer().inbox().grant.consumed == (stalls ? 1 : 0));
  }
}

}  // namespace
}  // namespace bufenlarge::test
