// SPDX-License-Identifier: MIT
// The own process as a peer: it copies messages and delivers them in a later round, and copies what is read from own
// sources.
//
// Who may call it: Context, and the C interface with a handle of it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "channel/core.h"
#include "channel/rendezvous_reader.h"
#include "channel/send_target.h"
#include "channel/user_memory.h"

namespace bufenlarge {

template <class PortT>
class Loopback : public SendTarget {
 public:
  using Port = PortT;
  using Core = bufenlarge::Core<Port>;

  explicit Loopback(Core& core) : SendTarget{core.upper.user, true}, core_(core) {}

  // Copies all of the vector and returns its bytes.
  std::size_t send(std::span<const iovec> vector, bool more);
  [[nodiscard]] Status advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& source);
  void read(const ReadOrder& order) { reads_.push_back({order, UserMemory<Port>(order.to)}); }

  // Delivers one message part and serves one read at most; returns how many it did.
  unsigned progress();
  [[nodiscard]] bool idle() const { return fragments_.empty() && reads_.empty(); }

 private:
  struct Fragment {
    std::vector<std::byte> bytes;
    std::uint8_t marks;
  };
  struct Read {
    ReadOrder order;
    UserMemory<Port> to;
  };

  void deliver();
  void serve_read();
  void copy(const Read& read, const Source<Port>& source) const;

  Core& core_;
  std::deque<Fragment> fragments_;
  std::deque<Read> reads_;
  bool message_open_ = false;
};

}  // namespace bufenlarge
