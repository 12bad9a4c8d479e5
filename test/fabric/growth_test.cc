// SPDX-License-Identifier: MIT
// Larger rings that are earned, over libfabric's tcp provider on loopback.
#include <catch2/catch.hpp>

#include "fabric/job.h"
#include "protocol/growth_policy.h"

namespace bufenlarge::test {
namespace {

const KnobTexts kEarned{{"GROWTH", "earned"}};

TEST_CASE("a few messages that do not fit leave the rings small, and arrive whole", "[growth][G1]") {
  Job job(2, kEarned);
  job.send(0, 1, Vector({8}));
  job.send(1, 0, Vector({8}));
  const std::uint64_t at_first = job[0].stats(1).registered_bytes;
  for (std::uint32_t i = 0; i < 10; ++i) {
    job.send(0, 1, Vector({40, 600}, i));
    job.send(1, 0, Vector({40, 600}, i + 10));
  }
  for (const std::uint32_t rank : {0u, 1u}) {
    const bufenlarge_channel_stats_t stats = job[rank].stats(1 - rank);
    CHECK(stats.registered_bytes == at_first);
    CHECK(stats.send.phase == 0);
    CHECK(stats.send.enlargements == 0);
    CHECK(stats.send.messages_fragmented == 10);
  }
}

TEST_CASE("a stream of messages that do not fit earns a large ring, in its direction alone", "[growth][G1][E10]") {
  Job job(2, kEarned);
  std::uint32_t sent = 0;
  while (sent < 100'000 && (sent == 0 || job[0].stats(1).send.phase == 0)) job.send(0, 1, Vector({40, 600}, sent++));
  CHECK(sent > GrowthPolicy::kCost / 2);
  CHECK(job[0].stats(1).send.phase == 1);
  CHECK(job[0].stats(1).send.enlargements == 1);
  CHECK(job[1].stats(0).receive.phase == 1);
  CHECK(job[1].stats(0).send.phase == 0);
}

TEST_CASE("short messages that come faster than they are taken earn a ring with more slots", "[growth][G1]") {
  Job job(2, {{"GROWTH", "earned"}, {"PHASES", "256,512,8256"}});
  job.send(0, 1, Vector({8}));
  CHECK(job[0].stats(1).send.slots == 4);
  const Vector message({40});
  for (int round = 0; round < 10'000 && job[0].stats(1).send.phase == 0; ++round) {
    while (job[0].send(1, message.rest(0)) != 0) continue;
    job.progress();
  }
  job.wait_idle();
  CHECK(job[0].stats(1).send.phase == 1);
  CHECK(job[0].stats(1).send.slots == 16);
  CHECK(job[0].stats(1).send.messages_fragmented == 0);
  CHECK(job[1].stats(0).send.phase == 0);
}

TEST_CASE("one long message earns a large ring in its middle, and arrives whole", "[growth][G1]") {
  for (const char* vector : {"partial", "whole"}) {
    Job job(2, {{"GROWTH", "earned"}, {"VECTOR", vector}});
    job.send(0, 1, Vector({40, 1'000'000}));
    CHECK(job[0].stats(1).send.phase == 1);
    CHECK(job[0].stats(1).send.messages_fragmented == 1);
  }
}

}  // namespace
}  // namespace bufenlarge::test
