// SPDX-License-Identifier: MIT
// The objects behind the handles of bufenlarge.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "bufenlarge.h"
#include "channel/context.h"
#include "fabric/fabric_port.h"
#include "knobs.h"

namespace bufenlarge {

// What bufenlarge_context_name() writes.
struct ProcessName {
  std::byte address[BUFENLARGE_ADDRESS_BYTES];
  std::uint64_t job_key;
  std::uint32_t rank;
  std::uint32_t zero;
};
static_assert(sizeof(ProcessName) == BUFENLARGE_NAME_BYTES);

// As the C interface names it.
[[nodiscard]] bufenlarge_status_t translate(Status status);

}  // namespace bufenlarge

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

  // A peer in range, in an error's text.
  [[nodiscard]] std::string describe(std::uint32_t peer) const;
  // nullptr when `peer` is out of range.
  bufenlarge_channel* handle(std::uint32_t peer);

  // The context cannot go on; the upper layer is told, or the process ends.
  void fail(bufenlarge_status_t status, const char* message) const;

  bufenlarge_context_config_t upper;
  bufenlarge::FabricPort port;
  bufenlarge::Context<bufenlarge::FabricPort> context;  // closed before the port
  std::unordered_map<std::uint32_t, bufenlarge_channel> handles;  // of peers talked to
  const std::optional<std::uint64_t> window_memory;  // as set
  const bufenlarge_limits_t limits;
  bool warned = false;
  std::string provider, protocol, interface_name, address;
};
