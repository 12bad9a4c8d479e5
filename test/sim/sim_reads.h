// SPDX-License-Identifier: MIT
// What the processes of a simulated world advertise and read, as an upper layer does that uses memory again as soon
// as a callback gives it back. The reader knows each source handle at once, whatever the channel does.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/sim_arena.h"
#include "sim/sim_config.h"
#include "sim/sim_fabric.h"
#include "status.h"

namespace bufenlarge::sim {

class SimPeer;

struct SimRead {
  // One read(); a part of what is advertised.
  struct Part {
    SimRead* of = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::unique_ptr<SimSegments> to;  // empty: handed up
    std::vector<std::byte> handed_up;
    bool ordered = false;
    unsigned ends = 0;  // how often read_done was called
  };
  const SimReadPlan* plan = nullptr;
  std::vector<std::byte> bytes;
  // Several reads may have the same one, as a buffer that is sent to several peers.
  std::shared_ptr<SimSegments> from;
  std::vector<std::unique_ptr<Part>> parts;
  std::uint32_t handle = 0;
  bool advertised = false;
  bool dropped = false;  // one of the two was lost before it was advertised
  bool over = false;     // the reader has ordered all, the release too
  unsigned released = 0;
};

class SimReads {
 public:
  using PeerOf = std::function<SimPeer*(std::uint32_t rank)>;  // nullptr when it is gone

  SimReads(SimFabric& fabric, const SimConfig& config, PeerOf peer_of);

  // Advertises what is due.
  void put_due();
  // Orders some of what `rank` has to read.
  void order(std::uint32_t rank);
  void read_done(std::uint32_t rank, std::uint32_t peer, SimRead::Part& part, Status status, bool peer_gone);
  void fragment(SimRead::Part& part, const std::byte* data, std::size_t bytes);
  void released(std::uint32_t rank, std::uint32_t peer, SimRead& read, Status status, bool peer_gone);

  [[nodiscard]] bool all_put() const { return put_ == config_.reads.size(); }
  // Whether nothing is left to wait for, of all processes that are there, or of this one.
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool done_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t next_put_us() const;
  // Checks that what was given back is as its owner left it.
  void check_end();

 private:
  void advertise(const SimReadPlan& plan);
  // Another whose memory is the same and advertised; nullptr when there is none.
  [[nodiscard]] SimRead* find_same(const SimReadPlan& plan) const;
  [[nodiscard]] bool advertised_elsewhere(const SimRead& read) const;
  [[nodiscard]] bool settled(const SimRead& read, std::uint32_t rank) const;
  void violate(const SimRead& read, const std::string& text);

  SimFabric& fabric_;
  const SimConfig& config_;
  PeerOf peer_of_;
  std::vector<std::unique_ptr<SimRead>> reads_;
  std::size_t put_ = 0;
  bool ordering_ = false;
};

}  // namespace bufenlarge::sim
