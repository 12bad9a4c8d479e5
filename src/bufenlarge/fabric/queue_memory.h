// SPDX-License-Identifier: MIT
// How much memory one connected peer takes beside rings and control block. It is computed from the queue sizes
// that this library requests and from the entry sizes of the driver (docs/decisions/0009-queue-sizes.md).
#pragma once

#include <cstdint>

#include "fabric/fid.h"

namespace bufenlarge {

enum class Driver : std::uint8_t {
  kTcp,      // libfabric's tcp provider
  kRxe,      // rdma_rxe of Linux: RoCE in software
  kSiw,      // siw of Linux: iWARP in software
  kHardware  // any other device; its entries are assumed to have 64 bytes
};

// All in bytes.
struct QueueMemory {
  std::uint64_t send_queue = 0;
  std::uint64_t receive_queue = 0;
  std::uint64_t completion_queue = 0;  // the peer's share
  std::uint64_t driver = 0;            // what driver and provider take per connection for any size of the queues
  const char* basis = "";              // what the figures rest on, for the summary
};

// Returns the driver of the device in `info`.
Driver find_driver(const fi_info& info);

// `receives` is the number of receives that each endpoint posts; 0 with a shared receive context.
QueueMemory queue_memory(Driver driver, std::uint64_t send_entries, std::uint64_t inline_bytes,
                         std::uint64_t receives);

}  // namespace bufenlarge
