// SPDX-License-Identifier: MIT
// What a channel needs from whatever carries its writes. fabric/fabric_port.h implements it over
// libfabric, test/sim/sim_port.h over a virtual clock; channel/ is compiled unchanged on both.
//
// Region   registered memory, zeroed when allocated; unregistered and given back to the system when
//          destroyed; empty when it could not be had. Not to be destroyed while a write reads it.
// Link     one endpoint, from open() or accept(); empty when that failed. Closing it ends its
//          completions and events. `user` comes back with each of them.
// Request  an incoming connection request, answered once by accept() or reject().
//
// write() posts one RDMA write. The writes of a link are placed at the peer in posting order, the
// bytes of one write in any order unless ordered() says otherwise. Up to kInlineBytes are copied
// before it returns.
//
// poll(handler) reads completions, poll_events(handler) connection events; both never wait and call
//   handler.on_written(user)                      one posted (not inline) write is complete, in order
//   handler.on_lost(user, text)                   refused, unreachable, or broken
//   handler.on_connected(user, private_data)
//   handler.on_rejected(user, private_data)
//   handler.on_request(request, private_data)
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bufenlarge {

enum class WriteResult : std::uint8_t {
  kCopied,  // taken; no completion will come
  kPosted,  // taken; on_written() comes when the source memory is free
  kAgain,   // no room in the queue: try after poll()
  kFailed,  // the link is lost
};

inline constexpr std::size_t kInlineBytes = 64;

// Slot writes one channel keeps posted at most. libfabric's tcp provider has no bound of its own, and
// verbs endpoints are opened with this many entries and a few for words.
inline constexpr std::uint32_t kWritesInFlightMax = 16;

template <class P>
concept Port = requires(P port, typename P::Region region, typename P::Link link,
                        typename P::Request& request, std::span<const std::byte> data,
                        const void* card, void* user, const std::byte* from, std::size_t bytes,
                        std::uint64_t address, std::uint32_t key) {
  { region.data() } -> std::same_as<std::byte*>;
  { region.bytes() } -> std::same_as<std::size_t>;
  { region.remote_address() } -> std::same_as<std::uint64_t>;
  { region.remote_key() } -> std::same_as<std::uint32_t>;
  { port.allocate(bytes) } -> std::same_as<typename P::Region>;
  { port.open(card, data, user) } -> std::same_as<typename P::Link>;
  { port.accept(request, data, user) } -> std::same_as<typename P::Link>;
  port.reject(request, data);
  { port.write(link, region, from, bytes, address, key) } -> std::same_as<WriteResult>;
  { port.now_us() } -> std::same_as<std::uint64_t>;
  { port.ordered() } -> std::same_as<bool>;
};

}  // namespace bufenlarge
