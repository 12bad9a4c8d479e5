// SPDX-License-Identifier: MIT
// What one side of a connection may write into the other: known from the Hello and the
// acknowledgements that crossed the wire, never from what the channel under test believes.
//
//   announce()   the peer's Hello: its first ring and its inbox
//   promise()    the peer has written an acknowledgement of a new ring: it may be on its way
//   landed()     it lies whole in this side's inbox: from now on, and not before, the ring may be used
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "channel/port.h"
#include "protocol/read_request.h"
#include "protocol/ring_consumer.h"
#include "protocol/wire.h"

namespace bufenlarge::sim {

enum class WriteKind : std::uint8_t { kSlots, kGrant, kRepeat, kHot, kHint, kAck, kData, kUnknown };

class SimRules {
 public:
  void announce(const Hello& hello);
  // The rules of the other side.
  void pair(SimRules& peer) { peer_ = &peer; }
  void promise(const EnlargeAck& ack);
  void landed(const EnlargeAck& ack);

  [[nodiscard]] WriteKind kind_of(std::uint32_t key, std::uint64_t address, std::size_t bytes) const;

  // Looks at a write of slots, with a notification behind it or not, when it is posted. "" or the rule it
  // breaks. `asked` is how the reader learns of slots; `hot`: it looks at its ring, as the writer may know; `reader`
  // may be nullptr; with `may_notify` small slots may be notified for, too.
  [[nodiscard]] std::string check_slots(std::uint32_t key, std::uint64_t address,
                                        std::span<const std::byte> data, bool notified,
                                        Arrival asked, bool hot, const RingConsumer* reader, bool may_notify);

  // The same of a write of data: it goes on with the response to the oldest open request, at the next of its bytes;
  // only fragments may wait meanwhile.
  [[nodiscard]] std::string check_data(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                       std::uint32_t sequence);
  // Some open request asks for these bytes there, next.
  [[nodiscard]] bool expects_data(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;
  // The peer has sent these requests.
  void asked(std::span<const ReadRequestParts> requests);
  // Those in the last write of slots.
  [[nodiscard]] const std::vector<ReadRequestParts>& requests() const { return requests_; }
  [[nodiscard]] std::uint32_t fragments() const { return fragments_; }

  // ---- closing (sim_rules_close.cc)
  // The peer has sent a slot about closing.
  void on_close_of(SimRules& peer);
  // Something of the slots up to this position is placed at the peer.
  void on_placed(std::uint64_t next) { placed_ = std::max(placed_, next); }
  // This side has agreed to the end, and nothing of the peer after its request is there: it may write nothing.
  [[nodiscard]] bool holds(const SimRules& peer) const;
  // The peer has agreed, and nothing was written after the request.
  [[nodiscard]] bool may_close(const SimRules& peer) const;

  // Positions of the last write check_slots() let pass.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // Number of the request whose ring is in use; 0: the first ring.
  [[nodiscard]] std::uint32_t used_ack() const { return used_ack_; }
  [[nodiscard]] std::uint64_t epoch() const { return ring_.epoch; }
  [[nodiscard]] std::uint64_t inbox_address() const { return inbox_address_; }
  [[nodiscard]] std::uint32_t inbox_key() const { return inbox_key_; }

 private:
  struct Ring {
    std::uint64_t address = 0;
    std::uint64_t base = 0;
    std::uint32_t key = 0;
    std::uint32_t stride = 0;
    std::uint32_t slots = 0;
    std::uint16_t epoch = 0;
  };
  struct Promise {
    EnlargeAck ack;
    bool landed;
  };

  [[nodiscard]] std::string check_slot(const std::byte* end, std::uint64_t index, bool marked,
                                       const RingConsumer* reader);

  struct Response {
    ReadRequestParts request;
    std::uint64_t done = 0;
    std::size_t segment = 0;       // of the destinations
    std::uint32_t in_segment = 0;  // bytes
    bool fragments = false;        // it began with fragments

    // A write of data may go on with it.
    [[nodiscard]] bool goes_on(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;
  };

  [[nodiscard]] std::string check_read_slot(const SlotTrailer& trailer, const std::byte* end);
  [[nodiscard]] std::string check_close_slot(const SlotTrailer& trailer, const std::byte* end);
  [[nodiscard]] std::string check_fragment(std::span<const std::byte> payload, bool last);

  Ring ring_;
  std::deque<Response> responses_;             // due to the peer, oldest first
  std::vector<ReadRequestParts> requests_; // in the last write
  std::uint32_t fragments_ = 0;               // in the last write
  std::optional<Promise> promised_;
  std::uint64_t inbox_address_ = 0;
  std::uint64_t hint_address_ = 0;  // 0: the peer wants none
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t inbox_key_ = 0;
  std::uint32_t used_ack_ = 0;
  SimRules* peer_ = nullptr;
  CloseMessage close_{};           // of the last slot
  std::uint64_t placed_ = 0;       // something of the slots up to this position is at the peer
  std::uint64_t request_end_ = 0;  // position after the last request to close
  std::uint64_t agreed_end_ = 0;   // position after the peer's request that was agreed to last
  std::uint32_t request_ = 0;      // its number
  std::uint32_t to_answer_ = 0;    // number of the peer's request that waits for an answer
  std::uint32_t agreed_ = 0;       // number of the peer's request that was agreed to last
  bool request_open_ = false;      // it has no answer
  bool asked_ = false;          // the request went into this ring: nothing may follow
};

}  // namespace bufenlarge::sim
