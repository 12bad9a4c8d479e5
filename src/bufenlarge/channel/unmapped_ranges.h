// SPDX-License-Identifier: MIT
// The ranges of addresses whose mapping changes, in order: any thread records them, also from within munmap(2), and any
// number of readers look at them later, each from where it looked last.
//
// record() allocates nothing, waits for nobody and takes no lock, so a signal handler may call it, too. The last
// kCapacity ranges are kept. A reader that is further behind than that, or meets a range that is just being written,
// is told that everything may have changed; it is never told less than was recorded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bufenlarge {

struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = ~std::uintptr_t{0};  // the first address behind it

  [[nodiscard]] static constexpr AddressRange all() { return {}; }
  [[nodiscard]] constexpr bool overlaps(const AddressRange& other) const {
    return begin < other.end && other.begin < end;
  }
  [[nodiscard]] constexpr bool contains(const AddressRange& other) const {
    return begin <= other.begin && other.end <= end;
  }
};

class UnmappedRanges {
 public:
  static constexpr std::size_t kCapacity = 256;

  // To be called before the mapping changes: whoever has seen the change finds the range recorded.
  void record(AddressRange range) {
    const std::uint64_t number = recorded_.fetch_add(1, std::memory_order_seq_cst) + 1;
    Entry& entry = entries_[number % kCapacity];
    std::uint64_t before = entry.number.load(std::memory_order_relaxed);
    // Another thread is at this entry, or was with a later range: readers will not find this number there.
    if (before == kWriting || before > number) return;
    if (!entry.number.compare_exchange_strong(before, kWriting, std::memory_order_acq_rel)) return;
    entry.begin.store(range.begin, std::memory_order_release);
    entry.end.store(range.end, std::memory_order_release);
    entry.number.store(number, std::memory_order_release);
  }

  // How many were recorded so far.
  [[nodiscard]] std::uint64_t recorded() const { return recorded_.load(std::memory_order_acquire); }

  // Calls visit(range) for each range recorded after the first `seen`, or once for all addresses. Returns what is seen
  // now.
  template <class Visit>
  std::uint64_t look(std::uint64_t seen, Visit visit) const {
    const std::uint64_t now = recorded();
    if (now - seen > kCapacity) {
      visit(AddressRange::all());
      return now;
    }
    for (std::uint64_t number = seen + 1; number <= now; ++number) {
      AddressRange range;
      if (!read(number, range)) {
        visit(AddressRange::all());
        return now;
      }
      visit(range);
    }
    return now;
  }

 private:
  static constexpr std::uint64_t kWriting = ~std::uint64_t{0};

  struct Entry {
    std::atomic<std::uint64_t> number = 0;  // of the range that is whole here; 0: none, kWriting: none now
    std::atomic<std::uintptr_t> begin = 0;
    std::atomic<std::uintptr_t> end = 0;
  };

  // False when the range is not there, or not whole. The loads are ordered: who reads a bound that a later writer has
  // stored reads its kWriting, or more, in the end.
  [[nodiscard]] bool read(std::uint64_t number, AddressRange& range) const {
    const Entry& entry = entries_[number % kCapacity];
    if (entry.number.load(std::memory_order_acquire) != number) return false;
    range.begin = entry.begin.load(std::memory_order_acquire);
    range.end = entry.end.load(std::memory_order_acquire);
    return entry.number.load(std::memory_order_relaxed) == number;
  }

  std::array<Entry, kCapacity> entries_{};
  std::atomic<std::uint64_t> recorded_ = 0;
};

}  // namespace bufenlarge
