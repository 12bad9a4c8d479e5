// SPDX-License-Identifier: MIT
// What a channel needs from the fabric below it. fabric/fabric_port.h implements it over libfabric,
// test/sim/sim_port.h over a virtual clock; channel/ is compiled unchanged on both. No call waits, and one thread at
// a time may call a port.
//
// Region   Registered memory. allocate() returns zeroed memory of its own, register_memory() a region over memory
//          of the user; both return an empty region if the system refuses. The destructor deregisters the memory
//          and returns what allocate() had mapped to the system. No region is destroyed while a write reads it.
//          A port may have set_give_way(function): before it refuses memory it calls that with the bytes it lacks, and
//          tries again when the function returns true, since it has had regions destroyed.
// Link     One endpoint. open() and accept() return it, or an empty one if they fail. The destructor closes the
//          endpoint; no callback names it after that. Each callback gets the `user` that came with it.
//          has_room(kind) is asked before. It returns false while there is nothing to spare for one more link: then
//          open() would fail, and accept() would leave nothing for the next caller.
//          first_write_may_stall() returns true where what the side that called open() writes first may stay unseen
//          at the other side until one more write comes (siw, docs/fabric-assumptions.md).
//          reached() returns false while the port knows that the peer's host has not responded to open().
//          ask() asks the peer's host whether it still responds: the kernel or the device there, so that of a process
//          that computes or is stopped responds, too. At most the memory that the question names is read and written.
//          It returns false when nothing can be asked now, as on a device before the link is connected; otherwise
//          responded() returns true from when the host has responded since.
//          settled() returns whether all that was written to the link has reached the peer's host: its kernel or its
//          device. The link may be closed then. Where it does not know, it asks, and tells in a later call.
//          give_up() says that the host is taken for lost. The close of the link then tells it so at once, for it may
//          hear and not be heard, and what it did not acknowledge is dropped.
//          completions_mark() returns a mark in the completion queue of the link, and completions_read(mark) true when
//          poll() has read everything that was in the queue then; both may say so late, but not never while poll() is
//          called.
// Request  A connection request of a peer. The caller accepts or rejects it, once.
//
// write() posts one RDMA write, and with WriteUse::kNotifiedSlots a notification behind it. The writes of a link are
// placed at the peer in the order they were posted in; the bytes of one write are placed in any order, unless
// arrival() is kInOrder. The port copies grant and repeat words before write() returns and, where the device can
// send them inline, all writes of up to kInlineBytes. After a write with WriteUse::kLastData the peer's port calls
// on_read_done() with `sequence` when that write and all earlier ones are placed; a port keeps enough receives
// posted for kReadsPerLinkMax requests of each link and kReadsPerPortMax of all.
//
// A port whose arrival() is kInOrder places data only in poll(), and says there for which links it may have done so:
// each link belongs to a group (group()), and poll() calls on_placed() for each group into whose links data may have
// been placed since the last call. It does so again in the next poll() after a call that returned more than 0 and after
// an on_connected() of one of the links. The group of a link does not change. Elsewhere group() is 0.
//
// poll(handler) reads completions, poll_events(handler) reads connection events, as many as take a short time; it
// returns 0 only when there are no more. They call
//   handler.on_placed(group)                  as said above; returns how many slots were taken
//   handler.on_written(user)                  when a write of slots is complete that returned kPosted, in the order
//                                             of posting; a control word and a hint have no such call
//   handler.on_data_written(user)             the same for a write of data
//   handler.on_notification(user)             once for each notification of the peer, in order: the write before it,
//                                             and all earlier ones, are placed
//   handler.on_read_done(user, sequence)      when the last write of a response, and all earlier ones, are placed;
//                                             `user` is nullptr where the port does not know the link
//   handler.on_lost(user, text)               when an attempt was refused without private data, and when a connection
//                                             broke; `text` says why
//   handler.on_unreachable(user, text)        when an attempt ended because the peer's host did not respond
//   handler.on_unnamed_failure(text)          when an attempt failed, and the port does not know which
//   handler.on_connected(user, private_data)  when the connection is established, on both sides
//   handler.on_rejected(user, private_data)   when the peer has rejected the attempt
//   handler.on_request(request, private_data) when a peer wants to connect
// Private data is valid until the callback returns.
//
// A port may have sleep(timeout_us): it waits until something may have come, at most that many microseconds. Nothing
// that comes after a poll() that found nothing is missed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bufenlarge {

// How a receiver on this port learns that a slot has arrived (docs/fabric-assumptions.md).
enum class Arrival : std::uint8_t {
  kInOrder,   // it polls the commit word: the bytes of a write appear in order
  kChecked,   // it polls the commit word and takes a slot when its check holds
  kNotified,  // it takes slots whose write has a notification: immediate data, or a message after it (iWARP)
  kMixed,     // small slots as with kChecked, writes with a larger slot as with kNotified
};
// Returns true if the receiver looks at the ring without a notification.
constexpr bool polls(Arrival arrival) { return arrival != Arrival::kNotified; }
constexpr bool has_notifications(Arrival arrival) {
  return arrival == Arrival::kNotified || arrival == Arrival::kMixed;
}

// What a write carries, and what follows it.
enum class WriteUse : std::uint8_t {
  kSlots,          // slots
  kMoreSlots,      // slots; another write of slots follows at once, so the port may hold this one until then
  kNotifiedSlots,  // slots; a notification follows
  kWord,           // into a control block; the port copies it, or the channel keeps it until the peer has used it
  kHint,           // one byte into a hint table; the channel never changes it
  kData,           // from user memory to user memory: part of a response, or a one-sided write
  kMoreData,       // data; another write of data follows at once, so the port may hold this one until then
  kLastData,       // data; the last write of a response, of which the peer gets `sequence`
};

// What room is asked for: an attempt, or a request that is at hand and has taken its part already.
enum class RoomFor : std::uint8_t { kAttempt, kRequest };

// Returns true for a write from user memory to user memory.
constexpr bool is_data(WriteUse use) {
  return use == WriteUse::kData || use == WriteUse::kMoreData || use == WriteUse::kLastData;
}

// Returns true for a write of slots.
constexpr bool is_slots(WriteUse use) {
  return use == WriteUse::kSlots || use == WriteUse::kMoreSlots || use == WriteUse::kNotifiedSlots;
}

// One RDMA write, out of registered memory of this side into the peer's.
template <class Region>
struct RdmaWrite {
  const Region& region;
  const std::byte* from;  // in the region
  std::size_t bytes;
  std::uint64_t address;  // at the peer
  std::uint32_t key;      // of the peer's memory
  WriteUse use;
  std::uint32_t sequence = 0;  // of the read request, with kLastData; otherwise 0
};

// What ask() and settled() may read, on a device: kQuestionBytes of the peer's memory, which mean nothing, into memory
// of this side.
inline constexpr std::size_t kQuestionBytes = 8;
template <class Region>
struct HostQuestion {
  const Region& region;
  std::byte* to;          // in the region
  std::uint64_t address;  // at the peer, in memory of PeerAccess::kWriteAndQuestions
  std::uint32_t key;      // of the peer's memory
  bool connected = true;  // false: an attempt, and neither of them is known
};

// What peers do to memory of allocate().
enum class PeerAccess : std::uint8_t {
  kWrite,              // they write to it
  kWriteAndQuestions,  // and their questions may read from it
};

// What registered memory of the user is used for.
enum class MemoryUse : std::uint8_t {
  kSource,       // own writes read it
  kDestination,  // peers write to it
  kWindow,       // both
};

enum class WriteResult : std::uint8_t {
  kCopied,  // accepted; it has no completion. The channel leaves slots as they are until the peer has granted them
  kPosted,  // accepted; on_written() or on_data_written() comes when the port no longer reads the source memory
  kHeld,    // queued (data only); one completion covers this write and the next write of data. Until that one comes
            // the port posts nothing else, and every other write of data has a completion
  kAgain,   // not accepted, there is no room in the queue: the caller tries again after poll()
  kFailed,  // not accepted, the link is lost
};

// How sleep() has ended.
enum class SleepEnd : std::uint8_t {
  kWoken,   // something may have come, or the time has passed
  kEvents,  // as kWoken, and poll_events() has to be called next
};

// The largest write that a device may send inline, in bytes: a control word, or a slot with 24 bytes of payload, which
// holds an MPI message of up to 8 bytes. More would need larger entries of the send queue: up to this size an entry
// of rxe takes 256 bytes (docs/decisions/0009-queue-sizes.md).
inline constexpr std::size_t kInlineBytes = 48;

// The most writes of slots that one channel keeps posted. libfabric's tcp provider has no bound of its own; on verbs
// the send queue is shorter, and write() returns kAgain before.
inline constexpr std::uint32_t kWritesInFlightMax = 16;

// The most read requests that one link, and one port, has under way. On verbs each takes a posted receive.
inline constexpr std::uint32_t kReadsPerLinkMax = 8;
inline constexpr std::uint32_t kReadsPerPortMax = 64;

template <class P>
concept Port = requires(P port, typename P::Region region, typename P::Link link, typename P::Request& request,
                        std::span<const std::byte> data, const void* address, void* user, std::size_t bytes,
                        const RdmaWrite<typename P::Region>& write, void* memory, MemoryUse memory_use,
                        std::uint64_t mark, const HostQuestion<typename P::Region>& question, PeerAccess access) {
  { region.data() } -> std::same_as<std::byte*>;
  { region.bytes() } -> std::same_as<std::size_t>;
  { region.remote_address() } -> std::same_as<std::uint64_t>;
  { region.remote_key() } -> std::same_as<std::uint32_t>;
  { port.allocate(bytes, access) } -> std::same_as<typename P::Region>;
  { port.register_memory(memory, bytes, memory_use) } -> std::same_as<typename P::Region>;
  { port.open(address, data, user) } -> std::same_as<typename P::Link>;
  { port.accept(request, data, user) } -> std::same_as<typename P::Link>;
  port.reject(request, data);
  { port.reached(link) } -> std::same_as<bool>;
  { port.ask(link, question) } -> std::same_as<bool>;
  { port.responded(link) } -> std::same_as<bool>;
  { port.settled(link, question) } -> std::same_as<bool>;
  port.give_up(link);
  { port.has_room(RoomFor::kAttempt) } -> std::same_as<bool>;
  { port.write(link, write) } -> std::same_as<WriteResult>;
  { port.completions_mark(link) } -> std::same_as<std::uint64_t>;
  { port.completions_read(link, mark) } -> std::same_as<bool>;
  { port.group(link) } -> std::same_as<std::uint32_t>;
  { port.now_us() } -> std::same_as<std::uint64_t>;
  { port.arrival() } -> std::same_as<Arrival>;
  { port.first_write_may_stall() } -> std::same_as<bool>;
};

}  // namespace bufenlarge
