// SPDX-License-Identifier: MIT
// What a send ring answers before it has a ring.
#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <new>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using FakeSendRing = SendRing<FakePort>;

TEST_CASE("before the first ring the threshold is that of phase 0, whatever the memory held", "[sendring][E1]") {
  RingsFixture fixture;
  for (const int filling : {0x00, 0xbe}) {
    alignas(FakeSendRing) std::byte memory[sizeof(FakeSendRing)];
    std::memset(memory, filling, sizeof memory);
    auto* ring = new (memory) FakeSendRing(fixture.link, fixture.receive_ring.consumer());
    CHECK(ring->threshold_bytes() == two_phases().at(0).threshold_bytes);
    CHECK(ring->phase() == 0);
    CHECK_FALSE(ring->has_ring());
    std::destroy_at(ring);
  }
}

}  // namespace
}  // namespace bufenlarge::test
