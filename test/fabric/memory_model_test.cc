// SPDX-License-Identifier: MIT
#include "memory_model.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "channel/ring_slabs.h"
#include "fabric/fabric_port.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kHeapBytes = 1000;
const PhaseTable kTwoPhases = phases({{512, 16}, {8256, 16}});

MemoryJob job(std::uint64_t ranks, std::uint64_t per_node, Driver driver) {
  MemoryJob made;
  made.ranks = ranks;
  made.per_node = per_node;
  made.driver = driver;
  made.rendezvous_bytes = 65'536;
  return made;
}

MemoryRow row(const MemoryJob& of, const std::string& transport, const std::string& when) {
  const auto rows = model_memory(of, kTwoPhases, kHeapBytes);
  const auto found =
      std::ranges::find_if(rows, [&](const MemoryRow& one) { return one.transport == transport && one.when == when; });
  REQUIRE(found != rows.end());
  return *found;
}

MemoryRow own(const MemoryJob& of, const std::string& when) { return row(of, "bufenlarge", when); }

TEST_CASE("what a process takes before it has connected is the same for any job", "[memory_model]") {
  const MemoryTaken small = own(job(2, 1, Driver::kRxe), "started").process;
  const MemoryTaken large = own(job(8192, 128, Driver::kRxe), "started").process;
  CHECK(small.pinned == 0);
  CHECK(small.queue_pairs == 0);
  CHECK(small.other == large.other);
  CHECK(large.pinned == 0);
}

TEST_CASE("on tcp a connection takes two small rings and a descriptor, and no queue pair", "[memory_model]") {
  const auto slabs = [](std::size_t peers) { return RingSlabs<FabricPort>::taken(2 * peers, 8192); };
  const MemoryTaken use = own(job(17, 1, Driver::kTcp), "all peers touched").process;
  CHECK(use.pinned == slabs(16).bytes + 4096);  // control blocks of 16 peers fill a page
  CHECK(use.queue_pairs == 0);
  CHECK(use.descriptors == 16);
  CHECK(use.registrations == slabs(16).slabs + 1);
  CHECK(use.other - own(job(17, 1, Driver::kTcp), "started").process.other ==
        16 * (kHeapBytes + 22'400) + (381 + 330) * 1024);
  const MemoryTaken one_more = own(job(18, 1, Driver::kTcp), "all peers touched").process;
  CHECK(one_more.descriptors == 17 + 6);  // of another completion queue
  CHECK(one_more.other - use.other == kHeapBytes + 22'400 + 381 * 1024);
  CHECK(one_more.pinned == slabs(17).bytes + 2 * 4096);
}

TEST_CASE("on RoCE queues are pinned too, as the library counts them", "[memory_model][B6]") {
  MemoryJob of = job(2, 1, Driver::kRxe);
  of.notified = true;
  const MemoryTaken use = own(of, "all peers touched").process;
  CHECK(use.pinned == 16'384 + 4096 + 4'096 + 4'096 + (7 + 24) * 64);
  CHECK(use.queue_pairs == 1);
  CHECK(use.descriptors == 0);
}

TEST_CASE("a message that does not fit makes both rings large until they are given back", "[memory_model]") {
  MemoryJob of = job(2, 1, Driver::kTcp);
  of.message_bytes = 488;  // all that fits
  CHECK(own(of, "after the messages").process.pinned == own(of, "all peers touched").process.pinned);
  of.message_bytes = 489;
  CHECK(own(of, "after the messages").process.pinned == 2 * 135'168 + 4096);
  CHECK(own(of, "given back (SHRINK_AFTER)").process.pinned == own(of, "all peers touched").process.pinned);
  of.message_bytes = 65'536;  // goes without a copy
  CHECK(own(of, "after the messages").process.pinned == own(of, "all peers touched").process.pinned);
}

TEST_CASE("connections go to other nodes only, and to as many as the pattern and the bound say", "[memory_model]") {
  MemoryJob of = job(8192, 128, Driver::kHardware);
  CHECK(of.peers_most() == 8064);
  CHECK(own(of, "all peers touched").node.queue_pairs == 1'032'192);
  of.pattern = MemoryPattern::kNeighbours;
  of.neighbours = 26;
  CHECK(own(of, "all peers touched").node.queue_pairs == 128 * 26);
  of.neighbours = 100'000;
  CHECK(of.peers_most() == 8064);
  of.pattern = MemoryPattern::kHub;
  CHECK(own(of, "all peers touched").process.queue_pairs == 8064);
  CHECK(own(of, "all peers touched").node.queue_pairs == 8064);
  of.connections_max = 1024;
  CHECK(own(of, "all peers touched").process.queue_pairs == 1024);
  CHECK(row(of, "ch4:ucx, rc", "all peers touched").process.queue_pairs == 8064);
  CHECK(job(64, 128, Driver::kTcp).peers_most() == 0);  // all on one node
}

// GiB of a node: scale's figures for 64 nodes of 128 ranks.
TEST_CASE("the others take what their defaults say", "[memory_model]") {
  const auto gibibytes = [](const MemoryTaken& use) { return static_cast<double>(use.pinned + use.other) / (1 << 30); };
  MemoryJob of = job(8192, 128, Driver::kHardware);
  CHECK(gibibytes(row(of, "ch4:ofi, verbs;ofi_rxm", "all peers touched").node) == Approx(2125).epsilon(0.01));
  CHECK(gibibytes(row(of, "the same, FI_OFI_RXM_USE_SRX=1", "all peers touched").node) == Approx(81).epsilon(0.01));
  CHECK(gibibytes(row(of, "ch4:ucx, rc", "all peers touched").node) == Approx(20.5).epsilon(0.03));
  of.pattern = MemoryPattern::kNeighbours;
  of.neighbours = 26;
  CHECK(gibibytes(row(of, "ch4:ofi, verbs;ofi_rxm", "all peers touched").node) == Approx(9.2).epsilon(0.03));
}

}  // namespace
}  // namespace bufenlarge::test
