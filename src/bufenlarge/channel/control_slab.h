// SPDX-License-Identifier: MIT
// Control blocks of all channels, taken from a few regions: a region of its own for each block of 256 bytes would pin a
// page.
//
// Where a device tells of arrivals by memory alone (Arrival::kChecked), the first block of a region is its hint table:
// byte n belongs to block n, and that block's peer writes 1 to it behind the slots it writes (docs/wire-protocol.md,
// section 2.3). Then a look at eight channels is one load. Such regions double in size, so that thousands of channels
// have their bytes in a few places; where so much memory is refused, the next one is a page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "channel/ledger.h"
#include "channel/port.h"
#include "protocol/wire.h"

namespace bufenlarge {

template <class Port>
class ControlSlab {
 public:
  using Region = typename Port::Region;
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kBlocksPerPage = kPageBytes / sizeof(ControlBlock);
  // A table is one block, which has a byte for this many.
  static constexpr std::size_t kTableBlocksMax = sizeof(ControlBlock);
  // One call of read_hints() looks at the bytes of eight times as many channels.
  static constexpr std::size_t kHintWordsPerCall = 16;
  static_assert(kBlocksPerPage % (2 * sizeof(std::uint64_t)) == 0);

  struct Page;
  struct Handle {
    ControlBlock* block = nullptr;
    Page* page = nullptr;

    [[nodiscard]] const Region& region() const { return page->region; }
    [[nodiscard]] std::uint64_t inbox_address() const {
      return region().remote_address() + number() * sizeof(ControlBlock) + offsetof(ControlBlock, inbox);
    }
    // Of the block in its region.
    [[nodiscard]] std::size_t number() const { return static_cast<std::size_t>(block - page->blocks()); }
    // What the peer is told: 0 where the region has no hint table.
    [[nodiscard]] std::uint8_t hint() const {
      return page->owners.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(number());
    }
  };
  struct Page {
    [[nodiscard]] ControlBlock* blocks() const { return reinterpret_cast<ControlBlock*>(region.data()); }
    [[nodiscard]] std::uint64_t* hint_words() const { return reinterpret_cast<std::uint64_t*>(region.data()); }

    Ledger::Entry entry;
    Region region;
    std::vector<void*> owners = {};  // by block; empty where there is no hint table
  };

  ControlSlab(Port& port, Ledger& ledger) : port_(port), ledger_(ledger) {}

  // Returns a zeroed block; block == nullptr when no memory could be registered. read_hints() calls with `owner`.
  Handle take(void* owner) {
    if (free_.empty() && !grow()) return {};
    Handle handle = free_.back();
    free_.pop_back();
    std::memset(handle.block, 0, sizeof *handle.block);
    set_owner(handle, owner);
    return handle;
  }
  // Whether take() needs no memory.
  [[nodiscard]] bool has_free() const { return !free_.empty(); }
  void give_back(Handle handle) {
    if (handle.block == nullptr) return;
    set_owner(handle, nullptr);
    free_.push_back(handle);
  }

  // Looks at the next part of the tables, and calls found(owner) for each hint, which is cleared before: what the peer
  // wrote before a hint that is seen or overwritten here can be seen in the call.
  template <class Found>
  void read_hints(Found found) {
    if (next_page_ >= pages_.size()) return;
    const Page& page = *pages_[next_page_];
    const std::size_t words = page.owners.size() / sizeof(std::uint64_t);
    std::uint64_t* const end = page.hint_words() + std::min(next_word_ + kHintWordsPerCall, words);
    for (std::uint64_t* word = page.hint_words() + next_word_; word < end; word += 2) {  // a table has an even number
      if ((__atomic_load_n(word, __ATOMIC_RELAXED) | __atomic_load_n(word + 1, __ATOMIC_RELAXED)) == 0) [[likely]]
        continue;
      take_hints(page, word, found);
      take_hints(page, word + 1, found);
    }
    next_word_ += kHintWordsPerCall;
    if (next_word_ < words) return;
    next_word_ = 0;
    if (++next_page_ == pages_.size()) next_page_ = 0;
  }

 private:
  static void set_owner(const Handle& handle, void* owner) {
    if (!handle.page->owners.empty()) handle.page->owners[handle.number()] = owner;
  }

  template <class Found>
  static void take_hints(const Page& page, std::uint64_t* word, Found found) {
    auto* hints = reinterpret_cast<std::uint8_t*>(word);
    const std::size_t first = static_cast<std::size_t>(word - page.hint_words()) * sizeof *word;
    for (std::size_t i = 0; i < sizeof *word; ++i) {
      if (__atomic_load_n(hints + i, __ATOMIC_RELAXED) == 0) continue;
      (void)__atomic_exchange_n(hints + i, std::uint8_t{0}, __ATOMIC_ACQ_REL);
      if (page.owners[first + i] != nullptr) found(page.owners[first + i]);
    }
  }

  [[nodiscard]] std::size_t next_page_blocks() const {
    if (port_.arrival() != Arrival::kChecked) return kBlocksPerPage;
    return std::min(kBlocksPerPage << std::min(pages_.size(), std::size_t{8}), kTableBlocksMax);
  }

  bool grow() {
    const std::size_t blocks = next_page_blocks();
    return add_page(blocks) || (blocks > kBlocksPerPage && add_page(kBlocksPerPage));
  }

  bool add_page(std::size_t blocks) {
    const std::size_t bytes = blocks * sizeof(ControlBlock);
    Ledger::Entry entry = ledger_.enter(Ledger::Use::kBeginning, pinned_bytes<Region>(bytes));
    if (!entry) return false;
    auto page = std::make_unique<Page>(Page{std::move(entry), port_.allocate(bytes, PeerAccess::kWriteAndQuestions)});
    if (page->region.bytes() == 0) return false;
    const bool table = port_.arrival() == Arrival::kChecked;
    if (table) page->owners.resize(blocks);
    for (std::size_t i = blocks; i-- > (table ? 1u : 0u);) free_.push_back({page->blocks() + i, page.get()});
    pages_.push_back(std::move(page));
    return true;
  }

  Port& port_;
  Ledger& ledger_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Handle> free_;
  std::size_t next_page_ = 0;  // of read_hints()
  std::size_t next_word_ = 0;
};

}  // namespace bufenlarge
