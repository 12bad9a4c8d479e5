// SPDX-License-Identifier: MIT
// Who tells of changes to the mapping of this process's memory. A registration of memory that was unmapped and mapped
// again still means the old pages, so registrations may stay without a transfer only under a monitor.
//
// One monitor serves all contexts of a process, at once, and outlives them.
#pragma once

#include <cstdint>

#include "channel/unmapped_ranges.h"

namespace bufenlarge {

class MemoryMonitor {
 public:
  // Each range is recorded before the call that changes its mapping does so.
  [[nodiscard]] const UnmappedRanges& ranges() const { return ranges_; }
  // Returns false from the moment on at which calls may pass it; it never works again then.
  [[nodiscard]] virtual bool works() const = 0;
  // Whether every call that ends the mapping of this range, which is mapped now, is recorded.
  [[nodiscard]] virtual bool sees(const AddressRange& range) const = 0;

 protected:
  ~MemoryMonitor() = default;

  UnmappedRanges ranges_;
};

}  // namespace bufenlarge
