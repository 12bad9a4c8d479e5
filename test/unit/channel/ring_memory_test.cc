// SPDX-License-Identifier: MIT
#include "channel/ring_memory.h"

#include <catch2/catch.hpp>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Ring = RingMemory<FakePort>;

TEST_CASE("slots lie one after the other, a stride apart, inside of the region", "[ring_memory]") {
  FakeFabric fabric;
  FakePort port(fabric);
  const Phase phase = phases({{100, 5}}).at(0);
  const Ring ring(port.allocate(phase.ring_bytes()), phase, {});
  REQUIRE(ring);
  CHECK(ring.stride() == 104);
  CHECK(ring.capacity() == 80);
  for (std::uint32_t index = 0; index < 5; ++index) {
    CHECK(ring.slot(index) == ring.region().data() + index * 104);
    CHECK(reinterpret_cast<std::uintptr_t>(ring.slot(index)) % 8 == 0);
  }
  CHECK(ring.slot(4) + ring.stride() <= ring.region().data() + ring.registered_bytes());
}

TEST_CASE("a ring in a slab tells the peer where its own slots begin", "[ring_memory][E7]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Ledger ledger;
  RingSlabs<FakePort> slabs(port, ledger, 1024);
  const Phase phase = phases({{256, 4}, {512, 4}}).at(0);
  const RingSlabs<FakePort>::Ring other = slabs.take();
  Ring ring(slabs.take(), phase);
  REQUIRE(ring);
  CHECK(ring.is_part());
  CHECK(ring.registered_bytes() == 1024);
  CHECK(ring.slot(0) == other.data() + 1024);
  CHECK(ring.remote_address() == other.region().remote_address() + 1024);
  CHECK_FALSE(ring.divide(phases({{256, 4}, {512, 4}}).at(1)));
  port.log.clear();
  ring = Ring();
  CHECK(port.log == std::vector<std::string>{"give back 1024"});
}

TEST_CASE("a ring without memory is empty", "[ring_memory]") {
  CHECK_FALSE(Ring());
  CHECK(Ring().registered_bytes() == 0);
}

TEST_CASE("assigning an empty ring frees the region at once", "[ring_memory][E7]") {
  FakeFabric fabric;
  FakePort port(fabric);
  const Phase phase = two_phases().at(0);
  Ring ring(port.allocate(phase.ring_bytes()), phase, {});
  ring = Ring();
  CHECK(port.log == std::vector<std::string>{"allocate 8192", "free 8192"});
  CHECK_FALSE(ring);
}

}  // namespace
}  // namespace bufenlarge::test
