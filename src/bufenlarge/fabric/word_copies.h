// SPDX-License-Identifier: MIT
// Copies of words on their way, for devices that cannot send inline (siw through libfabric 1.17 offers 2
// bytes): memory of each endpoint that its next words are copied to, in turn. As the entries of a send
// queue complete in order, a place is free again when as many were used after it as the queue has.
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

// The places of one endpoint.
struct WordCopies {
  [[nodiscard]] std::byte* receive_place(std::size_t index) const { return places + (count + index) * kWordBytes; }

  // The copy to be sent.
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

class WordCopySlab {
 public:
  // Room for `count` copies and, behind them, `receives` words that arrive; always the same numbers.
  // `allocate` gives registered memory of so many bytes. Empty when none could be had.
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
