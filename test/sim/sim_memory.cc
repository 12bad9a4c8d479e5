// SPDX-License-Identifier: MIT
#include "sim/sim_memory.h"

#include <algorithm>
#include <iterator>

namespace bufenlarge::sim {

bool SimMemory::refused(std::size_t bytes) {
  if (block_bytes_max_ != 0 && bytes > block_bytes_max_) return refused_last_ = true;
  // Never twice in a row: who then takes a ring as large as the one just given back gets it.
  const bool by_chance = bytes > safe_bytes_ && fabric_.random.chance(fabric_.faults.allocation_fails);
  refused_last_ = by_chance && !refused_last_;
  return refused_last_;
}

std::uint64_t SimMemory::address_of(std::uint32_t key) const {
  return fabric_.virtual_addresses ? 0x7f0000000000u + (std::uint64_t{key} << 24) : 0;
}

SimMemory::Block* SimMemory::open_user(void* memory, std::size_t bytes, MemoryUse use) {
  fabric_.moved = true;
  if (fabric_.random.chance(fabric_.faults.registration_fails)) {
    ++fabric_.totals.registrations_refused;
    fabric_.trace.note("%lld  memory: %lld bytes of the user refused", rank_, bytes);
    return nullptr;
  }
  const std::uint32_t key = next_key_++;
  auto block = std::make_unique<Block>(
      Block{nullptr, bytes, address_of(key), key, static_cast<std::byte*>(memory), use});
  user_bytes_ += bytes;
  most_ = std::max(most_, bytes_ + user_bytes_);
  fabric_.trace.note("%lld  memory: %lld bytes of the user registered, key %lld", rank_, bytes, key);
  return blocks_.emplace(key, std::move(block)).first->second.get();
}

SimMemory::Block* SimMemory::open(std::size_t bytes) {
  fabric_.moved = true;
  if (refused(bytes)) {
    ++fabric_.totals.allocation_failures;
    fabric_.trace.note("%lld  memory: %lld bytes refused", rank_, bytes);
    return nullptr;
  }
  const std::uint32_t key = next_key_++;
  auto block = std::make_unique<Block>(
      Block{std::make_unique<std::uint64_t[]>((bytes + 7) / 8), bytes, address_of(key), key});
  bytes_ += bytes;
  most_ = std::max(most_, bytes_ + user_bytes_);
  fabric_.trace.note("%lld  memory: %lld bytes registered, key %lld", rank_, bytes, key);
  return blocks_.emplace(key, std::move(block)).first->second.get();
}

void SimMemory::close(Block* block) {
  if (block->readers != 0)
    fabric_.violate("rank " + std::to_string(rank_) + " freed memory while a posted write reads it (key " +
                    std::to_string(block->key) + ")");
  fabric_.closing(rank_, block->key);
  fabric_.trace.note("%lld  memory: %lld bytes freed, key %lld", rank_, block->bytes, block->key);
  (block->user == nullptr ? bytes_ : user_bytes_) -= block->bytes;
  blocks_.erase(block->key);
}

std::byte* SimMemory::at(std::uint32_t key, std::uint64_t address, std::size_t bytes) const {
  const auto found = blocks_.find(key);
  if (found == blocks_.end() || found->second->use == MemoryUse::kSource) return nullptr;
  Block& block = *found->second;
  const bool inside = address >= block.address && address - block.address <= block.bytes &&
                      bytes <= block.bytes - (address - block.address);
  if (!inside || !block.in_use(address - block.address, bytes)) return nullptr;
  return block.place(address - block.address, bytes);
}

void SimMemory::set_in_use(Block& block, const std::byte* from, std::size_t bytes, bool in_use) {
  const auto offset = static_cast<std::size_t>(from - block.data());
  Part& part = block.parts.try_emplace(offset, Part{bytes, in_use}).first->second;
  if (!in_use && part.readers != 0)
    fabric_.violate("rank " + std::to_string(rank_) + " gave back a part while a posted write reads it (key " +
                    std::to_string(block.key) + ", offset " + std::to_string(offset) + ")");
  part.in_use = in_use;
}

SimMemory::Part* SimMemory::Block::part_at(std::size_t offset) {
  const auto after = parts.upper_bound(offset);
  return after == parts.begin() ? nullptr : &std::prev(after)->second;
}

void SimMemory::Block::add_reader(const std::byte* from, int change) {
  readers += static_cast<std::uint32_t>(change);
  Part* const part = part_at(static_cast<std::size_t>(from - data()));
  if (part != nullptr) part->readers += static_cast<std::uint32_t>(change);
}

bool SimMemory::Block::in_use(std::size_t offset, std::size_t count) const {
  if (parts.empty()) return true;
  const auto after = parts.upper_bound(offset);
  if (after == parts.begin()) return false;
  const auto& [begin, part] = *std::prev(after);
  return part.in_use && offset + count <= begin + part.bytes;
}

std::byte* SimMemory::Block::place(std::size_t offset, std::size_t count) {
  std::byte* const begin = data() + offset;
  const bool gone = std::ranges::any_of(unmapped, [=](std::span<const std::byte> pages) {
    return begin < pages.data() + pages.size() && pages.data() < begin + count;
  });
  return gone ? old.data() + offset : begin;
}

void SimMemory::unmap(std::span<const std::byte> pages) {
  for (auto& [key, block] : blocks_) {
    const std::byte* const begin = block->user;
    if (begin == nullptr || begin >= pages.data() + pages.size() || pages.data() >= begin + block->bytes) continue;
    if (block->old.empty()) block->old.assign(begin, begin + block->bytes);
    block->unmapped.push_back(pages);
  }
}

}  // namespace bufenlarge::sim
