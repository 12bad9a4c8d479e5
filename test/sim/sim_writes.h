// SPDX-License-Identifier: MIT
// Memory that processes of a simulated job_id share and others write, each write followed by a message: when it is
// delivered the data is there, and its owner takes the memory back at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "channel/source_table.h"
#include "sim/sim_config.h"
#include "sim/sim_fabric.h"
#include "status.h"

namespace bufenlarge::sim {

class SimPeer;

struct SimWrite {
  const SimWritePlan* plan = nullptr;
  std::vector<std::byte> bytes;  // as they are to be
  std::vector<std::byte> from;
  std::vector<std::byte> to;
  Window shared;
  bool ordered = false;
  bool arrived = false;  // the message after it
  unsigned told = 0;
};

class SimWrites {
 public:
  using PeerOf = std::function<SimPeer*(std::uint32_t rank)>;  // nullptr when it is gone

  SimWrites(SimFabric& fabric, const SimConfig& config, PeerOf peer_of)
      : fabric_(fabric), config_(config), peer_of_(std::move(peer_of)) {}

  // Shares, writes, and puts the message after it, what is due.
  void put_due();
  void written(std::uint32_t rank, std::uint32_t peer, SimWrite& write, Status status, bool peer_gone);
  // The message after it was delivered.
  void arrived(SimWrite& write);

  [[nodiscard]] bool all_put() const { return put_ == config_.writes.size(); }
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool done_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t next_put_us() const;
  // What is not to come any more is given back; what was is as its owner left it.
  void check_end();

 private:
  void begin(const SimWritePlan& plan);
  void violate(const SimWrite& write, const std::string& text);

  SimFabric& fabric_;
  const SimConfig& config_;
  PeerOf peer_of_;
  std::vector<std::unique_ptr<SimWrite>> writes_;
  std::size_t put_ = 0;
  bool ordering_ = false;
};

}  // namespace bufenlarge::sim
