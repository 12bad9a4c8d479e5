// SPDX-License-Identifier: MIT
#include "fabric/queue_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace bufenlarge {

namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// What Linux 6.1 and libfabric 1.17 take per connection beside the queues, for any size of the queues
// (bench/peer-memory, docs/decisions/0009-queue-sizes.md). rxe: 128 responder resources (8 KiB), queue pair, socket,
// identifiers. siw: two queues for remote reads (32 KiB), queue pair, socket, identifiers.
constexpr std::uint64_t kRxeDriverBytes = 19'900;
constexpr std::uint64_t kSiwDriverBytes = 49'900;

// Returns the memory of one queue of rdma_rxe, which keeps each in pages of its own: a header of 384 bytes, then
// as many entries as requested and one more, rounded up to a power of two, each of a power of two of bytes
// (rdma_user_rxe.h: rxe_queue_buf 384, rxe_send_wqe 208, rxe_recv_wqe 40, rxe_sge 16).
std::uint64_t rxe_queue(std::uint64_t entries, std::uint64_t entry_bytes) {
  return pages(384 + std::bit_ceil(entries + 1) * std::bit_ceil(std::max<std::uint64_t>(entry_bytes, 64)));
}

// Returns true for a device in software, which is on no bus.
bool is_virtual(const char* device) {
  const std::string link = std::string("/sys/class/infiniband/") + device;
  const std::unique_ptr<char, decltype(&std::free)> path(realpath(link.c_str(), nullptr), &std::free);
  return path && std::string_view(path.get()).find("/devices/virtual/") != std::string_view::npos;
}

}  // namespace

Driver find_driver(const fi_info& info) {
  if (info.ep_attr->protocol == FI_PROTO_SOCK_TCP) return Driver::kTcp;
  if (!is_virtual(info.domain_attr->name)) return Driver::kHardware;
  return info.ep_attr->protocol == FI_PROTO_IWARP ? Driver::kSiw : Driver::kRxe;
}

QueueMemory queue_memory(Driver driver, std::uint64_t send_entries, std::uint64_t inline_bytes,
                         std::uint64_t receives) {
  QueueMemory memory;
  const std::uint64_t completions = send_entries + receives;
  switch (driver) {
    case Driver::kTcp:
      // Measured with 1,000 connections: memory of the provider, then the kernel's slab.
      memory.driver = 18'700 + 3'700;
      memory.basis = "libfabric 1.17 tcp, measured";
      return memory;
    case Driver::kRxe:
      memory.send_queue = rxe_queue(send_entries, 208 + std::max<std::uint64_t>(inline_bytes, 16));
      memory.receive_queue = receives == 0 ? 0 : rxe_queue(receives, 40 + 16);
      memory.completion_queue = completions * 64;
      memory.driver = kRxeDriverBytes;
      memory.basis = "rdma_rxe, from its entry sizes";
      return memory;
    case Driver::kSiw:
      memory.send_queue = pages(std::bit_ceil(send_entries) * 128);
      memory.receive_queue = receives == 0 ? 0 : pages(std::bit_ceil(receives) * 128);
      memory.completion_queue = completions * 48;
      memory.driver = kSiwDriverBytes;
      memory.basis = "siw, from its entry sizes";
      return memory;
    case Driver::kHardware:
      memory.send_queue = std::bit_ceil(send_entries) * (64 + inline_bytes);
      memory.receive_queue = std::bit_ceil(receives) * 16;
      memory.completion_queue = completions * 64;
      memory.basis = "estimate: entries of 64 bytes";
      return memory;
  }
  return memory;
}

}  // namespace bufenlarge
