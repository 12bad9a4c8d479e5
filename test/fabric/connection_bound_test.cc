// SPDX-License-Identifier: MIT
// How many connections a process may have where the user has not said so.
#include "fabric/connection_bound.h"

#include <catch2/catch.hpp>

#include "fabric/job.h"
#include "fabric/soft_limit.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

ConnectionLimits tcp(std::uint64_t descriptors, std::uint32_t peers) {
  ConnectionLimits limits;
  limits.descriptors = descriptors;
  limits.group_descriptors = 6;
  limits.peers = peers;
  return limits;
}

TEST_CASE("descriptors bound the connections, those of the queues counted", "[bound][S3]") {
  CHECK(choose_bound(tcp(16, 1000)).connections == 12);     // 16 - 2 - 2
  CHECK(choose_bound(tcp(1000, 1000)).connections == 795);  // 873, less 6 for each of 13 further queues
  CHECK(choose_bound(tcp(1000, 796)).connections == 795);
  CHECK(choose_bound(tcp(1000, 795)).connections == 0);  // enough for all
  CHECK(choose_bound(tcp(3, 1000)).connections == 2);
  CHECK(choose_bound(tcp(0, 1000)).connections == 2);
  CHECK_THAT(choose_bound(tcp(1000, 1000)).why, Contains("1000 free file descriptors allow 795"));
  ConnectionLimits two = tcp(1000, 1000);
  two.contexts = 2;
  CHECK(choose_bound(two).connections == 393);
  ConnectionLimits one_queue = tcp(1000, 1000);
  one_queue.group_descriptors = 0;
  CHECK(choose_bound(one_queue).connections == 873);
}

TEST_CASE("a device's queue pairs are divided by the processes that share it", "[bound][S3]") {
  ConnectionLimits limits;
  limits.queue_pairs = 131'072;
  limits.processes = 128;
  limits.peers = 8'191;
  CHECK(choose_bound(limits).connections == 896);
  CHECK_THAT(choose_bound(limits).why, Contains("131072 queue pairs for 128 processes allow 896"));
  limits.contexts = 4;
  CHECK(choose_bound(limits).connections == 224);
  limits.peers = 224;
  CHECK(choose_bound(limits).connections == 0);
  limits.descriptors = 100;
  CHECK(choose_bound(limits).connections == 20);  // the least of both: 22 - 2 by the descriptors of one of 4 contexts
}

TEST_CASE("where nothing limits the connections there is no bound", "[bound][S3]") {
  ConnectionLimits limits;
  limits.peers = 1'000'000;
  CHECK(choose_bound(limits).connections == 0);
  CHECK(given_bound(16).connections == 16);
}

TEST_CASE("a context finds its bound when it gets the addresses, unless the user has set one", "[bound][S3]") {
  constexpr std::uint32_t kSize = 100;
  const auto bound = [](const KnobTexts& knobs, unsigned spare) {
    const Process process(knobs, 0, kSize, 7);
    const Bytes addresses(kSize * process.address.size());
    const SoftLimit few(limit_with_spare(spare));
    (void)bufenlarge_context_set_addresses(process.context(), addresses.data(), kSize);
    return process.stats().connections_max;
  };
  CHECK(bound({}, 20) == 16);
  CHECK(bound({}, 500) == 0);
  CHECK(bound({{"CONNECTIONS", "5"}}, 20) == 5);
  CHECK(bound({{"CONNECTIONS", "0"}}, 20) == 0);
}

}  // namespace
}  // namespace bufenlarge::test
