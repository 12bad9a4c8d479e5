// SPDX-License-Identifier: MIT
// Processes of other jobs, as a context knows them.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a call of a process of another job says so, and which job calls", "[context][spawn][F3]") {
  ContextFixture fixture;
  Hello hello{};
  std::memcpy(&hello, fixture.want(fixture.add_other_job())->data.data(), kHelloBytes);
  CHECK(hello.flags == kHelloOtherJob);
  CHECK(hello.slot_bytes == job_id_of(kJobKey));
  CHECK(hello.slots == 0);
}

TEST_CASE("a process of another job that may read memory here is not forgotten", "[context][spawn][F3]") {
  ContextFixture fixture;
  const std::uint32_t peer = fixture.add_other_job();
  Bytes memory(100);
  const iovec whole{memory.data(), memory.size()};
  std::uint32_t source = 0;
  REQUIRE(fixture.channel(peer).advertise(std::span(&whole, 1), nullptr, source) == Status::kOk);
  CHECK_FALSE(fixture.context.peers().forget(peer));
}

// Lets a process of another job call and go, before its connection stands or after.
void come_and_go(ContextFixture& fixture, std::uint32_t rank, bool stands) {
  FakePeer& caller = fixture.peer(rank);
  Hello hello = caller.hello(1);
  hello.flags |= kHelloOtherJob;
  hello.slot_bytes = job_id_of(kJobKey) + 1;
  const std::size_t before = fixture.port.accepted.size();
  fixture.port.request(caller.sealed(hello, false, name_key_of(kJobKey, 0)));
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.port.accepted.size() == before + 1);
  FakePort::LinkState* const link = fixture.port.accepted.back();
  if (stands) fixture.port.connected(link, {});
  fixture.port.lost(link, "it has gone");
  fixture.rounds(2 * FakeContext::kEventRounds);
}

TEST_CASE("a caller of another job that goes before its first slot is given back, with all its memory",
          "[context][spawn][F3]") {
  constexpr std::uint32_t kSize = 4;
  constexpr auto kCallers = static_cast<std::uint32_t>(2 * ControlSlab<FakePort>::kBlocksPerPage);
  const bool stands = GENERATE(false, true);
  ContextFixture fixture(settings(two_phases()), kSize);
  fixture.port.arrives = GENERATE(Arrival::kInOrder, Arrival::kChecked);
  for (std::uint32_t rank = 0; rank < kCallers; ++rank) {
    come_and_go(fixture, rank, stands);
    REQUIRE(fixture.context.find(kSize) != nullptr);
    REQUIRE(fixture.context.peers().forget(kSize));
    CHECK(fixture.context.core().ledger.bytes() == ControlSlab<FakePort>::kPageBytes);
  }
  CHECK(fixture.upper.failures.empty());
}

}  // namespace
}  // namespace bufenlarge::test
