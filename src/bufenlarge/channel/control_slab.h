// SPDX-License-Identifier: MIT
// Control blocks of all channels, taken from regions of one page: a region of its own for each block of 256 bytes would
// pin a page.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/wire.h"

namespace bufenlarge {

template <class Port>
class ControlSlab {
 public:
  using Region = typename Port::Region;
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kBlocksPerPage = kPageBytes / sizeof(ControlBlock);

  struct Handle {
    ControlBlock* block = nullptr;
    const Region* region = nullptr;

    [[nodiscard]] std::uint64_t inbox_address() const {
      return region->remote_address() +
             static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(block) - region->data());
    }
  };

  explicit ControlSlab(Port& port) : port_(port) {}

  // Returns a zeroed block; block == nullptr when no memory could be registered.
  Handle take() {
    if (free_.empty() && !grow()) return {};
    Handle handle = free_.back();
    free_.pop_back();
    std::memset(handle.block, 0, sizeof *handle.block);
    return handle;
  }
  void give_back(Handle handle) {
    if (handle.block != nullptr) free_.push_back(handle);
  }

 private:
  bool grow() {
    auto page = std::make_unique<Region>(port_.allocate(kPageBytes));
    if (page->bytes() == 0) return false;
    auto* blocks = reinterpret_cast<ControlBlock*>(page->data());
    for (std::size_t i = kBlocksPerPage; i-- > 0;) free_.push_back({blocks + i, page.get()});
    pages_.push_back(std::move(page));
    return true;
  }

  Port& port_;
  std::vector<std::unique_ptr<Region>> pages_;
  std::vector<Handle> free_;
};

}  // namespace bufenlarge
