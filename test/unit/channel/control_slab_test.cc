// SPDX-License-Identifier: MIT
#include "channel/control_slab.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <set>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Slab = ControlSlab<FakePort>;

TEST_CASE("sixteen control blocks share one registered page", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Slab slab(port);
  std::set<const ControlBlock*> blocks;
  std::set<std::uint64_t> addresses;
  for (int i = 0; i < 16; ++i) {
    const Slab::Handle handle = slab.take();
    REQUIRE(handle.block != nullptr);
    blocks.insert(handle.block);
    addresses.insert(handle.inbox_address());
  }
  CHECK(blocks.size() == 16);
  CHECK(addresses.size() == 16);
  CHECK(port.log == std::vector<std::string>{"allocate 4096"});
  REQUIRE(slab.take().block != nullptr);
  CHECK(port.log == std::vector<std::string>{"allocate 4096", "allocate 4096"});
}

TEST_CASE("the inbox address is where the peer's writes land", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Slab slab(port);
  for (int i = 0; i < 20; ++i) {
    const Slab::Handle handle = slab.take();
    CHECK(fabric.at(handle.region->remote_key(), handle.inbox_address(), sizeof(ControlInbox)) ==
          reinterpret_cast<std::byte*>(&handle.block->inbox));
  }
}

TEST_CASE("a block given back is taken again, zeroed", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Slab slab(port);
  const Slab::Handle first = slab.take();
  std::memset(first.block, 0x5a, sizeof *first.block);
  slab.give_back(first);
  const Slab::Handle again = slab.take();
  CHECK(again.block == first.block);
  const ControlBlock zero{};
  CHECK(std::memcmp(again.block, &zero, sizeof zero) == 0);
  CHECK(port.log.size() == 1);
}

TEST_CASE("without memory take() gives an empty handle, which may be given back", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Slab slab(port);
  port.refuses_memory = [](std::size_t) { return true; };
  const Slab::Handle none = slab.take();
  CHECK(none.block == nullptr);
  slab.give_back(none);
  port.refuses_memory = nullptr;
  CHECK(slab.take().block != nullptr);
}

}  // namespace
}  // namespace bufenlarge::test
