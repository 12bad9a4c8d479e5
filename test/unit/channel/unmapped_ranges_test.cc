// SPDX-License-Identifier: MIT
#include "channel/unmapped_ranges.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace bufenlarge::test {
namespace {

using Seen = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;

constexpr std::pair<std::uintptr_t, std::uintptr_t> kAll{0, ~std::uintptr_t{0}};

Seen look(const UnmappedRanges& ranges, std::uint64_t& seen) {
  Seen all;
  seen = ranges.look(seen, [&](const AddressRange& range) { all.emplace_back(range.begin, range.end); });
  return all;
}

TEST_CASE("ranges that share an address overlap", "[unmapped]") {
  constexpr AddressRange middle{100, 200};
  CHECK(middle.overlaps({199, 300}));
  CHECK_FALSE(middle.overlaps({200, 300}));
  CHECK(middle.overlaps({0, 101}));
  CHECK_FALSE(middle.overlaps({0, 100}));
  CHECK(middle.overlaps(AddressRange::all()));
  CHECK(middle.contains({100, 200}));
  CHECK_FALSE(middle.contains({99, 200}));
  CHECK_FALSE(middle.contains({100, 201}));
}

TEST_CASE("each reader gets each range once, in order", "[unmapped]") {
  UnmappedRanges ranges;
  std::uint64_t first = 0, second = 0;
  CHECK(look(ranges, first).empty());
  ranges.record({4096, 8192});
  ranges.record({100, 200});
  CHECK(ranges.recorded() == 2);
  CHECK(look(ranges, first) == Seen{{4096, 8192}, {100, 200}});
  CHECK(look(ranges, first).empty());
  ranges.record({1, 2});
  CHECK(look(ranges, first) == Seen{{1, 2}});
  CHECK(look(ranges, second) == Seen{{4096, 8192}, {100, 200}, {1, 2}});
}

TEST_CASE("who is too far behind is told of all addresses, once", "[unmapped]") {
  UnmappedRanges ranges;
  std::uint64_t seen = 0;
  for (std::uintptr_t i = 0; i < UnmappedRanges::kCapacity; ++i) ranges.record({i, i + 1});
  CHECK(look(ranges, seen).size() == UnmappedRanges::kCapacity);
  for (std::uintptr_t i = 0; i <= UnmappedRanges::kCapacity; ++i) ranges.record({i, i + 1});
  CHECK(look(ranges, seen) == Seen{kAll});
  CHECK(look(ranges, seen).empty());
  ranges.record({7, 9});
  CHECK(look(ranges, seen) == Seen{{7, 9}});
}

// Each thread records ranges that begin at numbers of its own and are one address long, so a range that is put
// together from two would show.
TEST_CASE("a reader misses nothing that threads record at the same time", "[unmapped][threads]") {
  constexpr std::uintptr_t kThreads = 4, kEach = 20'000;
  UnmappedRanges ranges;
  std::atomic<std::uintptr_t> running = kThreads;
  std::vector<std::thread> threads;
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uintptr_t i = 0; i < kEach; ++i) ranges.record({i * kThreads + thread + 1, i * kThreads + thread + 2});
      --running;
    });
  std::vector<unsigned> found(kThreads * kEach + 1);
  std::uint64_t seen = 0, count = 0, all = 0;
  for (bool last = false; !last;) {
    last = running == 0;
    const std::uint64_t before = seen;
    for (const auto& [begin, end] : look(ranges, seen)) {
      if (std::pair(begin, end) == kAll) {
        ++all;
        count = seen;
        continue;
      }
      REQUIRE(end == begin + 1);
      REQUIRE(begin < found.size());
      REQUIRE(++found[begin] == 1);
      ++count;
    }
    REQUIRE(seen >= before);
    REQUIRE(count == seen);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == kThreads * kEach);
}

}  // namespace
}  // namespace bufenlarge::test
