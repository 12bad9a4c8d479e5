// SPDX-License-Identifier: MIT
#include "channel/ring_slabs.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Slabs = RingSlabs<FakePort>;
using Log = std::vector<std::string>;

struct Rings {
  explicit Rings(std::size_t bytes) : slabs(port, ledger, bytes) {}

  void take(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) held.push_back(slabs.take());
  }
  [[nodiscard]] std::size_t allocated(std::size_t bytes) const {
    return static_cast<std::size_t>(std::ranges::count(port.log, "allocate " + std::to_string(bytes)));
  }

  FakeFabric fabric;
  FakePort port{fabric};
  Ledger ledger;
  Slabs slabs;
  std::vector<Slabs::Ring> held;
};

TEST_CASE("rings are parts of one region, next to each other and zeroed", "[ring_slabs][E7]") {
  Rings rings(1024);
  rings.take(4);
  CHECK(rings.port.log == Log{"allocate 4096", "use 1024", "use 1024", "use 1024", "use 1024"});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rings.held[i].bytes() == 1024);
    CHECK(rings.held[i].data() == rings.held[i].region().data() + i * 1024);
    std::memset(rings.held[i].data(), 1, 1024);
  }
  std::byte* const place = rings.held[2].data();
  rings.held.erase(rings.held.begin() + 2);
  rings.take(1);
  REQUIRE(rings.held.back().data() == place);
  CHECK(std::all_of(place, place + 1024, [](std::byte byte) { return byte == std::byte{0}; }));
  CHECK(rings.held[2].data()[0] == std::byte{1});
}

TEST_CASE("a slab is a fourth of what there is, so 4,096 peers take few registrations", "[ring_slabs][E9]") {
  Rings rings(1024);
  rings.take(2 * 4096);
  const Slabs::Taken taken = Slabs::taken(2 * 4096, 1024);
  CHECK(rings.ledger.bytes() == taken.bytes);
  CHECK(taken.slabs < 60);
  CHECK(taken.bytes <= 2 * 4096 * 1024 + Slabs::kSlabBytesMax);
  CHECK(rings.allocated(Slabs::kSlabBytesMax) > 20);
  for (const std::size_t peers : {1, 8, 64, 512}) {
    const std::uint64_t bytes = Slabs::taken(2 * peers, 1024).bytes;
    CHECK(bytes >= 2 * peers * 1024);
    CHECK(bytes <= 2 * peers * 1024 * 5 / 4 + 4096);
  }
}

TEST_CASE("a slab goes when its last ring does", "[ring_slabs][E7]") {
  Rings rings(1024);
  rings.take(8);
  CHECK(rings.ledger.bytes() == 8192);
  rings.port.log.clear();
  rings.held.erase(rings.held.begin() + 1, rings.held.begin() + 4);
  CHECK(rings.slabs.has_free(3));
  CHECK_FALSE(rings.slabs.has_free(4));
  CHECK(rings.port.log == Log{"give back 1024", "give back 1024", "give back 1024"});
  rings.held.erase(rings.held.begin());
  CHECK(rings.port.log.back() == "free 4096");
  CHECK(rings.ledger.bytes() == 4096);
  CHECK_FALSE(rings.slabs.has_free(1));
  rings.held.clear();
  CHECK(rings.ledger.bytes() == 0);
  rings.take(1);
  CHECK(rings.held.back().bytes() == 1024);
}

TEST_CASE("the slab that came first is filled first, so that others can go", "[ring_slabs]") {
  Rings rings(1024);
  rings.take(8);
  const Slabs::Ring& first = rings.held.front();
  std::byte* const place = rings.held[3].data();
  rings.held.erase(rings.held.begin() + 6);
  rings.held.erase(rings.held.begin() + 3);
  rings.take(1);
  CHECK(rings.held.back().data() == place);
  CHECK(&rings.held.back().region() == &first.region());
}

TEST_CASE("where a larger slab is refused it has two rings, and where that is refused there is no ring",
          "[ring_slabs][B3]") {
  Rings rings(8192);
  rings.port.refuses_memory = [](std::size_t bytes) { return bytes > 16384; };
  rings.take(40);
  CHECK(rings.allocated(16384) == 20);
  CHECK(std::ranges::count(rings.port.log, "refuse 32768") > 0);
  rings.port.refuses_memory = [](std::size_t) { return true; };
  CHECK_FALSE(rings.slabs.take());
  CHECK(rings.ledger.bytes() == 20 * 16384);
}

TEST_CASE("a limit makes slabs small, and is kept", "[ring_slabs][B2]") {
  Rings rings(1024);
  rings.ledger.set_limits({std::uint64_t{1} << 20, 0, 0});
  rings.take(1024);
  CHECK(rings.allocated(16384) > 50);
  CHECK(rings.allocated(32768) == 0);
  CHECK(rings.ledger.bytes() == std::uint64_t{1} << 20);
  CHECK_FALSE(rings.slabs.take());
  rings.held.pop_back();
  CHECK(rings.slabs.take());
}

TEST_CASE("rings of another size, or large ones, are not cut from slabs", "[ring_slabs]") {
  CHECK(Rings(1024).slabs.serves(1024));
  CHECK_FALSE(Rings(1024).slabs.serves(2048));
  CHECK(Rings(Slabs::kRingBytesMax).slabs.serves(Slabs::kRingBytesMax));
  CHECK_FALSE(Rings(Slabs::kRingBytesMax + 8).slabs.serves(Slabs::kRingBytesMax + 8));
}

}  // namespace
}  // namespace bufenlarge::test
