// SPDX-License-Identifier: MIT
// What is registered of the user's memory, of one side, sources or destinations, of all channels.
//
// It is pinned on verbs, so it is bounded. The two sides have bounds of their own: sources wait for nobody but the own
// device, so they always come free, and with them the peers' destinations.
//
// Transfers of the same range that are under way at once share one registration: a buffer that is sent to several
// peers, or in a window. It ends with the last of them, so it is as right as one for each: memory that a transfer is
// still to read or write cannot have been given back (docs/decisions/0011-user-memory.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "channel/port.h"

namespace bufenlarge {

template <class Port>
class UserRegistrations {
 public:
  using Region = typename Port::Region;
  struct Registration {
    Region region;
    std::uint32_t holders = 0;
  };
  using Handle = typename std::map<std::pair<std::byte*, std::size_t>, Registration>::iterator;

  explicit UserRegistrations(std::uint64_t bytes_max = 256u << 20) : bytes_max_(bytes_max) {}
  UserRegistrations(const UserRegistrations&) = delete;
  UserRegistrations& operator=(const UserRegistrations&) = delete;

  void set_bytes_max(std::uint64_t bytes) { bytes_max_ = bytes; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool beyond(std::uint64_t more) const { return more > bytes_max_ || bytes_ > bytes_max_ - more; }
  // Whether so much more is to wait until some of it is given back.
  [[nodiscard]] bool full(std::uint64_t more) const { return more != 0 && bytes_ != 0 && beyond(more); }
  [[nodiscard]] bool holds(std::byte* begin, std::size_t bytes) const { return live_.contains({begin, bytes}); }

  // Nothing when the device refuses it. All of one object have the same use.
  [[nodiscard]] std::optional<Handle> hold(Port& port, std::byte* begin, std::size_t bytes, MemoryUse use) {
    auto at = live_.find({begin, bytes});
    if (at == live_.end()) {
      Region region = port.register_memory(begin, bytes, use);
      if (region.bytes() == 0) return std::nullopt;
      at = live_.emplace(std::pair(begin, bytes), Registration{std::move(region)}).first;
      bytes_ += bytes;
    }
    ++at->second.holders;
    return at;
  }
  void release(Handle at) {
    if (--at->second.holders != 0) return;
    bytes_ -= at->first.second;
    live_.erase(at);
  }

 private:
  std::map<std::pair<std::byte*, std::size_t>, Registration> live_;  // by begin and bytes
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_max_;
};

}  // namespace bufenlarge
