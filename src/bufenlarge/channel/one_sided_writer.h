// SPDX-License-Identifier: MIT
// What this side writes into memory that the peer shares, without asking (docs/wire-protocol.md, section 11). Posted in the
// order in which it was ordered; nothing of it is told to the peer but by a message sent after it
// (Channel::send_fenced).
#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "channel/core.h"
#include "channel/port.h"
#include "channel/user_memory.h"

namespace bufenlarge {

// One write as the upper layer orders it.
struct WriteOrder {
  const std::byte* from = nullptr;
  void* cookie = nullptr;
  std::uint64_t address = 0;  // as the peer named it
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
};

template <class ChannelT>
class OneSidedWriter {
 public:
  using Port = typename ChannelT::Port;

  explicit OneSidedWriter(ChannelT& channel) : channel_(channel) {}

  // False, and nothing taken, when the source cannot be registered now.
  [[nodiscard]] bool order(const WriteOrder& order) {
    auto& core = channel_.core();
    const iovec whole{const_cast<std::byte*>(order.from), static_cast<std::size_t>(order.bytes)};
    Write write{order, UserMemory<Port>(std::span(&whole, 1))};
    if (write.memory.register_all(core.port, MemoryUse::kSource, core.source_registrations) != RegisterResult::kDone) return false;
    writes_.push_back(std::move(write));
    return true;
  }

  // The next part to be posted. Not when all_posted().
  struct Part {
    const typename Port::Region& region;
    const std::byte* from;
    std::uint64_t address;
    std::uint32_t key;
    std::uint32_t bytes;
  };
  [[nodiscard]] Part next() const {
    const Write& write = writes_[next_];
    const auto place = write.memory.find(write.posted);
    return {*place.region, place.at, write.order.address + write.posted, write.order.key,
            data_write_bytes(place.bytes)};
  }
  void posted(std::uint32_t bytes, bool completes) {
    Write& write = writes_[next_];
    write.posted += bytes;
    write.in_flight += completes;
    if (write.posted == write.order.bytes) ++next_;
    channel_.core().rendezvous.written_bytes += bytes;
  }
  // The oldest part that completes is complete.
  void on_written() {
    const auto first = std::ranges::find_if(writes_, [](const Write& one) { return one.in_flight != 0; });
    --first->in_flight;
  }

  // Tells the ends of those that are over. Never while one is being ordered.
  void finish() {
    auto& core = channel_.core();
    while (next_ != 0 && writes_.front().in_flight == 0) {
      void* cookie = writes_.front().order.cookie;
      writes_.pop_front();  // its registration too
      --next_;
      ++core.rendezvous.writes;
      core.upper.write_done(core.upper.user, channel_.peer(), cookie, Status::kOk);
    }
  }
  // The link is closed.
  void lost(Status status) {
    auto& core = channel_.core();
    std::deque<Write> writes = std::exchange(writes_, {});
    next_ = 0;
    for (Write& write : writes) {
      write.memory.unregister();
      core.upper.write_done(core.upper.user, channel_.peer(), write.order.cookie, status);
    }
  }

  [[nodiscard]] bool all_posted() const { return next_ == writes_.size(); }
  // Whether something is left to be posted after the next part.
  [[nodiscard]] bool more_follows(const Part& next) const {
    return next_ + 1 < writes_.size() || writes_[next_].posted + next.bytes != writes_[next_].order.bytes;
  }
  [[nodiscard]] bool over() const { return next_ != 0 && writes_.front().in_flight == 0; }
  [[nodiscard]] bool empty() const { return writes_.empty(); }

 private:
  struct Write {
    WriteOrder order;
    UserMemory<Port> memory;
    std::uint64_t posted = 0;     // bytes
    std::uint32_t in_flight = 0;  // parts of it that are not complete
  };

  ChannelT& channel_;
  std::deque<Write> writes_;  // oldest first
  std::size_t next_ = 0;      // the first that is not posted as a whole
};

}  // namespace bufenlarge
