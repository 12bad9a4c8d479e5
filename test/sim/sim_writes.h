// SPDX-License-Identifier: MIT
// Window memory of processes of a simulated world, and the one-sided writes of others into it. A message follows each
// write: when it is delivered the data is there, and the owner takes the memory back at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "channel/source_table.h"
#include "sim/sim_arena.h"
#include "sim/sim_config.h"
#include "sim/sim_fabric.h"
#include "status.h"

namespace bufenlarge::sim {

class SimPeer;

struct SimWrite {
  const SimWritePlan* plan = nullptr;
  std::vector<std::byte> bytes;  // as they are to be
  std::unique_ptr<SimSegments> from;
  std::vector<std::byte> to;
  Window window;
  bool ordered = false;
  bool arrived = false;  // the message after it
  unsigned ends = 0;     // how often write_done was called
};

class SimWrites {
 public:
  using PeerOf = std::function<SimPeer*(std::uint32_t rank)>;  // nullptr when it is gone

  SimWrites(SimFabric& fabric, const SimConfig& config, PeerOf peer_of)
      : fabric_(fabric), config_(config), peer_of_(std::move(peer_of)) {}

  // Begins what is due: registers the window, writes, and puts the message after the write.
  void put_due();
  void written(std::uint32_t rank, std::uint32_t peer, SimWrite& write, Status status, bool peer_gone);
  // The message after it was delivered.
  void arrived(SimWrite& write);

  [[nodiscard]] bool all_put() const { return put_ == config_.writes.size(); }
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool done_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t next_put_us() const;
  // Gives back the windows into which nothing more will come, and checks that the others are as their owner left them.
  void check_end();

 private:
  void begin(const SimWritePlan& plan);
  [[nodiscard]] bool settled(const SimWrite& write) const;
  void violate(const SimWrite& write, const std::string& text);

  SimFabric& fabric_;
  const SimConfig& config_;
  PeerOf peer_of_;
  std::vector<std::unique_ptr<SimWrite>> writes_;
  std::size_t put_ = 0;
  bool ordering_ = false;
};

}  // namespace bufenlarge::sim
