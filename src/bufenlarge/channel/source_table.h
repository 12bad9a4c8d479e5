// SPDX-License-Identifier: MIT
// What this process lets one peer, or all of them, read, by the name the peer uses. A name is an index and a count of the
// index's uses, so that a late or made-up one is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "channel/user_memory.h"

namespace bufenlarge {

inline constexpr std::uint32_t kAnyPeer = ~std::uint32_t{0};

template <class Port>
struct Source {
  UserMemory<Port> memory;     // registered when it is first asked for
  void* cookie = nullptr;      // the upper layer's
  std::uint32_t peer = 0;      // who may read it; kAnyPeer: all, and none of them releases it
  std::uint32_t responses = 0;   // requests not answered to their end
  std::uint32_t writes = 0;    // posted and not complete
  bool released = false;       // the peer needs it no more
  bool through_ring = false;      // it could not be registered

  [[nodiscard]] bool done() const { return released && responses == 0 && writes == 0; }
};

// Memory that all peers may read, and write where they can tell of it, as they are told of it.
struct Window {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t source = 0;  // handle, for reads
  bool writable = false;
};

template <class Port>
class SourceTable {
 public:
  // Memory that `peer` may read, not registered yet. Returns as add() does.
  [[nodiscard]] std::uint32_t add(std::span<const iovec> segments, void* cookie, std::uint32_t peer) {
    Source<Port> source;
    source.memory = UserMemory<Port>(segments);
    source.cookie = cookie;
    source.peer = peer;
    return add(std::move(source));
  }

  // The name, never 0; 0 when there are too many.
  [[nodiscard]] std::uint32_t add(Source<Port> source) {
    if (free_.empty()) {
      if (entries_.size() > kIndexMask) return 0;
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Entry& entry = entries_[index];
    entry.source = std::move(source);
    entry.used = true;
    entry.uses = entry.uses % kUsesMax + 1;
    return entry.uses << kIndexBits | index;
  }

  // nullptr when there is none of that name for `peer`.
  [[nodiscard]] Source<Port>* find(std::uint32_t name, std::uint32_t peer) {
    const std::uint32_t index = name & kIndexMask;
    if (index >= entries_.size()) return nullptr;
    Entry& entry = entries_[index];
    const bool theirs = entry.source.peer == peer || entry.source.peer == kAnyPeer;
    return entry.used && entry.uses == name >> kIndexBits && theirs ? &entry.source : nullptr;
  }

  void remove(std::uint32_t name) {
    Entry& entry = entries_[name & kIndexMask];
    entry.source = Source<Port>();
    entry.used = false;
    free_.push_back(name & kIndexMask);
  }

  // The names of what `peer` may read.
  [[nodiscard]] std::vector<std::uint32_t> of_peer(std::uint32_t peer) const {
    std::vector<std::uint32_t> names;
    for (std::size_t index = 0; index < entries_.size(); ++index)
      if (entries_[index].used && entries_[index].source.peer == peer)
        names.push_back(entries_[index].uses << kIndexBits | static_cast<std::uint32_t>(index));
    return names;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr std::uint32_t kUsesMax = (1u << (32 - kIndexBits)) - 1;

  struct Entry {
    Source<Port> source;
    std::uint32_t uses = 0;
    bool used = false;
  };

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace bufenlarge
