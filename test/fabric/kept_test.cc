// SPDX-License-Identifier: MIT
// Registrations that stay, by the C interface over the tcp provider, with the real monitor.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "fabric/hooks.h"
#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

constexpr std::size_t kBytes = 256 * 1024;

std::byte* map(void* at = nullptr) {
  void* const memory = mmap(at, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return static_cast<std::byte*>(memory);
}

// Rank 1 reads from rank 0, out of and into memory that the test chooses.
struct Pair {
  explicit Pair(const KnobTexts& knobs) : job(2, knobs) {}

  void read(std::byte* from, std::byte* to, std::size_t bytes, unsigned flags = 0) {
    const Bytes data = pattern(bytes, ++turn);
    std::memcpy(from, data.data(), bytes);
    const iovec source{from, bytes}, destination{to, bytes};
    std::uint32_t handle = 0;
    REQUIRE(bufenlarge_channel_advertise(job[0].channel(1), &source, 1, flags, this, &handle) == BUFENLARGE_OK);
    REQUIRE(bufenlarge_channel_read(job[1].channel(0), handle, 0, &destination, 1, bytes,
                                    BUFENLARGE_READ_LAST | flags, this) == BUFENLARGE_OK);
    REQUIRE(job.until([&] { return job[1].reads.size() == turn && job[0].releases.size() == turn; }));
    CHECK(std::memcmp(to, data.data(), bytes) == 0);
  }

  Job job;
  std::uint32_t turn = 0;
};

TEST_CASE("on tcp nothing stays unless the user says so", "[kept][tcp]") {
  Pair pair(KnobTexts{});
  std::byte *from = map(), *to = map();
  pair.read(from, to, kBytes);
  pair.read(from, to, kBytes);
  const auto stats = pair.job[0].stats();
  CHECK(stats.user_registrations == 2);
  CHECK(stats.user_hits == 0);
  CHECK(stats.user_misses == 2);
  CHECK(stats.user_idle_bytes == 0);
  CHECK(std::string(stats.registrations_kept) == "none stay");
  munmap(from, kBytes);
  munmap(to, kBytes);
}

TEST_CASE("what is used again is found registered, until it is unmapped", "[kept][tcp][K1]") {
  if (!has_hooks()) return;
  Pair pair(KnobTexts{{"REGISTRATION_CACHE", "10000000"}, {"MEMORY_MONITOR", "hooks"}});
  std::byte *from = map(), *to = map();
  for (int i = 0; i < 3; ++i) pair.read(from, to, kBytes);
  pair.read(from + 1000, to + 5, 100'000);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(pair.job[rank].stats().user_registrations == 1);
    CHECK(pair.job[rank].stats().user_hits == 3);
    CHECK(pair.job[rank].stats().user_idle_bytes == kBytes);
  }
  CHECK_THAT(pair.job[0].stats().registrations_kept, Catch::Contains("10000000 bytes"));
  munmap(from, kBytes);
  CHECK(map(from) == from);
  pair.read(from, to, kBytes);
  CHECK(pair.job[0].stats().user_registrations == 2);
  CHECK(pair.job[0].stats().user_invalidations == 1);
  CHECK(pair.job[1].stats().user_registrations == 1);
  madvise(to + kBytes / 2, 4096, MADV_DONTNEED);
  pair.read(from, to, kBytes);
  CHECK(pair.job[1].stats().user_registrations == 2);
  munmap(from, kBytes);
  munmap(to, kBytes);
}

TEST_CASE("blocks of malloc that go and come are right", "[kept][tcp][K1]") {
  if (!has_hooks()) return;
  Pair pair(KnobTexts{{"REGISTRATION_CACHE", "10000000"}});
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t bytes = 70'000 + i * 37'777 % 900'000;
    auto* const from = static_cast<std::byte*>(std::malloc(bytes));
    auto* const to = static_cast<std::byte*>(std::malloc(bytes));
    pair.read(from, to, bytes);
    std::free(from);
    std::free(to);
  }
  CHECK(pair.job[0].stats().user_registrations + pair.job[0].stats().user_hits == 100);
}

TEST_CASE("memory that its owner keeps stays registered without a monitor", "[kept][tcp][K1]") {
  Pair pair(KnobTexts{{"REGISTRATION_CACHE", "10000000"}, {"MEMORY_MONITOR", "none"}});
  std::byte *from = map(), *to = map();
  REQUIRE(bufenlarge_context_keep_memory(pair.job[0].context(), from, kBytes, 0) == BUFENLARGE_OK);
  CHECK(bufenlarge_context_keep_memory(pair.job[0].context(), from + 1, 1, 0) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_keep_memory(pair.job[0].context(), from, 0, 0) == BUFENLARGE_ERR_ARGUMENT);
  pair.read(from + 100, to, 100'000);
  pair.read(from, to, kBytes);
  CHECK(pair.job[0].stats().user_registrations == 1);
  CHECK(pair.job[0].stats().user_bytes == kBytes);
  CHECK(pair.job[1].stats().user_registrations == 2);
  CHECK(pair.job[1].stats().user_bytes == 0);
  CHECK_THAT(pair.job[0].stats().registrations_kept, Catch::Contains("MEMORY_MONITOR=none"));
  CHECK(bufenlarge_context_release_memory(pair.job[0].context(), from, kBytes, 0) == BUFENLARGE_OK);
  CHECK(bufenlarge_context_release_memory(pair.job[0].context(), from, kBytes, 0) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(pair.job[0].stats().user_bytes == 0);
  munmap(from, kBytes);
  munmap(to, kBytes);
}

TEST_CASE("memory of a persistent request stays registered without a monitor, for that request", "[kept][tcp][K1]") {
  Pair pair(KnobTexts{{"REGISTRATION_CACHE", "10000000"}, {"MEMORY_MONITOR", "none"}});
  constexpr unsigned kFlag = BUFENLARGE_PERSISTENT;
  std::byte *from = map(), *to = map();
  REQUIRE(bufenlarge_context_keep_memory(pair.job[0].context(), from, kBytes, kFlag) == BUFENLARGE_OK);
  REQUIRE(bufenlarge_context_keep_memory(pair.job[1].context(), to, kBytes, kFlag) == BUFENLARGE_OK);
  for (int i = 0; i < 10; ++i) pair.read(from, to, kBytes - i, kFlag);
  for (const unsigned rank : {0u, 1u}) {
    Process& one = pair.job[rank];
    CHECK(one.stats().user_registrations == 1);
    CHECK(one.stats().user_hits == 9);
    CHECK(one.stats().user_bytes == kBytes);
  }
  pair.read(from, to, kBytes);
  CHECK(pair.job[0].stats().user_registrations == 2);
  CHECK(pair.job[1].stats().user_registrations == 2);
  CHECK(bufenlarge_context_release_memory(pair.job[0].context(), from, kBytes - 1, kFlag) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_release_memory(pair.job[0].context(), from, kBytes, kFlag) == BUFENLARGE_OK);
  CHECK(bufenlarge_context_release_memory(pair.job[1].context(), to, kBytes, kFlag) == BUFENLARGE_OK);
  CHECK(pair.job[0].stats().user_bytes == 0);
  CHECK(pair.job[1].stats().user_bytes == 0);
  munmap(from, kBytes);
  munmap(to, kBytes);
}

}  // namespace
}  // namespace bufenlarge::test
