// SPDX-License-Identifier: MIT
// Directions that go back to smaller rings, over libfabric's tcp provider on loopback.
#include <catch2/catch.hpp>

#include <vector>

#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

bool small(Job& job, std::uint32_t from, std::uint32_t to) {
  return job[from].stats(to).send.phase == 0 && job[to].stats(from).receive.phase == 0;
}

TEST_CASE("a direction that needs no large ring any more goes back with its memory, over and over", "[shrink][B1]") {
  constexpr std::uint32_t kTimes = 3;
  Job job(2, {{"SHRINK_AFTER", "1ms"}});
  std::vector<std::uint32_t> sent;
  const auto message = [&](std::size_t i) { return Vector({sent[i]}, static_cast<std::uint32_t>(i)); };
  const auto send = [&](std::uint32_t bytes) {
    sent.push_back(bytes);
    job.send(0, 1, message(sent.size() - 1));
  };
  send(8);
  job.send(1, 0, Vector({8}));
  const std::uint64_t at_first = job[0].stats(1).registered_bytes;
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    // Right after a change what does not fit goes in fragments.
    while (job[0].stats(1).send.enlargements == i && sent.size() < 100'000) send(5000);
    REQUIRE(job[0].stats(1).send.phase == 1);
    REQUIRE(job.until([&] { return small(job, 0, 1); }));
    send(300);  // through the small ring
    for (const std::uint32_t rank : {0u, 1u}) CHECK(job[rank].stats(1 - rank).registered_bytes == at_first);
  }
  CHECK(job[0].stats(1).send.shrinks == kTimes);
  CHECK(job[1].stats(0).receive.shrinks == kTimes);
  REQUIRE(job[1].messages[0].size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (job[1].messages[0][i] != message(i).bytes()) FAIL("message " << i << " is not what was sent");
}

TEST_CASE("a direction that goes on needing its large ring keeps it, whatever the other one does", "[shrink][B1]") {
  Job job(2, {{"SHRINK_AFTER", "20ms"}});
  job.send(0, 1, Vector({5000}));
  job.send(1, 0, Vector({5000}));
  std::uint32_t sent = 1;
  while (!small(job, 0, 1) && sent < 100'000) job.send(1, 0, Vector({5000}, sent++));
  CHECK(small(job, 0, 1));
  CHECK(job[1].stats(0).send.phase == 1);
  CHECK(job[1].stats(0).send.shrinks == 0);
  CHECK(job[0].messages[1].size() == sent);
}

TEST_CASE("without the setting a direction stays large", "[shrink][B1]") {
  Job job(2);
  job.send(0, 1, Vector({5000}));
  for (std::uint32_t i = 0; i < 1000; ++i) job.send(0, 1, Vector({8}, i));
  CHECK(job[0].stats(1).send.phase == 1);
  CHECK(job[0].stats(1).send.shrinks == 0);
}

}  // namespace
}  // namespace bufenlarge::test
