// SPDX-License-Identifier: MIT
// The reading side of the rendezvous: what this side reads from the peer's sources (docs/wire-protocol.md, section 10).
// The rules are in protocol/read_request.h.
//
// Who may call it: Channel, with the orders of the upper layer and the fragments that arrive; Context, with the end of
// a request; Rendezvous, each round and at the loss.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <list>
#include <optional>
#include <span>

#include "channel/peer_link.h"
#include "channel/read_table.h"
#include "channel/send_ring.h"
#include "channel/user_memory.h"
#include "protocol/read_request.h"

namespace bufenlarge {

// The longest read request, however large a slot is.
inline constexpr std::uint32_t kRequestBytesMax = 1024;

// Reads that wait share one request up to so many bytes.
inline constexpr std::uint32_t kJoinedBytesMax = 512 * 1024;

// One read as the upper layer orders it; or, with 0 bytes, the release of a source.
struct ReadOrder {
  std::span<const iovec> to;  // empty: the fragment callback gets the data
  void* cookie = nullptr;
  std::uint64_t offset = 0;  // within the source
  std::uint64_t bytes = 0;
  std::uint32_t source = 0;  // handle
  bool last = false;         // the response releases the source
  bool persistent = false;   // for a persistent request

  static ReadOrder release(std::uint32_t source) { return {{}, nullptr, 0, 0, source, true}; }
  [[nodiscard]] bool is_release() const { return bytes == 0; }
};

// One read that is not ended.
template <class PortT>
struct PendingRead {
  enum class DataPath : std::uint8_t {
    kUndecided,
    kDirect,       // writes into the destination
    kThroughRing,  // fragments, copied into the destination
    kHandedUp,     // fragments, for the upper layer
  };

  ReadOrder order;
  UserMemory<PortT> memory;
  std::optional<ReadPlan> plan;   // with kDirect
  PendingRead* joined = nullptr;  // the next read that the same request asks for
  std::uint64_t asked = 0;        // bytes
  std::uint32_t requests = 0;     // under way
  DataPath path = DataPath::kUndecided;

  [[nodiscard]] bool done() const { return asked == order.bytes && requests == 0; }
};

template <class PortT>
class RendezvousReader {
 public:
  using Port = PortT;
  using Read = PendingRead<Port>;
  using Request = typename ReadTable<RendezvousReader, Read>::Entry;

  RendezvousReader(PeerLink<Port>& link, SendRing<Port>& send_ring) : link_(link), send_ring_(send_ring) {}

  // The segments of `to` stay the caller's until read_done.
  void order(const ReadOrder& order);
  // Sends the requests that are due.
  void service();
  // Something is to be asked for later: it had to wait, or was ordered since service().
  [[nodiscard]] bool asks() const { return asks_; }
  // The endpoint is closed: takes all reads out of this object, for end().
  [[nodiscard]] std::list<Read> take_all();
  // Ends these reads with this status.
  void end(std::list<Read>& reads, Status status);

  // From the peer; both fail the channel when the peer may not do that.
  void on_read_done(Request& request);
  void on_fragment(std::span<const std::byte> payload, bool last);

  [[nodiscard]] std::uint32_t peer() const { return link_.peer(); }
  [[nodiscard]] bool empty() const { return reads_.empty(); }

 private:
  using DataPath = typename Read::DataPath;
  using Reads = std::list<Read>;

  [[nodiscard]] bool choose_path(Read& read);
  [[nodiscard]] std::uint32_t requests_due() const;
  [[nodiscard]] bool may_ask(const Read& read, std::uint32_t due) const;
  [[nodiscard]] bool ask(typename Reads::iterator at, std::uint32_t& due);
  void ask_release(const Read& read);
  [[nodiscard]] std::uint32_t request_writes(typename Reads::iterator at, std::uint32_t sequence);
  [[nodiscard]] std::uint32_t request_through_ring(const Read& read, std::uint32_t sequence);
  [[nodiscard]] bool joins(Read& read, const Read& first, const ReadRequestParts& parts, std::size_t capacity);
  [[nodiscard]] bool take_fragment(Request& request, std::span<const std::byte> data, bool last);
  [[nodiscard]] static Read& read_at(Read& first, std::uint64_t& at);
  void end_request(Read& first);
  void protocol_error();

  PeerLink<Port>& link_;
  SendRing<Port>& send_ring_;
  Reads reads_;                  // in the order of asking; the oldest that is not asked for in full comes next
  RegistrationLine::Turn turn_;  // of the first that is not asked for in full
  std::uint32_t under_way_ = 0;  // requests
  bool asks_ = false;
};

}  // namespace bufenlarge
