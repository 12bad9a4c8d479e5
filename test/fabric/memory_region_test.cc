// SPDX-License-Identifier: MIT
#include "fabric/memory_region.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

// Returns true if any byte of the range is mapped into this process.
bool mapped(const void* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long low = 0, high = 0;
    REQUIRE(std::sscanf(line.c_str(), "%lx-%lx", &low, &high) == 2);
    found = found || (low < from + bytes && from < high);
  }
  return found;
}

TEST_CASE("a region is whole pages, zeroed, and counted while it is registered", "[memory_region][E1]") {
  FabricPort port({ProviderChoice::kTcp, "lo"});
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const RegistrationCounters& counters = port.registrations();
  const std::uint64_t before = counters.registrations;
  {
    const MemoryRegion small = port.allocate(100);
    CHECK(small.bytes() == page);
    CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % page == 0);
    CHECK(std::all_of(small.data(), small.data() + page, [](std::byte one) { return one == std::byte{0}; }));
    const MemoryRegion large = port.allocate(page + 1);
    CHECK(large.bytes() == 2 * page);
    CHECK(small.remote_key() != large.remote_key());
    CHECK(counters.bytes == 3 * page);
    CHECK(counters.registrations == before + 2);
    CHECK(counters.deregistrations == 0);
  }
  CHECK(counters.bytes == 0);
  CHECK(counters.bytes_max == 3 * page);
  CHECK(counters.deregistrations == 2);
}

TEST_CASE("a region that is destroyed is unmapped: its pages go back to the system", "[memory_region][E7][E9]") {
  FabricPort port({ProviderChoice::kTcp, "lo"});
  const std::byte* where = nullptr;
  {
    MemoryRegion region = port.allocate(1 << 20);
    where = region.data();
    std::fill_n(region.data(), region.bytes(), std::byte{1});
    CHECK(mapped(where, 1 << 20));
  }
  CHECK_FALSE(mapped(where, 1 << 20));
}

TEST_CASE("a region that moves keeps its counters, and is deregistered once", "[memory_region]") {
  FabricPort port({ProviderChoice::kTcp, "lo"});
  MemoryRegion first = port.allocate(4096);
  const std::byte* where = first.data();
  MemoryRegion second = std::move(first);
  CHECK(first.data() == nullptr);
  CHECK(second.data() == where);
  CHECK(port.registrations().deregistrations == 0);
  second = port.allocate(8192);  // deregisters the first one
  CHECK(port.registrations().deregistrations == 1);
  CHECK_FALSE(mapped(where, 4096));
  CHECK(port.registrations().bytes == 8192);
  second = MemoryRegion();
  CHECK(port.registrations().deregistrations == 2);
  CHECK(port.registrations().bytes == 0);
}

TEST_CASE("memory that the system refuses is an empty region, and counts nothing", "[memory_region]") {
  FabricPort port({ProviderChoice::kTcp, "lo"});
  const MemoryRegion none = port.allocate(std::size_t{1} << 60);
  CHECK(none.bytes() == 0);
  CHECK(none.data() == nullptr);
  CHECK(port.registrations().registrations == 0);
  CHECK(port.allocate(4096).bytes() == 4096);
}

TEST_CASE("keys are never used again", "[memory_region][E7]") {
  FabricPort port({ProviderChoice::kTcp, "lo"});
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(port.allocate(4096).remote_key());
  CHECK(keys.size() == 1000);
  CHECK(port.registrations().deregistrations == 1000);
}

TEST_CASE("remote keys of tcp cannot be guessed", "[memory_region][F4]") {
  FabricPort one({ProviderChoice::kTcp, "lo"}), other({ProviderChoice::kTcp, "lo"});
  std::set<std::uint32_t> keys;
  std::uint32_t small = 0, last = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t key = (i % 2 == 0 ? one : other).allocate(4096).remote_key();
    CHECK(keys.insert(key).second);
    CHECK(key != last + 1);
    small += key < UINT32_MAX / 4;
    last = key;
  }
  CHECK(small < 60);  // of 25 that are to be expected
}

TEST_CASE("keys that come again skip those that are in use", "[memory_region]") {
  const InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  fid_fabric* opened = nullptr;
  REQUIRE(fi_fabric(info->fabric_attr, &opened, nullptr) == 0);
  const FabricFid fabric(opened);
  fid_domain* of_it = nullptr;
  REQUIRE(fi_domain(opened, info.get(), &of_it, nullptr) == 0);
  const DomainFid domain(of_it);
  MemoryRegion::Domain regions{domain.get()};
  RegistrationCounters counters;
  std::vector<std::byte> user(5000);
  {
    std::set<std::uint32_t> keys;
    std::vector<MemoryRegion> held;
    for (unsigned n = 0; n < 3; ++n) held.emplace_back(regions, user.data() + n, 100, FI_REMOTE_WRITE, counters);
    regions.keys_taken = 0;
    for (unsigned n = 0; n < 3; ++n) held.emplace_back(regions, user.data() + n, 100, FI_WRITE, counters);
    for (const MemoryRegion& one : held) {
      REQUIRE(one.bytes() == 100);
      CHECK(keys.insert(one.remote_key()).second);
    }
    CHECK(regions.keys_taken == 6);
    CHECK(counters.bytes == 600);
  }
  CHECK(counters.bytes == 0);
  CHECK(counters.deregistrations == 6);
  user.assign(5000, std::byte{1});  // the user's memory is still mapped
}

}  // namespace
}  // namespace bufenlarge::test
