// SPDX-License-Identifier: MIT
// Large data of one channel: what this side reads from the peer, and what it responses the peer's read requests
// with (seed 004). Made when the channel first needs it. The rules are in protocol/read_request.h; the reading
// side is in rendezvous_read.h, the responding side in rendezvous_answer.h.
//
// Data goes from user memory to user memory by RDMA writes. Where one of the two could not be registered, or the
// reader asks for it, the response comes through the ring, a slot at a time.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <span>

#include "channel/core.h"
#include "channel/source_table.h"
#include "channel/one_sided_writer.h"
#include "channel/user_memory.h"
#include "protocol/read_request.h"

namespace bufenlarge {

// Data writes one channel keeps posted: few enough to leave room for slots in a verbs send queue, together long enough
// to keep a link busy.
inline constexpr std::size_t kDataWritesMax = 4;

// What one read request takes at most, however large a slot is.
inline constexpr std::uint32_t kRequestBytesMax = 1024;

// Reads that wait are asked for together up to so many bytes.
inline constexpr std::uint32_t kJoinedBytesMax = 512 * 1024;

// One read as the upper layer orders it; or, with 0 bytes, the release of a source.
struct ReadOrder {
  std::span<const iovec> to;  // empty: the fragment callback gets the data
  void* cookie = nullptr;
  std::uint64_t offset = 0;   // within the source
  std::uint64_t bytes = 0;
  std::uint32_t source = 0;   // handle
  bool last = false;          // the response releases the source

  static ReadOrder release(std::uint32_t source) { return {{}, nullptr, 0, 0, source, true}; }
  [[nodiscard]] bool is_release() const { return bytes == 0; }
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
    return reads_.empty() && responses_.empty() && writing_.empty() && writes_.empty();
  }

  // From the peer. False when it is not allowed.
  [[nodiscard]] bool on_request(std::span<const std::byte> payload);
  [[nodiscard]] bool on_fragment(std::span<const std::byte> payload, bool last);
  [[nodiscard]] bool on_read_done(std::uint32_t sequence);
  // The oldest write of data is complete.
  void on_data_written();

 private:
  enum class Way : std::uint8_t { kNotStarted, kWrites, kThroughRing, kHandedUp };
  static constexpr std::uint32_t kOwnWrite = 0;

  struct Read {
    ReadOrder order;
    UserMemory<Port> memory;
    std::optional<ReadPlan> plan;
    Read* with = nullptr;        // the next that was asked for by the same request
    std::uint64_t asked = 0;
    std::uint32_t requests = 0;  // under way
    Way way = Way::kNotStarted;

    [[nodiscard]] bool done() const { return asked == order.bytes && requests == 0; }
  };
  using Reads = std::list<Read>;

  // A write that is not complete: what it reads, an source or kOwnWrite. One that the port holds is not told of, but
  // complete with the next that is.
  struct Writing {
    std::uint32_t name;
    bool told;
  };

  // ---- rendezvous_read.h
  [[nodiscard]] bool start(Read& read);
  [[nodiscard]] std::uint32_t requests_due() const;
  [[nodiscard]] bool ask(typename Reads::iterator at, std::uint32_t& due);
  [[nodiscard]] std::uint32_t request_writes(typename Reads::iterator at, std::uint32_t sequence);
  [[nodiscard]] std::uint32_t request_through_ring(const Read& read, std::uint32_t sequence);
  [[nodiscard]] bool joins(Read& read, const Read& first, const ReadRequestParts& parts, std::size_t capacity);
  [[nodiscard]] bool may_ask(const Read& read, std::uint32_t due) const;
  [[nodiscard]] Read& reaches(Read& first, std::uint64_t& at);
  void end_request(Read& first);
  // ---- rendezvous_answer.h
  [[nodiscard]] bool post_writes();
  void release(std::uint32_t source);
  void drop_if_done(std::uint32_t source);
  void forget_responses();
  [[nodiscard]] bool advertised(const ReadRequestParts& parts) const;
  [[nodiscard]] bool pin_sources(ReadResponse& response);
  [[nodiscard]] bool give_back_sources(ReadResponse& response);
  [[nodiscard]] bool response(ReadResponse& response);
  [[nodiscard]] bool write_next(ReadResponse& response);
  [[nodiscard]] bool stage_fragment(ReadResponse& response);
  [[nodiscard]] bool writes_full() const { return held_bytes_ == 0 && writes_posted_ == kDataWritesMax; }
  // Small ranges that follow each other; larger ones are writes of their own.
  [[nodiscard]] bool may_hold(std::uint32_t bytes) const { return held_bytes_ + bytes <= kDataWriteBytesMax / 2; }
  void wrote(std::uint32_t name, WriteResult result, std::uint32_t bytes);

  ChannelT& channel_;
  Reads reads_;                        // in order of asking; the oldest not asked in full comes next
  std::deque<ReadResponse> responses_;     // oldest first
  OneSidedWriter<ChannelT> writes_;
  std::deque<Writing> writing_;        // oldest first
  std::size_t writes_posted_ = 0;      // of writing_, those that are told of
  std::uint32_t held_bytes_ = 0;       // by the port
  bool asks_ = false;                  // something of reads_ has to be asked for
  std::uint32_t under_way_ = 0;        // requests of reads_
};

}  // namespace bufenlarge
