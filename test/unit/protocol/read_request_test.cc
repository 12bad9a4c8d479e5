// SPDX-License-Identifier: MIT
// How read requests are encoded and parsed, and how a read becomes requests.
#include "protocol/read_request.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>

#include "support/aborts.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

template <class T>
void append(Bytes& to, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}

struct Parts {
  ReadRequest head{7, 2, 2, 0, 0};
  std::vector<ReadSource> sources{{100, 11, 30}, {4000, 12, 20}};
  std::vector<ReadDestination> destinations{{0x7000, 21, 10}, {0x9000, 22, 40}};

  [[nodiscard]] Bytes bytes() const {
    Bytes made;
    append(made, head);
    for (const ReadSource& one : sources) append(made, one);
    for (const ReadDestination& one : destinations) append(made, one);
    return made;
  }
};

Parts release_parts() { return {{0, 1, 0, kReadLast, 0}, {{0, 11, 0}}, {}}; }
Parts ring_parts() { return {{7, 1, 0, kReadThroughRing, 0}, {{5, 11, 30}}, {}}; }

bool allowed(Parts parts, const std::function<void(Parts&)>& change) {
  change(parts);
  return parse_read_request(parts.bytes()).has_value();
}

// Changes a request so that its first source has `bytes` bytes and the sums are still equal.
std::function<void(Parts&)> with_source_bytes(std::uint32_t bytes) {
  return [bytes](Parts& p) { p.sources[0].bytes = bytes, p.destinations[0].bytes = bytes - 20; };
}

std::vector<ReadDestination> destinations(std::size_t count, std::uint32_t seed, std::uint32_t bytes_max) {
  std::mt19937 random(seed);
  std::vector<ReadDestination> made;
  const auto draw = [&random] { return static_cast<std::uint32_t>(random()); };
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t address = draw() * 8ull;
    const std::uint32_t key = draw();
    made.push_back({address, key, 1 + draw() % bytes_max});
  }
  return made;
}

std::uint64_t sum(std::span<const ReadDestination> segments) {
  std::uint64_t bytes = 0;
  for (const ReadDestination& one : segments) bytes += one.bytes;
  return bytes;
}

// Encodes and parses all requests of a plan, and checks what holds for each of them.
std::vector<ReadRequestParts> requests(ReadPlan& plan, std::size_t capacity) {
  std::vector<ReadRequestParts> made;
  std::uint64_t before = 0;
  for (std::uint32_t sequence = 1; !plan.asked(); ++sequence) {
    Bytes payload(capacity, std::byte{0xee});
    ReadRequestParts wanted;
    wanted.head.sequence = sequence;
    plan.take(wanted, capacity);
    const std::uint32_t length = encode_request(wanted, payload);
    REQUIRE(length <= capacity);
    const auto parts = parse_read_request(std::span(payload).first(length));
    REQUIRE(parts);
    CHECK(parts->head.sequence == sequence);
    CHECK(parts->bytes == plan.asked_bytes() - before);
    before = plan.asked_bytes();
    made.push_back(*parts);
  }
  return made;
}

}  // namespace

TEST_CASE("a read request is parsed into the segments that it was made of", "[read_request][R2]") {
  const auto parts = parse_read_request(Parts().bytes());
  REQUIRE(parts);
  CHECK(parts->head.sequence == 7);
  CHECK(parts->bytes == 50);
  REQUIRE(parts->sources.size() == 2);
  CHECK(parts->sources[1].offset == 4000);
  CHECK(parts->sources[1].handle == 12);
  CHECK(parts->sources[1].bytes == 20);
  REQUIRE(parts->destinations.size() == 2);
  CHECK(parts->destinations[1].address == 0x9000);
  CHECK(parts->destinations[1].key == 22);
  CHECK(parts->destinations[1].bytes == 40);
}

TEST_CASE("a read request is encoded byte by byte as the wire document says", "[read_request][R2]") {
  const std::vector<ReadDestination> to{{0x2122232425262728u, 0x31323334, 5}};
  ReadPlan plan(0x0a0b0c0d, 0x1112131415161718u, 5, to);
  ReadRequestParts parts;
  parts.head.sequence = 0x41424344;
  parts.head.flags = kReadLast;
  plan.take(parts, 40);
  Bytes payload(40);
  REQUIRE(encode_request(parts, payload) == 40);
  const std::vector<unsigned> expected{0x44, 0x43, 0x42, 0x41, 1,    1,    1,    0,    0x18, 0x17,
                                       0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x0d, 0x0c, 0x0b, 0x0a,
                                       5,    0,    0,    0,    0x28, 0x27, 0x26, 0x25, 0x24, 0x23,
                                       0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 5,    0,    0,    0};
  std::vector<unsigned> found;
  for (const std::byte one : payload) found.push_back(static_cast<unsigned>(one));
  CHECK(found == expected);
}

TEST_CASE("every slot of 40 bytes and more takes a part of a plan, and the parts are the whole", "[read_request][R2]") {
  for (std::size_t capacity = 40; capacity <= 1064; capacity += capacity < 140 ? 1 : 31) {
    for (const std::size_t count : {1u, 2u, 3u, 17u, 100u, 300u}) {
      INFO(capacity << " bytes, " << count << " segments");
      const auto to = destinations(count, static_cast<std::uint32_t>(capacity + count), 5000);
      ReadPlan plan(9, 1234, sum(to), to);
      std::vector<ReadDestination> all;
      std::uint64_t offset = 1234;
      const auto made = requests(plan, capacity);
      for (const ReadRequestParts& one : made) {
        REQUIRE(one.sources.size() == 1);
        CHECK(one.sources[0].handle == 9);
        CHECK(one.sources[0].offset == offset);
        offset += one.sources[0].bytes;
        all.insert(all.end(), one.destinations.begin(), one.destinations.end());
      }
      const std::size_t each = std::min<std::size_t>((capacity - 24) / 16, 255);
      CHECK(made.size() == (count + each - 1) / each);
      REQUIRE(all.size() == to.size());
      CHECK(std::memcmp(all.data(), to.data(), to.size() * sizeof to[0]) == 0);
    }
  }
}

TEST_CASE("no request asks for more than 2^30 bytes, nor names more than 255 segments", "[read_request][R2]") {
  const std::vector<ReadDestination> large(3, {0, 1, kReadSegmentBytesMax});
  ReadPlan plan(9, 0, sum(large), large);
  const auto made = requests(plan, 1024);
  REQUIRE(made.size() == 3);
  CHECK(made[2].sources[0].offset == 2ull << 30);

  const std::vector<ReadDestination> uneven{
      {0, 1, 1}, {0, 1, kReadSegmentBytesMax}, {0, 1, kReadSegmentBytesMax - 1}, {0, 1, 1}};
  ReadPlan other(9, 0, sum(uneven), uneven);
  const auto parts = requests(other, 1024);
  REQUIRE(parts.size() == 3);
  CHECK(parts[2].bytes == kReadSegmentBytesMax);

  const auto many = destinations(600, 1, 10);
  ReadPlan third(9, 0, sum(many), many);
  const auto split = requests(third, 16384);
  REQUIRE(split.size() == 3);
  CHECK(split[0].destinations.size() == 255);
}

TEST_CASE("a plan that was requested whole, or has too small a slot, makes no request", "[read_request][aborts]") {
  const std::vector<ReadDestination> to{{0, 1, 8}};
  CHECK(aborts([&] {
    ReadPlan plan(9, 0, 8, to);
    ReadRequestParts parts;
    plan.take(parts, 39);
  }));
  CHECK(aborts([&] {
    ReadPlan plan(9, 0, 8, to);
    ReadRequestParts parts;
    plan.take(parts, 40);
    plan.take(parts, 1024);
  }));
}

TEST_CASE("several plans go into one request as long as each fits as a whole", "[read_request][R2]") {
  for (std::size_t capacity = 40; capacity <= 420; capacity += 4) {
    INFO(capacity << " bytes");
    ReadRequestParts parts;
    std::vector<ReadDestination> all;
    std::size_t taken = 0;
    for (std::uint32_t n = 0;; ++n) {
      const auto to = destinations(1 + n % 3, n, 5000);
      ReadPlan plan(100 + n, n, sum(to), to);
      const bool room = 8 + (taken + 1) * 16 + (all.size() + to.size()) * 16 <= capacity;
      REQUIRE(plan.fits(parts, capacity) == room);
      if (!room) break;
      plan.take(parts, capacity);
      CHECK(plan.asked());
      all.insert(all.end(), to.begin(), to.end());
      ++taken;
    }
    REQUIRE(taken != 0);
    parts.head.sequence = 5;
    Bytes payload(capacity, std::byte{0xee});
    const auto again = parse_read_request(std::span(payload).first(encode_request(parts, payload)));
    REQUIRE(again);
    CHECK(again->bytes == sum(all));
    REQUIRE(again->sources.size() == taken);
    for (std::size_t n = 0; n < taken; ++n) {
      CHECK(again->sources[n].handle == 100 + n);
      CHECK(again->sources[n].offset == n);
    }
    REQUIRE(again->destinations.size() == all.size());
    CHECK(std::memcmp(again->destinations.data(), all.data(), all.size() * sizeof all[0]) == 0);
  }
}

TEST_CASE("releases, and requests with a response through the ring, are parsed as encoded", "[read_request][R2]") {
  Bytes payload(24);
  REQUIRE(encode_release(11, payload) == 24);
  CHECK(payload == release_parts().bytes());
  const auto release = parse_read_request(payload);
  REQUIRE(release);
  CHECK(release->bytes == 0);
  for (const bool last : {false, true}) {
    REQUIRE(encode_ring_request(7, {5, 11, 30}, last, payload) == 24);
    const auto request = parse_read_request(payload);
    REQUIRE(request);
    CHECK(request->head.sequence == 7);
    CHECK(request->bytes == 30);
    CHECK(request->sources[0].offset == 5);
    CHECK(ReadResponse(*request).through_ring());
    CHECK(ReadResponse(*request).releases() == last);
  }
}

namespace {

struct ChangedRequest {
  const char* name;
  Parts parts;
  std::function<void(Parts&)> change;
};

const std::vector<ChangedRequest> kRefused{
    {"one source less than counted", {}, [](Parts& p) { ++p.head.sources; }},
    {"one source more than counted", {}, [](Parts& p) { --p.head.sources; }},
    {"one destination less than counted", {}, [](Parts& p) { ++p.head.destinations; }},
    {"one destination more than counted", {}, [](Parts& p) { --p.head.destinations; }},
    {"no source", {}, [](Parts& p) { p.sources.clear(), p.head.sources = 0; }},
    {"no source, through the ring", ring_parts(), [](Parts& p) { p.sources.clear(), p.head.sources = 0; }},
    {"no source, a release", release_parts(), [](Parts& p) { p.sources.clear(), p.head.sources = 0; }},
    {"a reserved byte that is not 0", {}, [](Parts& p) { p.head.reserved = 1; }},
    {"the first handle is 0", {}, [](Parts& p) { p.sources[0].handle = 0; }},
    {"the second handle is 0", {}, [](Parts& p) { p.sources[1].handle = 0; }},
    {"the handle of a release is 0", release_parts(), [](Parts& p) { p.sources[0].handle = 0; }},
    {"an empty source", {}, [](Parts& p) { p.sources[0].bytes = 0, p.sources[1].bytes = 50; }},
    {"an empty destination", {}, [](Parts& p) { p.destinations[0].bytes = 0, p.destinations[1].bytes = 50; }},
    {"a source that is too long", {}, with_source_bytes(kReadSegmentBytesMax + 1)},
    {"a destination that is too long",
     {},
     [](Parts& p) {
       p.sources = {{0, 11, kReadSegmentBytesMax}, {0, 11, 1}};
       p.destinations = {{0, 1, kReadSegmentBytesMax + 1}};
       p.head.destinations = 1;
     }},
    {"a larger sum of the sources", {}, [](Parts& p) { ++p.sources[0].bytes; }},
    {"a larger sum of the destinations", {}, [](Parts& p) { ++p.destinations[1].bytes; }},
    {"no destinations", {}, [](Parts& p) { p.destinations.clear(), p.head.destinations = 0; }},
    {"destinations, through the ring", {}, [](Parts& p) { p.head.flags = kReadThroughRing; }},
    {"a sequence of 0", {}, [](Parts& p) { p.head.sequence = 0; }},
    {"no bytes, through the ring", ring_parts(), [](Parts& p) { p.sources[0].bytes = 0; }},
    {"a release with bytes", {}, [](Parts& p) { p.head.sequence = 0, p.head.flags = kReadLast; }},
    {"a release without its flag", release_parts(), [](Parts& p) { p.head.flags = 0; }},
    {"a release through the ring", release_parts(), [](Parts& p) { p.head.flags = kReadLast | kReadThroughRing; }},
    {"a release with an offset", release_parts(), [](Parts& p) { p.sources[0].offset = 1; }},
    {"a release with a length", release_parts(), [](Parts& p) { p.sources[0].bytes = 1; }},
    {"a release of two", release_parts(),
     [](Parts& p) {
       p.sources.push_back({0, 12, 0}), p.head.sources = 2;
     }},
    {"a release with a destination", release_parts(),
     [](Parts& p) {
       p.destinations = {{0, 1, 1}}, p.head.destinations = 1;
     }},
};

}  // namespace

TEST_CASE("a request that is not as the wire document says is refused", "[read_request][R2]") {
  for (const Parts& right : {Parts(), release_parts(), ring_parts()}) CHECK(allowed(right, [](Parts&) {}));
  CHECK(allowed({}, with_source_bytes(kReadSegmentBytesMax)));
  for (const ChangedRequest& one : kRefused) {
    INFO(one.name);
    CHECK_FALSE(allowed(one.parts, one.change));
  }
  for (unsigned bit = 2; bit < 8; ++bit)
    CHECK_FALSE(allowed({}, [=](Parts& p) { p.head.flags = static_cast<std::uint8_t>(1u << bit); }));
  const Bytes whole = Parts().bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    CHECK_FALSE(parse_read_request(std::span(whole).first(bytes)));
  Bytes longer = whole;
  longer.push_back({});
  CHECK_FALSE(parse_read_request(longer));
}

}  // namespace bufenlarge::test
