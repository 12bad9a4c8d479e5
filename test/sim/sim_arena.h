// SPDX-License-Identifier: MIT
// The memory of one process's upper layer, where registrations may stay: what is given back comes again at the same
// addresses, and now and then its pages were unmapped meanwhile. Addresses are in the same order in each run of a seed.
// Where registrations do not stay, memory is taken from the heap.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "channel/memory_monitor.h"
#include "sim/sim_fabric.h"

namespace bufenlarge::sim {

class SimMonitor final : public MemoryMonitor {
 public:
  void record(std::span<const std::byte> memory) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    ranges_.record({begin, begin + memory.size()});
  }
  [[nodiscard]] bool works() const override { return true; }
  [[nodiscard]] bool sees(const AddressRange& /*range*/) const override { return true; }
};

class SimArena {
 public:
  SimArena(SimFabric& fabric, std::uint32_t rank) : fabric_(fabric), rank_(rank) {}

  // At the lowest free pages, now and then a little further; its first byte is not always that of a page.
  [[nodiscard]] std::span<std::byte> take(std::size_t bytes);
  void give_back(std::span<std::byte> memory);
  [[nodiscard]] const SimMonitor& monitor() const { return monitor_; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 1u << 15;

  struct PageDeleter {
    void operator()(std::byte* memory) const;
  };
  static std::byte* map_pages();
  void unmap(std::size_t first, std::size_t end);

  SimFabric& fabric_;
  SimMonitor monitor_;
  // What is not used takes no memory, and AddressSanitizer, which writes a shadow of what is on the heap, no time.
  std::unique_ptr<std::byte[], PageDeleter> memory_{map_pages()};
  std::map<std::size_t, std::size_t> taken_;  // pages: first, end
  std::uint32_t rank_;
};

// Segments in memory with gaps, which nobody may write.
class SimSegments {
 public:
  // In the arena, or without one on the heap.
  SimSegments(const std::vector<std::uint32_t>& sizes, std::uint32_t gap, SimArena* arena);
  SimSegments(const SimSegments&) = delete;
  SimSegments& operator=(const SimSegments&) = delete;

  [[nodiscard]] const std::vector<iovec>& segments() const { return segments_; }
  [[nodiscard]] std::vector<std::byte> joined() const;
  void fill(std::span<const std::byte> bytes);
  [[nodiscard]] bool gaps_untouched() const;
  // The owner has it back, and uses it for something else.
  void give_back();
  // Whether nobody has written it since; nobody knows in an arena.
  [[nodiscard]] bool untouched_since() const;

 private:
  std::vector<std::byte> own_;
  std::span<std::byte> memory_;
  std::vector<iovec> segments_;
  SimArena* arena_;
};

}  // namespace bufenlarge::sim
