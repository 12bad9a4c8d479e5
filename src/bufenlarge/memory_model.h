// SPDX-License-Identifier: MIT
// A model of the memory that a job takes: of one process and of one node, before and after connections were used,
// beside what two other transports take by their known defaults (docs/decisions/0029-memory-model.md). It computes; it
// looks at no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "channel/settings.h"
#include "fabric/queue_memory.h"

namespace bufenlarge {

// Who talks to whom. Processes of one node talk through shared memory, which is not counted.
enum class MemoryPattern : std::uint8_t {
  kAlltoall,    // each process to all of other nodes
  kNeighbours,  // each to so many of other nodes
  kHub,         // one to all of other nodes, which talk to it alone
};

struct MemoryJob {
  std::uint64_t ranks = 1;
  std::uint64_t per_node = 1;
  MemoryPattern pattern = MemoryPattern::kAlltoall;
  std::uint64_t neighbours = 0;
  std::uint64_t connections_max = 0;  // of a process; 0: no bound
  std::uint64_t message_bytes = 0;    // of the largest message, in both directions
  std::uint64_t rendezvous_bytes = ~std::uint64_t{0};  // the smallest message that does not go through rings
  Driver driver = Driver::kTcp;
  bool notified = false;  // slots are notified, so each connection has receives of its own

  [[nodiscard]] std::uint64_t on_node() const { return per_node < ranks ? per_node : ranks; }
  // Connections of the process that has most, and of each other one on its node.
  [[nodiscard]] std::uint64_t peers_most() const;
  [[nodiscard]] std::uint64_t peers_of_others() const;
};

// In bytes, and numbers.
struct MemoryTaken {
  std::uint64_t pinned = 0;  // registered; on verbs also what queues take
  std::uint64_t other = 0;   // of the process, the provider and the driver
  std::uint64_t queue_pairs = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t registrations = 0;
};

struct MemoryRow {
  std::string transport;
  std::string when;
  MemoryTaken process;  // the one with most connections
  MemoryTaken node;     // the one with that process
};

// `heap_bytes`: what this library's objects take per connection.
[[nodiscard]] std::vector<MemoryRow> model_memory(const MemoryJob& job, const PhaseTable& phases,
                                                  std::uint64_t heap_bytes);

}  // namespace bufenlarge
