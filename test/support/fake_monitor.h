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
  [[nodiscard]] bool works() const override { return works_; }

 private:
  bool works_ = true;
};

}  // namespace bufenlarge::test
