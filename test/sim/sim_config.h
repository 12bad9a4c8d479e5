// SPDX-License-Identifier: MIT
// One simulated world, written down: processes, rings, faults, and who sends what to whom. Drawn from a
// seed for the kinds of run below, or read from a story (trace_story.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "channel/settings.h"
#include "sim/sim_fabric.h"
#include "sim/sim_faults.h"

namespace bufenlarge::sim {

// A message is one or more chunks, each one call of send() (and its retries); a chunk is the sizes of
// the elements of its vector. All but the last chunk go with the MORE flag.
struct SimMessagePlan {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t start_us = 0;
  std::vector<std::vector<std::uint32_t>> chunks;
};

// Memory that one process advertises to another, which reads it in parts.
struct SimReadPlan {
  struct Part {
    std::uint64_t offset = 0;
    std::vector<std::uint32_t> segments;
    bool handed_up = false;  // no destination
  };
  std::uint32_t source = 0;
  std::uint32_t reader = 0;
  std::uint64_t start_us = 0;
  std::vector<std::uint32_t> segments;
  std::vector<Part> parts;
  std::uint32_t gap = 0;  // bytes between segments
  bool by_flag = true;    // the last part releases it; else a request of its own
};

// Window memory of one process that another writes, with a message after it.
struct SimWritePlan {
  std::uint32_t writer = 0;
  std::uint32_t target = 0;
  std::uint64_t start_us = 0;
  std::uint32_t bytes = 0;
  std::uint32_t after_bytes = 0;  // of the message
};

struct SimDeath {
  std::uint32_t rank = 0;
  std::uint64_t at_us = 0;
};

struct SimConfig {
  std::uint64_t seed = 1;
  std::uint64_t start_us = 1'000'000'000;
  std::uint32_t peers = 2;
  ChannelSettings channel;
  SimFaults faults;
  Arrival arrival = Arrival::kChecked;
  Arrival arrival_odd = Arrival::kChecked;  // see SimFabric
  bool any_order = false;  // see SimFabric
  bool unsignaled = false;  // see SimFabric
  std::uint32_t inline_bytes = kInlineBytes;
  std::uint32_t poll_entries_max = 16;
  std::uint32_t poll_events_max = ~0u;
  std::uint32_t port_links_max = 0;  // what a process has descriptors for; 0: no bound
  bool virtual_addresses = false;
  std::uint64_t kept_bytes = 0;  // that may stay registered
  std::uint32_t requests_max = 0;  // reads that a process has under way; 0: as many as there can be
  std::uint64_t source_bytes_max = 0;       // registered at once, where requests_max is not 0
  std::uint64_t destination_bytes_max = 0;  // the same
  bool blind = false;            // see SimFabric
  std::vector<SimMessagePlan> plan;
  std::vector<SimReadPlan> reads;
  std::vector<SimWritePlan> writes;
  std::uint32_t responses_max = 0;               // messages sent from inside of the deliver callback
  std::vector<std::uint64_t> block_bytes_max;  // by rank; what a process can register at once
  std::vector<bool> earns;  // by rank: larger rings are earned; empty: the first that does not fit is enough
  std::optional<SimDeath> death;
  bool black_hole = false;        // the dead process's host does not respond any more
  bool vanishes = false;          // ... and nobody is told that the process died
  std::optional<AckStall> stall;  // until_us counts from the start
  std::uint32_t unauthorized = 0;    // requests that are none of the job's
  bool close_early = false;       // contexts are closed while writes are under way
  bool leave = false;             // each process closes when it is done, before the others are
  std::vector<AckFate> scripted_acks;
  bool until_closed = false;  // the world goes on until all connections have ended
  bool until_small = false;   // or until all directions are back in the first phase
  bool in_turn = false;  // stories: processes take turns, one microsecond each

  [[nodiscard]] ChannelSettings settings_of(std::uint32_t rank) const {
    ChannelSettings settings = channel;
    if (rank < earns.size() && earns[rank]) settings.growth = GrowthRule::kEarned;
    return settings;
  }
};

// The kinds of run, each a family of properties.
enum class SimKind : std::uint8_t {
  kMixed,        // everything at once
  kAcks,         // torn, late, lost and corrupt acknowledgements
  kConnections,  // crossing, refused and lost attempts
  kMemory,       // rings that cannot be had
  kGrowth,       // both directions at once, several phases, vectors around the thresholds
  kStall,        // one channel waits for an acknowledgement for long
  kDeath,        // a process dies
  kTight,        // one slot, smallest slots
  kLeave,        // processes close one after the other
  kReads,        // reads above all
  kWrites,       // one-sided writes into windows above all
  kIdle,         // connections that are not used end, and are made again
  kRoom,         // fewer connections than peers
  kCrowd,        // the same with many processes
  kThousands,    // the same with thousands, of 16 connections each
  kShrink,       // directions go back to smaller rings, and grow again
  kEarned,       // larger rings are earned; they go back, are refused, and connections end
  kBudget,       // pinned memory is limited to little more than connections begin with
  kKept,         // reads of memory that stays registered, and is unmapped now and then
  kSilence,      // a host vanishes, or nobody dies and hosts are asked again and again
  kScarce,       // reads above all, with little memory and few requests for those that are under way
};
[[nodiscard]] constexpr bool closes(SimKind kind) {
  return kind == SimKind::kIdle || kind == SimKind::kRoom || kind == SimKind::kCrowd || kind == SimKind::kThousands;
}

[[nodiscard]] SimConfig draw_config(std::uint64_t seed, SimKind kind);
// The reads of a world that has all the rest (sim_config_reads.cc).
void draw_reads(SimConfig& config, SimKind kind);
// Its one-sided writes (sim_config_writes.cc).
void draw_writes(SimConfig& config, SimKind kind);
// When its connections end, and when its directions go back (sim_config_closing.cc). After all other plans.
void draw_closing(SimConfig& config, SimKind kind);
void draw_shrinking(SimConfig& config, SimKind kind);
// How much memory a process may pin (there, too).
void draw_budget(SimConfig& config, SimKind kind);
// Which processes earn their larger rings (there, too).
void draw_earning(SimConfig& config, SimKind kind);
// How much stays registered (sim_config_kept.cc).
void draw_kept(SimConfig& config, SimKind kind);
// Which host vanishes, and how long hosts take to respond (sim_config_silence.cc).
void draw_silence(SimConfig& config, SimKind kind);
// How many channels a process looks at, and what becomes of hints (sim_config_hot.cc).
void draw_hot_channels(SimConfig& config, SimKind kind);
// Whether slots are written as over tcp (sim_config_slots.cc).
void draw_slots(SimConfig& config, SimKind kind);

// As stories name it: ordered, unordered, notified, mixed.
[[nodiscard]] const char* arrival_name(Arrival arrival);

// One line for a failure's report.
[[nodiscard]] std::string describe(const SimConfig& config);

}  // namespace bufenlarge::sim
