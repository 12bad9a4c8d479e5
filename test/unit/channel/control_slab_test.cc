// SPDX-License-Identifier: MIT
#include "channel/control_slab.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Slab = ControlSlab<FakePort>;

TEST_CASE("sixteen control blocks share one registered page", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Ledger ledger;
  Slab slab(port, ledger);
  std::set<const ControlBlock*> blocks;
  std::set<std::uint64_t> addresses;
  for (int i = 0; i < 16; ++i) {
    const Slab::Handle handle = slab.take(nullptr);
    REQUIRE(handle.block != nullptr);
    blocks.insert(handle.block);
    addresses.insert(handle.inbox_address());
  }
  CHECK(blocks.size() == 16);
  CHECK(addresses.size() == 16);
  CHECK(port.log == std::vector<std::string>{"allocate 4096"});
  REQUIRE(slab.take(nullptr).block != nullptr);
  CHECK(port.log == std::vector<std::string>{"allocate 4096", "allocate 4096"});
}

TEST_CASE("a hint table takes the first block of each region, and regions double", "[control_slab][S1]") {
  FakeFabric fabric;
  FakePort port(fabric);
  port.arrives = Arrival::kChecked;
  Ledger ledger;
  Slab slab(port, ledger);
  std::set<std::pair<const void*, std::size_t>> places;
  for (int i = 0; i < 15 + 31 + 63; ++i) {
    const Slab::Handle handle = slab.take(&slab);
    REQUIRE(handle.block != nullptr);
    CHECK(handle.hint() != 0);
    places.insert({handle.page, handle.hint()});
  }
  CHECK(places.size() == 15 + 31 + 63);
  CHECK(port.log == std::vector<std::string>{"allocate 4096", "allocate 8192", "allocate 16384"});
  for (int i = 0; i < 127 + 255 + 1; ++i) (void)slab.take(&slab);
  CHECK(port.news().back() == "allocate 65536");  // a table has no more bytes
}

TEST_CASE("where a larger region is refused the next is a page, and where that is refused there is no block",
          "[control_slab][S1]") {
  FakeFabric fabric;
  FakePort port(fabric);
  port.arrives = Arrival::kChecked;
  Ledger ledger;
  Slab slab(port, ledger);
  port.refuses_memory = [](std::size_t bytes) { return bytes > Slab::kPageBytes; };
  std::set<std::pair<const void*, std::size_t>> places;
  for (int i = 0; i < 15 + 15; ++i) {
    const Slab::Handle handle = slab.take(&slab);
    REQUIRE(handle.block != nullptr);
    places.insert({handle.page, handle.hint()});
  }
  CHECK(places.size() == 15 + 15);
  port.refuses_memory = [](std::size_t) { return true; };
  CHECK(slab.take(&slab).block == nullptr);
  port.refuses_memory = {};
  CHECK(slab.take(&slab).block != nullptr);
}

// Blocks of a slab with a table, by their owners.
struct Hinted {
  explicit Hinted(int blocks) {
    port.arrives = Arrival::kChecked;
    for (int i = 0; i < blocks; ++i) handles.push_back(slab.take(reinterpret_cast<void*>(std::uintptr_t(i) + 1)));
  }
  // As the peer of that block does.
  void hint(std::size_t block) {
    const auto& handle = handles[block];
    const std::uint64_t first = handle.inbox_address() - handle.hint() * sizeof(ControlBlock);
    static constexpr std::byte kOne{1};
    REQUIRE(fabric.place(handle.region().remote_key(), first + handle.hint(), std::span(&kOne, 1)));
  }
  // The owners found by so many calls.
  std::vector<std::size_t> found(unsigned calls) {
    std::vector<std::size_t> owners;
    const auto add = [&](void* owner) { owners.push_back(reinterpret_cast<std::uintptr_t>(owner) - 1); };
    while (calls-- > 0) slab.read_hints(add);
    return owners;
  }
  FakeFabric fabric;
  FakePort port{fabric};
  Ledger ledger;
  Slab slab{port, ledger};
  std::vector<Slab::Handle> handles;
};

TEST_CASE("a hint is found once, with the owner of the block it is for", "[control_slab][S1]") {
  Hinted hinted(40);
  CHECK(hinted.found(10).empty());
  hinted.hint(0);
  hinted.hint(14);
  hinted.hint(39);
  std::vector<std::size_t> owners = hinted.found(2);
  CHECK(owners == std::vector<std::size_t>{0, 14, 39});
  CHECK(hinted.found(10).empty());
  hinted.hint(14);
  hinted.hint(14);  // before the first was seen
  CHECK(hinted.found(2) == std::vector<std::size_t>{14});
}

TEST_CASE("a hint for a block that was given back is forgotten", "[control_slab][S1]") {
  Hinted hinted(2);
  hinted.slab.give_back(hinted.handles[1]);
  hinted.hint(1);
  CHECK(hinted.found(2).empty());
  const Slab::Handle again = hinted.slab.take(&hinted);
  CHECK(again.block == hinted.handles[1].block);
  CHECK(hinted.found(2).empty());
}

TEST_CASE("a call looks at a bounded part of the tables, and calls reach all of it", "[control_slab][S1]") {
  Hinted hinted(15 + 31 + 63 + 127 + 255 + 255);
  hinted.hint(0);
  hinted.hint(600);
  hinted.hint(745);
  std::size_t calls = 0;
  std::vector<std::size_t> owners;
  for (; owners.size() < 3 && calls < 100; ++calls)
    for (const std::size_t owner : hinted.found(1)) owners.push_back(owner);
  CHECK(owners.size() == 3);
  CHECK(calls == 4 + 2 * 256 / 8 / Slab::kHintWordsPerCall);
}

TEST_CASE("the inbox address is where the peer's writes land", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Ledger ledger;
  Slab slab(port, ledger);
  for (int i = 0; i < 20; ++i) {
    const Slab::Handle handle = slab.take(nullptr);
    CHECK(fabric.at(handle.region().remote_key(), handle.inbox_address(), sizeof(ControlInbox)) ==
          reinterpret_cast<std::byte*>(&handle.block->inbox));
  }
}

TEST_CASE("a block given back is taken again, zeroed", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Ledger ledger;
  Slab slab(port, ledger);
  const Slab::Handle first = slab.take(nullptr);
  std::memset(first.block, 0x5a, sizeof *first.block);
  slab.give_back(first);
  const Slab::Handle again = slab.take(nullptr);
  CHECK(again.block == first.block);
  const ControlBlock zero{};
  CHECK(std::memcmp(again.block, &zero, sizeof zero) == 0);
  CHECK(port.log.size() == 1);
}

TEST_CASE("without memory take() gives an empty handle, which may be given back", "[control_slab]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Ledger ledger;
  Slab slab(port, ledger);
  port.refuses_memory = [](std::size_t) { return true; };
  const Slab::Handle none = slab.take(nullptr);
  CHECK(none.block == nullptr);
  slab.give_back(none);
  port.refuses_memory = nullptr;
  CHECK(slab.take(nullptr).block != nullptr);
}

}  // namespace
}  // namespace bufenlarge::test
