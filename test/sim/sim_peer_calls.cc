// SPDX-License-Identifier: MIT
// What the library calls of a simulated process, and what it must not do there.
#include <cstring>

#include "sim/sim_peer.h"

namespace bufenlarge::sim {

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

}  // namespace bufenlarge::sim
