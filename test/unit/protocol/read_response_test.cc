// SPDX-License-Identifier: MIT
// The response to a read request, range by range, compared with the source and destination of every single byte.
#include <catch2/catch.hpp>

#include "protocol/read_request.h"
#include "support/aborts.h"

namespace bufenlarge::test {
namespace {

// Returns the lengths of the parts when `bytes` bytes are cut where a bit of `cuts` is set.
std::vector<std::uint32_t> cut(std::uint32_t bytes, std::uint32_t cuts) {
  std::vector<std::uint32_t> lengths{1};
  for (std::uint32_t i = 0; i + 1 < bytes; ++i) {
    if ((cuts >> i & 1) != 0)
      lengths.push_back(1);
    else
      ++lengths.back();
  }
  return lengths;
}

template <class Segments>
std::uint32_t count(const Segments& segments) {
  return static_cast<std::uint32_t>(segments.size());
}

ReadRequestParts parts(std::uint32_t bytes, std::uint32_t source_cuts, std::uint32_t destination_cuts) {
  ReadRequestParts made;
  made.head.sequence = 77;
  made.bytes = bytes;
  for (const std::uint32_t length : cut(bytes, source_cuts))
    made.sources.push_back({1000 * made.sources.size() + 3, count(made.sources) + 1, length});
  for (const std::uint32_t length : cut(bytes, destination_cuts))
    made.destinations.push_back({7000 * made.destinations.size() + 5, count(made.destinations) + 100, length});
  return made;
}

// The source and the destination of one byte.
struct Mapping {
  std::uint64_t offset, address;
  std::uint32_t source, key;
  bool operator==(const Mapping&) const = default;
};

std::vector<Mapping> mappings(const ReadRequestParts& parts) {
  std::vector<Mapping> all(parts.bytes);
  std::size_t at = 0;
  for (const ReadSource& one : parts.sources)
    for (std::uint32_t i = 0; i < one.bytes; ++i, ++at)
      all[at].offset = one.offset + i, all[at].source = one.handle;
  at = 0;
  for (const ReadDestination& one : parts.destinations)
    for (std::uint32_t i = 0; i < one.bytes; ++i, ++at) all[at].address = one.address + i, all[at].key = one.key;
  return all;
}

// Returns true if the byte at `at` continues the range of the byte before it.
bool goes_on(const std::vector<Mapping>& all, std::size_t at) {
  if (at == all.size()) return false;
  const Mapping& before = all[at - 1];
  return all[at].source == before.source && all[at].key == before.key && all[at].offset == before.offset + 1 &&
         all[at].address == before.address + 1;
}

}  // namespace

TEST_CASE("the ranges of a response carry every byte to its destination, in order, and each is as long as possible",
          "[read_request][R2]") {
  constexpr std::uint32_t kBytes = 6;
  for (std::uint32_t source = 0; source < 1u << (kBytes - 1); ++source)
    for (std::uint32_t destination = 0; destination < 1u << (kBytes - 1); ++destination)
      for (std::uint32_t most = 1; most <= kBytes + 1; ++most) {
        const ReadRequestParts request = parts(kBytes, source, destination);
        const std::vector<Mapping> expected = mappings(request);
        ReadResponse response(request);
        std::vector<Mapping> found;
        while (!response.done()) {
          const ReadResponse::Range range = response.next(most);
          const std::uint32_t bytes = range.source.bytes;
          REQUIRE((bytes != 0 && bytes <= most && bytes == range.destination.bytes));
          for (std::uint32_t i = 0; i < bytes; ++i)
            found.push_back({range.source.offset + i, range.destination.address + i, range.source.handle,
                             range.destination.key});
          if (bytes < most && goes_on(expected, found.size())) FAIL("a range is too short");
          if (range.last != (found.size() == kBytes)) FAIL("the last range is marked wrong");
          response.taken(bytes);
        }
        if (found != expected) FAIL("sources " << source << ", destinations " << destination << ", at most " << most);
      }
  SUCCEED();
}

TEST_CASE("a range of which a part was posted continues behind that part", "[read_request][R2]") {
  ReadResponse response(parts(6, 0, 4));
  CHECK(response.next(100).source.bytes == 3);
  response.taken(1);
  CHECK(response.next(100).source.bytes == 2);
  CHECK(response.next(100).source.offset == 4);
  CHECK(response.next(100).destination.address == 6);
}

TEST_CASE("a range goes in one write, or in the fewest writes that are nearly equal", "[read_request][R3]") {
  constexpr std::uint64_t kMost = kDataWriteBytesMax;
  static_assert(kMost % 4096 == 0);
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, kMost - 1, kMost, kMost + 1, 2 * kMost, 2 * kMost + 1, std::uint64_t{1} << 20,
        3 * kMost - 4095, std::uint64_t{4} << 20, std::uint64_t{(64 << 20) + 1}, std::uint64_t{kReadSegmentBytesMax}}) {
    INFO(bytes);
    const std::uint32_t first = data_write_bytes(bytes);
    std::uint64_t left = bytes, writes = 0;
    for (; left != 0; ++writes) {
      const std::uint32_t part = data_write_bytes(left);
      REQUIRE(part != 0);
      REQUIRE(part <= std::min(left, kMost));
      CHECK(part <= first);
      left -= part;
    }
    CHECK(writes == (bytes + kMost - 1) / kMost);
  }
  CHECK(data_write_bytes(1u << 20) == 1u << 19);
  CHECK(data_write_bytes(2 * kMost - 1) == kMost);
}

TEST_CASE("a response through the ring has ranges of the sources alone", "[read_request][R2]") {
  for (std::uint32_t source = 0; source < 32; ++source) {
    ReadRequestParts request = parts(6, source, 21);
    const std::vector<Mapping> expected = mappings(request);
    ReadResponse response(request);
    CHECK_FALSE(response.through_ring());
    response.use_ring();
    CHECK(response.through_ring());
    std::size_t at = 0;
    while (!response.done()) {
      const ReadResponse::Range range = response.next(4);
      CHECK(range.destination.bytes == 0);
      for (std::uint32_t i = 0; i < range.source.bytes; ++i, ++at) {
        CHECK(expected[at].offset == range.source.offset + i);
        CHECK(expected[at].source == range.source.handle);
      }
      CHECK(range.last == (at == 6));
      response.taken(range.source.bytes);
    }
    CHECK(at == 6);
  }
}

TEST_CASE("a response has no range after its end", "[read_request][aborts]") {
  CHECK(aborts([] {
    ReadResponse response(parts(1, 0, 0));
    response.taken(1);
    (void)response.next(1);
  }));
}

}  // namespace bufenlarge::test
