// SPDX-License-Identifier: MIT
#include "sim/sim_peer.h"

#include <algorithm>
#include <cstring>

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
  port_.memory().set_safe_bytes(std::max<std::size_t>(config.channel.phases.at(0).ring_bytes(), 4096));
  if (rank < config.block_bytes_max.size()) port_.memory().set_block_bytes_max(config.block_bytes_max[rank]);
  world.fabric.ports.push_back(&port_);
  context_ = std::make_unique<Context>(port_, config.channel, rank, config.peers, kJobKey,
                                       UpperLayer{deliver_up, failed_up, this, read_done_up, fragment_up, released_up,
                                                  written_up});
  context_->share_addresses(world.addresses.data(), kAddressBytes);
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

// Finds the phase that plan_vector() asks for, by another rule.
void SimPeer::need(SimFlow& flow, const std::vector<std::uint32_t>& chunk) const {
  const PhaseTable& table = world_.config.channel.phases;
  if (!world_.config.channel.enlargement) return;
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

// ---- called back

void SimPeer::deliver_up(void* user, std::uint32_t peer, const void* data, std::size_t bytes,
                         unsigned marks) {
  static_cast<SimPeer*>(user)->deliver(peer, static_cast<const std::byte*>(data), bytes, marks);
}

void SimPeer::failed_up(void* user, std::uint32_t peer, Status status, const char* message) {
  static_cast<SimPeer*>(user)->failed(peer, status, message);
}

void SimPeer::read_done_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  auto& self = *static_cast<SimPeer*>(user);
  self.world_.reads->read_done(self.rank_, peer, *static_cast<SimRead::Part*>(cookie), status, self.world_.gone[peer]);
  self.world_.beside(self.rank_);
}

void SimPeer::fragment_up(void* user, std::uint32_t, void* cookie, const void* data, std::size_t bytes) {
  auto& self = *static_cast<SimPeer*>(user);
  self.world_.beside(self.rank_);
  self.world_.reads->fragment(*static_cast<SimRead::Part*>(cookie), static_cast<const std::byte*>(data), bytes);
}

void SimPeer::released_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  auto& self = *static_cast<SimPeer*>(user);
  self.world_.reads->released(self.rank_, peer, *static_cast<SimRead*>(cookie), status, self.world_.gone[peer]);
  self.world_.beside(self.rank_);
}

void SimPeer::written_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  auto& self = *static_cast<SimPeer*>(user);
  self.world_.writes->written(self.rank_, peer, *static_cast<SimWrite*>(cookie), status, self.world_.gone[peer]);
  self.world_.beside(self.rank_);
}

void SimPeer::deliver(std::uint32_t peer, const std::byte* data, std::size_t bytes, unsigned marks) {
  SimFabric& fabric = world_.fabric;
  SimFlow& flow = flow_from(peer);
  fabric.moved = true;
  ++fabric.totals.fragments_delivered;
  fabric.trace.note("%lld<%lld  deliver: %lld bytes%s%s", rank_, peer, bytes,
                    (marks & kMarkFirst) != 0 ? ", first" : "", (marks & kMarkLast) != 0 ? ", last" : "");
  const std::string from = "from " + std::to_string(peer) + ": ";
  if (flow.expected.empty()) return violate(from + "a fragment nobody sent, or a second time");
  const std::shared_ptr<const SimMessage> message = flow.expected.front();
  const std::string which = from + "message " + std::to_string(message->number) + " at byte " +
                            std::to_string(flow.arrived) + " of " + std::to_string(message->bytes.size());
  if (bytes > message->bytes.size() - flow.arrived) return violate(which + ": fragment too long");
  const std::byte* expected = message->bytes.data() + flow.arrived;
  if (std::memcmp(data, expected, bytes) != 0) violate(which + ": other bytes than were sent");
  const bool first = flow.arrived == 0;
  flow.arrived += bytes;
  const bool last = flow.arrived == message->bytes.size();
  if (((marks & kMarkFirst) != 0) != first || ((marks & kMarkLast) != 0) != last)
    violate(which + ": wrong marks");
  if ((marks & ~unsigned{kMarksOfMessage}) != 0) violate(which + ": marks that are none of a message");
  if (last) {
    flow.arrived = 0;
    flow.expected.pop_front();
    flow.delivered_us = fabric.clock.now_us();
    if (message->write != nullptr) world_.writes->arrived(*message->write);
    response();
  }
  world_.beside(rank_);
  if (std::memcmp(data, expected, bytes) != 0) violate(which + ": overwritten before it was read");
}

void SimPeer::response() {
  if (world_.responses_left == 0 || !world_.fabric.random.chance(300)) return;
  --world_.responses_left;
  ++world_.fabric.totals.responses_inside;
  std::uint32_t to = world_.fabric.random.below(world_.config.peers - 1);
  if (to >= rank_) ++to;
  const std::uint32_t most = world_.config.channel.phases.at(0).threshold_bytes;
  put(to, {{world_.fabric.random.between(1, most)}});
  send_waiting(to);
}

void SimPeer::failed(std::uint32_t peer, Status status, const char* message) {
  world_.fabric.moved = true;
  ++world_.fabric.totals.failures_told;
  world_.fabric.trace.note("%lld!%lld  lost: %s", rank_, peer, message);
  failures_[peer].push_back(status);
  if (!world_.gone[peer]) violate(std::to_string(peer) + " is lost for no reason: " + message);
  if (failures_[peer].size() > 1) violate("the loss of " + std::to_string(peer) + " was reported twice");
  flow_to(peer).abandoned = flow_from(peer).abandoned = true;
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
  if (!waiting_.empty() || port_.next_due_us() != ~std::uint64_t{0}) fabric.active.note(rank_);
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
