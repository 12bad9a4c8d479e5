// SPDX-License-Identifier: MIT
// Rendezvous over the tcp provider, by the C interface: one process advertises sources, others read them.
#include <catch2/catch.hpp>

#include <memory>
#include <random>

#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes cut(std::size_t bytes, std::size_t parts) {
  Sizes sizes(parts, bytes / parts);
  sizes.back() += bytes % parts;
  return sizes;
}

// Advertises `memory` to one peer and returns its source handle.
std::uint32_t advertise(Process& owner, std::uint32_t to, const Vector& memory, const void* cookie) {
  std::uint32_t handle = 0;
  REQUIRE(bufenlarge_channel_advertise(owner.channel(to), memory.all().data(), static_cast<int>(memory.all().size()), 0,
                                       const_cast<void*>(cookie), &handle) == BUFENLARGE_OK);
  REQUIRE(handle != 0);
  return handle;
}

// Reads into all of `to`; &to is the cookie.
bufenlarge_status_t read(Process& reader, std::uint32_t of, std::uint32_t source, std::uint64_t offset, Vector& to,
                         unsigned flags = BUFENLARGE_READ_LAST) {
  return bufenlarge_channel_read(reader.channel(of), source, offset, to.all().data(), static_cast<int>(to.all().size()),
                                 to.bytes().size(), flags, &to);
}

void check_nothing_left(Job& job, std::uint32_t size) {
  job.wait_idle();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    CHECK(job[rank].stats().user_bytes == 0);
    CHECK(job[rank].failures.empty());
  }
}

TEST_CASE("1 byte to 32 MiB are read from user memory to user memory", "[read][tcp][R1][R2][R3][R4]") {
  Job job(2);
  std::uint64_t total = 0;
  std::uint64_t count = 0;
  for (const std::size_t bytes : {1u, 7u, 64u, 65u, 4096u, 65'536u, 1u << 20, (1u << 20) + 1, 5'000'001u, 32u << 20})
    for (const std::size_t parts : {1u, 3u, 40u}) {
      if (parts > bytes) continue;
      INFO(bytes << " bytes in " << parts << " parts");
      const Vector source(cut(bytes, parts), static_cast<std::uint32_t>(bytes));
      Vector destination(cut(bytes, parts == 3 ? 1 : parts), 99);
      REQUIRE(read(job[1], 0, advertise(job[0], 1, source, &source), 0, destination) == BUFENLARGE_OK);
      total += bytes;
      ++count;
      CHECK(job[1].reads.size() == count - 1);
      REQUIRE(job.until([&] { return job[1].reads.size() == count && job[0].releases.size() == count; }));
      CHECK(job[1].reads.back().cookie == &destination);
      CHECK(job[1].reads.back().status == BUFENLARGE_OK);
      CHECK(job[0].releases.back().cookie == &source);
      CHECK(job[0].releases.back().status == BUFENLARGE_OK);
      CHECK((destination.bytes() == source.bytes()));
    }
  const auto reader = job[1].stats();
  const auto source = job[0].stats();
  CHECK(reader.reads == count);
  CHECK(reader.read_bytes == total);
  CHECK(reader.reads_by_immediate >= count);
  CHECK(reader.reads_by_message == 0);
  CHECK(reader.user_registrations == count);
  CHECK(reader.fragment_bytes == 0);
  CHECK(source.response_bytes == total);
  CHECK(source.fragment_bytes == 0);
  CHECK(source.user_registrations == count);
  CHECK(source.user_bytes_max >= 32u << 20);
  CHECK(source.user_refused == 0);
  check_nothing_left(job, 2);
}

TEST_CASE("without a destination the data is handed up in fragments, and no memory of the reader is registered",
          "[read][tcp]") {
  Job job(2);
  const Vector source(cut(300'001, 7), 4);
  const std::uint32_t handle = advertise(job[0], 1, source, nullptr);
  int cookie = 0;
  REQUIRE(bufenlarge_channel_read(job[1].channel(0), handle, 1, nullptr, 0, 300'000, BUFENLARGE_READ_LAST, &cookie) ==
          BUFENLARGE_OK);
  REQUIRE(job.until([&] { return job[1].reads.size() == 1 && job[0].releases.size() == 1; }));
  CHECK((job[1].handed_up[&cookie] == Bytes(source.bytes().begin() + 1, source.bytes().end())));
  CHECK(job[1].stats().fragment_bytes == 300'000);
  CHECK(job[0].stats().fragment_bytes == 300'000);
  CHECK(job[0].stats().response_bytes == 0);
  CHECK(job[1].stats().user_registrations == 0);
  check_nothing_left(job, 2);
}

TEST_CASE("a read of more separate segments than are worth registering goes through the ring", "[read][tcp]") {
  Job job(2);
  Bytes from(100 * 8192), to(100 * 8192);
  from = pattern(from.size(), 3);
  std::vector<iovec> source, destination;
  for (std::size_t n = 0; n < 100; ++n) {
    source.push_back({from.data() + n * 8192, 100});
    destination.push_back({to.data() + n * 8192, 100});
  }
  std::uint32_t handle = 0;
  REQUIRE(bufenlarge_channel_advertise(job[0].channel(1), source.data(), 100, 0, nullptr, &handle) == BUFENLARGE_OK);
  REQUIRE(bufenlarge_channel_read(job[1].channel(0), handle, 0, destination.data(), 100, 10'000, BUFENLARGE_READ_LAST,
                                  nullptr) == BUFENLARGE_OK);
  REQUIRE(job.until([&] { return job[1].reads.size() == 1 && job[0].releases.size() == 1; }));
  bool same = true;
  for (std::size_t n = 0; n < 100; ++n) same = same && std::memcmp(&from[n * 8192], &to[n * 8192], 100) == 0;
  CHECK(same);
  CHECK(job[1].stats().user_refused == 1);
  CHECK(job[0].stats().user_refused == 0);  // the request names no destinations
  CHECK(job[1].stats().fragment_bytes == 10'000);
  check_nothing_left(job, 2);
}

TEST_CASE("many reads of several peers are under way in both directions, between messages", "[read][tcp][R1][R2]") {
  constexpr std::uint32_t kSize = 3;
  Job job(kSize);
  std::mt19937 random(5);
  std::vector<std::unique_ptr<Vector>> from, to;
  for (std::uint32_t n = 0; n < 150; ++n) {
    const std::uint32_t reader = n % kSize;
    const std::uint32_t source = (reader + 1 + n / kSize % 2) % kSize;
    const std::size_t bytes = 200 + random() % 300'000;
    from.push_back(std::make_unique<Vector>(cut(bytes, 1 + n % 5), n));
    to.push_back(std::make_unique<Vector>(cut(bytes, 1 + n % 4), 1000));
    const std::uint32_t handle = advertise(job[source], reader, *from.back(), nullptr);
    REQUIRE(read(job[reader], source, handle, 0, *to.back()) == BUFENLARGE_OK);
    if (n % 10 == 0) job.send(reader, source, Vector({50 + n * 20}, n));
  }
  REQUIRE(job.until([&] {
    std::size_t done = 0;
    for (std::uint32_t rank = 0; rank < kSize; ++rank) done += job[rank].reads.size();
    return done == 150;
  }));
  for (std::size_t n = 0; n < from.size(); ++n) CHECK((from[n]->bytes() == to[n]->bytes()));
  REQUIRE(job.until([&] { return job[0].releases.size() + job[1].releases.size() + job[2].releases.size() == 150; }));
  check_nothing_left(job, kSize);
}

TEST_CASE("a peer that ends in the middle ends its reads, and no others", "[read][tcp][loss]") {
  for (const unsigned rounds : {0u, 1u, 5u, 50u, 200u}) {
    INFO(rounds << " rounds");
    Job job(3);
    for (std::uint32_t rank : {0u, 2u}) job.send(1, rank, Vector({8}));
    const Vector lost_source({24u << 20}, 1), source({3'000'000}, 2), mine({24u << 20}, 3);
    Vector lost({24u << 20}, 4), kept({3'000'000}, 5), theirs({24u << 20}, 6);
    REQUIRE(read(job[1], 0, advertise(job[0], 1, lost_source, nullptr), 0, lost) == BUFENLARGE_OK);
    REQUIRE(read(job[1], 2, advertise(job[2], 1, source, nullptr), 0, kept) == BUFENLARGE_OK);
    REQUIRE(read(job[0], 1, advertise(job[1], 0, mine, nullptr), 0, theirs) == BUFENLARGE_OK);
    job.rounds(rounds);
    job[0].close();
    REQUIRE(job.until(
        [&] { return job[1].reads.size() == 2 && job[1].releases.size() == 1 && !job[1].failures.empty(); }));
    job.rounds(100);
    CHECK(job[1].reads.size() == 2);
    CHECK(job[1].releases.size() == 1);
    for (const Process::End& end : job[1].reads) {
      if (end.cookie == &kept) CHECK(end.status == BUFENLARGE_OK);
      if (end.cookie == &lost && end.status == BUFENLARGE_OK) CHECK((lost.bytes() == lost_source.bytes()));
    }
    CHECK((kept.bytes() == source.bytes()));
    REQUIRE(job.until([&] { return job[2].releases.size() == 1; }));
    CHECK(job[1].stats().user_bytes == 0);
    CHECK(job[1].failures.size() == 1);
    std::uint32_t handle = 0;
    CHECK(bufenlarge_channel_advertise(job[1].channel(0), mine.all().data(), 1, 0, nullptr, &handle) != BUFENLARGE_OK);
    CHECK(read(job[1], 0, 77, 0, theirs) != BUFENLARGE_OK);
  }
}

TEST_CASE("a peer that reads a source it has no right to loses its channel, and no other peer does",
          "[read][tcp][hostile]") {
  Job job(3);
  const Vector source({5000}, 1), other({5000}, 2);
  Vector destination({5000}, 3), kept({5000}, 4);
  const std::uint32_t handle = advertise(job[0], 1, source, nullptr);
  const std::uint32_t others = advertise(job[0], 2, other, nullptr);
  SECTION("an unknown handle") { REQUIRE(read(job[1], 0, handle + 5, 0, destination) == BUFENLARGE_OK); }
  SECTION("another peer's handle") { REQUIRE(read(job[1], 0, others, 0, destination) == BUFENLARGE_OK); }
  SECTION("beyond the end") { REQUIRE(read(job[1], 0, handle, 1, destination) == BUFENLARGE_OK); }
  REQUIRE(job.until([&] { return job[1].reads.size() == 1 && job[0].releases.size() == 1; }));
  CHECK(job[1].reads[0].status != BUFENLARGE_OK);
  CHECK(job[0].releases[0].status == BUFENLARGE_ERR_PROTOCOL);
  CHECK((destination.bytes() == pattern(5000, 3)));
  REQUIRE(read(job[2], 0, others, 0, kept) == BUFENLARGE_OK);
  REQUIRE(job.until([&] { return job[2].reads.size() == 1; }));
  CHECK((kept.bytes() == other.bytes()));
  CHECK(job[0].failures.size() == 1);
}

TEST_CASE("a process reads a source that it has advertised to itself", "[read][c_api]") {
  Job job(2);
  const Vector source({100, 70'000, 5}, 4);
  Vector destination({70'105}, 9), part({10}, 9);
  const std::uint32_t handle = advertise(job[0], 0, source, &source);
  REQUIRE(read(job[0], 0, handle, 95, part, 0) == BUFENLARGE_OK);
  REQUIRE(read(job[0], 0, handle, 0, destination) == BUFENLARGE_OK);
  CHECK(job[0].reads.empty());
  REQUIRE(job.until([&] { return job[0].reads.size() == 2 && job[0].releases.size() == 1; }));
  CHECK((destination.bytes() == source.bytes()));
  CHECK(std::memcmp(part.bytes().data(), source.bytes().data() + 95, 10) == 0);
  CHECK(job[0].releases[0].cookie == &source);
  REQUIRE(read(job[0], 0, handle, 0, destination) == BUFENLARGE_OK);  // the read before has released it
  REQUIRE(job.until([&] { return job[0].reads.size() == 3; }));
  CHECK(job[0].reads.back().status == BUFENLARGE_ERR_PROTOCOL);
}

TEST_CASE("every peer reads window memory until it is deregistered", "[read][tcp][R1]") {
  Job job(3);
  Bytes memory = pattern(300'000, 8);
  bufenlarge_window_t window;
  REQUIRE(bufenlarge_context_register_window(job[0].context(), memory.data(), memory.size(), &window) == BUFENLARGE_OK);
  const std::uint32_t handle = window.source;
  CHECK(job[0].stats().user_bytes == memory.size());
  Vector one({300'000}, 1), two({1000}, 2);
  REQUIRE(read(job[1], 0, handle, 0, one, 0) == BUFENLARGE_OK);
  REQUIRE(read(job[2], 0, handle, 299'000, two, 0) == BUFENLARGE_OK);
  REQUIRE(job.until([&] { return job[1].reads.size() == 1 && job[2].reads.size() == 1; }));
  CHECK((one.bytes() == memory));
  CHECK(std::memcmp(two.bytes().data(), memory.data() + 299'000, 1000) == 0);
  job.wait_idle();
  bufenlarge_context_deregister_window(job[0].context(), handle);
  CHECK(job[0].stats().user_bytes == 0);
  CHECK(job[0].releases.empty());
  REQUIRE(read(job[1], 0, handle, 0, one, 0) == BUFENLARGE_OK);  // breaks the protocol
  REQUIRE(job.until([&] { return !job[0].failures.empty(); }));
  CHECK(job[0].failures[0].peer == 1);
}

TEST_CASE("a peer that releases window memory loses its channel", "[read][tcp][hostile]") {
  Job job(2);
  Bytes memory = pattern(1000, 8);
  bufenlarge_window_t window;
  REQUIRE(bufenlarge_context_register_window(job[0].context(), memory.data(), memory.size(), &window) == BUFENLARGE_OK);
  const std::uint32_t handle = window.source;
  Vector one({1000}, 1);
  REQUIRE(read(job[1], 0, handle, 0, one, BUFENLARGE_READ_LAST) == BUFENLARGE_OK);
  REQUIRE(job.until([&] { return !job[0].failures.empty(); }));
  CHECK(job[0].stats().user_bytes == memory.size());
}

TEST_CASE("a read with a wrong handle or size is an argument error", "[read][c_api]") {
  Job job(2);
  Vector memory({100}, 1);
  CHECK(read(job[0], 1, 0, 0, memory) == BUFENLARGE_ERR_ARGUMENT);
  for (const std::uint64_t bytes : {99u, 101u})
    CHECK(bufenlarge_channel_read(job[0].channel(1), 5, 0, memory.all().data(), 1, bytes, 0, nullptr) ==
          BUFENLARGE_ERR_ARGUMENT);
}

}  // namespace
}  // namespace bufenlarge::test
