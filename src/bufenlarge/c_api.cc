// SPDX-License-Identifier: MIT
// The C boundary: no exception passes it, and this is the only file that catches any. One table
// translates results, each with its reason.
#include "bufenlarge.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

#include "channel/context.h"
#include "fabric/fabric_error.h"
#include "fabric/fabric_port.h"
#include "knobs.h"
#include "version.h"

using bufenlarge::Status;

static_assert(BUFENLARGE_WIRE_VERSION == bufenlarge::kWireVersion);
static_assert(BUFENLARGE_PHASES_MAX == bufenlarge::kPhasesMax);
static_assert(BUFENLARGE_CARD_BYTES == sizeof(sockaddr_in));
static_assert(BUFENLARGE_FIRST == bufenlarge::kMarkFirst && BUFENLARGE_LAST == bufenlarge::kMarkLast);

struct bufenlarge_options {
  bufenlarge::Knobs knobs;
};

// The handle of a channel: to a peer, or to the own process (channel == nullptr).
struct bufenlarge_channel {
  bufenlarge_context* context = nullptr;
  bufenlarge::Channel<bufenlarge::FabricPort>* channel = nullptr;
};

struct bufenlarge_context {
  bufenlarge_context(const bufenlarge_context_config_t& config, const bufenlarge::Knobs& knobs);

  // nullptr when `peer` is out of range.
  bufenlarge_channel* handle(std::uint32_t peer);

  bufenlarge_context_config_t upper;
  bufenlarge::FabricPort port;
  bufenlarge::Context<bufenlarge::FabricPort> context;  // closed before the port
  std::unordered_map<std::uint32_t, bufenlarge_channel> handles;  // of peers talked to
  std::string provider, protocol, interface_name, address;
};

namespace {

bufenlarge_status_t translate(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kAgain: return BUFENLARGE_OK;  // back-pressure is a normal answer
    case Status::kFabricError: return BUFENLARGE_ERR_FABRIC;
    case Status::kMemoryError: return BUFENLARGE_ERR_MEMORY;
    case Status::kPeerFailed: return BUFENLARGE_ERR_PEER;
    case Status::kProtocolError: return BUFENLARGE_ERR_PROTOCOL;
    case Status::kTimedOut: return BUFENLARGE_ERR_TIMEOUT;
  }
  return BUFENLARGE_ERR_ARGUMENT;
}

void tell(char* message, std::size_t bytes, const std::string& text) {
  if (message != nullptr && bytes != 0) std::snprintf(message, bytes, "%s", text.c_str());
}

bufenlarge::ProviderRequest provider_request(const bufenlarge::Knobs& knobs, std::uint32_t size) {
  const bufenlarge::PhaseTable& phases = knobs.settings().phases;
  std::uint32_t slots_max = 0;
  for (std::uint8_t i = 0; i < phases.count; ++i) slots_max = std::max(slots_max, phases.at(i).slots);
  return {knobs.values().provider, knobs.values().interface_name, knobs.values().arrival, slots_max, size - 1};
}

void deliver_up(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.deliver(context->upper.user, peer, data, bytes, marks);
}

void failed_up(void* user, std::uint32_t peer, Status status, const char* message) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  sockaddr_in address;
  std::memcpy(&address, context->context.card(peer), sizeof address);
  const std::string text = "rank " + std::to_string(peer) + " at " + bufenlarge::address_text(address) +
                           ": " + message;
  context->upper.failed(context->upper.user, peer, translate(status), text.c_str());
}

void copy_direction(bufenlarge_direction_stats_t& to, const bufenlarge::DirectionCounters& from,
                    std::uint8_t phase, const bufenlarge::PhaseTable& phases, bool connected) {
  to.phase = phase;
  to.slot_bytes = connected ? phases.at(phase).slot_bytes : 0;
  to.slots = connected ? phases.at(phase).slots : 0;
  to.enlargements = from.enlargements;
  to.refused = from.refused;
  to.messages = from.messages;
  to.messages_in_pieces = from.messages_in_pieces;
  std::copy(from.bytes_in_phase.begin(), from.bytes_in_phase.end(), to.bytes_in_phase);
  for (const std::uint64_t bytes : from.bytes_in_phase) to.bytes += bytes;
}

}  // namespace

bufenlarge_context::bufenlarge_context(const bufenlarge_context_config_t& config,
                                       const bufenlarge::Knobs& knobs)
    : upper(config),
      port(provider_request(knobs, config.size)),
      context(port, knobs.settings(), config.rank, config.size, config.job_key,
              bufenlarge::UpperLayer{deliver_up, failed_up, this}),
      provider(bufenlarge::provider_name(port.info())),
      protocol(bufenlarge::protocol_name(port.info())),
      interface_name(bufenlarge::domain_name(port.info())),
      address(bufenlarge::address_text(port.address())) {}

bufenlarge_channel* bufenlarge_context::handle(std::uint32_t peer) {
  const auto known = handles.find(peer);
  if (known != handles.end()) return &known->second;
  auto* channel = context.channel(peer);
  if (channel == nullptr && peer != upper.rank) return nullptr;
  return &handles.emplace(peer, bufenlarge_channel{this, channel}).first->second;
}

extern "C" {

const char* bufenlarge_status_name(bufenlarge_status_t status) {
  switch (status) {
    case BUFENLARGE_OK: return "BUFENLARGE_OK";
    case BUFENLARGE_ERR_OPTION: return "BUFENLARGE_ERR_OPTION";
    case BUFENLARGE_ERR_FABRIC: return "BUFENLARGE_ERR_FABRIC";
    case BUFENLARGE_ERR_MEMORY: return "BUFENLARGE_ERR_MEMORY";
    case BUFENLARGE_ERR_PEER: return "BUFENLARGE_ERR_PEER";
    case BUFENLARGE_ERR_PROTOCOL: return "BUFENLARGE_ERR_PROTOCOL";
    case BUFENLARGE_ERR_TIMEOUT: return "BUFENLARGE_ERR_TIMEOUT";
    case BUFENLARGE_ERR_ARGUMENT: return "BUFENLARGE_ERR_ARGUMENT";
  }
  return "unknown bufenlarge_status_t";
}

const char* bufenlarge_version(void) { return bufenlarge::kVersionText; }

size_t bufenlarge_knob_count(void) { return bufenlarge::knobs().size(); }

const char* bufenlarge_knob_name(size_t index) {
  return index < bufenlarge::knobs().size() ? bufenlarge::knobs()[index].name : "";
}

bufenlarge_options_t* bufenlarge_options_create(void) {
  try {
    return new bufenlarge_options;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void bufenlarge_options_destroy(bufenlarge_options_t* options) { delete options; }

bufenlarge_status_t bufenlarge_options_set(bufenlarge_options_t* options, const char* name,
                                           const char* value, char* message, size_t message_bytes) {
  try {
    const std::string why = options->knobs.set(name, value == nullptr ? "" : value);
    tell(message, message_bytes, why);
    return why.empty() ? BUFENLARGE_OK : BUFENLARGE_ERR_OPTION;
  } catch (const std::exception& error) {
    tell(message, message_bytes, error.what());
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_options_check(const bufenlarge_options_t* options, char* message,
                                             size_t message_bytes) {
  try {
    bufenlarge::Knobs copy = options->knobs;
    const std::string why = copy.resolve();
    tell(message, message_bytes, why);
    return why.empty() ? BUFENLARGE_OK : BUFENLARGE_ERR_OPTION;
  } catch (const std::exception& error) {
    tell(message, message_bytes, error.what());
    return BUFENLARGE_ERR_MEMORY;
  }
}

int bufenlarge_options_summary(const bufenlarge_options_t* options) {
  const auto& values = options->knobs.values();
  return values.summary || !values.summary_file.empty() ? 1 : 0;
}

const char* bufenlarge_options_summary_file(const bufenlarge_options_t* options) {
  return options->knobs.values().summary_file.c_str();
}

unsigned bufenlarge_options_yield_after(const bufenlarge_options_t* options) {
  return options->knobs.values().yield_after;
}

bufenlarge_status_t bufenlarge_context_open(const bufenlarge_context_config_t* config,
                                            bufenlarge_context_t** context_p, char* message,
                                            size_t message_bytes) {
  *context_p = nullptr;
  try {
    bufenlarge::Knobs knobs = config->options != nullptr ? config->options->knobs : bufenlarge::Knobs();
    std::string why = knobs.resolve();
    if (why.empty() && config->rank == 0) why = knobs.check_summary_file();
    if (!why.empty() || config->deliver == nullptr || config->failed == nullptr ||
        config->rank >= config->size) {
      tell(message, message_bytes, why.empty() ? "rank, size or a callback is missing" : why);
      return why.empty() ? BUFENLARGE_ERR_ARGUMENT : BUFENLARGE_ERR_OPTION;
    }
    *context_p = new bufenlarge_context(*config, knobs);
    return BUFENLARGE_OK;
  } catch (const std::bad_alloc&) {
    tell(message, message_bytes, "memory is out");
    return BUFENLARGE_ERR_MEMORY;
  } catch (const std::exception& error) {
    tell(message, message_bytes, error.what());
    return BUFENLARGE_ERR_FABRIC;
  }
}

void bufenlarge_context_close(bufenlarge_context_t* context) { delete context; }

void bufenlarge_context_card(const bufenlarge_context_t* context, void* card) {
  std::memcpy(card, &context->port.address(), BUFENLARGE_CARD_BYTES);
}

bufenlarge_status_t bufenlarge_context_set_cards(bufenlarge_context_t* context, const void* cards,
                                                 size_t count) {
  if (count != context->upper.size) return BUFENLARGE_ERR_ARGUMENT;
  try {
    context->context.set_cards({static_cast<const std::byte*>(cards), count * BUFENLARGE_CARD_BYTES});
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_channel_t* bufenlarge_context_channel(bufenlarge_context_t* context, uint32_t peer) {
  try {
    return context->handle(peer);
  } catch (const std::exception&) {
    return nullptr;
  }
}

unsigned bufenlarge_context_progress(bufenlarge_context_t* context) {
  try {
    return context->context.progress();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bufenlarge: progress: %s\n", error.what());
    return 0;
  }
}

int bufenlarge_context_idle(const bufenlarge_context_t* context) { return context->context.idle() ? 1 : 0; }

bufenlarge_status_t bufenlarge_channel_send(bufenlarge_channel_t* handle, const struct iovec* iov,
                                            int iov_count, unsigned flags, size_t* bytes_sent_p) {
  try {
    const std::span<const iovec> vector(iov, static_cast<std::size_t>(iov_count));
    const bool more = (flags & BUFENLARGE_MORE) != 0;
    if (handle->channel == nullptr) [[unlikely]] {
      *bytes_sent_p = handle->context->context.send_to_self(vector, more);
      return BUFENLARGE_OK;
    }
    const bool corked = (flags & BUFENLARGE_CORK) != 0;
    return translate(handle->channel->send(vector, more, *bytes_sent_p, corked));
  } catch (const std::exception&) {
    *bytes_sent_p = 0;
    return BUFENLARGE_ERR_MEMORY;
  }
}

void bufenlarge_channel_flush(bufenlarge_channel_t* handle) {
  try {
    if (handle->channel != nullptr) handle->channel->post_staged();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bufenlarge: flush: %s\n", error.what());
  }
}

const char* bufenlarge_channel_error(const bufenlarge_channel_t* handle) {
  return handle->channel == nullptr ? "" : handle->channel->error().c_str();
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
  copy_direction(stats_p->send, channel->sent(), channel->send_phase(), phases, connected);
  copy_direction(stats_p->receive, channel->received(), channel->receive_phase(), phases, connected);
  stats_p->send.requests_repeated = channel->enlarge_sender().repeats();
  stats_p->send.acks_rejected = channel->enlarge_sender().rejected();
  stats_p->registered_bytes = channel->registered_bytes();
  stats_p->registered_bytes_max = channel->registered_bytes_max();
  return 1;
}

void bufenlarge_context_peer_memory(const bufenlarge_context_t* context, bufenlarge_peer_memory_t* memory_p) {
  using Channel = bufenlarge::Channel<bufenlarge::FabricPort>;
  const bufenlarge::QueueMemory queues = context->port.queues();
  const std::uint64_t ring = context->context.core().settings.phases.at(0).ring_bytes();
  *memory_p = {};
  memory_p->ring_bytes = 2 * bufenlarge::MemoryRegion::whole_pages(ring);
  memory_p->control_bytes = sizeof(bufenlarge::ControlBlock);
  memory_p->heap_bytes = sizeof(Channel) + sizeof(bufenlarge::Endpoint) + sizeof(bufenlarge_channel);
  memory_p->send_queue_bytes = queues.send_queue;
  memory_p->receive_queue_bytes = queues.receive_queue;
  memory_p->completion_queue_bytes = queues.completion_queue;
  memory_p->driver_bytes = queues.driver;
  memory_p->basis = queues.basis;
}

void bufenlarge_context_stats(const bufenlarge_context_t* context, bufenlarge_context_stats_t* stats_p) {
  const bufenlarge::RegistrationCounters& registered = context->port.registrations();
  *stats_p = {};
  for (uint32_t peer = 0; peer < context->context.size(); ++peer) {
    const auto* channel = context->context.find(peer);
    if (channel == nullptr) continue;
    stats_p->channels += channel->connected();
    stats_p->channels_failed += channel->failed();
  }
  stats_p->connects_refused = context->context.refused();
  stats_p->connects_crossed = context->context.core().crossings;
  stats_p->registered_bytes = registered.bytes;
  stats_p->registered_bytes_max = registered.bytes_max;
  stats_p->registrations = registered.registrations;
  stats_p->deregistrations = registered.deregistrations;
  stats_p->provider = context->provider.c_str();
  stats_p->protocol = context->protocol.c_str();
  stats_p->arrival = bufenlarge::arrival_name(context->port.arrival());
  stats_p->arrival_reason = context->port.arrival_reason().c_str();
  stats_p->interface_name = context->interface_name.c_str();
  stats_p->address = context->address.c_str();
}

}  // extern "C"
