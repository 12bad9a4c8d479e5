// SPDX-License-Identifier: MIT
// What a channel needs from whatever carries its writes. fabric/fabric_port.h implements it over
// libfabric, test/sim/sim_port.h over a virtual clock; channel/ is compiled unchanged on both.
//
// Region   registered memory, zeroed when allocated; unregistered and given back to the system when
//          destroyed; empty when it could not be had. Not to be destroyed while a write reads it.
//          register_memory() gives one over memory of the user, which is not zeroed and stays his.
// Link     one endpoint, from open() or accept(); empty when that failed. Closing it ends its
//          completions and events. `user` comes back with each of them.
// Request  an incoming connection request, answered once by accept() or reject().
//
// write() posts one RDMA write, and with WriteUse::kNotifiedSlots a notification behind it. The writes of a
// link are placed at the peer in posting order, the bytes of one write in any order unless arrival()
// is kInOrder. Grant and repeat words are copied before it returns, and whatever has up to kInlineBytes
// where the device can send that inline. With WriteUse::kLastData the peer's on_read_done() has `sequence` when
// that write and all before it are placed; it keeps receives posted for as many as the two bounds below say.
//
// poll(handler) reads completions, poll_events(handler) connection events; both never wait and call
//   handler.on_written(user)                      one posted (not copied) write of slots is complete,
//                                                 in order; words have no such call
//   handler.on_notification(user)                     the peer's oldest notification not told yet: the write
//                                                 before it, and all before that, are placed
//   handler.on_data_written(user)                 the same as on_written, for writes of data
//   handler.on_read_done(user, sequence)          the last write of an response, and all before it, are placed;
//                                                 user is nullptr where the port cannot tell
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

// How a receiver on this port learns that slots are there (docs/fabric-assumptions.md).
enum class Arrival : std::uint8_t {
  kInOrder,   // polls the commit word: the bytes of a write appear in order
  kChecked,   // polls the commit word and takes a slot when its check holds
  kNotified,  // takes what a completion covers: immediate data, or a message after the write (iWARP)
  kMixed,     // small slots as kChecked, writes with a larger one as kNotified
};
constexpr bool polls(Arrival arrival) { return arrival != Arrival::kNotified; }
constexpr bool has_notifications(Arrival arrival) {
  return arrival == Arrival::kNotified || arrival == Arrival::kMixed;
}

enum class WriteUse : std::uint8_t {
  kSlots,
  kMoreSlots,  // the same; the next write of slots follows at once, so the port may hold it until then
  kNotifiedSlots,  // the peer asked for notifications
  kWord,       // into a control block; copied, or not changed until the peer has used it
  kData,       // between user memory: part of the response to a read request, or unasked
  kMoreData,   // the same; the next write of data follows at once, so the port may hold it until then
  kLastData,   // its last part, which tells the peer
};

constexpr bool is_data(WriteUse use) {
  return use == WriteUse::kData || use == WriteUse::kMoreData || use == WriteUse::kLastData;
}

// One RDMA write, out of registered memory of this side into the peer's.
template <class Region>
struct RdmaWrite {
  const Region& region;
  const std::byte* from;  // in the region
  std::size_t bytes;
  std::uint64_t address;  // remote
  std::uint32_t key;      // remote
  WriteUse use;
  std::uint32_t sequence = 0;  // with kLastData
};

// What registered memory of the user is for.
enum class MemoryUse : std::uint8_t {
  kSource,       // own writes read it
  kDestination,  // the peer writes to it
  kWindow,       // both
};

enum class WriteResult : std::uint8_t {
  kCopied,  // taken; no completion will come. Slots stay as they are until the peer has granted them
  kPosted,  // taken; on_written() comes when the source memory is free
  kHeld,    // taken; the source is free when that of the next write of data is, whose completion is for both. A port
            // that holds data completes all other data, and posts nothing else before
  kAgain,   // no room in the queue: try after poll()
  kFailed,  // the link is lost
};

// Enough for words, and for slots of 24 bytes of payload: MPI's messages of up to 8 bytes. A larger send queue
// entry is the price: on rxe an entry takes 256 bytes up to here (docs/decisions/0009-queue-sizes.md).
inline constexpr std::size_t kInlineBytes = 48;

// Slot writes one channel keeps posted at most. libfabric's tcp provider has no bound of its own, and
// verbs endpoints have a shorter queue and response kAgain.
inline constexpr std::uint32_t kWritesInFlightMax = 16;

// Read requests under way, of one link and of one port. Each takes a posted receive on verbs.
inline constexpr std::uint32_t kReadsPerLinkMax = 8;
inline constexpr std::uint32_t kReadsPerPortMax = 64;

template <class P>
concept Port = requires(P port, typename P::Region region, typename P::Link link,
                        typename P::Request& request, std::span<const std::byte> data,
                        const void* address, void* user, std::size_t bytes,
                        const RdmaWrite<typename P::Region>& write, void* memory, MemoryUse memory_use) {
  { region.data() } -> std::same_as<std::byte*>;
  { region.bytes() } -> std::same_as<std::size_t>;
  { region.remote_address() } -> std::same_as<std::uint64_t>;
  { region.remote_key() } -> std::same_as<std::uint32_t>;
  { port.allocate(bytes) } -> std::same_as<typename P::Region>;
  { port.register_memory(memory, bytes, memory_use) } -> std::same_as<typename P::Region>;
  { port.open(address, data, user) } -> std::same_as<typename P::Link>;
  { port.accept(request, data, user) } -> std::same_as<typename P::Link>;
  port.reject(request, data);
  { port.write(link, write) } -> std::same_as<WriteResult>;
  { port.now_us() } -> std::same_as<std::uint64_t>;
  { port.arrival() } -> std::same_as<Arrival>;
};

}  // namespace bufenlarge
