// SPDX-License-Identifier: MIT
// Contexts of the C interface that exchange messages over libfabric's tcp provider on loopback.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "channel/ring_slabs.h"
#include "fabric/fabric_port.h"
#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

struct Variant {
  const char* name;
  KnobTexts knobs;
  std::uint32_t last_phase;  // that both directions have at the end
};

const std::vector<Variant> kVariants{
    {"defaults", {}, 1},
    {"three phases", {{"PHASES", "128,1024,16384"}, {"SLOTS", "8"}}, 2},
    {"eight phases", {{"PHASES", "64,128,256,512,1024,2048,4096,8192"}, {"SLOTS", "4"}}, 7},
    {"one slot per ring", {{"SLOTS", "1"}}, 1},
    {"slots of 100 bytes", {{"PHASES", "100,1000"}}, 1},
    {"two phases of 2,000 and 200,000 bytes", {{"PHASES", "2000,200000"}, {"SLOTS", "4"}}, 1},
    {"enlargement off", {{"ENLARGEMENT", "off"}}, 0},
    {"enlargement off, one slot of 64 bytes", {{"ENLARGEMENT", "off"}, {"PHASES", "64"}, {"SLOTS", "1"}}, 0},
    {"one phase", {{"PHASES", "512"}}, 0},
    {"whole vectors", {{"VECTOR", "whole"}}, 1},
    {"threshold of 50%", {{"THRESHOLD", "50%"}}, 1},
    {"threshold of one byte", {{"THRESHOLD", "1"}}, 1},
};

TEST_CASE("messages of all sizes go there and back, whatever the settings", "[traffic][E2][E4][E11][E12][E13]") {
  for (const Variant& variant : kVariants) {
    INFO(variant.name);
    Job job(2, variant.knobs);
    std::uint32_t seed = 0;
    for (const std::size_t size : {1u, 7u, 8u, 39u, 40u, 41u, 76u, 80u, 81u, 488u, 489u, 1000u, 8168u, 8169u, 8232u,
                                   8233u, 30'000u}) {
      job.send(0, 1, Vector({size}, ++seed));
      job.send(1, 0, Vector({size}, ++seed));
      job.send(0, 1, Vector({1, size, 3}, ++seed));
    }
    job.wait_idle();
    for (const std::uint32_t rank : {0u, 1u}) {
      CHECK(job[rank].stats(1 - rank).send.phase == variant.last_phase);
      CHECK(job[rank].stats(1 - rank).receive.phase == variant.last_phase);
      CHECK(job[rank].failures.empty());
    }
    CHECK(job[1].messages[0].size() == 34);
    CHECK(job[0].messages[1].size() == 17);
  }
}

// While an object of this class exists, the process cannot map `bytes` more bytes of memory (setrlimit(2)).
class Shortage {
 public:
  explicit Shortage(std::size_t bytes) {
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + bytes;
    REQUIRE(setrlimit(RLIMIT_AS, &now) == 0);
  }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  ~Shortage() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("memory that the system refuses is reported once, with its size, and the data arrives", "[traffic][E7]") {
  Job job(2, {{"PHASES", "512,4194304"}, {"SLOTS", "16,1024"}});
  job.send(0, 1, Vector({8}));
  {
    const Shortage shortage(std::size_t{1} << 30);
    for (const std::uint32_t from : {0u, 1u})
      for (std::uint32_t n = 0; n < 3; ++n) job.send(from, 1 - from, Vector({20'000 + n, 10}, n));
    job.wait_idle();
  }
  for (const std::uint32_t rank : {0u, 1u}) {
    REQUIRE(job[rank].warnings.size() == 1);
    CHECK_THAT(job[rank].warnings[0], Catch::Matchers::Contains("4294967296 bytes were refused (mmap: "));
    CHECK(job[rank].stats(1 - rank).send.phase == 0);
    CHECK(job[rank].stats(1 - rank).send.refused == 1);
    CHECK(job[rank].failures.empty());
  }
}

TEST_CASE("a message of megabytes goes in fragments and arrives in order", "[traffic][E13]") {
  for (const char* phases : {"512,8192", "100,1000", "2000,200000"}) {
    Job job(2, {{"PHASES", phases}});
    INFO(phases);
    job.send(0, 1, Vector({3'000'000, 17}));
    job.send(1, 0, Vector({8}));
    job.wait_idle();
    CHECK(job[0].stats(1).send.messages_fragmented == 1);
    CHECK(job[0].stats(1).send.bytes == 3'000'017);
  }
}

TEST_CASE("both directions may enlarge at once, over and over", "[traffic][E6][E10]") {
  for (const char* slots : {"1", "2", "16"}) {
    Job job(2, {{"PHASES", "64,128,256,512,1024,2048,4096,8192"}, {"SLOTS", slots}});
    for (std::uint32_t phase = 0; phase < 8; ++phase) {
      const Vector there({(64u << phase) - 24}, 10 + phase);
      const Vector back({(64u << phase) - 24}, 20 + phase);
      std::size_t sent[2] = {0, 0};
      const Vector* vectors[2] = {&there, &back};
      REQUIRE(job.until([&] {
        for (const std::uint32_t from : {0u, 1u}) {
          const auto rest = vectors[from]->rest(sent[from]);
          if (!rest.empty()) sent[from] += job[from].send(1 - from, rest);
        }
        return job[1].messages[0].size() == phase + 1 && job[0].messages[1].size() == phase + 1;
      }));
      CHECK(job[1].messages[0].back() == there.bytes());
      CHECK(job[0].messages[1].back() == back.bytes());
      CHECK(job[0].stats(1).send.phase == phase);
      CHECK(job[1].stats(0).send.phase == phase);
    }
  }
}

TEST_CASE("only the pair and the direction that carried large data are large", "[traffic][E10]") {
  constexpr std::uint32_t kRanks = 8;
  Job job(kRanks);
  for (std::uint32_t from = 0; from < kRanks; ++from)
    for (std::uint32_t to = 0; to < kRanks; ++to)
      if (from != to) job.send(from, to, Vector({200}, from * 10 + to));
  job.send(2, 5, Vector({6000}));
  job.wait_idle();
  for (std::uint32_t from = 0; from < kRanks; ++from) {
    for (std::uint32_t to = 0; to < kRanks; ++to) {
      if (from == to) continue;
      const bool large = from == 2 && to == 5;
      INFO(from << " to " << to);
      CHECK(job[from].stats(to).send.phase == (large ? 1 : 0));
      CHECK(job[to].stats(from).receive.phase == (large ? 1 : 0));
    }
  }
  const std::uint64_t small = 4096 + RingSlabs<FabricPort>::taken(2 * (kRanks - 1), 8192).bytes;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    CHECK(job[rank].stats().registered_bytes == (rank == 2 || rank == 5 ? small + 132 * 1024 : small));
}

TEST_CASE("while one channel waits for its acknowledgement the others go on", "[traffic][E6]") {
  Job job(3);
  job.send(0, 1, Vector({8}));
  job.send(0, 2, Vector({8}));
  // event: rank 1 makes no progress, so its acknowledgement does not come
  const Vector large({5000});
  CHECK(job[0].send(1, large.all()) == 0);
  CHECK(job[0].last_status == BUFENLARGE_OK);
  for (std::uint32_t n = 0; n < 50; ++n) {
    const Vector small({300}, n);
    const auto progress = [&] { job[0].progress(), job[2].progress(); };
    REQUIRE(comes_true([&] { return job[0].send(2, small.all()) == 300; }, progress));
    REQUIRE(comes_true([&] { return job[2].messages[0].size() == n + 2; }, progress));
    CHECK(job[0].send(1, large.all()) == 0);
    CHECK(job[0].send(1, Vector({1}).all()) == 0);
    CHECK(job[0].last_status == BUFENLARGE_OK);
  }
  // event: rank 1 is back
  job.send(0, 1, large);
  CHECK(job[0].failures.empty());
}

TEST_CASE("rings that have grown are really gone: what is registered is in use, and the slab", "[traffic][E7][E9]") {
  Job job(2, {{"PHASES", "512,8192,65536"}});
  job.send(0, 1, Vector({8}));
  job.send(1, 0, Vector({8}));
  CHECK(job[0].stats().registered_bytes == (4 + 8 + 8) * 1024);
  job.send(0, 1, Vector({5000}));
  CHECK(job[0].stats().registered_bytes == (4 + 2 * 8 + 128) * 1024);
  CHECK(job[1].stats().registered_bytes == (4 + 2 * 8 + 128) * 1024);
  job.send(0, 1, Vector({60'000}));
  CHECK(job[0].stats().registered_bytes == (4 + 2 * 8 + 1024) * 1024);
  CHECK(job[0].stats().registrations == 4);
  CHECK(job[0].stats().deregistrations == 1);
  CHECK(job[1].stats().deregistrations == 1);
}

TEST_CASE("many messages in flight keep their order", "[traffic][E12]") {
  Job job(2);
  constexpr std::uint32_t kMessages = 3000;
  std::uint32_t sent = 0;
  REQUIRE(job.until([&] {
    for (bool taken = true; taken && sent < kMessages;) {
      const Vector vector({1 + sent % 700}, sent);
      taken = job[0].send(1, vector.all()) == vector.bytes().size();
      // of a message that was taken in part the rest goes before anything else
      REQUIRE((taken || job[0].stats(1).send.messages <= sent));
      if (taken) ++sent;
      else if (job[0].stats(1).send.bytes != 0 && !taken) break;
    }
    return job[1].messages[0].size() == kMessages;
  }));
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    if (job[1].messages[0][n] != Vector({1 + n % 700}, n).bytes()) FAIL("message " << n << " is not what was sent");
  }
  CHECK(job[1].stats(0).receive.messages == kMessages);
}

TEST_CASE("when all processes of a job send first at once, every pair has one connection", "[traffic][connect]") {
  constexpr std::uint32_t kRanks = 12;
  Job job(kRanks);
  const auto all_sent = [&, taken = std::vector<bool>(kRanks * kRanks)]() mutable {
    bool all = true;
    for (std::uint32_t from = 0; from < kRanks; ++from) {
      for (std::uint32_t to = 0; to < kRanks; ++to) {
        if (from == to || taken[from * kRanks + to]) continue;
        taken[from * kRanks + to] = job[from].send(to, Vector({100}, from * kRanks + to).all()) == 100;
        all = all && taken[from * kRanks + to];
      }
    }
    return all;
  };
  REQUIRE(job.until(all_sent));
  REQUIRE(job.until([&] {
    for (std::uint32_t to = 0; to < kRanks; ++to)
      for (std::uint32_t from = 0; from < kRanks; ++from)
        if (from != to && job[to].messages[from].size() != 1) return false;
    return true;
  }));
  std::uint32_t crossed = 0;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    CHECK(job[rank].stats().channels == kRanks - 1);
    CHECK(job[rank].stats().connects_refused == 0);
    CHECK(job[rank].failures.empty());
    crossed += job[rank].stats().connects_crossed;
  }
  CHECK(crossed > 0);  // otherwise this test has tested nothing
}

TEST_CASE("a passive side sends nothing before the active side's first message", "[traffic][connect]") {
  Job job(2);
  CHECK(job[0].send(1, Vector({8}).all()) == 0);
  REQUIRE(job.until([&] { return job[1].stats().channels == 1; }));
  job.send(1, 0, Vector({8}));
  job.send(0, 1, Vector({8}));
  CHECK(job[0].failures.empty());
}

}  // namespace
}  // namespace bufenlarge::test
