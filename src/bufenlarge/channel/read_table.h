// SPDX-License-Identifier: MIT
// The read requests of one context that are under way, by sequence. Their number is bounded, since the response
// to each takes a posted receive on verbs, which may be one shared by all connections.
#pragma once

#include <array>
#include <cstdint>

#include "channel/port.h"

namespace bufenlarge {

template <class Owner>
class ReadTable {
 public:
  struct Entry {
    Owner* owner = nullptr;      // nullptr: free
    void* read = nullptr;        // the owner's
    std::uint64_t offset = 0;    // within the read
    std::uint32_t bytes = 0;
    std::uint32_t arrived = 0;   // in fragments
    std::uint32_t uses = 0;
  };

  [[nodiscard]] bool full() const { return count_ == kReadsPerPortMax; }

  // The sequence, never 0. Not when full().
  [[nodiscard]] std::uint32_t add(Owner* owner, void* read) {
    while (entries_[next_].owner != nullptr) next_ = (next_ + 1) % kReadsPerPortMax;
    Entry& entry = entries_[next_];
    ++count_;
    entry = {owner, read, 0, 0, 0, entry.uses % kUsesMax + 1};
    return entry.uses * kReadsPerPortMax + next_;
  }

  // nullptr when no such request is under way.
  [[nodiscard]] Entry* find(std::uint32_t sequence) {
    Entry& entry = entries_[sequence % kReadsPerPortMax];
    return entry.owner != nullptr && entry.uses == sequence / kReadsPerPortMax ? &entry : nullptr;
  }

  void remove(Entry& entry) {
    entry.owner = nullptr;
    --count_;
  }
  void remove_all(const Owner* owner) {
    for (Entry& entry : entries_)
      if (entry.owner == owner) remove(entry);
  }

 private:
  static constexpr std::uint32_t kUsesMax = ~std::uint32_t{0} / kReadsPerPortMax - 1;

  std::array<Entry, kReadsPerPortMax> entries_;
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace bufenlarge
