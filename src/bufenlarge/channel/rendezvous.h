// SPDX-License-Identifier: MIT
// Large data of one channel: what this side reads from the peer, and what it answers the peer's read requests
// with (seed 004). Made when the channel first needs it. The rules are in protocol/read_request.h; the reading
// side is in rendezvous_read.h, the answering side in rendezvous_answer.h.
//
// Data goes from user memory to user memory by RDMA writes. Where one of the two could not be registered, or the
// reader asks for it, the answer comes through the ring, a slot at a time.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <span>

#include "channel/core.h"
#include "channel/exposures.h"
#include "channel/remote_writes.h"
#include "channel/user_memory.h"
#include "protocol/read_request.h"

namespace bufenlarge {

// Data writes one channel keeps posted: few enough to leave room for slots in a verbs send queue, together long enough
// to keep a link busy.
inline constexpr std::size_t kDataWritesMax = 4;

// What one read request takes at most, however large a slot is.
inline constexpr std::uint32_t kRequestBytesMax = 1024;

// One read as the upper layer orders it.
struct ReadOrder {
  std::span<const iovec> to;  // empty: handed up in pieces
  void* cookie = nullptr;
  std::uint64_t offset = 0;   // within what is exposed
  std::uint64_t bytes = 0;    // 0: nothing is read, what is exposed is released
  std::uint32_t exposure = 0;
  bool last = false;          // what is exposed is released with it
};

template <class ChannelT>
class Rendezvous {
 public:
  using Port = typename ChannelT::Port;

  explicit Rendezvous(ChannelT& channel) : channel_(channel), writes_(channel) {}

  // The segments of `to` stay the caller's until read_done.
  void read(const ReadOrder& order);

  // Without asking the peer; the source stays the caller's until `written`. False when it cannot be registered now.
  [[nodiscard]] bool write(const WriteOrder& order);
  [[nodiscard]] bool all_written() const { return writes_.all_posted(); }

  // Sends what is due; true while something of it has to be tried again.
  [[nodiscard]] bool service();
  // Ends everything with this status; the link is closed.
  void lost(Status status);
  [[nodiscard]] bool idle() const { 
    return reads_.empty() && answers_.empty() && writing_.empty() && writes_.empty();
  }

  // From the peer. False when it is not allowed.
  [[nodiscard]] bool on_request(std::span<const std::byte> payload);
  [[nodiscard]] bool on_piece(std::span<const std::byte> payload, bool last);
  [[nodiscard]] bool on_read_done(std::uint32_t sequence);
  // The oldest write of data is complete.
  void on_data_written();

 private:
  enum class Way : std::uint8_t { kNotStarted, kWrites, kPieces, kHandedUp };

  struct Read {
    ReadOrder order;
    UserMemory<Port> memory;
    std::optional<ReadPlan> plan;
    std::uint64_t asked = 0;
    std::uint32_t requests = 0;  // under way
    Way way = Way::kNotStarted;

    [[nodiscard]] bool done() const { return asked == order.bytes && requests == 0; }
  };

  // ---- rendezvous_read.h
  [[nodiscard]] bool start(Read& read);
  [[nodiscard]] std::uint32_t requests_due() const;
  [[nodiscard]] bool ask(Read& read, std::uint32_t& due);
  [[nodiscard]] bool may_ask(const Read& read, std::uint32_t due) const;
  void end_request(Read& read);
  // ---- rendezvous_answer.h
  [[nodiscard]] bool post_writes();
  void release(std::uint32_t exposure);
  void drop_if_done(std::uint32_t exposure);
  void forget_answers();
  [[nodiscard]] bool exposed(const ReadRequestParts& parts) const;
  [[nodiscard]] bool pin_sources(ReadAnswer& answer);
  [[nodiscard]] bool answer(ReadAnswer& answer);
  [[nodiscard]] bool write_next(ReadAnswer& answer);
  [[nodiscard]] bool stage_piece(ReadAnswer& answer);

  ChannelT& channel_;
  std::list<Read> reads_;              // in order of asking; the oldest not asked in full comes next
  std::deque<ReadAnswer> answers_;     // oldest first
  RemoteWrites<ChannelT> writes_;
  // Whose data the posted writes read, oldest first: an exposure, or kOwnWrite.
  std::deque<std::uint32_t> writing_;
  static constexpr std::uint32_t kOwnWrite = 0;
  bool asks_ = false;                  // something of reads_ has to be asked for
  std::uint32_t under_way_ = 0;        // requests of reads_
};

}  // namespace bufenlarge
