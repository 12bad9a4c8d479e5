// SPDX-License-Identifier: MIT
#include "memory_model.h"

#include <algorithm>
#include <functional>

#include "channel/port.h"
#include "channel/ring_slabs.h"
#include "fabric/completion_queues.h"
#include "fabric/fabric_port.h"
#include "fabric/memory_region.h"
#include "fabric/provider.h"
#include "protocol/wire.h"

namespace bufenlarge {

namespace {

// A process of MPICH and this library after MPI_Init, and what it takes more with the first peer (bench/memory-life, 2
// to 64 ranks on tcp, 8 on rxe). The first is taken for the others, too.
constexpr std::uint64_t kMpichTcpBytes = 1'500 * 1024;
constexpr std::uint64_t kMpichVerbsBytes = 3'584 * 1024;
constexpr std::uint64_t kFirstPeerBytes = 330 * 1024;

std::uint64_t mpich_bytes(Driver driver) { return driver == Driver::kTcp ? kMpichTcpBytes : kMpichVerbsBytes; }

// What a completion queue of tcp takes, and its descriptors; one is there at the beginning, and takes its memory on use
// (docs/decisions/0036-tcp-groups.md).
constexpr std::uint64_t kGroupBytes = 381 * 1024;
constexpr std::uint64_t kGroupDescriptors = 6;

constexpr std::uint64_t kBlocksPerPage = 4096 / sizeof(ControlBlock);

// ofi_rxm: 128 receives of 16,384 bytes and a header for each connection, or 4,096 for all of them
// (FI_OFI_RXM_USE_SRX=1); a completion queue of 256 entries for each of 1,024 peers; a queue pair of 128 entries in
// each direction, with 256 bytes inline.
constexpr std::uint64_t kRxmReceiveBytes = 16'680;
constexpr std::uint64_t kRxmQueueBytes = 256 * 1024 * 64;
constexpr std::uint64_t kRxmQueuePairBytes = 72 * 1024;
// UCX rc: 4,095 shared receives of some 8.3 KB; its queue pair is assumed.
constexpr std::uint64_t kUcxReceivesBytes = 34'078'720;
constexpr std::uint64_t kUcxQueuePairBytes = 16 * 1024;

using UseOf = std::function<MemoryTaken(std::uint64_t peers)>;

void add(MemoryTaken& to, const MemoryTaken& use, std::uint64_t times) {
  to.pinned += use.pinned * times;
  to.other += use.other * times;
  to.queue_pairs += use.queue_pairs * times;
  to.descriptors += use.descriptors * times;
  to.registrations += use.registrations * times;
}

MemoryRow row(const MemoryJob& job, std::string transport, std::string when, bool connected, const UseOf& use_of) {
  MemoryRow made{std::move(transport), std::move(when), use_of(connected ? job.peers_most() : 0), {}};
  made.node = made.process;
  add(made.node, use_of(connected ? job.peers_of_others() : 0), job.on_node() - 1);
  return made;
}

// What does not fit a slot of the first phase makes both directions grow, unless it goes without a copy.
std::uint8_t grown_phase(const MemoryJob& job, const PhaseTable& phases) {
  return job.message_bytes >= job.rendezvous_bytes ? std::uint8_t{0} : phases.phase_for(job.message_bytes, 0);
}

// Both rings of each of so many connections.
MemoryTaken rings_of(const PhaseTable& phases, std::uint8_t phase, std::uint64_t peers) {
  using Slabs = RingSlabs<FabricPort>;
  const std::size_t bytes = phases.at(phase).ring_bytes();
  MemoryTaken use;
  if (phase == 0 && bytes <= Slabs::kRingBytesMax) {
    const Slabs::Taken taken = Slabs::taken(2 * peers, bytes);
    use.pinned = taken.bytes;
    use.registrations = taken.slabs;
  } else {
    use.pinned = 2 * peers * MemoryRegion::whole_pages(bytes);
    use.registrations = 2 * peers;
  }
  return use;
}

MemoryTaken own_use(const MemoryJob& job, const PhaseTable& phases, std::uint8_t phase, std::uint64_t heap_bytes,
                    std::uint64_t peers) {
  const bool verbs = job.driver != Driver::kTcp;
  const std::uint64_t receives = job.notified ? kReadsPerLinkMax + phases.at(phase).slots : 0;
  const QueueMemory queues = queue_memory(job.driver, kSendQueueEntries, kInlineBytes, receives);
  const std::uint64_t pages = (peers + kBlocksPerPage - 1) / kBlocksPerPage;
  MemoryTaken use = rings_of(phases, phase, peers);
  use.pinned += pages * 4096;
  if (verbs) use.pinned += peers * (queues.send_queue + queues.receive_queue + queues.completion_queue);
  use.other = mpich_bytes(job.driver) + (peers == 0 ? 0 : kFirstPeerBytes) + peers * (heap_bytes + queues.driver);
  use.queue_pairs = verbs ? peers : 0;
  use.registrations += pages;
  if (verbs || peers == 0) return use;
  use.descriptors = peers + kGroupDescriptors * (group_count(peers) - 1);
  use.other += kGroupBytes * group_count(peers);
  return use;
}

void add_own_rows(std::vector<MemoryRow>& rows, const MemoryJob& job, const PhaseTable& phases,
                  std::uint64_t heap_bytes) {
  const auto in_phase = [&](std::uint8_t phase) {
    return [&job, &phases, heap_bytes, phase](std::uint64_t peers) {
      return own_use(job, phases, phase, heap_bytes, peers);
    };
  };
  const std::string name = "bufenlarge";
  rows.push_back(row(job, name, "started", false, in_phase(0)));
  rows.push_back(row(job, name, "all peers touched", true, in_phase(0)));
  rows.push_back(row(job, name, "after the messages", true, in_phase(grown_phase(job, phases))));
  rows.push_back(row(job, name, "given back (SHRINK_AFTER)", true, in_phase(0)));
}

// These give nothing back, and the size of messages changes nothing.
void add_other_rows(std::vector<MemoryRow>& rows, const MemoryJob& job, const std::string& name,
                    const MemoryTaken& process, const MemoryTaken& peer) {
  const auto use_of = [&](std::uint64_t peers) {
    MemoryTaken use = process;
    add(use, peer, peers);
    return use;
  };
  rows.push_back(row(job, name, "started", false, use_of));
  rows.push_back(row(job, name, "all peers touched", true, use_of));
}

}  // namespace

std::uint64_t MemoryJob::peers_most() const {
  std::uint64_t peers = ranks - on_node();
  if (pattern == MemoryPattern::kNeighbours) peers = std::min(peers, neighbours);
  return connections_max == 0 ? peers : std::min(peers, connections_max);
}

std::uint64_t MemoryJob::peers_of_others() const { return pattern == MemoryPattern::kHub ? 0 : peers_most(); }

std::vector<MemoryRow> model_memory(const MemoryJob& job, const PhaseTable& phases, std::uint64_t heap_bytes) {
  std::vector<MemoryRow> rows;
  add_own_rows(rows, job, phases, heap_bytes);
  MemoryJob unbounded = job;  // only this library bounds connections
  unbounded.connections_max = 0;
  const std::uint64_t process = mpich_bytes(Driver::kHardware);
  add_other_rows(rows, unbounded, "ch4:ofi, verbs;ofi_rxm", {kRxmQueueBytes, process, 0, 0, 1},
                 {128 * kRxmReceiveBytes + kRxmQueuePairBytes, 0, 1, 0, 1});
  add_other_rows(rows, unbounded, "the same, FI_OFI_RXM_USE_SRX=1",
                 {kRxmQueueBytes + 4096 * kRxmReceiveBytes, process, 0, 0, 2}, {kRxmQueuePairBytes, 0, 1, 0, 0});
  add_other_rows(rows, unbounded, "ch4:ucx, rc", {kUcxReceivesBytes, process, 0, 0, 1},
                 {kUcxQueuePairBytes, 0, 1, 0, 0});
  return rows;
}

}  // namespace bufenlarge
