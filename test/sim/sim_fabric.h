// SPDX-License-Identifier: MIT
// What all ports of a simulated world have in common: time, chance, faults, the record of what happened, and
// the list of broken rules. One violation is enough to fail a run; the first is kept.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "channel/port.h"
#include "protocol/ring_consumer.h"
#include "sim/sim_active.h"
#include "sim/sim_busy.h"
#include "sim/sim_clock.h"
#include "sim/sim_faults.h"
#include "sim/sim_random.h"
#include "sim/sim_totals.h"
#include "sim/sim_trace.h"

namespace bufenlarge::sim {

class SimPort;
class SimEndpoint;
class SimArena;

// What becomes of one acknowledgement on its way.
struct AckFate {
  enum class Kind : std::uint8_t { kWhole, kTorn, kLate, kCorrupt, kLost, kPartLost };
  Kind kind = Kind::kWhole;
  std::uint64_t hold_us = 0;  // torn: before its last part; late: before its first
};

// Acknowledgements to `waiter` from `peer` do not arrive before the time is over.
struct AckStall {
  std::uint32_t waiter = 0;
  std::uint32_t peer = 0;
  std::uint64_t until_us = 0;
};

struct SimFabric {
  SimFabric(std::uint64_t seed, std::uint64_t start_us, const SimFaults& faults_in, TraceOutput output);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  void violate(const std::string& text);
  // All links do what is due.
  void advance();
  // Memory of `owner` is about to be unregistered. A device waits for what it is placing there at that
  // moment; a software provider (ordered) knows nothing of it and goes on later.
  void closing(std::uint32_t owner, std::uint32_t key);
  // The devices work while a process is between two looks at its own.
  void go_on();
  // How long a write or an event travels, in microseconds.
  [[nodiscard]] std::uint64_t delay(std::uint32_t us_max);

  SimClock clock;
  SimRandom random;
  SimFaults faults;
  SimTrace trace;
  SimTotals totals;
  [[nodiscard]] bool ordered() const { return arrival == Arrival::kInOrder; }
  [[nodiscard]] Arrival arrival_of(std::uint32_t rank) const {
    return rank % 2 == 1 ? arrival_odd : arrival;
  }

  Arrival arrival = Arrival::kChecked;  // in order, as tcp: and only when the target polls
  Arrival arrival_odd = Arrival::kChecked;  // of every other process
  // As iWARP: the writes of a link are placed in any order until a notification behind them is given, but
  // those to the same bytes, and those of one kind of word, in posting order.
  bool any_order = false;
  bool unsignaled = false;  // as tcp: slots have no completion, and are read late; some wait for those that follow
  bool writes = false;  // small slots may be notified for, behind one-sided writes
  std::uint32_t inline_bytes = kInlineBytes;
  std::uint32_t poll_entries_max = 16;  // completions and notifications that one poll reads
  std::uint32_t connections_max = 0;  // of a process; 0: no bound
  bool port_bounds = false;           // it is the port that has room for no more
  std::uint32_t poll_events_max = ~0u;
  std::uint32_t receives = 0;         // posted for notifications, per endpoint: the slots of the largest ring
  bool black_hole = false;            // the host of a process that died does not respond; else it refuses
  bool blind = false;                 // the monitors see nothing
  bool virtual_addresses = false;     // as verbs: remote addresses are not offsets
  std::deque<AckFate> scripted_acks;  // of the next acknowledgements; then chance decides
  AckStall stall;
  std::vector<SimPort*> ports;  // by rank
  std::vector<std::unique_ptr<SimArena>> arenas;  // by rank; empty where registrations do not stay
  [[nodiscard]] SimArena* arena(std::uint32_t rank) const { return arenas.empty() ? nullptr : arenas[rank].get(); }
  SimActive active;
  std::vector<std::unique_ptr<SimEndpoint>> endpoints;
  SimBusy<SimEndpoint> busy;
  // The reader of what `writer` writes to `owner`; nullptr when there is none any more.
  std::function<const RingConsumer*(std::uint32_t owner, std::uint32_t writer)> consumer_of;
  std::set<std::pair<std::uint32_t, std::uint32_t>> read_fragments;  // from, to: some went there
  std::string violation;
  bool moved = false;  // something happened since the world last looked
};

}  // namespace bufenlarge::sim
