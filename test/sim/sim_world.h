// SPDX-License-Identifier: MIT
// A simulated world: its processes take turns by chance, time goes on a little with each turn, and in
// leaps when nothing is under way. It runs until every message has arrived, and then looks at what is
// left over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/sim_config.h"
#include "sim/sim_peer.h"

namespace bufenlarge::sim {

struct SimResult {
  std::string failure;  // "" when every property held
  std::uint64_t hash = 0;
  SimTotals totals;
  std::string trace;  // with TraceOutput::kKeep
};

class SimWorld {
 public:
  SimWorld(const SimConfig& config, TraceOutput output);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  [[nodiscard]] SimResult run();

 private:
  void step();
  void tick();
  [[nodiscard]] std::uint32_t next_turn();
  void pass_time();
  void put_due_messages();
  void knock();
  void die_if_due();
  void leave_if_done();
  void beside(std::uint32_t rank);
  [[nodiscard]] std::uint64_t next_due_us() const;
  [[nodiscard]] bool delivered();
  [[nodiscard]] bool drained();
  [[nodiscard]] bool quiet() const;
  void drain();
  void settle();
  [[nodiscard]] bool closing() const;
  [[nodiscard]] bool all_closed() const;
  // Directions go back for time, or for the memory.
  [[nodiscard]] bool shrinks() const {
    return config_.channel.shrink_after_us != 0 || config_.channel.memory_max != 0;
  }
  [[nodiscard]] bool changing() const;
  [[nodiscard]] bool all_small() const;
  // Connections may end by agreement: for time, or for room, which a port without descriptors wants, too, or memory.
  [[nodiscard]] bool closes() const {
    return config_.channel.idle_close_us != 0 || config_.channel.memory_max != 0 ||
           config_.channel.connections_max != 0 || config_.port_links_max != 0 || config_.faults.open_fails != 0;
  }
  void close();
  [[nodiscard]] bool ok() const { return fabric_.violation.empty(); }

  // ---- sim_checks.cc
  [[nodiscard]] bool any_channel(bool (*is_so)(const SimPeer::Channel& channel)) const;
  void check_end();
  void check_channel(const SimPeer& peer, std::uint32_t other);
  [[nodiscard]] static bool narrow(const SimPeer::Channel& from, const SimPeer::Channel& to);
  [[nodiscard]] bool grew_as_needed(const SimPeer::Channel& from, const SimFlow& flow, bool fragments,
                                    bool earns) const;
  void check_direction(const SimPeer& sender, const SimPeer& receiver);
  void check_counters(const SimPeer& sender, const SimPeer& receiver, const SimFlow& flow);
  void check_memory(const SimPeer& peer);
  void check_ledger(const SimPeer& peer);
  void check_failures(const SimPeer& peer);
  void check_reads(const SimPeer& peer);
  void check_stall();
  void check_closed();
  void collect();
  [[nodiscard]] std::string dump() const;
  [[nodiscard]] std::string dump_channel(const SimPeer& peer, std::uint32_t other) const;
  [[nodiscard]] bool lost(std::uint32_t rank) const;

  const SimConfig config_;
  const std::uint64_t steps_max_;  // see steps_max()
  const std::uint64_t virtual_us_max_;
  const std::uint32_t steps_per_look_;  // at all of the world, to see whether it has come to rest
  SimFabric fabric_;
  SimRandom forger_;  // its own source, so that forged calls change no seed's other events
  std::map<std::pair<std::uint32_t, std::uint32_t>, SimFlow> flows_;
  SimPeer::World shared_;
  SimReads reads_;
  SimWrites writes_;  // whose memory links may still read when they close
  std::vector<std::unique_ptr<SimPeer>> peers_;
  std::pair<std::uint32_t, std::uint32_t> undone_;  // a flow that was not done when last looked at
  std::size_t put_ = 0;  // messages of the plan
  std::uint64_t leap_us_ = 0;
  std::uint32_t still_ = 0;  // turns in which nothing moved
  std::uint32_t turn_ = 0;
  std::uint32_t unauthorized_left_ = 0;
  bool leaps_ = true;
  bool beside_ = false;
  bool dead_ = false;
};

}  // namespace bufenlarge::sim
