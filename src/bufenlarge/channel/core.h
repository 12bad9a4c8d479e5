// SPDX-License-Identifier: MIT
// What the channels of one context share: the port, the settings, the callbacks upward, and the lists
// that make a round of progress cost what is active.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "channel/control_slab.h"
#include "channel/source_table.h"
#include "channel/poll_set.h"
#include "channel/read_table.h"
#include "channel/settings.h"
#include "protocol/handshake.h"
#include "status.h"

namespace bufenlarge {

// Callbacks to the upper layer; bufenlarge.h states their contracts.
struct UpperLayer {
  void (*deliver)(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks);
  void (*failed)(void* user, std::uint32_t peer, Status status, const char* message);
  void* user;
  // Not needed where nothing is advertised or read.
  void (*read_done)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
  void (*fragment)(void* user, std::uint32_t peer, void* cookie, const void* data, std::size_t bytes) = nullptr;
  void (*source_released)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
  void (*write_done)(void* user, std::uint32_t peer, void* cookie, Status status) = nullptr;
};

// Large data of all channels.
struct RendezvousCounters {
  std::uint64_t reads = 0;           // ended
  std::uint64_t read_bytes = 0;      // that came as writes
  std::uint64_t response_bytes = 0;  // that went as writes
  std::uint64_t fragment_bytes = 0;     // that came or went through the ring
  std::uint64_t writes = 0;          // without being asked, ended
  std::uint64_t written_bytes = 0;   // of these
  std::uint64_t refused = 0;         // user memory that was not registered
};

template <class Port, class Channel>
struct Core {
  Core(Port& port_in, const ChannelSettings& settings_in, const HelloExpectation& expected_in,
       std::uint32_t rank_in, const UpperLayer& upper_in)
      : port(port_in),
        settings(settings_in),
        expected(expected_in),
        rank(rank_in),
        job_id(job_id_of(expected_in.job_key)),
        upper(upper_in),
        control(port_in) {}

  Port& port;
  const ChannelSettings settings;
  const HelloExpectation expected;
  const std::uint32_t rank;
  const std::uint32_t job_id;
  const UpperLayer upper;
  ControlSlab<Port> control;
  UserRegistrations<Port> source_registrations;       // of responses and of own writes
  UserRegistrations<Port> destination_registrations;  // of reads
  SourceTable<Port> sources;
  ReadTable<Channel> reads;
  RendezvousCounters rendezvous;
  PollSet<Channel> rings;
  std::vector<Channel*> pending;  // something of theirs could not be done at once
  std::vector<Channel*> notified;       // notifications of theirs are to be answered
  bool port_drained = true;         // the last poll found the completion queues empty, no loss since
  std::vector<Channel*> timed;      // their connection waits for a time or a free attempt
  std::uint32_t attempts_out = 0;   // connection attempts under way
  std::uint32_t crossings = 0;
  std::uint64_t random_state = 0;

  static constexpr std::uint32_t kAttemptsMax = 64;

  // splitmix64: jitter only
  std::uint32_t random() {
    std::uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>(z >> 32);
  }
};

}  // namespace bufenlarge
