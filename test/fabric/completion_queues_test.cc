// SPDX-License-Identifier: MIT
// Which completion queue an endpoint reserves entries of. The provider is tcp, which would need no bound.
#include "fabric/completion_queues.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "fabric/fabric_error.h"
#include "fabric/provider.h"

namespace bufenlarge::test {
namespace {

struct Domain {
  Domain() : info(choose_provider({ProviderChoice::kTcp, "lo"})) {
    fid_fabric* opened = nullptr;
    must("fi_fabric", fi_fabric(info->fabric_attr, &opened, nullptr));
    fabric.reset(opened);
    fid_domain* of_it = nullptr;
    must("fi_domain", fi_domain(opened, info.get(), &of_it, nullptr));
    domain.reset(of_it);
  }
  InfoPtr info;
  FabricFid fabric;
  DomainFid domain;
};

CompletionQueues bounded(const Domain& domain, std::size_t endpoints, std::size_t per_endpoint,
                         std::size_t shared = 0) {
  return {domain.domain.get(), {FI_WAIT_NONE, per_endpoint, endpoints, 16'384, shared}};
}

TEST_CASE("the first completion queue has entries for the expected endpoints, and no more are reserved of it",
          "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 4, 31);
  REQUIRE(queues.size() == 1);
  CHECK(queues.per_endpoint() == 31);
  CHECK(queues[0].entries == 4 * 31);
  for (unsigned n = 1; n <= 4; ++n) {
    CHECK(queues.reserve() == &queues[0]);
    CHECK(queues[0].reserved == n * 31);
  }
  CHECK(queues.size() == 1);
}

TEST_CASE("a queue twice as large is opened when all are full", "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 2, 31);
  for (unsigned n = 0; n < 2; ++n) (void)queues.reserve();
  CompletionQueue* second = queues.reserve();
  REQUIRE(queues.size() == 2);
  CHECK(second == &queues[1]);
  CHECK(second->fid != nullptr);
  CHECK(second->entries == 2 * 2 * 31);
  CHECK(second->reserved == 31);
  CHECK(queues[0].reserved == queues[0].entries);
}

TEST_CASE("entries that an endpoint gave back are reserved again before another queue is opened",
          "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 2, 31);
  CompletionQueue* const first = queues.reserve();
  (void)queues.reserve();
  first->give_back();
  CHECK(first->reserved == 31);
  CHECK(queues.reserve() == first);
  CHECK(queues.size() == 1);
}

TEST_CASE("with any number of endpoints no queue has more entries reserved than it has", "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 64, 31);
  std::vector<CompletionQueue*> taken;
  for (unsigned n = 0; n < 3000; ++n) {
    taken.push_back(queues.reserve());
    REQUIRE(taken.back() != nullptr);
    REQUIRE(taken.back()->reserved <= taken.back()->entries);
  }
  CHECK(queues.size() <= 10);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < queues.size(); ++i) largest = std::max(largest, queues[i].entries);
  CHECK(largest == 16384);
  for (CompletionQueue* queue : taken) queue->give_back();
  for (std::size_t i = 0; i < queues.size(); ++i) CHECK(queues[i].reserved == 0);
}

TEST_CASE("an endpoint that needs more than the largest queue gets a queue of its own", "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 8, 20'000);
  CHECK(queues[0].entries == 20'000);
  CHECK(queues.reserve() == &queues[0]);
  const CompletionQueue* second = queues.reserve();
  REQUIRE(queues.size() == 2);
  CHECK(second == &queues[1]);
  CHECK(queues[1].entries == 20'000);
}

TEST_CASE("no endpoint reserves the entries that all endpoints share", "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues = bounded(domain, 2, 31, 64);
  CHECK(queues[0].entries == 2 * 31);
  for (unsigned n = 0; n < 2; ++n) CHECK(queues.reserve() == &queues[0]);
  const CompletionQueue* second = queues.reserve();
  REQUIRE(queues.size() == 2);
  CHECK(second == &queues[1]);
  CHECK(second->entries == 2 * 2 * 31);
}

TEST_CASE("where queues have no bound all endpoints share one", "[completion_queues]") {
  const Domain domain;
  CompletionQueues queues(domain.domain.get(), {.wait = FI_WAIT_FD});
  CHECK(queues.per_endpoint() == 0);
  for (unsigned n = 0; n < 2000; ++n) REQUIRE(queues.reserve() == &queues[0]);
  CHECK(queues.size() == 1);
  CHECK(queues[0].reserved == 0);
}

TEST_CASE("the groups of tcp have 16, 32, then 64 endpoints, and each queue a descriptor and a number",
          "[completion_queues][S1]") {
  const Domain domain;
  CompletionQueues queues(domain.domain.get(), {FI_WAIT_FD, 1, kGroupEndpoints, kGroupEndpointsMax, 112});
  std::set<int> descriptors;
  for (unsigned n = 0; n < 4096; ++n) {
    const CompletionQueue* queue = queues.reserve();
    REQUIRE(queue != nullptr);
    REQUIRE(queue->number == (n < 16 ? 0 : n < 48 ? 1 : 2 + (n - 48) / 64));
    REQUIRE(queues.size() == group_count(n + 1));
    descriptors.insert(queue->descriptor);
  }
  CHECK(queues.size() == 66);
  CHECK(descriptors.size() == 66);
  CHECK(*descriptors.begin() >= 0);
}

// ---- what was read of a queue

constexpr std::size_t kAsked = 16;

TEST_CASE("a mark in a queue waits for the queue's end to be found after it", "[completion_queues]") {
  CompletionQueue queue;
  queue.note_read(-FI_EAGAIN, kAsked);
  const std::uint64_t mark = queue.mark();
  CHECK_FALSE(queue.read_to(mark));
  for (int i = 0; i < 10; ++i) queue.note_read(kAsked, kAsked);
  CHECK_FALSE(queue.read_to(mark));
  queue.note_read(-FI_EAGAIN, kAsked);
  CHECK(queue.read_to(mark));
  CHECK_FALSE(queue.read_to(queue.mark()));
}

TEST_CASE("a read of few entries has found the queue's end, unless it stopped at a failed completion",
          "[completion_queues]") {
  for (const bool fails : {false, true}) {
    CompletionQueue queue;
    const std::uint64_t mark = queue.mark();
    queue.note_read(3, kAsked);
    CHECK_FALSE(queue.read_to(mark));  // the next read tells
    queue.note_read(fails ? -FI_EAVAIL : ssize_t{kAsked}, kAsked);
    CHECK(queue.read_to(mark) != fails);
  }
}

TEST_CASE("a queue that fails by itself has nothing more to read", "[completion_queues][F8]") {
  CompletionQueue queue;
  const std::uint64_t mark = queue.mark();
  queue.note_read(-FI_EIO, kAsked);
  CHECK(queue.read_to(mark));
}

TEST_CASE("a mark after a read of few entries is not reached by what that read found", "[completion_queues]") {
  CompletionQueue queue;
  queue.note_read(3, kAsked);
  const std::uint64_t mark = queue.mark();
  queue.note_read(kAsked, kAsked);
  CHECK_FALSE(queue.read_to(mark));
  queue.note_read(2, kAsked);
  queue.note_read(kAsked, kAsked);
  CHECK(queue.read_to(mark));
}

}  // namespace
}  // namespace bufenlarge::test
