// SPDX-License-Identifier: MIT
// A memory monitor whose calls the test makes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/memory_monitor.h"

namespace bufenlarge::test {

class FakeMonitor final : public MemoryMonitor {
 public:
  void unmap(const std::byte* begin, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    ranges_.record({address, address + bytes});
  }
  void stop() { works_ = false; }
  // From now on nothing that happens to this memory is recorded.
  void overlook(const std::byte* begin, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    unseen_ = {address, address + bytes};
  }
  [[nodiscard]] bool works() const override { return works_; }
  [[nodiscard]] bool sees(const AddressRange& range) const override { return !range.overlaps(unseen_); }

 private:
  bool works_ = true;
  AddressRange unseen_{0, 0};
};

}  // namespace bufenlarge::test
