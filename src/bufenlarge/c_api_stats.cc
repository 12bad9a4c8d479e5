// SPDX-License-Identifier: MIT
// The part of the C boundary that only looks. Nothing here throws.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "c_objects.h"

namespace {

void copy_direction(bufenlarge_direction_stats_t& to, const bufenlarge::DirectionCounters& from, std::uint8_t phase,
                    const bufenlarge::PhaseTable& phases, bool connected) {
  to.phase = phase;
  to.slot_bytes = connected ? phases.at(phase).slot_bytes : 0;
  to.slots = connected ? phases.at(phase).slots : 0;
  to.enlargements = from.enlargements;
  to.shrinks = from.shrinks;
  to.refused = from.refused;
  to.messages = from.messages;
  to.messages_fragmented = from.messages_fragmented;
  std::copy(from.bytes_in_phase.begin(), from.bytes_in_phase.end(), to.bytes_in_phase);
  for (const std::uint64_t bytes : from.bytes_in_phase) to.bytes += bytes;
}

void count_pinned(bufenlarge_context_stats_t& to, const bufenlarge_context& context) {
  const bufenlarge::Ledger& ledger = context.context.core().ledger;
  to.pinned_bytes = ledger.bytes();
  to.pinned_bytes_most = ledger.most();
  to.pinned_bytes_max = ledger.limited() ? ledger.limits().all : 0;
  to.pinned_refused = ledger.refusals();
  to.pinned_reason = context.memory_bound.why.c_str();
}

void count_connections(bufenlarge_context_stats_t& to, const bufenlarge_context& context) {
  const auto& core = context.context.core();
  to.connects_refused = context.context.refused();
  to.connects_crossed = core.crossings;
  to.connections = static_cast<std::uint32_t>(core.links.size());
  to.connections_most = static_cast<std::uint32_t>(core.links_most);
  to.connections_max = core.connections_max;
  to.connections_reason = context.bound.why.c_str();
  to.connections_closed = core.closing.closed;
  to.connections_reopened = core.closing.reopened;
  to.endpoints = static_cast<std::uint32_t>(context.port.endpoints());
}

void count_user_memory(bufenlarge_context_stats_t& to, const bufenlarge_context& context) {
  const bufenlarge::RegistrationCounters& registered = context.port.user_registrations();
  const bufenlarge::RegistrationKeeper& keeper = context.context.core().keeper;
  to.user_refused = context.context.core().rendezvous.refused;
  to.user_registrations = registered.registrations;
  to.user_hits = keeper.counters.hits;
  to.user_misses = keeper.counters.misses;
  to.user_evictions = keeper.counters.evictions;
  to.user_invalidations = keeper.counters.invalidations;
  to.user_idle_bytes = keeper.idle_bytes();
  to.user_bytes = registered.bytes;
  to.user_bytes_max = registered.bytes_max;
  to.registrations_kept = context.kept.c_str();
}

}  // namespace

std::string bufenlarge_context::describe(std::uint32_t peer) const {
  const bool own = peer < context.peers().own_size();
  const void* where_to = own ? context.peers().address(peer) : context.peers().other_job(peer).address.data();
  std::string text = "rank " + std::to_string(own ? peer : context.peers().other_job(peer).rank);
  if (!own) text += " of another job";
  if (where_to == nullptr) return text;
  return text + " at " + bufenlarge::SocketAddress(where_to).text();
}

void bufenlarge_context::sample(std::uint64_t now_us) {
  if (!memory_log.due(now_us)) return;
  const auto& core = context.core();
  memory_log.add(now_us, {port.registrations().bytes, port.user_registrations().bytes, core.links.size(),
                          core.enlargements, core.shrinks});
}

void bufenlarge_context::changed(const bufenlarge::RingChange& change) {
  const bufenlarge::Phase& phase = context.core().settings.phases.at(change.phase);
  const bufenlarge_change_t told{.peer = change.peer,
                                 .sends = change.sends ? 1 : 0,
                                 .phase_before = change.former,
                                 .phase = change.phase,
                                 .phase_wanted = change.wanted,
                                 .slot_bytes = phase.slot_bytes,
                                 .slots = phase.slots,
                                 .refusal = static_cast<bufenlarge_refusal_t>(change.refusal),
                                 .ring_bytes = change.ring_bytes,
                                 .pinned_bytes = change.pinned_bytes};
  changed_up(upper.user, &told);
}

static_assert(BUFENLARGE_REFUSED_NOT == static_cast<int>(bufenlarge::Refusal::kNone));
static_assert(BUFENLARGE_REFUSED_HERE == static_cast<int>(bufenlarge::Refusal::kHere));
static_assert(BUFENLARGE_REFUSED_HERE_BY_LIMIT == static_cast<int>(bufenlarge::Refusal::kHereByLimit));
static_assert(BUFENLARGE_REFUSED_PEER == static_cast<int>(bufenlarge::Refusal::kPeer));
static_assert(BUFENLARGE_REFUSED_PEER_BY_LIMIT == static_cast<int>(bufenlarge::Refusal::kPeerByLimit));

extern "C" {

void bufenlarge_context_set_changed(bufenlarge_context_t* context, bufenlarge_changed_fn changed) {
  context->changed_up = changed;
  context->context.set_change_sink(changed == nullptr ? nullptr : context);
}

void bufenlarge_context_agreement(const bufenlarge_context_t* context, char* text, size_t text_bytes) {
  if (text_bytes != 0) std::snprintf(text, text_bytes, "%s", context->agreement.c_str());
}

bufenlarge_status_t bufenlarge_context_name(const bufenlarge_context_t* handle, uint32_t peer, void* name) {
  const auto& context = handle->context;
  if (peer >= context.peers().size()) return BUFENLARGE_ERR_ARGUMENT;
  bufenlarge::ProcessName own{};
  if (peer < context.peers().own_size()) {
    if (context.peers().address(peer) == nullptr) return BUFENLARGE_ERR_ARGUMENT;
    std::memcpy(own.address, context.peers().address(peer), handle->port.address().bytes());
    own.key = bufenlarge::name_key_of(context.core().expected.job_key, peer);
    own.rank = peer;
    own.job_id = context.core().job_id;
  } else {
    const bufenlarge::OtherJobPeer& other_job = context.peers().other_job(peer);
    if (!other_job.named()) return BUFENLARGE_ERR_ARGUMENT;
    std::memcpy(own.address, other_job.address.data(), sizeof own.address);
    own.key = other_job.name_key;
    own.rank = other_job.rank;
    own.job_id = other_job.job_id;
  }
  std::memcpy(name, &own, sizeof own);
  return BUFENLARGE_OK;
}

size_t bufenlarge_context_channels(const bufenlarge_context_t* context, uint32_t* peers, size_t max) {
  const auto& channels = context->context.peers().channels();
  const size_t count = std::min(max, channels.size());
  auto at = channels.begin();
  for (size_t i = 0; i < count; ++i, ++at) peers[i] = at->first;
  return channels.size();
}

int bufenlarge_context_channel_stats(const bufenlarge_context_t* context, uint32_t peer,
                                     bufenlarge_channel_stats_t* stats_p) {
  const auto* channel = context->context.find(peer);
  if (channel == nullptr) return 0;
  const bufenlarge::PhaseTable& phases = context->context.core().settings.phases;
  *stats_p = {};
  stats_p->peer = peer;
  stats_p->connected = channel->connected() ? 1 : 0;
  const bool connected = channel->connected();
  copy_direction(stats_p->send, channel->send_ring().counters(), channel->send_ring().phase(), phases, connected);
  copy_direction(stats_p->receive, channel->receive_ring().counters(), channel->receive_ring().phase(), phases,
                 connected);
  stats_p->send.requests_repeated = channel->enlargement().sender().repeats();
  stats_p->send.acks_rejected = channel->enlargement().sender().rejected();
  stats_p->registered_bytes = channel->ring_bytes().now;
  stats_p->registered_bytes_max = channel->ring_bytes().most;
  return 1;
}

void bufenlarge_context_peer_memory(const bufenlarge_context_t* context, bufenlarge_peer_memory_t* memory_p) {
  using Channel = bufenlarge::Channel<bufenlarge::FabricPort>;
  const bufenlarge::QueueMemory queues = context->port.queues();
  const auto& core = context->context.core();
  const bufenlarge::PhaseTable& phases = core.settings.phases;
  const std::uint64_t ring = phases.at(0).ring_bytes();
  *memory_p = {};
  memory_p->ring_bytes = 2 * (core.slabs.serves(ring) ? ring : bufenlarge::MemoryRegion::whole_pages(ring));
  memory_p->ring_bytes_largest = 2 * bufenlarge::MemoryRegion::whole_pages(phases.at(phases.last()).ring_bytes());
  memory_p->control_bytes = sizeof(bufenlarge::ControlBlock);
  memory_p->heap_bytes = sizeof(Channel) + sizeof(bufenlarge::Endpoint);
  memory_p->send_queue_bytes = queues.send_queue;
  memory_p->receive_queue_bytes = queues.receive_queue;
  memory_p->completion_queue_bytes = queues.completion_queue;
  memory_p->driver_bytes = queues.driver;
  memory_p->basis = queues.basis;
}

uint32_t bufenlarge_context_local_processes(const bufenlarge_context_t* context) { return context->local_processes; }

int bufenlarge_context_shares_processors(const bufenlarge_context_t* context) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors > 0 && context->local_processes > static_cast<unsigned long>(processors) ? 1 : 0;
}

void bufenlarge_context_stats(const bufenlarge_context_t* context, bufenlarge_context_stats_t* stats_p) {
  const bufenlarge::RegistrationCounters& registered = context->port.registrations();
  *stats_p = {};
  for (const auto& [peer, channel] : context->context.peers().channels()) {
    stats_p->channels += channel->connected();
    stats_p->channels_failed += channel->failed();
  }
  count_connections(*stats_p, *context);
  count_pinned(*stats_p, *context);
  stats_p->registered_bytes = registered.bytes;
  stats_p->registered_bytes_max = registered.bytes_max;
  stats_p->registrations = registered.registrations;
  stats_p->deregistrations = registered.deregistrations;
  const bufenlarge::RendezvousCounters& large = context->context.core().rendezvous;
  stats_p->reads = large.reads;
  stats_p->read_bytes = large.read_bytes;
  stats_p->response_bytes = large.response_bytes;
  stats_p->fragment_bytes = large.fragment_bytes;
  stats_p->reads_by_immediate = context->port.ends_by_immediate();
  stats_p->reads_by_message = context->port.ends_by_message();
  stats_p->writes = large.writes;
  stats_p->written_bytes = large.written_bytes;
  count_user_memory(*stats_p, *context);
  stats_p->provider = context->provider.c_str();
  stats_p->protocol = context->protocol.c_str();
  stats_p->arrival = bufenlarge::arrival_name(context->port.arrival());
  stats_p->arrival_reason = context->port.arrival_reason().c_str();
  stats_p->interface_name = context->interface_name.c_str();
  stats_p->address = context->address.c_str();
}

}  // extern "C"
