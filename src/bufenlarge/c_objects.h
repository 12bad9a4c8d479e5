// SPDX-License-Identifier: MIT
// The objects behind the handles of bufenlarge.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bufenlarge.h"
#include "channel/change_sink.h"
#include "channel/context.h"
#include "channel/memory_monitor.h"
#include "fabric/connection_bound.h"
#include "fabric/fabric_port.h"
#include "fabric/memory_bound.h"
#include "knobs.h"
#include "log.h"
#include "memory_log.h"

namespace bufenlarge {

// What bufenlarge_context_name() writes.
struct ProcessName {
  std::byte address[BUFENLARGE_ADDRESS_BYTES_MAX];  // zeros behind one of IPv4
  std::uint32_t rank;
  std::uint64_t key;  // protocol/keys.h
  std::uint32_t job_id;
  std::uint32_t unused;
};
static_assert(sizeof(ProcessName) == BUFENLARGE_NAME_BYTES);

// As the C interface names it.
[[nodiscard]] inline bufenlarge_status_t translate(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kAgain:
      return BUFENLARGE_OK;  // back-pressure is a normal response
    case Status::kFabricError:
      return BUFENLARGE_ERR_FABRIC;
    case Status::kMemoryError:
      return BUFENLARGE_ERR_MEMORY;
    case Status::kPeerFailed:
      return BUFENLARGE_ERR_PEER;
    case Status::kProtocolError:
      return BUFENLARGE_ERR_PROTOCOL;
    case Status::kTimedOut:
      return BUFENLARGE_ERR_TIMEOUT;
  }
  return BUFENLARGE_ERR_ARGUMENT;
}

// The status that the C interface names so.
[[nodiscard]] inline Status status_of(bufenlarge_status_t status) {
  switch (status) {
    case BUFENLARGE_ERR_MEMORY:
      return Status::kMemoryError;
    case BUFENLARGE_ERR_PEER:
      return Status::kPeerFailed;
    case BUFENLARGE_ERR_PROTOCOL:
      return Status::kProtocolError;
    case BUFENLARGE_ERR_TIMEOUT:
      return Status::kTimedOut;
    default:
      return Status::kFabricError;
  }
}

// A bufenlarge_channel_t* is a SendTarget*: a channel, or the loopback.
using FabricChannel = Channel<FabricPort>;
[[nodiscard]] inline SendTarget& target_of(bufenlarge_channel_t* handle) {
  return *reinterpret_cast<SendTarget*>(handle);
}
[[nodiscard]] inline const SendTarget& target_of(const bufenlarge_channel_t* handle) {
  return *reinterpret_cast<const SendTarget*>(handle);
}
[[nodiscard]] inline bufenlarge_context& context_of(const SendTarget& target) {
  return *static_cast<bufenlarge_context*>(target.upper_user);
}
[[nodiscard]] inline FabricChannel& channel_of(SendTarget& target) { return static_cast<FabricChannel&>(target); }
[[nodiscard]] inline const FabricChannel& channel_of(const SendTarget& target) {
  return static_cast<const FabricChannel&>(target);
}
[[nodiscard]] inline Loopback<FabricPort>& loopback_of(SendTarget& target) {
  return static_cast<Loopback<FabricPort>&>(target);
}

}  // namespace bufenlarge

struct bufenlarge_options {
  bufenlarge::Knobs knobs;
};

struct bufenlarge_context final : bufenlarge::MemorySampler, bufenlarge::ChangeSink {
  bufenlarge_context(const bufenlarge_context_config_t& config, const bufenlarge::Knobs& knobs);

  // A peer in range, in an error's text.
  [[nodiscard]] std::string describe(std::uint32_t peer) const;

  // For the memory log, which is on.
  void sample(std::uint64_t now_us) override;

  // For the callback `changed_up`, which is set.
  void changed(const bufenlarge::RingChange& change) override;

  // Decides whether registrations of user memory stay. Returns why the knobs ask for what cannot be, or "".
  [[nodiscard]] std::string keep_registrations(const bufenlarge::Knobs::Values& values);
  // Decides how many bytes of them, when the addresses of the job's processes tell how many share the machine.
  void share_registrations();

  // The context cannot go on; the upper layer is told, or the process ends.
  void fail(bufenlarge_status_t status, const char* message) const;

  bufenlarge_context_config_t upper;
  bufenlarge::Log log;
  bufenlarge::MemoryLog memory_log;
  bufenlarge::FabricPort port;
  bufenlarge::Context<bufenlarge::FabricPort> context;  // closed before the port
  const std::optional<std::uint64_t> window_memory;     // as set
  const std::optional<std::uint64_t> rendezvous;        // as set
  const std::optional<std::uint32_t> connections;       // as set
  const std::optional<std::uint64_t> memory_max;        // as set
  const std::optional<std::uint64_t> registration_cache;  // as set
  const bufenlarge::LogLevel log_level;                 // as set
  bufenlarge::ConnectionBound bound;
  bufenlarge::MemoryBound memory_bound;
  std::uint32_t local_processes = 1;  // of the job, by their addresses
  bool warned = false;
  bufenlarge_changed_fn changed_up = nullptr;
  const bufenlarge::MemoryMonitor* monitor = nullptr;  // of the registrations that stay
  std::string monitor_why;                             // there is none
  std::string kept;                                    // which registrations stay, in a few words
  std::string provider, protocol, interface_name, address;
  std::string agreement;  // what has to be equal in all processes of the job, an item a line
};
