// SPDX-License-Identifier: MIT
// The part of the C boundary by which a context learns of its job: the addresses of its processes and the names of
// those of other jobs, and what follows from them: the bounds on connections and on memory. No exception passes it.
#include <algorithm>
#include <cstring>
#include <exception>

#include "c_objects.h"

namespace {

// How many of the addresses are of processes on this machine, the own one too: those with the own address.
std::uint32_t count_local(const bufenlarge::SocketAddress& own, const std::byte* first, std::size_t stride,
                          std::size_t count) {
  std::uint32_t local = 0;
  for (std::size_t rank = 0; rank < count; ++rank)
    local += bufenlarge::SocketAddress(first + rank * stride).same_host(own);
  return local;
}

bufenlarge::ConnectionBound bound_of(const bufenlarge_context& context) {
  if (context.connections) return bufenlarge::given_bound(*context.connections);
  bufenlarge::ConnectionLimits limits = context.port.connection_limits();
  limits.processes = context.local_processes;
  limits.contexts = std::max(1u, context.upper.contexts);
  limits.peers = context.upper.size - 1;
  return bufenlarge::choose_bound(limits);
}

// tcp pins nothing, so only the user's own limit holds there.
bufenlarge::MemoryBound memory_bound_of(const bufenlarge_context& context) {
  const std::uint32_t contexts = std::max(1u, context.upper.contexts);
  if (context.memory_max) return bufenlarge::given_memory_bound(*context.memory_max, contexts);
  if (context.port.arrival() == bufenlarge::Arrival::kInOrder) return {0, "tcp pins nothing"};
  bufenlarge::MemoryLimits limits = bufenlarge::read_memory_limits();
  limits.processes = context.local_processes;
  limits.contexts = contexts;
  return bufenlarge::choose_memory_bound(limits);
}

// Gives the context its addresses, copied or not.
template <class Give>
bufenlarge_status_t give_addresses(bufenlarge_context_t* context, const void* addresses, std::size_t stride,
                                   std::size_t count, Give give) {
  if (count != context->upper.size || stride < context->port.address().bytes()) return BUFENLARGE_ERR_ARGUMENT;
  try {
    const auto* first = static_cast<const std::byte*>(addresses);
    give(first);
    context->local_processes = count_local(context->port.address(), first, stride, count);
    context->bound = bound_of(*context);
    context->context.set_connections_max(context->bound.connections);
    context->memory_bound = memory_bound_of(*context);
    if (context->memory_bound.bytes != 0)
      context->context.set_memory_max(std::max(context->memory_bound.bytes, context->context.least_memory()));
    context->share_registrations();
    const std::uint32_t near = context->local_processes * std::max(1u, context->upper.contexts);
    context->context.set_window_bytes_max(
        context->window_memory.value_or(bufenlarge::window_bytes_max(context->port.info(), near)));
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

}  // namespace

extern "C" {

void bufenlarge_context_address(const bufenlarge_context_t* context, void* address) {
  const bufenlarge::SocketAddress& own = context->port.address();
  std::memcpy(address, own.data(), own.bytes());
}

size_t bufenlarge_context_address_bytes(const bufenlarge_context_t* context) { return context->port.address().bytes(); }

bufenlarge_status_t bufenlarge_context_set_addresses(bufenlarge_context_t* context, const void* addresses,
                                                     size_t count) {
  const std::size_t bytes = context->port.address().bytes();
  return give_addresses(context, addresses, bytes, count, [=](const std::byte* first) {
    context->context.set_addresses({first, count * bytes});
  });
}

bufenlarge_status_t bufenlarge_context_share_addresses(bufenlarge_context_t* context, const void* addresses,
                                                       size_t stride, size_t count) {
  return give_addresses(context, addresses, stride, count,
                        [=](const std::byte* first) { context->context.share_addresses(first, stride); });
}

bufenlarge_status_t bufenlarge_context_add_peer(bufenlarge_context_t* context, const void* name, uint32_t* peer_p) {
  bufenlarge::ProcessName given;
  std::memcpy(&given, name, sizeof given);
  if (bufenlarge::SocketAddress(given.address).bytes() == 0) return BUFENLARGE_ERR_ARGUMENT;
  try {
    const auto number = context->context.peers().add(given.job_id, given.rank, given.key, given.address);
    if (!number) return BUFENLARGE_ERR_ARGUMENT;
    *peer_p = *number;
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

int bufenlarge_context_forget_peer(bufenlarge_context_t* context, uint32_t peer) {
  auto& peers = context->context.peers();
  if (peer < peers.own_size()) return 0;
  return peer >= peers.size() || peers.forget(peer) ? 1 : 0;
}

}  // extern "C"
