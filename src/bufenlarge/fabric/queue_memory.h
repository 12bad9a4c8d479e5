// SPDX-License-Identifier: MIT
// What the queues of one connected peer take beyond rings and control block: counted from the sizes this
// library asked for and the entry sizes of the driver (docs/decisions/0009-queue-sizes.md).
#pragma once

#include <cstdint>

#include "fabric/fid.h"

namespace bufenlarge {

enum class Driver : std::uint8_t {
  kTcp,      // libfabric's tcp provider
  kRxe,      // Linux's rdma_rxe: RoCE in software
  kSiw,      // Linux's siw: iWARP in software
  kHardware  // anything else: entries of 64 bytes are assumed
};

struct QueueMemory {
  std::uint64_t send_queue = 0;
  std::uint64_t receive_queue = 0;
  std::uint64_t completion_queue = 0;  // the peer's share
  std::uint64_t driver = 0;            // what the driver and the provider take per connection whatever is asked for
  const char* basis = "";
};

Driver find_driver(const fi_info& info);

// `receives` posted per endpoint; 0 with a shared receive context.
QueueMemory queue_memory(Driver driver, std::uint64_t send_entries, std::uint64_t inline_bytes,
                         std::uint64_t receives);

}  // namespace bufenlarge
