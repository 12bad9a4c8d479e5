// SPDX-License-Identifier: MIT
// Copies of control words for devices that cannot send inline (siw offers 2 bytes through libfabric 1.17). Each
// endpoint has places that it copies its words to, in turn. The entries of a send queue complete in order, so a
// place is free again after as many words as the queue has entries.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/memory_region.h"
#include "protocol/wire.h"

namespace bufenlarge {

inline constexpr std::size_t kWordBytes = sizeof(GrantWord);
static_assert(sizeof(RepeatWord) == kWordBytes);

// The places of one endpoint: `count` for copies, then those for received words.
struct WordCopies {
  // Returns the place of the receive with this index.
  [[nodiscard]] std::byte* receive_place(std::size_t index) const { return places + (count + index) * kWordBytes; }

  // Copies the word to the next place and returns that place.
  std::byte* copy(const std::byte* word) {
    std::byte* place = places + next * kWordBytes;
    next = next + 1 == count ? 0 : next + 1;
    std::memcpy(place, word, kWordBytes);
    return place;
  }

  const MemoryRegion* region = nullptr;
  std::byte* places = nullptr;
  std::size_t count = 0;
  std::size_t next = 0;
};

// Registers memory for the places of many endpoints at once.
class WordCopySlab {
 public:
  // Returns places for `count` copies and, behind them, `receives` received words; every call has the same two
  // numbers. `allocate` returns registered memory of the given size. The result is empty if there is none.
  template <class Allocate>
  WordCopies take(std::size_t count, std::size_t receives, Allocate allocate) {
    if (free_.empty() && !grow((count + receives) * kWordBytes, allocate)) return {};
    WordCopies taken{free_.back().region, free_.back().places, count, 0};
    free_.pop_back();
    return taken;
  }
  void give_back(const WordCopies& copies) {
    if (copies.places != nullptr) free_.push_back({copies.region, copies.places});
  }

 private:
  struct Places {
    const MemoryRegion* region;
    std::byte* places;
  };

  template <class Allocate>
  bool grow(std::size_t each, Allocate allocate) {
    auto region = std::make_unique<MemoryRegion>(allocate(each));
    if (region->bytes() == 0) return false;
    for (std::size_t at = 0; at + each <= region->bytes(); at += each)
      free_.push_back({region.get(), region->data() + at});
    regions_.push_back(std::move(region));
    return true;
  }

  std::vector<std::unique_ptr<MemoryRegion>> regions_;
  std::vector<Places> free_;
};

}  // namespace bufenlarge
