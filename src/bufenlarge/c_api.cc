// SPDX-License-Identifier: MIT
// The C boundary: no exception passes it. The addresses of the job are in c_api_addresses.cc, messages and progress in
// c_api_messages.cc, user memory in c_api_memory.cc, what can be observed in c_api_stats.cc.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "c_objects.h"
#include "fabric/fabric_error.h"
#include "version.h"

using bufenlarge::Status;

static_assert(BUFENLARGE_WIRE_VERSION == bufenlarge::kWireVersion);
static_assert(BUFENLARGE_PHASES_MAX == bufenlarge::kPhasesMax);
static_assert(BUFENLARGE_ADDRESS_BYTES_MAX == bufenlarge::SocketAddress::kBytesMax);
static_assert(BUFENLARGE_FIRST == bufenlarge::kMarkFirst && BUFENLARGE_LAST == bufenlarge::kMarkLast);

using bufenlarge::channel_of;
using bufenlarge::target_of;
using bufenlarge::translate;

namespace {

void tell(char* message, std::size_t bytes, const std::string& text) {
  if (message != nullptr && bytes != 0) std::snprintf(message, bytes, "%s", text.c_str());
}

bufenlarge::ProviderRequest provider_request(const bufenlarge::Knobs& knobs, std::uint32_t size) {
  const bufenlarge::PhaseTable& phases = knobs.settings().phases;
  std::uint32_t slots_max = 0;
  for (std::uint8_t i = 0; i < phases.count; ++i) slots_max = std::max(slots_max, phases.at(i).slots);
  return {knobs.values().provider, knobs.values().interface_name,          knobs.values().arrival, slots_max,
          size - 1,                knobs.settings().peer_timeout_us};
}

void deliver_up(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.deliver(context->upper.user, peer, data, bytes, marks);
}

void failed_up(void* user, std::uint32_t peer, Status status, const char* message) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  const std::string text = context->describe(peer) + ": " + message;
  context->upper.failed(context->upper.user, peer, translate(status), text.c_str());
}

void read_done_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.read_done(context->upper.user, peer, cookie, translate(status));
}

void fragment_up(void* user, std::uint32_t peer, void* cookie, const void* data, std::size_t bytes) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.fragment(context->upper.user, peer, cookie, data, bytes);
}

void source_released_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.source_released(context->upper.user, peer, cookie, translate(status));
}

void write_done_up(void* user, std::uint32_t peer, void* cookie, Status status) {
  const auto* context = static_cast<bufenlarge_context*>(user);
  context->upper.write_done(context->upper.user, peer, cookie, translate(status));
}

// What check_hello() compares, and what has to be equal before a Hello can be sent.
std::string agreement_text(const bufenlarge::PhaseTable& phases, const std::string& provider,
                           const std::string& protocol, bool ipv6) {
  std::string slot_bytes, slots;
  for (std::uint8_t phase = 0; phase < phases.count; ++phase) {
    slot_bytes += (phase == 0 ? "" : ",") + std::to_string(phases.at(phase).slot_bytes);
    slots += (phase == 0 ? "" : ",") + std::to_string(phases.at(phase).slots);
  }
  return "wire version " + std::to_string(bufenlarge::kWireVersion) + "\nprovider " + provider + "\nprotocol " +
         protocol + "\naddresses " + (ipv6 ? "IPv6" : "IPv4") + "\nMPIR_CVAR_BUFENLARGE_PHASES=" + slot_bytes +
         "\nMPIR_CVAR_BUFENLARGE_SLOTS=" + slots;
}

}  // namespace

bufenlarge_context::bufenlarge_context(const bufenlarge_context_config_t& config, const bufenlarge::Knobs& knobs)
    : upper(config),
      log(config.rank),
      port(provider_request(knobs, config.size)),
      context(port, knobs.settings(), config.rank, config.size, config.job_key,
              bufenlarge::UpperLayer{deliver_up, failed_up, this, read_done_up, fragment_up, source_released_up,
                                     write_done_up}),
      window_memory(knobs.values().window_memory),
      rendezvous(knobs.values().rendezvous),
      connections(knobs.values().connections),
      memory_max(knobs.values().memory_max),
      registration_cache(knobs.values().registration_cache),
      log_level(knobs.values().log),
      provider(bufenlarge::provider_name(port.info())),
      protocol(bufenlarge::protocol_name(port.info())),
      interface_name(bufenlarge::domain_name(port.info())),
      address(port.address().text()),
      agreement(agreement_text(knobs.settings().phases, provider, protocol, port.address().ipv6())) {
  if (knobs.values().log != bufenlarge::LogLevel::kOff) context.set_log(knobs.values().log, log);
  if (upper.warn == nullptr) return;
  const auto refused = [this](const std::string& why) {
    if (!std::exchange(warned, true))
      upper.warn(upper.user,
                 ("memory could not be registered: " + why + ". Data goes in smaller fragments, slower").c_str());
  };
  port.set_on_refused(refused);
  if (!memory_max) context.set_on_limit([this, refused](std::uint64_t bytes) { refused(port.limit_error(bytes)); });
  port.set_on_no_descriptor([this] {
    const std::string descriptors = bufenlarge::describe_descriptors(upper.size);
    upper.warn(upper.user, ("a connection waits for a file descriptor: " + descriptors +
                            ". Raise nofile in /etc/security/limits.conf, or LimitNOFILE of the service that starts "
                            "the job; peers are asked to come again")
                               .c_str());
  });
}

void bufenlarge_context::fail(bufenlarge_status_t status, const char* message) const {
  if (upper.fatal != nullptr) {
    upper.fatal(upper.user, status, message);
    return;
  }
  std::fprintf(stderr, "bufenlarge: progress cannot go on: %s\n", message);
  std::abort();
}

extern "C" {

const char* bufenlarge_status_name(bufenlarge_status_t status) {
  switch (status) {
    case BUFENLARGE_OK:
      return "BUFENLARGE_OK";
    case BUFENLARGE_ERR_OPTION:
      return "BUFENLARGE_ERR_OPTION";
    case BUFENLARGE_ERR_FABRIC:
      return "BUFENLARGE_ERR_FABRIC";
    case BUFENLARGE_ERR_MEMORY:
      return "BUFENLARGE_ERR_MEMORY";
    case BUFENLARGE_ERR_PEER:
      return "BUFENLARGE_ERR_PEER";
    case BUFENLARGE_ERR_PROTOCOL:
      return "BUFENLARGE_ERR_PROTOCOL";
    case BUFENLARGE_ERR_TIMEOUT:
      return "BUFENLARGE_ERR_TIMEOUT";
    case BUFENLARGE_ERR_ARGUMENT:
      return "BUFENLARGE_ERR_ARGUMENT";
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

bufenlarge_status_t bufenlarge_options_set(bufenlarge_options_t* options, const char* name, const char* value,
                                           char* message, size_t message_bytes) {
  try {
    const std::string why = options->knobs.set(name, value == nullptr ? "" : value);
    tell(message, message_bytes, why);
    return why.empty() ? BUFENLARGE_OK : BUFENLARGE_ERR_OPTION;
  } catch (const std::exception& error) {
    tell(message, message_bytes, error.what());
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_options_check(const bufenlarge_options_t* options, char* message, size_t message_bytes) {
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

bufenlarge_status_t bufenlarge_context_open(const bufenlarge_context_config_t* config, bufenlarge_context_t** context_p,
                                            char* message, size_t message_bytes) {
  *context_p = nullptr;
  try {
    bufenlarge::Knobs knobs = config->options != nullptr ? config->options->knobs : bufenlarge::Knobs();
    std::string why = knobs.resolve();
    if (!why.empty() || config->deliver == nullptr || config->failed == nullptr || config->rank >= config->size) {
      tell(message, message_bytes, why.empty() ? "rank, size or a callback is missing" : why);
      return why.empty() ? BUFENLARGE_ERR_ARGUMENT : BUFENLARGE_ERR_OPTION;
    }
    bufenlarge::raise_descriptor_limit();
    auto context = std::make_unique<bufenlarge_context>(*config, knobs);
    const bufenlarge::Knobs::Values& values = knobs.values();
    if (values.log != bufenlarge::LogLevel::kOff && !values.log_file.empty()) why = context->log.open(values.log_file);
    if (why.empty() && !values.memory_log.empty()) {
      why = context->memory_log.open(values.memory_log, config->rank);
      context->context.set_memory_sampler(*context);
    }
    if (why.empty()) why = context->keep_registrations(values);
    if (!why.empty()) {
      tell(message, message_bytes, why);
      return BUFENLARGE_ERR_OPTION;
    }
    *context_p = context.release();
    return BUFENLARGE_OK;
  } catch (const std::bad_alloc&) {
    tell(message, message_bytes, "memory is exhausted");
    return BUFENLARGE_ERR_MEMORY;
  } catch (const std::exception& error) {
    tell(message, message_bytes, error.what());
    return BUFENLARGE_ERR_FABRIC;
  }
}

void bufenlarge_context_close(bufenlarge_context_t* context) { delete context; }

bufenlarge_channel_t* bufenlarge_context_channel(bufenlarge_context_t* context, uint32_t peer) {
  try {
    return reinterpret_cast<bufenlarge_channel_t*>(context->context.target(peer));
  } catch (const std::exception&) {
    return nullptr;
  }
}

int bufenlarge_context_idle(bufenlarge_context_t* context) { return context->context.idle() ? 1 : 0; }

int bufenlarge_context_written(const bufenlarge_context_t* context) { return context->context.written() ? 1 : 0; }

size_t bufenlarge_channel_element_max(const bufenlarge_channel_t* handle) {
  const bufenlarge::SendTarget& target = target_of(handle);
  return target.is_loopback ? SIZE_MAX : channel_of(target).element_bytes_max();
}

const char* bufenlarge_channel_error(const bufenlarge_channel_t* handle) {
  const bufenlarge::SendTarget& target = target_of(handle);
  return target.is_loopback ? "" : channel_of(target).error().c_str();
}

}  // extern "C"
