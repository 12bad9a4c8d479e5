// SPDX-License-Identifier: MIT
// Who wants to see a context's memory over time.
#pragma once

#include <cstdint>

namespace bufenlarge {

class MemorySampler {
 public:
  // Called from progress, now and then.
  virtual void sample(std::uint64_t now_us) = 0;

 protected:
  ~MemorySampler() = default;
};

}  // namespace bufenlarge
