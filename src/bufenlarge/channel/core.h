// SPDX-License-Identifier: MIT
// What all channels of one context share: the port, the settings, the callbacks to the upper layer, and the lists that
// keep the cost of a round of progress to the channels that are active.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "channel/attempts.h"
#include "channel/control_slab.h"
#include "channel/ledger.h"
#include "channel/change_sink.h"
#include "channel/log_sink.h"
#include "channel/memory_sampler.h"
#include "channel/poll_set.h"
#include "channel/read_table.h"
#include "channel/ring_slabs.h"
#include "channel/settings.h"
#include "channel/source_table.h"
#include "channel/work_list.h"
#include "log_level.h"
#include "protocol/handshake.h"
#include "status.h"

namespace bufenlarge {

// Callbacks to the upper layer; bufenlarge.h states their contracts.
struct UpperLayer {
  void (*deliver)(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks);
  void (*failed)(void* user, std::uint32_t peer, Status status, const char* message);
  void* user;
  // The others may be missing where the upper layer neither advertises, reads nor writes.
  void (*read_done)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
  void (*fragment)(void* user, std::uint32_t peer, void* cookie, const void* data, std::size_t bytes) = nullptr;
  void (*source_released)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
  void (*write_done)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
};

// Rendezvous and one-sided writes of all channels.
struct RendezvousCounters {
  std::uint64_t reads = 0;           // ended
  std::uint64_t read_bytes = 0;      // that arrived as writes
  std::uint64_t response_bytes = 0;  // that left as writes
  std::uint64_t fragment_bytes = 0;  // in both directions, through the rings
  std::uint64_t writes = 0;          // into window memory, ended
  std::uint64_t written_bytes = 0;   // by these writes
  std::uint64_t refused = 0;         // registrations of user memory that were refused or would not pay
};

// Connections that ended by agreement.
struct ClosingCounters {
  std::uint64_t closed = 0;
  std::uint64_t reopened = 0;
  std::uint64_t asked = 0;       // own requests, and of these
  std::uint64_t for_room = 0;    // for room
  std::uint64_t refused = 0;     // requests of peers that were refused here
  std::uint64_t taken_back = 0;  // own requests that were taken back after the peer had agreed
  std::uint64_t no_room = 0;     // connection requests of peers that were turned away for now
};

template <class PortT>
class Channel;
template <class PortT>
class RendezvousReader;
template <class PortT>
struct PendingRead;

template <class PortT>
struct Core {
  using Port = PortT;
  using Channel = bufenlarge::Channel<Port>;
  using Attempts = bufenlarge::Attempts<Channel>;

  static constexpr std::size_t kControlPage = ControlSlab<Port>::kPageBytes;

  Core(Port& port_in, const ChannelSettings& settings_in, const HelloExpectation& expected_in,
       const UpperLayer& upper_in)
      : port(port_in),
        settings(settings_in),
        expected(expected_in),
        rank(expected_in.rank),
        job_id(job_id_of(expected_in.job_key)),
        upper(upper_in),
        connections_max(settings_in.connections_max),
        control(port_in, ledger),
        slabs(port_in, ledger, settings_in.phases.at(0).ring_bytes()) {
    ledger.set_give_way([this](std::uint64_t bytes) { return keeper.give_way(bytes); });
    source_registrations.count_in(ledger);
    destination_registrations.count_in(ledger);
    if (settings_in.memory_max != 0) set_memory_max(settings_in.memory_max);
  }

  Port& port;
  const ChannelSettings settings;
  const HelloExpectation expected;
  const std::uint32_t rank;
  const std::uint32_t job_id;
  const UpperLayer upper;
  std::uint32_t connections_max;  // 0: no bound
  Ledger ledger;                  // outlives everything that is registered
  ControlSlab<Port> control;
  RingSlabs<Port> slabs;
  RegistrationKeeper keeper;
  UserRegistrations<Port> source_registrations{keeper};       // for responses and own writes
  UserRegistrations<Port> destination_registrations{keeper};  // for reads
  SourceTable<Port> sources;
  ReadTable<RendezvousReader<Port>, PendingRead<Port>> reads;
  RendezvousCounters rendezvous;
  ClosingCounters closing;
  std::uint64_t enlargements = 0;  // of all directions, and their way back
  std::uint64_t shrinks = 0;
  std::uint64_t exchange_us = 0;  // what the quickest growth of a direction took; 0: none has grown
  PollGroups<Channel> rings;
  std::vector<Channel*> links;  // channels with an endpoint
  std::size_t links_most = 0;   // that there were at one time
  WorkList<Channel> pending;   // something could not be done at once
  WorkList<Channel> notified;  // notified writes are to be received
  WorkList<Channel> timed;     // the connection waits for a time or for a free attempt
  LogSink* log = nullptr;      // with log_level above kOff
  MemorySampler* memory_sampler = nullptr;
  ChangeSink* change_sink = nullptr;
  LogLevel log_level = LogLevel::kOff;
  Attempts attempts;
  std::uint32_t crossings = 0;
  std::uint64_t random_state = 0;
  std::uint64_t ask_again_us = 0;  // from when on another connection may be asked to end for room
  bool room_wanted = false;        // a connection waits for room
  bool port_has_room = true;       // the port had what a connection takes when it was asked last

  // The limit on pinned memory, in bytes. Half of it at most is kept for the beginnings of connections to all peers.
  void set_memory_max(std::uint64_t bytes) {
    const std::uint32_t peers = std::min(expected.size - 1, connections_max == 0 ? expected.size : connections_max);
    const std::uint64_t share = 2 * settings.phases.at(0).ring_bytes() + sizeof(ControlBlock) + link_bytes();
    ledger.set_limits({bytes, std::min(bytes / 2, beginning_bytes() + peers * share), beginning_bytes()});
  }
  // What the port pins for an endpoint.
  [[nodiscard]] std::uint64_t link_bytes() const {
    if constexpr (requires { port.link_bytes(); })
      return port.link_bytes();
    else
      return 0;
  }
  // What a connection pins at most when it begins: rings, control block and endpoint.
  [[nodiscard]] std::uint64_t beginning_bytes() const {
    const std::uint64_t of_rings = std::max(rings_bytes(FirstRings::kSlab), rings_bytes(FirstRings::kOwn));
    return of_rings + pinned_bytes<typename Port::Region>(kControlPage) + link_bytes();
  }
  // What two rings pin at most.
  [[nodiscard]] std::uint64_t rings_bytes(FirstRings from) const {
    if (from == FirstRings::kThere) return 0;
    if (from == FirstRings::kSlab) return slabs.has_free(2) ? 0 : slabs.least_pinned();
    return 2 * pinned_bytes<typename Port::Region>(settings.phases.at(0).ring_bytes());
  }
  [[nodiscard]] FirstRings first_rings(std::uint32_t peer_number) const {
    const bool own_job = peer_number < expected.size;
    return own_job && slabs.serves(settings.phases.at(0).ring_bytes()) ? FirstRings::kSlab : FirstRings::kOwn;
  }
  // Whether there is room for one more connection.
  [[nodiscard]] bool has_room(FirstRings first) {
    return port_has_room && (connections_max == 0 || links.size() < connections_max) && has_memory(first);
  }
  [[nodiscard]] bool has_memory(FirstRings first) {
    if (!ledger.limited()) return true;
    std::uint64_t bytes = rings_bytes(first) + link_bytes();
    if (!control.has_free()) bytes += pinned_bytes<typename Port::Region>(kControlPage);
    return ledger.make_room(Ledger::Use::kBeginning, bytes);
  }

  // Of the channels with an endpoint of which `may` is true the one that was not used for longest, or null. Notes first
  // what was used since the last look.
  template <class May>
  [[nodiscard]] Channel* least_recently_used(std::uint64_t now_us, May may) {
    for (Channel* channel : links) channel->note_use(now_us);
    Channel* found = nullptr;
    for (Channel* channel : links) {
      if (!may(std::as_const(*channel))) continue;
      if (found == nullptr || channel->idle_since_us() < found->idle_since_us()) found = channel;
    }
    return found;
  }

  // splitmix64; for jitter only
  std::uint32_t random() {
    std::uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>(z >> 32);
  }
};

}  // namespace bufenlarge
