// SPDX-License-Identifier: MIT
// What the library counts as pinned beside what the system counts, on an RDMA device. Hidden: it runs in a virtual
// machine (tools/suite rxe and siw).
#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

// The pages of this process that drivers have pinned, in bytes: VmPin of proc(5).
std::uint64_t pinned_by_the_system() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    if (name != "VmPin:") continue;
    std::uint64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

constexpr std::uint32_t kSize = 4;

std::uint64_t counted(Job& job) {
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) bytes += job[rank].stats().pinned_bytes;
  return bytes;
}

void all_send(Job& job, std::size_t bytes) {
  for (std::uint32_t from = 0; from < kSize; ++from)
    for (std::uint32_t to = 0; to < kSize; ++to)
      if (from != to) job.send(from, to, Vector({bytes}));
  job.wait_idle();
}

TEST_CASE("on a device the library counts at least what the system counts as pinned", "[.device][memory][B2]") {
  const std::uint64_t before = pinned_by_the_system();
  Job job(kSize, {{"PROVIDER", "verbs"}, {"INTERFACE", ""}});
  const auto holds = [&] {
    const std::uint64_t system = pinned_by_the_system() - before;
    INFO("counted " << counted(job) << ", pinned by the system " << system);
    CHECK(system > 0);
    CHECK(counted(job) * 100 >= system * 95);
  };
  all_send(job, 8);
  holds();
  all_send(job, 5000);  // all directions grow
  holds();
  std::vector<std::byte> memory(3'000'000);
  bufenlarge_window_t window{};
  REQUIRE(bufenlarge_context_register_window(job[0].context(), memory.data() + 5, memory.size() - 5, &window) ==
          BUFENLARGE_OK);
  holds();
  bufenlarge_context_deregister_window(job[0].context(), window.source);
}

TEST_CASE("on a device the limit on pinned memory holds for what the system counts, too", "[.device][memory][B2]") {
  constexpr std::uint64_t kLimit = 1u << 20;
  const std::uint64_t before = pinned_by_the_system();
  Job job(kSize, {{"PROVIDER", "verbs"}, {"INTERFACE", ""}, {"MEMORY_MAX", std::to_string(kLimit)}});
  for (const std::size_t bytes : {8u, 5000u, 60'000u, 8u}) {
    all_send(job, bytes);
    CHECK(pinned_by_the_system() - before <= kSize * kLimit);
  }
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    CHECK(job[rank].stats().pinned_bytes_most <= kLimit);
    CHECK(job[rank].warnings.empty());  // it is the user's own limit
  }
}

}  // namespace
}  // namespace bufenlarge::test
