// SPDX-License-Identifier: MIT
// All channels of one process, and one round of progress over them.
//
// A round costs what the lists of pending, notified and timed channels ask for, and what it takes to see which slots
// have arrived. On a provider that places data only inside of its poll, the port is polled, and the context looks at
// the rings of the groups of links that the port reports. Where a device places data, a round looks at the rings that
// hot_channels.h chooses, unless every slot is notified. There slots come first: a completion that is read a round
// later costs nobody anything, a message does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "channel/channel.h"
#include "channel/closer.h"
#include "channel/hot_channels.h"
#include "channel/loopback.h"
#include "channel/peer_table.h"
#include "channel/reclaimer.h"
#include "channel/shrinker.h"
#include "channel/silent_peers.h"
#include "channel/window_memory.h"

namespace bufenlarge {

template <class PortT>
class Context {
 public:
  using Port = PortT;
  using Channel = bufenlarge::Channel<Port>;
  using Core = bufenlarge::Core<Port>;

  Context(Port& port, const ChannelSettings& settings, std::uint32_t rank, std::uint32_t size, std::uint64_t job_key,
          const UpperLayer& upper);

  [[nodiscard]] PeerTable<Port>& peers() { return peers_; }
  [[nodiscard]] const PeerTable<Port>& peers() const { return peers_; }
  void set_addresses(std::span<const std::byte> addresses) { peers_.set_addresses(addresses); }
  void share_addresses(const std::byte* first, std::size_t stride) { peers_.share_addresses(first, stride); }
  [[nodiscard]] Channel* channel(std::uint32_t peer) { return peers_.channel(peer); }
  [[nodiscard]] const Channel* find(std::uint32_t peer) const { return peers_.find(peer); }
  [[nodiscard]] Loopback<Port>& loopback() { return loopback_; }
  // The channel or the loopback; nullptr when `peer` is out of range.
  [[nodiscard]] SendTarget* target(std::uint32_t peer);

  // The most connections at once; 0 is no bound. To be called before the first channel.
  void set_connections_max(std::uint32_t connections) { core_.connections_max = connections; }
  // The limit on pinned memory, in bytes; none before. To be called before the first channel.
  void set_memory_max(std::uint64_t bytes) { core_.set_memory_max(bytes); }
  // What two connections begin with: a process with less could not talk to its peers in turn.
  [[nodiscard]] std::uint64_t least_memory() const { return 2 * core_.beginning_bytes(); }
  void set_on_limit(std::function<void(std::uint64_t bytes)> on_limit) {
    core_.ledger.set_on_refused(std::move(on_limit));
  }
  // The bound on registered window memory, in bytes; none before.
  void set_window_bytes_max(std::uint64_t bytes) { windows_.set_bytes_max(bytes); }
  // Bounds the registered sources and destinations of transfers under way, in bytes, and the read requests.
  void bound_transfers(std::uint64_t sources, std::uint64_t destinations, std::uint32_t requests) {
    core_.source_registrations.set_bytes_max(sources);
    core_.destination_registrations.set_bytes_max(destinations);
    core_.reads.set_most(requests);
  }
  // Lets all peers read this memory, and write it where the fabric can tell of that, until deregister_window(). False
  // when the registration is refused, or beyond the bound.
  [[nodiscard]] bool register_window(void* memory, std::size_t bytes, Window& window) {
    return windows_.add(core_, memory, bytes, window);
  }
  void deregister_window(std::uint32_t source) { windows_.remove(core_, source); }

  // From now on so many bytes of user memory may stay registered while no transfer uses them: all kinds of it under a
  // monitor, which outlives the context, else only standing memory. To be called before the first channel.
  void keep_registrations(std::uint64_t bytes_max, const MemoryMonitor* monitor) {
    core_.keeper.set(bytes_max, monitor);
  }
  // This memory is standing from now on (user_registrations.h), as source and as destination. False when it overlaps
  // other standing memory.
  [[nodiscard]] bool add_standing(std::byte* memory, std::size_t bytes);
  // Not any more. False when nothing standing begins there.
  bool end_standing(std::byte* memory);
  // A persistent request has this memory (user_registrations.h).
  void add_persistent(std::byte* memory, std::size_t bytes) {
    core_.source_registrations.add_persistent(memory, bytes);
    core_.destination_registrations.add_persistent(memory, bytes);
  }
  // Not any more. False when none has it.
  bool end_persistent(std::byte* memory, std::size_t bytes) {
    return core_.source_registrations.end_persistent(memory, bytes) &&
           core_.destination_registrations.end_persistent(memory, bytes);
  }
  // Ends idle registrations of user memory until so many bytes are given back; false when there are none.
  bool give_way(std::uint64_t bytes) { return core_.keeper.give_way(bytes); }

  // Writes a log from now on. To be called before the first channel.
  void set_log(LogLevel level, LogSink& sink) {
    core_.log = &sink;
    core_.log_level = level;
  }

  // To be called before the first channel.
  void set_memory_sampler(MemorySampler& sampler) { core_.memory_sampler = &sampler; }

  // Tells the sink of each change of a ring from now on.
  void set_change_sink(ChangeSink* sink) { core_.change_sink = sink; }

  // One round. Returns how many things moved.
  unsigned progress();
  // Whether everything that was accepted is written and completed locally; and whether it has reached the peers' hosts.
  [[nodiscard]] bool written() const;
  [[nodiscard]] bool idle();
  // Waits until something may have come, `timeout_us` microseconds at most. To be called right after a round in which
  // nothing moved. Returns false, at once, where the port cannot wait for that, or when there is work left.
  bool sleep(std::uint32_t timeout_us);

  // ---- events of the port, which calls them from poll() and poll_events()
  void on_written(void* user) { static_cast<Channel*>(user)->on_written(); }
  void on_data_written(void* user) { static_cast<Channel*>(user)->on_data_written(); }
  void on_read_done(void* user, std::uint32_t sequence);
  unsigned on_placed(std::uint32_t group);
  void on_notification(void* user) { static_cast<Channel*>(user)->on_notification(); }
  void on_lost(void* user, std::string_view why) { static_cast<Channel*>(user)->on_lost(why); }
  void on_unreachable(void* user, std::string_view why) { static_cast<Channel*>(user)->on_unreachable(why); }
  void on_unnamed_failure(std::string_view why);
  void on_connected(void* user, std::span<const std::byte> data);
  void on_rejected(void* user, std::span<const std::byte> data) { static_cast<Channel*>(user)->on_rejected(data); }
  void on_request(typename Port::Request& request, std::span<const std::byte> data);

  [[nodiscard]] const Core& core() const { return core_; }
  // Connection requests refused because they are none of this job's, or malformed.
  [[nodiscard]] std::uint32_t refused() const { return refused_; }

  // Connection events are rare: progress looks for them this often, in every round while an own attempt is out, and
  // in the round after one that found some.
  static constexpr std::uint32_t kEventRounds = 32;
  // While every round finds slots, the port is still polled this often.
  static constexpr std::uint32_t kUnpolledRoundsMax = 4;

 private:
  unsigned poll_port();
  unsigned look_at(PollSet<Channel>& rings);
  unsigned poll_events();
  unsigned serve_notified();
  void serve_lists();
  void look_at_time();
  void refuse(typename Port::Request& request, const HelloVerdict& verdict, std::span<const std::byte> data);
  void log_unauthorized(std::uint32_t claimed_rank, const std::string& text) const;

  WindowMemory<Port> windows_;  // outlives the sources in core_
  Core core_;
  PeerTable<Port> peers_;
  Loopback<Port> loopback_;
  Closer<Port> closer_;
  Shrinker<Port> shrinker_;
  SilentPeers<Port> silent_;
  Reclaimer<Port> reclaimer_;
  HotChannels<Port> hot_;
  std::uint32_t refused_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t rounds_unpolled_ = 0;
  unsigned placed_ = 0;  // slots taken by on_placed() in this round
};

}  // namespace bufenlarge
