// SPDX-License-Identifier: MIT
// What must hold when a world has come to rest, and what is printed when it does not.
#include <algorithm>
#include <numeric>
#include <span>

#include "sim/sim_world.h"

namespace bufenlarge::sim {

namespace {

std::string direction(std::uint32_t from, std::uint32_t to) {
  return std::to_string(from) + ">" + std::to_string(to) + ": ";
}

// Messages that wait for a slot may earn this phase, whatever their size.
bool deeper(const PhaseTable& table, std::uint8_t phase) {
  const std::span<const Phase> smaller = std::span(table.phases).first(phase);
  return std::ranges::any_of(smaller, [&](const Phase& one) { return one.slots < table.at(phase).slots; });
}

// The regions of control blocks of so many channels; with hint tables they double, and a table takes a block.
std::size_t control_bytes(std::size_t channels, Arrival arrival) {
  const bool tables = arrival == Arrival::kChecked;
  std::size_t bytes = 0;
  std::size_t blocks = 0;
  for (std::size_t next = ControlSlab<SimPort>::kBlocksPerPage; bytes == 0 || blocks < channels;) {
    bytes += next * sizeof(ControlBlock);
    blocks += next - (tables ? 1 : 0);
    if (tables) next = std::min(2 * next, ControlSlab<SimPort>::kTableBlocksMax);
  }
  return bytes;
}

}  // namespace

// Of a process that is there, to one that has not failed.
bool SimWorld::any_channel(bool (*is_so)(const SimPeer::Channel& channel)) const {
  return std::ranges::any_of(peers_, [is_so](const auto& peer) {
    return peer->alive() && std::ranges::any_of(peer->channels(), [is_so](const auto& entry) {
      return !entry.second->failed() && is_so(*entry.second);
    });
  });
}

// Some connection is being ended.
bool SimWorld::closing() const {
  return closes() &&
         any_channel([](const auto& channel) { return channel.closing().state() != Close::State::kOpen; });
}

// Some direction of a connection goes to another phase.
bool SimWorld::changing() const {
  return shrinks() &&
         any_channel([](const auto& channel) { return channel.connected() && channel.enlargement().pending(); });
}

// Nothing is open any more.
bool SimWorld::all_closed() const {
  return std::ranges::all_of(peers_, [](const auto& peer) { return peer->port().open_endpoints() == 0; });
}

// All sending directions of connections are in the first phase.
bool SimWorld::all_small() const {
  return !any_channel([](const auto& channel) { return channel.connected() && channel.send_ring().phase() != 0; });
}

bool SimWorld::lost(std::uint32_t rank) const { return config_.death && config_.death->rank == rank; }

void SimWorld::check_end() {
  writes_.check_end();
  for (const auto& peer : peers_) {
    if (!peer->alive()) continue;
    for (const auto& [other, channel] : peer->channels()) {
      check_channel(*peer, other);
      if (!lost(other)) check_direction(*peer, *peers_[other]);
    }
    check_memory(*peer);
    check_reads(*peer);
    check_failures(*peer);
  }
  for (const auto& [direction, flow] : flows_)
    if (flow.messages != 0 && !flow.abandoned && peers_[direction.first]->find(direction.second) == nullptr)
      fabric_.violate("rank " + std::to_string(direction.first) + " has sent messages, but has no channel");
  check_stall();
  reads_.check_end();
}

// Rings of a channel are there from its first attempt on, of the sizes its phases say.
void SimWorld::check_channel(const SimPeer& peer, std::uint32_t other) {
  const SimPeer::Channel* channel = peer.find(other);
  if (channel == nullptr || channel->connection().state() == Connect::State::kIdle) return;
  const PhaseTable& table = config_.channel.phases;
  // As many slots as the peer's ring has, though they may be smaller.
  const auto& ring = channel->send_ring();
  const std::size_t send_bytes = std::size_t{table.at(ring.phase()).stride()} * ring.producer().slots();
  const std::size_t expected =
      channel->failed() ? 0 : send_bytes + table.at(channel->receive_ring().phase()).ring_bytes();
  const bool early = !channel->connected() && channel->ring_bytes().now == 0;
  // A send ring for which there was no other memory was divided anew, and has what it had.
  const bool kept =
      !channel->failed() && channel->ring_bytes().now > expected &&
      (fabric_.totals.allocation_failures != 0 || config_.channel.memory_max != 0);
  if (channel->ring_bytes().now != expected && !early && !kept)
    fabric_.violate(direction(peer.rank(), other) + std::to_string(channel->ring_bytes().now) +
                    " bytes registered, expected " + std::to_string(expected));
}

// A ring grows for fragments of a response as far as it may, but not where user memory was refused. What was refused
// may have been had later, and what was needed may not be needed any more, or was not earned.
bool SimWorld::grew_as_needed(const SimPeer::Channel& from, const SimFlow& flow, bool fragments, bool earns) const {
  const bool refused = from.send_ring().counters().refused != 0;
  const std::uint8_t phase = from.send_ring().phase();
  // So does a connection that was made again: it begins with the first phase.
  const auto fits = [&](std::uint8_t needed) {
    if (earns && deeper(config_.channel.phases, phase)) return true;
    if (earns && refused && deeper(config_.channel.phases, config_.channel.phases.last())) return true;
    return closes() || shrinks() || earns || refused ? phase <= needed : phase == needed;
  };
  if (fragments && config_.channel.enlargement && fits(config_.channel.phases.last())) return true;
  return fits(flow.phase_needed);
}

// Whether the sender had no memory for a ring as large as the receiver's.
bool SimWorld::narrow(const SimPeer::Channel& from, const SimPeer::Channel& to) {
  return from.send_ring().counters().refused != 0 && from.send_ring().phase() < to.receive_ring().phase();
}

// Only a direction that carried an element too large has grown, and as far as it had to (E10).
void SimWorld::check_direction(const SimPeer& sender, const SimPeer& receiver) {
  const SimPeer::Channel* from = sender.find(receiver.rank());
  const SimPeer::Channel* to = receiver.find(sender.rank());
  const auto found = flows_.find({sender.rank(), receiver.rank()});
  const SimFlow none;
  const SimFlow& flow = found == flows_.end() ? none : found->second;
  const std::string which = direction(sender.rank(), receiver.rank());
  if (from == nullptr || to == nullptr || from->failed() || to->failed()) {
    if (flow.messages != 0 && !flow.abandoned) fabric_.violate(which + "messages, but no channel");
    return;
  }
  if (from->send_ring().phase() != to->receive_ring().phase() && !narrow(*from, *to))
    fabric_.violate(which + "the two sides are in different phases");
  if (!from->enlargement().sender().steady()) fabric_.violate(which + "at rest, but not steady");
  const bool earns = config_.settings_of(sender.rank()).growth == GrowthRule::kEarned;
  if (!grew_as_needed(*from, flow, fabric_.read_fragments.contains({sender.rank(), receiver.rank()}), earns))
    fabric_.violate(which + "in phase " + std::to_string(from->send_ring().phase()) + ", needed " +
                    std::to_string(flow.phase_needed));
  // But messages behind writes go whole, and positions are those of the last connection.
  if (earns && config_.writes.empty() && !closes() && from->send_ring().counters().enlargements != 0 &&
      from->send_ring().producer().posted() < GrowthPolicy::kCostMin / GrowthPolicy::kWaitFactor)
    fabric_.violate(which + "a larger ring that was not earned");
  check_counters(sender, receiver, flow);
}

void SimWorld::check_counters(const SimPeer& sender, const SimPeer& receiver, const SimFlow& flow) {
  const SimPeer::Channel* channel = sender.find(receiver.rank());
  const DirectionCounters& sent = channel->send_ring().counters();
  const DirectionCounters& received = receiver.find(sender.rank())->receive_ring().counters();
  const auto sum = [](const auto& phases) { return std::accumulate(phases.begin(), phases.end(), std::uint64_t{0}); };
  const std::uint64_t bytes = sum(sent.bytes_in_phase);
  // On a connection that has ended, or until memory was there.
  const bool was_narrow = closes() ? sent.refused != 0 : sent.refused != received.refused;
  const bool is_narrow = was_narrow || narrow(*channel, *receiver.find(sender.rank()));
  const bool same = (is_narrow ? bytes == sum(received.bytes_in_phase)
                               : sent.bytes_in_phase == received.bytes_in_phase && sent.refused == received.refused) &&
                    sent.enlargements == received.enlargements && sent.shrinks == received.shrinks &&
                    sent.messages == received.messages && sent.messages_fragmented == received.messages_fragmented;
  fabric_.totals.narrow += is_narrow;
  const std::string which = direction(sender.rank(), receiver.rank());
  if (!same) fabric_.violate(which + "the counters of the two sides differ");
  if (sent.messages != flow.messages || bytes != flow.bytes)
    fabric_.violate(which + "the counters are wrong");
  // the pause after a refusal is a second at least
  const std::uint64_t refused_most = 1 + fabric_.clock.since_start_us() / Enlargement<SimPort>::kRefusedPauseUs;
  if (sent.refused > refused_most && !closes() && !shrinks())
    fabric_.violate(which + "asked again too soon after a refusal");
  const auto ready = [](const SimPeer::Channel& one) { return one.connection().state() == Connect::State::kReady; };
  if (closes() && !(ready(*channel) && ready(*receiver.find(sender.rank())))) return;
  const RingProducer& producer = channel->send_ring().producer();
  const std::uint64_t consumed = receiver.find(sender.rank())->receive_ring().consumer().consumed();
  if (producer.posted() != consumed || producer.posted() != producer.staged())
    fabric_.violate(which + "slots are left over");
}

// The ledger counts what is registered, and that was never more than the limit allows.
void SimWorld::check_ledger(const SimPeer& peer) {
  const SimMemory& memory = peer.port().memory();
  const Ledger& ledger = peer.context()->core().ledger;
  const std::string who = "rank " + std::to_string(peer.rank()) + ": ";
  if (ledger.bytes() != memory.bytes() + memory.user_bytes())
    fabric_.violate(who + "the ledger has " + std::to_string(ledger.bytes()) + " bytes, registered are " +
                    std::to_string(memory.bytes() + memory.user_bytes()));
  if (config_.channel.memory_max != 0 && memory.most() > config_.channel.memory_max)
    fabric_.violate(who + std::to_string(memory.most()) + " bytes were registered, allowed are " +
                    std::to_string(config_.channel.memory_max));
}

void SimWorld::check_memory(const SimPeer& peer) {
  check_ledger(peer);
  std::size_t rings = 0;
  std::size_t channels = 0;
  for (const auto& [other, channel] : peer.channels()) {
    rings += channel->ring_bytes().now + channel->receive_ring().replaced_bytes();
    ++channels;
  }
  const std::size_t control =
      peer.port().memory().bytes() - rings - peer.context()->core().slabs.unused_bytes();
  if (control > control_bytes(channels, peer.port().arrival()) || (control == 0 && rings != 0))
    fabric_.violate("rank " + std::to_string(peer.rank()) + ": " + std::to_string(control) +
                    " registered bytes belong to none of " + std::to_string(channels) + " channels");
}

void SimWorld::check_reads(const SimPeer& peer) {
  const std::string who = "rank " + std::to_string(peer.rank()) + ": ";
  const auto& sources = peer.context()->core().sources;
  const bool may_stay = config_.death && sources.has_of_peer(config_.death->rank);  // it was never connected
  if (sources.size() != 0 && !may_stay)
    fabric_.violate(who + std::to_string(sources.size()) + " sources are left over");
  if (const auto bytes = peer.port().memory().user_bytes() - peer.context()->core().keeper.idle_bytes(); bytes != 0)
    fabric_.violate(who + std::to_string(bytes) + " bytes of the user are left registered");
}

void SimWorld::check_failures(const SimPeer& peer) {
  for (const auto& [other, channel] : peer.channels()) {
    if (channel->failed() && !peer.failures().contains(other))
      fabric_.violate(direction(peer.rank(), other) + "lost, but no failure was reported");
  }
}

// While one channel waits for its acknowledgement all others finish.
void SimWorld::check_stall() {
  if (!config_.stall) return;
  for (const auto& [between, flow] : flows_) {
    if (between.first == config_.stall->waiter && between.second == config_.stall->peer) {
      if (flow.delivered_us < fabric_.stall.until_us) fabric_.violate("the acknowledgement was not held up");
      // the pause between two repetitions doubles up to 32 times the time limit
      const std::uint64_t most = 8 + config_.stall->until_us / (32 * config_.channel.ack_timeout_us);
      const std::uint32_t repeats = peers_[between.first]->find(between.second)->enlargement().sender().repeats();
      if (repeats > most)
        fabric_.violate(std::to_string(repeats) + " repetitions, expected " + std::to_string(most));
    } else if (flow.delivered_us >= fabric_.stall.until_us) {
      fabric_.violate(direction(between.first, between.second) +
                      "waited for an acknowledgement of another channel");
    }
  }
}

void SimWorld::check_closed() {
  for (const auto& peer : peers_) {
    const SimMemory& memory = peer->port().memory();
    if (memory.blocks() != 0 || memory.bytes() != 0)
      fabric_.violate("rank " + std::to_string(peer->rank()) + ": " + std::to_string(memory.blocks()) +
                      " regions were not given back");
  }
}

void SimWorld::collect() {
  SimTotals& totals = fabric_.totals;
  for (const auto& peer : peers_) {
    if (!peer->alive()) continue;
    totals.crossings += peer->context()->core().crossings;
    const ClosingCounters& closing = peer->context()->core().closing;
    totals.closed += closing.closed;
    totals.reopened += closing.reopened;
    totals.close_asked += closing.asked;
    totals.close_for_room += closing.for_room;
    totals.close_refused += closing.refused;
    totals.close_taken_back += closing.taken_back;
    totals.no_room += closing.no_room;
    totals.beyond_limit += peer->context()->core().ledger.refusals();
    const KeeperCounters& kept = peer->context()->core().keeper.counters;
    if (config_.kept_bytes != 0) totals.kept_hits += kept.hits;
    totals.kept_evicted += kept.evictions;
    totals.kept_forgotten += kept.invalidations;
    for (const auto& [other, channel] : peer->channels()) {
      totals.enlargements += channel->send_ring().counters().enlargements;
      if (config_.settings_of(peer->rank()).growth == GrowthRule::kEarned)
        totals.earned += channel->send_ring().counters().enlargements;
      totals.shrinks += channel->send_ring().counters().shrinks;
      totals.refusals += channel->send_ring().counters().refused;
      totals.repeats += channel->enlargement().sender().repeats();
      totals.acks_rejected += channel->enlargement().sender().rejected();
    }
  }
}

// ---- what is printed

std::string SimWorld::dump() const {
  std::string text;
  for (const auto& peer : peers_) {
    if (!peer->alive()) continue;
    for (const auto& [other, channel] : peer->channels()) text += dump_channel(*peer, other);
  }
  for (const auto& endpoint : fabric_.endpoints) {
    if (endpoint->quiet()) continue;
    text += "  endpoint " + std::to_string(endpoint->number()) + " of rank " +
            std::to_string(endpoint->rank()) + (endpoint->open() ? "" : " (closed)") +
            " has writes under way\n";
  }
  return text;
}

std::string SimWorld::dump_channel(const SimPeer& peer, std::uint32_t other) const {
  const SimPeer::Channel& channel = *peer.find(other);
  const auto flow = flows_.find({peer.rank(), other});
  const RingProducer& producer = channel.send_ring().producer();
  return "  " + direction(peer.rank(), other) + to_string(channel.connection().state()) + ", " +
         to_string(channel.enlargement().sender().state()) + ", phases " + std::to_string(channel.send_ring().phase()) +
         "/" + std::to_string(channel.receive_ring().phase()) + ", staged " + std::to_string(producer.staged()) +
         " posted " + std::to_string(producer.posted()) + " granted " + std::to_string(producer.granted()) +
         " of " + std::to_string(producer.slots()) + ", consumed " +
         std::to_string(channel.receive_ring().consumer().consumed()) +
         (channel.failed() ? ", lost: " + channel.error() : "") + (channel.idle() ? "" : ", not idle") +
         ", to send " + std::to_string(flow == flows_.end() ? 0 : flow->second.to_send.size()) +
         " messages\n";
}

}  // namespace bufenlarge::sim
