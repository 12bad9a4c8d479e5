// SPDX-License-Identifier: MIT
#include "sim/sim_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "sim/sim_port.h"

namespace bufenlarge::sim {

namespace {

constexpr std::byte kGap{0x5a};        // between segments
constexpr std::byte kGivenBack{0xc3};  // what the owner writes into memory that it has back
constexpr std::byte kFresh{0xee};      // of pages that were mapped anew

}  // namespace

// ---- the arena

std::byte* SimArena::map_pages() {
  void* const made = ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "the memory of a process");
  return static_cast<std::byte*>(made);
}

void SimArena::PageDeleter::operator()(std::byte* memory) const { ::munmap(memory, kPages * kPage); }

std::span<std::byte> SimArena::take(std::size_t bytes) {
  const std::size_t offset = fabric_.random.chance(700) ? 0 : 8 * fabric_.random.below(64);
  const std::size_t pages = (offset + bytes + kPage - 1) / kPage;
  std::size_t first = fabric_.random.chance(700) ? 0 : fabric_.random.below(64);
  for (const auto& [begin, end] : taken_) {
    if (end <= first) continue;
    if (begin >= first + pages) break;
    first = end;
  }
  if (first + pages > kPages) {
    fabric_.violate("the arena of rank " + std::to_string(rank_) + " is too small");
    return {};
  }
  taken_.emplace(first, first + pages);
  return {memory_.get() + first * kPage + offset, bytes};
}

void SimArena::give_back(std::span<std::byte> memory) {
  const std::size_t first = static_cast<std::size_t>(memory.data() - memory_.get()) / kPage;
  const auto found = taken_.find(first);
  const std::size_t end = found->second;
  taken_.erase(found);
  if (!fabric_.random.chance(fabric_.faults.unmap)) return;
  if (fabric_.random.chance(500)) return unmap(first, end);
  const auto pages = static_cast<std::uint32_t>(end - first);
  const std::size_t from = first + fabric_.random.below(pages);
  unmap(from, from + 1 + fabric_.random.below(static_cast<std::uint32_t>(end - from)));
}

void SimArena::unmap(std::size_t first, std::size_t end) {
  const std::span pages(memory_.get() + first * kPage, (end - first) * kPage);
  if (!fabric_.blind) monitor_.record(pages);
  fabric_.ports[rank_]->memory().unmap(pages);
  std::ranges::fill(pages, kFresh);
  ++fabric_.totals.unmaps;
  fabric_.trace.note("%lld  unmap: pages %lld to %lld", rank_, first, end);
}

// ---- segments

SimSegments::SimSegments(const std::vector<std::uint32_t>& sizes, std::uint32_t gap, SimArena* arena) : arena_(arena) {
  std::size_t bytes = gap;
  for (const std::uint32_t size : sizes) bytes += size + gap;
  if (arena == nullptr) own_.resize(bytes);
  memory_ = arena == nullptr ? std::span(own_) : arena->take(bytes);
  std::ranges::fill(memory_, kGap);
  std::size_t at = gap;
  for (const std::uint32_t size : sizes) {
    segments_.push_back({memory_.data() + at, size});
    at += size + gap;
  }
}

std::vector<std::byte> SimSegments::joined() const {
  std::vector<std::byte> all;
  for (const iovec& one : segments_) {
    const auto* from = static_cast<const std::byte*>(one.iov_base);
    all.insert(all.end(), from, from + one.iov_len);
  }
  return all;
}

void SimSegments::fill(std::span<const std::byte> bytes) {
  for (const iovec& one : segments_) {
    std::memcpy(one.iov_base, bytes.data(), one.iov_len);
    bytes = bytes.subspan(one.iov_len);
  }
}

bool SimSegments::gaps_untouched() const {
  const std::byte* at = memory_.data();
  for (const iovec& one : segments_) {
    const auto* segment = static_cast<const std::byte*>(one.iov_base);
    if (!std::all_of(at, segment, [](std::byte byte) { return byte == kGap; })) return false;
    at = segment + one.iov_len;
  }
  const std::byte* const end = memory_.data() + memory_.size();
  return std::all_of(at, end, [](std::byte byte) { return byte == kGap; });
}

void SimSegments::give_back() {
  std::ranges::fill(memory_, kGivenBack);
  if (arena_ != nullptr && !memory_.empty()) arena_->give_back(std::exchange(memory_, {}));
}

bool SimSegments::untouched_since() const {
  return std::ranges::all_of(memory_, [](std::byte one) { return one == kGivenBack; });
}

}  // namespace bufenlarge::sim
