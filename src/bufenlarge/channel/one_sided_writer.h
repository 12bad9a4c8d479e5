// SPDX-License-Identifier: MIT
// Writes of this side into window memory of the peer (docs/wire-protocol.md, section 11), in the order in which they
// were ordered. Only a message with a fence after them (Channel::send_fenced) tells the peer that they are placed.
//
// Who may call it: Channel, with the orders of the upper layer; Rendezvous, with completions and the loss.
#pragma once

#include <cstdint>
#include <deque>

#include "channel/data_writer.h"
#include "channel/peer_link.h"
#include "channel/user_memory.h"

namespace bufenlarge {

// One write as the upper layer orders it.
struct WriteOrder {
  const std::byte* from = nullptr;
  void* cookie = nullptr;
  std::uint64_t address = 0;  // as the peer described its window
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
};

template <class PortT>
class OneSidedWriter {
 public:
  using Port = PortT;

  OneSidedWriter(PeerLink<Port>& link, DataWriter<Port>& data) : link_(link), data_(data) {}

  // Takes the order; the data stays the caller's until write_done. False, with nothing taken, when the data cannot be
  // registered now. To be called only while the channel is ready.
  [[nodiscard]] bool order(const WriteOrder& order);
  // Posts what can go. True when that was all.
  [[nodiscard]] bool post();
  // The oldest write that has parts in flight has one less.
  void on_written();
  // Tells the upper layer the end of writes that are complete. Never called while one is being ordered.
  void finish();
  // The endpoint is closed: ends all writes with this status.
  void fail(Status status);

  [[nodiscard]] bool all_posted() const { return next_ == writes_.size(); }
  [[nodiscard]] bool to_finish() const { return next_ != 0 && writes_.front().in_flight == 0; }
  [[nodiscard]] bool empty() const { return writes_.empty(); }

 private:
  struct Write {
    WriteOrder order;
    UserMemory<Port> memory;
    std::uint64_t posted = 0;     // bytes
    std::uint32_t in_flight = 0;  // parts of it that are not complete
  };

  [[nodiscard]] bool post_part(Write& write);

  PeerLink<Port>& link_;
  DataWriter<Port>& data_;
  std::deque<Write> writes_;  // oldest first
  std::size_t next_ = 0;      // the first that is not posted as a whole
};

}  // namespace bufenlarge
