// SPDX-License-Identifier: MIT
// The registered memory of one process: blocks with remote keys, which are never used twice. A block is
// exactly as long as was asked for, so that a write past its end is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/sim_fabric.h"

namespace bufenlarge::sim {

class SimMemory {
 public:
  // Part of a block.
  struct Part {
    std::size_t bytes;
    bool in_use;
    std::uint32_t readers = 0;  // as those of the block
  };
  struct Block {
    std::unique_ptr<std::uint64_t[]> words;
    std::size_t bytes;
    std::uint64_t address;  // as the peers name it
    std::uint32_t key;
    std::byte* user = nullptr;  // memory of the upper layer: there are no words
    std::optional<MemoryUse> use{};
    // Pages of the upper layer that were unmapped since: a device still uses those that were there before.
    std::vector<std::span<const std::byte>> unmapped{};
    std::vector<std::byte> old{};  // the block as it was at the first time
    std::uint32_t readers = 0;     // posted writes of open links that are not complete
    std::map<std::size_t, Part> parts{};  // of a block that is used in parts, those that were named, by offset
    [[nodiscard]] std::byte* data() const {
      return words ? reinterpret_cast<std::byte*>(words.get()) : user;
    }
    // Counts a posted write that reads from there, or its end.
    void add_reader(const std::byte* from, int change);
    // The part in which the byte lies; nullptr where the block is used as a whole.
    [[nodiscard]] Part* part_at(std::size_t offset);
    // Whether all of these bytes are in use.
    [[nodiscard]] bool in_use(std::size_t offset, std::size_t count) const;
    // Where a device finds these bytes.
    [[nodiscard]] std::byte* place(std::size_t offset, std::size_t count);
  };

  SimMemory(SimFabric& fabric, std::uint32_t rank) : fabric_(fabric), rank_(rank) {}

  // Zeroed. nullptr when it is refused.
  [[nodiscard]] Block* open(std::size_t bytes);
  // Over memory of the upper layer.
  [[nodiscard]] Block* open_user(void* memory, std::size_t bytes, MemoryUse use);
  void close(Block* block);
  // From now on only these bytes of the block, and others that were named, are read and written; or these no more.
  void set_in_use(Block& block, const std::byte* from, std::size_t bytes, bool in_use);
  // Where a remote write goes; nullptr when nothing is registered there, or only to be read,
  // or when it is not in use.
  [[nodiscard]] std::byte* at(std::uint32_t key, std::uint64_t address, std::size_t bytes) const;
  // Where a write reads what lies at `from` of the block.
  [[nodiscard]] static const std::byte* source(Block& block, const std::byte* from, std::size_t bytes) {
    return block.place(static_cast<std::size_t>(from - block.data()), bytes);
  }
  // Other pages come to these addresses.
  void unmap(std::span<const std::byte> pages);

  // Whether it is window memory, which peers may write without a request.
  [[nodiscard]] bool is_window(std::uint32_t key) const {
    const auto found = blocks_.find(key);
    return found != blocks_.end() && found->second->use == MemoryUse::kWindow;
  }

  // Never more than this at once; 0 is no limit.
  void set_block_bytes_max(std::size_t bytes) { block_bytes_max_ = bytes; }
  // Chance refuses only what is larger than this.
  void set_safe_bytes(std::size_t bytes) { safe_bytes_ = bytes; }
  // Of own memory; of the upper layer's.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t user_bytes() const { return user_bytes_; }
  // Of both, at any time.
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }

 private:
  [[nodiscard]] bool refused(std::size_t bytes);
  [[nodiscard]] std::uint64_t address_of(std::uint32_t key) const;

  SimFabric& fabric_;
  std::map<std::uint32_t, std::unique_ptr<Block>> blocks_;
  std::size_t bytes_ = 0;
  std::size_t user_bytes_ = 0;
  std::size_t most_ = 0;
  std::size_t block_bytes_max_ = 0;
  std::size_t safe_bytes_ = 0;
  std::uint32_t next_key_ = 1;
  std::uint32_t rank_;
  bool refused_last_ = false;
};

// The Region of channel/port.h.
class SimRegion {
 public:
  SimRegion() = default;
  SimRegion(SimMemory& memory, SimMemory::Block* block) : memory_(&memory), block_(block) {}
  SimRegion(SimRegion&& other) noexcept { swap(other); }
  SimRegion& operator=(SimRegion&& other) noexcept {
    SimRegion(std::move(other)).swap(*this);
    return *this;
  }
  ~SimRegion() {
    if (block_ != nullptr) memory_->close(block_);
  }

  [[nodiscard]] std::byte* data() const { return block_ == nullptr ? nullptr : block_->data(); }
  [[nodiscard]] std::size_t bytes() const { return block_ == nullptr ? 0 : block_->bytes; }
  [[nodiscard]] std::uint64_t remote_address() const { return block_->address; }
  [[nodiscard]] std::uint32_t remote_key() const { return block_->key; }
  [[nodiscard]] SimMemory::Block* block() const { return block_; }

 private:
  void swap(SimRegion& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(block_, other.block_);
  }

  SimMemory* memory_ = nullptr;
  SimMemory::Block* block_ = nullptr;
};

}  // namespace bufenlarge::sim
