// SPDX-License-Identifier: MIT
// The read requests of one context that are under way, by sequence. Their number is bounded, because the response to
// each needs a posted receive on verbs, which all connections may share.
#pragma once

#include <array>
#include <cstdint>

#include "channel/port.h"

namespace bufenlarge {

// `Reader` sends requests; `Read` is what it keeps of one read.
template <class Reader, class Read>
class ReadTable {
 public:
  // One request: a part of one read, or several whole reads, of which `read` is the first.
  struct Entry {
    Reader* reader = nullptr;  // nullptr: the entry is free
    Read* read = nullptr;
    std::uint64_t offset = 0;  // within `read`
    std::uint32_t bytes = 0;
    std::uint32_t arrived = 0;  // of these, in fragments
    std::uint32_t uses = 0;
  };

  // 1 to kReadsPerPortMax, which is the default.
  void set_most(std::uint32_t most) { most_ = most; }
  [[nodiscard]] bool full() const { return count_ >= most_; }

  // Adds a request of `read` from `offset` on and returns its sequence, never 0. To be called only while not full().
  [[nodiscard]] std::uint32_t add(Reader* reader, Read* read, std::uint64_t offset) {
    while (entries_[next_].reader != nullptr) next_ = (next_ + 1) % kReadsPerPortMax;
    Entry& entry = entries_[next_];
    ++count_;
    entry = {reader, read, offset, 0, 0, entry.uses % kUsesMax + 1};
    return entry.uses * kReadsPerPortMax + next_;
  }

  // Returns nullptr when no such request is under way.
  [[nodiscard]] Entry* find(std::uint32_t sequence) {
    Entry& entry = entries_[sequence % kReadsPerPortMax];
    return entry.reader != nullptr && entry.uses == sequence / kReadsPerPortMax ? &entry : nullptr;
  }

  void remove(Entry& entry) {
    entry.reader = nullptr;
    --count_;
  }
  void remove_all(const Reader* reader) {
    for (Entry& entry : entries_)
      if (entry.reader == reader) remove(entry);
  }

 private:
  static constexpr std::uint32_t kUsesMax = ~std::uint32_t{0} / kReadsPerPortMax - 1;

  std::array<Entry, kReadsPerPortMax> entries_;
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t most_ = kReadsPerPortMax;
};

}  // namespace bufenlarge
