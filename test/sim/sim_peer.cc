// SPDX-License-Identifier: MIT
#include "sim/sim_peer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "channel/ring_slabs.h"
#include "sim/sim_arena.h"

namespace bufenlarge {

template class Context<sim::SimPort>;

}  // namespace bufenlarge

namespace bufenlarge::sim {

namespace {

constexpr std::uint64_t kJobKey = 0x6a6f62;

constexpr std::size_t kAddressBytes = 16;

}  // namespace

std::vector<std::byte> sim_addresses(std::uint32_t peers) {
  std::vector<std::byte> made(kAddressBytes * peers);
  for (std::uint32_t rank = 0; rank < peers; ++rank)
    std::memcpy(made.data() + kAddressBytes * rank, &rank, sizeof rank);
  return made;
}

std::vector<std::byte> message_bytes(std::uint32_t number, std::size_t bytes) {
  SimRandom random(number);
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(made.data() + i, &word, std::min<std::size_t>(8, bytes - i));
  }
  return made;
}

SimPeer::SimPeer(World& world, std::uint32_t rank)
    : world_(world), port_(world.fabric, rank), rank_(rank) {
  const SimConfig& config = world.config;
  port_.memory().set_safe_bytes(least_slab_bytes(config.channel.phases.at(0).ring_bytes()));
  if (rank < config.block_bytes_max.size()) port_.memory().set_block_bytes_max(config.block_bytes_max[rank]);
  world.fabric.ports.push_back(&port_);
  context_ = std::make_unique<Context>(port_, config.settings_of(rank), rank, config.peers, kJobKey,
                                       UpperLayer{deliver_up, failed_up, this, read_done_up, fragment_up, released_up,
                                                  written_up});
  context_->share_addresses(world.addresses.data(), kAddressBytes);
  if (config.requests_max != 0)
    context_->bound_transfers(config.source_bytes_max, config.destination_bytes_max, config.requests_max);
  if (config.kept_bytes == 0) return;
  context_->keep_registrations(config.kept_bytes, &world.fabric.arena(rank)->monitor());
  port_.set_give_way([this](std::size_t bytes) { return context_->give_way(bytes); });
}

SimPeer::~SimPeer() = default;

// ---- sending

void SimPeer::put(std::uint32_t to, std::vector<std::vector<std::uint32_t>> chunks) {
  SimFlow& flow = flow_to(to);
  if (flow.abandoned || !alive()) return;
  std::size_t bytes = 0;
  for (const auto& chunk : chunks)
    for (const std::uint32_t element : chunk) bytes += element;
  const std::uint32_t number = ++world_.messages;
  auto message =
      std::make_shared<SimMessage>(SimMessage{number, std::move(chunks), message_bytes(number, bytes)});
  ++flow.messages;
  flow.bytes += bytes;
  flow.to_send.push_back(message);
  flow.expected.push_back(message);
  waiting_.insert(to);
  world_.fabric.active.note(rank_);
  ++world_.fabric.totals.messages;
  world_.fabric.totals.bytes += bytes;
  world_.fabric.moved = true;
}

void SimPeer::put_after_writes(std::uint32_t to, std::uint32_t bytes, SimWrite* write) {
  put(to, {{bytes}});
  SimFlow& flow = flow_to(to);
  if (flow.abandoned) return;
  auto message = std::make_shared<SimMessage>(*flow.to_send.back());
  message->write = write;
  flow.to_send.back() = message;
  flow.expected.back() = message;
}

// Finds the phase that Enlargement::plan() asks for, by another rule. Where growth is earned, what takes several slots
// earns it, though each element fits.
void SimPeer::need(SimFlow& flow, const std::vector<std::uint32_t>& chunk) const {
  const PhaseTable& table = world_.config.channel.phases;
  if (!world_.config.channel.enlargement) return;
  const bool earns = world_.config.settings_of(rank_).growth == GrowthRule::kEarned;
  const std::uint64_t bytes = std::accumulate(chunk.begin(), chunk.end(), std::uint64_t{0});
  while (earns && flow.phase_needed < table.last() && bytes > table.at(flow.phase_needed).capacity())
    ++flow.phase_needed;
  for (const std::uint32_t element : chunk) {
    while (flow.phase_needed < table.last() && element > table.at(flow.phase_needed).threshold_bytes)
      ++flow.phase_needed;
  }
}

void SimPeer::send_waiting(std::uint32_t to) {
  SimFlow& flow = flow_to(to);
  while (!flow.abandoned && !flow.to_send.empty() && send_chunk(flow, to)) {
    const SimMessage& message = *flow.to_send.front();
    flow.chunk_sent = 0;
    if (++flow.chunk < message.chunks.size()) continue;
    flow.chunk = flow.sent = 0;
    flow.to_send.pop_front();
  }
}

// Offers the rest of the chunk at hand once. True when all of it went.
bool SimPeer::send_chunk(SimFlow& flow, std::uint32_t to) {
  const std::shared_ptr<const SimMessage> message = flow.to_send.front();
  const std::vector<std::uint32_t>& sizes = message->chunks[flow.chunk];
  std::vector<iovec> vector;
  std::size_t skip = flow.chunk_sent;
  std::size_t left = 0;
  auto* from = const_cast<std::byte*>(message->bytes.data()) + flow.sent;
  for (const std::size_t size : sizes) {
    const std::size_t skipped = std::min(skip, size);
    skip -= skipped;
    if (skipped == size) continue;
    vector.push_back({from + left, size - skipped});
    left += size - skipped;
  }
  need(flow, sizes);
  flow.wanted = true;
  Channel& channel = *context_->channel(to);
  const bool was_steady = channel.enlargement().sender().steady();
  std::size_t sent = 0;
  const Status status = message->write != nullptr ? channel.send_fenced(vector, sent)
                                                  : channel.send(vector, flow.chunk + 1 < message->chunks.size(), sent);
  if (message->write != nullptr && sent != 0 && sent != left) violate("a message after writes was taken in part");
  if (!send_result_fits(channel, status, sent, was_steady)) return false;
  if (sent != 0) world_.fabric.moved = true;
  flow.sent += sent;
  flow.chunk_sent += sent;
  return sent == left;
}

// Zero sent is no error (E5), and nothing goes while an acknowledgement is out (E6).
bool SimPeer::send_result_fits(Channel& channel, Status status, std::size_t sent, bool was_steady) {
  if (status != Status::kOk && status != Status::kAgain) {
    if (!channel.failed()) violate("send gave an error on a channel that is not lost");
    return false;
  }
  if ((status == Status::kOk) != (sent != 0)) violate("send: status and bytes sent do not agree");
  if (!was_steady && sent != 0) violate("send took bytes while an acknowledgement was out");
  return true;
}

// ---- turns

void SimPeer::turn() {
  SimFabric& fabric = world_.fabric;
  if (!alive() || fabric.clock.now_us() < paused_until_us_) return;
  if (fabric.random.chance(fabric.faults.pause)) {
    ++fabric.totals.pauses;
    paused_until_us_ = fabric.clock.now_us() + fabric.random.below(fabric.faults.pause_us_max + 1);
    return fabric.active.note(rank_);
  }
  world_.reads->order(rank_);
  context_->progress();
  // What sends may let others have something to send, too.
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const std::uint32_t to = *at;
    send_waiting(to);
    const SimFlow& flow = flow_to(to);
    if (flow.abandoned || flow.to_send.empty()) waiting_.erase(to);
    at = waiting_.upper_bound(to);
  }
  note_changes();
  if (fabric.active.watches() && has_more_to_do()) fabric.active.note(rank_);
}

bool SimPeer::has_more_to_do() const {
  if (!waiting_.empty() || port_.next_due_us() != ~std::uint64_t{0}) return true;
  return std::ranges::any_of(context_->core().rings.sets(), [](const auto& rings) {
    return std::ranges::any_of(rings.all(), [](const auto& entry) { return entry.arrived(); });
  });
}

void SimPeer::note_changes() {
  for (const auto& [peer, channel] : channels()) note_changes(peer, *channel, seen_[peer]);
}

void SimPeer::note_changes(std::uint32_t peer, const Channel& channel, Seen& seen) {
  SimTrace& trace = world_.fabric.trace;
  if (seen.connect != channel.connection().state())
    trace.note("%lld:%lld  connection: %s -> %s", rank_, peer, to_string(seen.connect),
               to_string(channel.connection().state()));
  const EnlargeSender::State enlarge = channel.enlargement().sender().state();
  if (seen.enlarge != enlarge) {
    trace.note("%lld>%lld  enlargement: %s -> %s", rank_, peer, to_string(seen.enlarge), to_string(enlarge));
    if (seen.enlarge == EnlargeSender::State::kSteady) {
      seen.asked_us = world_.fabric.clock.now_us();
      seen.repeats = channel.enlargement().sender().repeats();
    }
    if (enlarge == EnlargeSender::State::kSteady) check_repeats(peer, channel, seen);
  }
  if (seen.send_phase != channel.send_ring().phase())
    trace.note("%lld>%lld  sends in phase %lld", rank_, peer, channel.send_ring().phase());
  if (seen.receive_phase != channel.receive_ring().phase())
    trace.note("%lld<%lld  receives in phase %lld", rank_, peer, channel.receive_ring().phase());
  seen.connect = channel.connection().state();
  seen.enlarge = enlarge;
  seen.send_phase = channel.send_ring().phase();
  seen.receive_phase = channel.receive_ring().phase();
}

// A request is repeated at most once per time limit waited.
void SimPeer::check_repeats(std::uint32_t peer, const Channel& channel, const Seen& seen) {
  const std::uint64_t waited_us = world_.fabric.clock.now_us() - seen.asked_us;
  const std::uint32_t repeats = channel.enlargement().sender().repeats() - seen.repeats;
  const std::uint64_t most = waited_us / world_.config.channel.ack_timeout_us + 1;
  if (repeats > most)
    violate("to " + std::to_string(peer) + ": " + std::to_string(repeats) + " repetitions in " +
            std::to_string(waited_us) + " us");
}

// ---- the end

void SimPeer::die() {
  world_.fabric.trace.note("%lld  dies", rank_);
  world_.gone[rank_] = true;
  if (world_.config.vanishes)
    port_.vanish();
  else
    port_.crash();
  context_.reset();
}

void SimPeer::leave() {
  world_.fabric.trace.note("%lld  leaves", rank_);
  world_.gone[rank_] = true;
  port_.leave();
  context_.reset();
}

}  // namespace bufenlarge::sim
