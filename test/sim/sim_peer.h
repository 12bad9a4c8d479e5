// SPDX-License-Identifier: MIT
// One process of a simulated world: the shipped Context over a SimPort, and an upper layer that does
// what the netmod does: keeps per channel what send() did not take, in order, and tries again after
// progress. It knows every message that is to arrive and compares each fragment with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "channel/context.h"
#include "sim/sim_config.h"
#include "sim/sim_port.h"
#include "sim/sim_reads.h"
#include "sim/sim_writes.h"

namespace bufenlarge {

extern template class Context<sim::SimPort>;

}  // namespace bufenlarge

namespace bufenlarge::sim {

struct SimMessage {
  std::uint32_t number;
  std::vector<std::vector<std::uint32_t>> chunks;
  std::vector<std::byte> bytes;
  SimWrite* write = nullptr;  // the message is delivered after this write
};

// One direction between two processes.
struct SimFlow {
  std::deque<std::shared_ptr<const SimMessage>> to_send;
  std::deque<std::shared_ptr<const SimMessage>> expected;
  // The first of to_send
  std::size_t chunk = 0;
  std::size_t chunk_sent = 0;
  std::size_t sent = 0;
  // The first of expected
  std::size_t arrived = 0;

  std::uint64_t messages = 0;  // put in
  std::uint64_t bytes = 0;
  std::uint64_t delivered_us = 0;  // when the last one had arrived
  std::uint8_t phase_needed = 0;
  bool abandoned = false;  // one of the two is lost
  bool wanted = false;     // send() was called

  [[nodiscard]] bool done() const { return abandoned || (to_send.empty() && expected.empty()); }
};

class SimPeer {
 public:
  using Context = bufenlarge::Context<SimPort>;
  using Channel = Context::Channel;

  // What all processes of a world have in common.
  struct World {
    SimFabric& fabric;
    const SimConfig& config;
    std::map<std::pair<std::uint32_t, std::uint32_t>, SimFlow>& flows;  // by from, to
    std::uint32_t responses_left;
    std::function<void(std::uint32_t rank)> beside;  // lets the others run while `rank` is called back
    std::uint32_t messages = 0;
    std::vector<bool> gone;  // by rank: died, or closed its context
    std::vector<std::byte> addresses;  // sim_addresses()
    SimReads* reads = nullptr;
    SimWrites* writes = nullptr;
  };

  SimPeer(World& world, std::uint32_t rank);
  ~SimPeer();
  SimPeer(const SimPeer&) = delete;
  SimPeer& operator=(const SimPeer&) = delete;

  // One turn: makes progress, and tries again what waits.
  void turn();
  void put(std::uint32_t to, std::vector<std::vector<std::uint32_t>> chunks);
  [[nodiscard]] Status advertise(std::uint32_t to, std::span<const iovec> segments, SimRead* read,
                                 std::uint32_t& handle) {
    return context_->channel(to)->advertise(segments, read, handle);
  }
  [[nodiscard]] Status read(std::uint32_t of, const ReadOrder& order) { return context_->channel(of)->read(order); }
  [[nodiscard]] Status write(std::uint32_t to, const WriteOrder& order) { return context_->channel(to)->write(order); }
  [[nodiscard]] bool register_window(std::vector<std::byte>& memory, Window& window) {
    return context_->register_window(memory.data(), memory.size(), window);
  }
  void deregister_window(const Window& window) { context_->deregister_window(window.source); }
  // A message of one element behind all that was written to that process so far.
  void put_after_writes(std::uint32_t to, std::uint32_t bytes, SimWrite* write);
  void die();
  void leave();

  [[nodiscard]] bool alive() const { return context_ != nullptr; }
  [[nodiscard]] const Channel* find(std::uint32_t peer) const {
    return alive() ? context_->find(peer) : nullptr;
  }
  [[nodiscard]] const Context* context() const { return context_.get(); }
  // Whether all it has written will arrive, even if it leaves now; a context may ask its port.
  [[nodiscard]] bool may_leave() { return context_->idle(); }
  // All channels there are, by peer; to be called of a process that is alive.
  [[nodiscard]] const auto& channels() const { return std::as_const(*context_).peers().channels(); }
  [[nodiscard]] SimPort& port() { return port_; }
  [[nodiscard]] const SimPort& port() const { return port_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint64_t paused_until_us() const { return paused_until_us_; }
  // The failures that were reported, by peer.
  [[nodiscard]] const std::map<std::uint32_t, std::vector<Status>>& failures() const { return failures_; }

 private:
  // What was last seen of a channel, to note what changed.
  struct Seen {
    Connect::State connect = Connect::State::kIdle;
    EnlargeSender::State enlarge = EnlargeSender::State::kSteady;
    std::uint8_t send_phase = 0;
    std::uint8_t receive_phase = 0;
    std::uint64_t asked_us = 0;  // when it began to wait for an acknowledgement
    std::uint32_t repeats = 0;   // before it began to
  };

  static void deliver_up(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks);
  static void failed_up(void* user, std::uint32_t peer, Status status, const char* message);
  static void read_done_up(void* user, std::uint32_t peer, void* cookie, Status status);
  static void fragment_up(void* user, std::uint32_t peer, void* cookie, const void* data, std::size_t bytes);
  static void released_up(void* user, std::uint32_t peer, void* cookie, Status status);
  static void written_up(void* user, std::uint32_t peer, void* cookie, Status status);
  void deliver(std::uint32_t peer, const std::byte* data, std::size_t bytes, unsigned marks);
  void failed(std::uint32_t peer, Status status, const char* message);
  void response();
  void send_waiting(std::uint32_t to);
  [[nodiscard]] bool send_chunk(SimFlow& flow, std::uint32_t to);
  [[nodiscard]] bool send_result_fits(Channel& channel, Status status, std::size_t sent, bool was_steady);
  void need(SimFlow& flow, const std::vector<std::uint32_t>& chunk) const;
  [[nodiscard]] bool has_more_to_do() const;
  void note_changes();
  void note_changes(std::uint32_t peer, const Channel& channel, Seen& seen);
  void check_repeats(std::uint32_t peer, const Channel& channel, const Seen& seen);
  [[nodiscard]] SimFlow& flow_to(std::uint32_t peer) { return world_.flows[{rank_, peer}]; }
  [[nodiscard]] SimFlow& flow_from(std::uint32_t peer) { return world_.flows[{peer, rank_}]; }
  void violate(const std::string& text) {
    world_.fabric.violate("rank " + std::to_string(rank_) + ": " + text);
  }

  World& world_;
  SimPort port_;
  std::unique_ptr<Context> context_;
  std::map<std::uint32_t, Seen> seen_;
  std::set<std::uint32_t> waiting_;  // peers that something is to be sent to
  std::map<std::uint32_t, std::vector<Status>> failures_;
  std::uint64_t paused_until_us_ = 0;
  std::uint32_t rank_;
};

// Four bytes of rank each, by which SimPort finds the process.
[[nodiscard]] std::vector<std::byte> sim_addresses(std::uint32_t peers);

// The message's bytes differ by number and place.
[[nodiscard]] std::vector<std::byte> message_bytes(std::uint32_t number, std::size_t bytes);

}  // namespace bufenlarge::sim
