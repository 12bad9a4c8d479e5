// SPDX-License-Identifier: MIT
#include "channel/peer_table.h"

#include <catch2/catch.hpp>

#include <malloc.h>

#include <unordered_map>

#include "channel/context.h"
#include "support/builders.h"
#include "support/fake_peer.h"
#include "support/fake_port.h"
#include "support/upper_log.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kSize = 4;
constexpr std::uint32_t kOwn = 2;
constexpr std::uint64_t kOtherKey = 0x1234567;

Bytes address_of(std::uint32_t rank) {
  Bytes address(sizeof rank);
  std::memcpy(address.data(), &rank, sizeof rank);
  return address;
}

// The name of a process that the upper layer has.
struct Name {
  std::uint64_t job_key;
  std::uint32_t rank;
};

struct TableFixture {
  explicit TableFixture(std::uint64_t job_key = kJobKey)
      : port(fabric),
        core(port, settings(two_phases()), {job_key, kSize, 512, 16, geometry_hash(two_phases()), kOwn}, upper.layer()),
        table(core, kSize) {}

  std::optional<std::uint32_t> add(const Name& name, const Bytes& address) {
    return table.add(job_id_of(name.job_key), name.rank, name_key_of(name.job_key, name.rank), address);
  }
  void set_addresses() {
    Bytes all;
    for (std::uint32_t rank = 0; rank < kSize; ++rank) {
      const Bytes one = address_of(rank);
      all.insert(all.end(), one.begin(), one.end());
    }
    table.set_addresses(all);
  }
  // A call of a process of this job or, with a job id, of another one.
  Channel<FakePort>* call(std::uint32_t rank, std::optional<std::uint32_t> job_id = {}) {
    Hello hello{};
    hello.rank = rank;
    hello.slot_bytes = job_id.value_or(512);
    hello.flags = job_id ? kHelloOtherJob : std::uint8_t{0};
    return table.caller(hello);
  }

  FakeFabric fabric;
  FakePort port;
  UpperLog upper;
  Core<FakePort> core;
  PeerTable<FakePort> table;
};

// Two keys of jobs that share a job id by chance.
std::pair<std::uint64_t, std::uint64_t> colliding_keys() {
  std::unordered_map<std::uint32_t, std::uint64_t> seen;
  for (std::uint64_t key = 1;; ++key) {
    const auto [at, is_new] = seen.try_emplace(job_id_of(key), key);
    if (!is_new) return {at->second, key};
  }
}

TEST_CASE("a channel is made on first use and stays the same", "[peers]") {
  TableFixture fixture;
  fixture.set_addresses();
  CHECK(fixture.table.find(1) == nullptr);
  Channel<FakePort>* channel = fixture.table.channel(1);
  REQUIRE(channel != nullptr);
  CHECK(channel->peer() == 1);
  CHECK(fixture.table.find(1) == channel);
  CHECK(fixture.table.channel(1) == channel);
  CHECK(fixture.table.find(0) == nullptr);
  CHECK(fixture.table.channel(0) != channel);
}

TEST_CASE("there is no channel to the own rank, to a number out of range, or without an address", "[peers]") {
  TableFixture fixture;
  CHECK(fixture.table.channel(1) == nullptr);
  fixture.set_addresses();
  CHECK(fixture.table.channel(kOwn) == nullptr);
  CHECK(fixture.table.channel(kSize) == nullptr);
  CHECK(fixture.table.channel(~std::uint32_t{0}) == nullptr);
  CHECK(fixture.table.find(kOwn) == nullptr);
  CHECK(fixture.table.find(kSize) == nullptr);
  CHECK(fixture.table.channel(kSize - 1) != nullptr);
}

TEST_CASE("addresses are copied and found by rank", "[peers]") {
  TableFixture fixture;
  fixture.set_addresses();
  for (std::uint32_t rank = 0; rank < kSize; ++rank)
    CHECK(std::memcmp(fixture.table.address(rank), address_of(rank).data(), sizeof rank) == 0);
  CHECK(fixture.table.own_size() == kSize);
}

TEST_CASE("shared addresses are read where they are, at their distance", "[peers]") {
  TableFixture fixture;
  Bytes shared(kSize * 12);
  fixture.table.share_addresses(shared.data(), 12);
  CHECK(fixture.table.channel(1) != nullptr);
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    std::memcpy(shared.data() + rank * 12, &rank, sizeof rank);
    CHECK(fixture.table.address(rank) == shared.data() + rank * 12);
  }
}

// In use, as the allocator counts it; a sanitizer's allocator counts nothing.
std::size_t heap_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST_CASE("a peer without a channel takes no memory of the table", "[peers]") {
  constexpr std::uint32_t kMany = 1'000'000;
  TableFixture fixture;
  const Bytes shared(std::size_t{kMany} * 4);
  const std::size_t before = heap_bytes();
  PeerTable<FakePort> table(fixture.core, kMany);
  table.share_addresses(shared.data(), 4);
  CHECK(table.size() == kMany);
  CHECK(table.find(kMany - 1) == nullptr);
  CHECK(heap_bytes() - before < 1000);
  REQUIRE(table.channel(kMany - 1) != nullptr);
  CHECK(heap_bytes() - before < 10'000);
  CHECK(table.channels().size() == 1);
}

TEST_CASE("processes of other jobs are numbered behind the own ones, each once", "[peers][spawn]") {
  TableFixture fixture;
  fixture.set_addresses();
  Channel<FakePort>* own = fixture.table.channel(1);
  CHECK(fixture.add({kOtherKey, 7}, address_of(50)) == kSize);
  CHECK(fixture.add({kOtherKey, 3}, address_of(51)) == kSize + 1);
  CHECK(fixture.add({kOtherKey + 1, 7}, address_of(52)) == kSize + 2);
  CHECK(fixture.add({kOtherKey, 7}, address_of(60)) == kSize);
  CHECK(fixture.table.size() == kSize + 3);
  CHECK(fixture.table.own_size() == kSize);
  const OtherJobPeer& other = fixture.table.other_job(kSize);
  CHECK(other.rank == 7);
  CHECK(other.name_key == name_key_of(kOtherKey, 7));
  CHECK(other.address == address_of(50));
  REQUIRE(fixture.table.channel(kSize + 2) != nullptr);
  CHECK(fixture.table.channel(kSize + 2)->peer() == kSize + 2);
  CHECK(fixture.table.channel(1) == own);
}

TEST_CASE("a name of the own job is its rank, if there is such a rank", "[peers][spawn]") {
  TableFixture fixture;
  CHECK(fixture.add({kJobKey, kSize - 1}, address_of(50)) == kSize - 1);
  CHECK(fixture.add({kJobKey, kSize}, address_of(50)) == std::nullopt);
  CHECK(fixture.table.add(job_id_of(kJobKey), 1, name_key_of(kJobKey, 2), address_of(50)) == std::nullopt);
  CHECK(fixture.table.size() == kSize);
}

TEST_CASE("jobs that share a job id by chance are not mixed up", "[peers][spawn]") {
  const auto [one, another] = colliding_keys();
  TableFixture fixture(one);
  CHECK(fixture.add({another, 0}, address_of(50)) == std::nullopt);
  CHECK(fixture.table.size() == kSize);

  TableFixture third;
  CHECK(third.add({one, 0}, address_of(50)) == kSize);
  CHECK(third.add({another, 0}, address_of(50)) == std::nullopt);
  CHECK(third.add({one, 0}, address_of(50)) == kSize);
  CHECK(third.table.other_job(kSize).name_key == name_key_of(one, 0));
}

TEST_CASE("a caller of the own job gets the channel of its rank", "[peers]") {
  TableFixture fixture;
  CHECK(fixture.call(1) == nullptr);
  fixture.set_addresses();
  REQUIRE(fixture.call(1) != nullptr);
  CHECK(fixture.call(1) == fixture.table.channel(1));
  CHECK(fixture.call(kOwn) == nullptr);
  CHECK(fixture.call(kSize) == nullptr);
  CHECK(fixture.table.size() == kSize);
}

TEST_CASE("a caller of another job keeps its number and channel when its name comes", "[peers][spawn]") {
  TableFixture fixture;
  fixture.set_addresses();
  Channel<FakePort>* channel = fixture.call(9, job_id_of(kOtherKey));
  REQUIRE(channel != nullptr);
  CHECK(channel->peer() == kSize);
  CHECK_FALSE(fixture.table.other_job(kSize).named());
  CHECK(fixture.call(9, job_id_of(kOtherKey)) == channel);
  CHECK(fixture.add({kOtherKey, 9}, address_of(50)) == kSize);
  CHECK(fixture.table.channel(kSize) == channel);
  CHECK(fixture.table.other_job(kSize).named());
  CHECK(fixture.table.other_job(kSize).name_key == name_key_of(kOtherKey, 9));
  CHECK(fixture.call(1, job_id_of(kOtherKey)) != fixture.table.channel(1));
}

TEST_CASE("a caller that claims to be of another job with the own job's id gets no channel", "[peers][spawn]") {
  TableFixture fixture;
  fixture.set_addresses();
  CHECK(fixture.call(1, job_id_of(kJobKey)) == nullptr);
  CHECK(fixture.table.size() == kSize);
}

TEST_CASE("the number of a process that is forgotten is given to another", "[peers][spawn][F3]") {
  TableFixture fixture;
  fixture.set_addresses();
  REQUIRE(fixture.add({kOtherKey, 0}, address_of(50)) == kSize);
  REQUIRE(fixture.add({kOtherKey, 1}, address_of(51)) == kSize + 1);
  REQUIRE(fixture.table.channel(kSize) != nullptr);
  CHECK(fixture.table.forget(kSize));
  CHECK(fixture.table.find(kSize) == nullptr);
  CHECK(fixture.table.channel(kSize) == nullptr);
  CHECK(fixture.table.forget(kSize));  // once more does nothing
  CHECK(fixture.add({kOtherKey, 2}, address_of(52)) == kSize);
  CHECK(fixture.add({kOtherKey, 0}, address_of(50)) == kSize + 2);
  CHECK(fixture.table.other_job(kSize).rank == 2);
  CHECK(fixture.table.other_job(kSize).address == address_of(52));
  CHECK(fixture.table.channels().empty());
}

TEST_CASE("thousands of callers that are forgotten take no memory", "[peers][spawn][F3]") {
  TableFixture fixture;
  fixture.set_addresses();
  const auto come_and_go = [&fixture](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t key = first; key < first + count; ++key) {
      REQUIRE(fixture.call(0, static_cast<std::uint32_t>(key)) != nullptr);
      REQUIRE(fixture.table.forget(kSize));
    }
  };
  come_and_go(kOtherKey, 10);
  const std::size_t before = heap_bytes();
  come_and_go(kOtherKey + 10, 10'000);
  CHECK(heap_bytes() == before);
  CHECK(fixture.table.size() == kSize + 1);
}

}  // namespace
}  // namespace bufenlarge::test
