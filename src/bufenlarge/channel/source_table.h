// SPDX-License-Identifier: MIT
// Memory of this process that peers may read, by the source handle a peer uses. A handle is an index and a count of the
// index's uses, so that a late or made-up handle is found out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "channel/user_memory.h"

namespace bufenlarge {

inline constexpr std::uint32_t kAnyPeer = ~std::uint32_t{0};

template <class Port>
struct Source {
  UserMemory<Port> memory;  // registered when a peer first asks for it
  void* cookie = nullptr;   // the upper layer's
  std::uint32_t handle = 0;
  std::uint32_t peer = 0;     // who may read it; kAnyPeer: window memory, which no peer releases
  std::uint32_t uses = 0;     // SourceRefs: responses that are not ended, and writes that are not complete
  std::uint32_t writes = 0;   // of these, the writes
  bool released = false;      // the peer will not ask for it again
  bool through_ring = false;  // it could not be registered

  [[nodiscard]] bool is_window() const { return peer == kAnyPeer; }
  [[nodiscard]] bool done() const { return released && uses == 0; }
};

// A counted use of a source that was looked up and checked: while there is one, the source stays in its table.
template <class Port>
class SourceRef {
 public:
  SourceRef() = default;
  explicit SourceRef(Source<Port>& source) : source_(&source) { ++source.uses; }
  SourceRef(SourceRef&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  SourceRef& operator=(SourceRef&& other) noexcept {
    SourceRef(std::move(other)).swap(*this);
    return *this;
  }
  ~SourceRef() {
    if (source_ != nullptr) --source_->uses;
  }

  explicit operator bool() const { return source_ != nullptr; }
  Source<Port>& operator*() const { return *source_; }
  Source<Port>* operator->() const { return source_; }
  // Ends the use and returns the source, which may be done() now.
  [[nodiscard]] Source<Port>& end() {
    --source_->uses;
    return *std::exchange(source_, nullptr);
  }

 private:
  void swap(SourceRef& other) noexcept { std::swap(source_, other.source_); }

  Source<Port>* source_ = nullptr;
};

// Window memory, as this process describes it to its peers.
struct Window {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t source = 0;  // handle, for reads
  bool writable = false;
};

template <class Port>
class SourceTable {
 public:
  // Adds memory that `peer` may read; it is not registered yet. Returns the handle, never 0; 0 when there are too many.
  [[nodiscard]] std::uint32_t add(std::span<const iovec> segments, void* cookie, std::uint32_t peer,
                                  bool persistent = false) {
    Source<Port> source;
    source.memory = UserMemory<Port>(segments, persistent);
    source.cookie = cookie;
    source.peer = peer;
    return add(std::move(source));
  }

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
    entry.source.handle = entry.uses << kIndexBits | index;
    return entry.source.handle;
  }

  // Returns nullptr when `peer` may read nothing by this handle.
  [[nodiscard]] Source<Port>* find(std::uint32_t handle, std::uint32_t peer) {
    const std::uint32_t index = handle & kIndexMask;
    if (index >= entries_.size()) return nullptr;
    Entry& entry = entries_[index];
    const bool theirs = entry.source.peer == peer || entry.source.is_window();
    return entry.used && entry.source.handle == handle && theirs ? &entry.source : nullptr;
  }

  // To be called only when nobody uses the source. Its registrations end.
  void remove(std::uint32_t handle) {
    Entry& entry = entries_[handle & kIndexMask];
    entry.source = Source<Port>();
    entry.used = false;
    free_.push_back(handle & kIndexMask);
  }

  // Returns the handles of the sources that are advertised to `peer` alone.
  [[nodiscard]] std::vector<std::uint32_t> of_peer(std::uint32_t peer) const {
    std::vector<std::uint32_t> handles;
    for (const Entry& entry : entries_)
      if (entry.used && entry.source.peer == peer) handles.push_back(entry.source.handle);
    return handles;
  }

  // Whether a source is advertised to `peer` alone.
  [[nodiscard]] bool has_of_peer(std::uint32_t peer) const {
    return size() != 0 && std::ranges::any_of(entries_, [peer](const Entry& entry) {
             return entry.used && entry.source.peer == peer;
           });
  }

  // Ends the registrations of sources that nobody uses now: each waits for the next request of a read. Returns whether
  // there were any.
  [[nodiscard]] bool give_way() {
    bool any = false;
    for (Entry& entry : entries_) {
      const bool waits = entry.used && !entry.source.is_window() && entry.source.uses == 0;
      if (!waits || !entry.source.memory.registered()) continue;
      entry.source.memory.unregister();
      any = true;
    }
    return any;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr std::uint32_t kUsesMax = (1u << (32 - kIndexBits)) - 1;

  struct Entry {
    Source<Port> source;
    std::uint32_t uses = 0;  // of the index
    bool used = false;
  };

  std::deque<Entry> entries_;  // does not move: SourceRefs point to them
  std::vector<std::uint32_t> free_;
};

}  // namespace bufenlarge
