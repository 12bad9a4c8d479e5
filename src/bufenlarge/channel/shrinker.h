// SPDX-License-Identifier: MIT
// Looks now and then which directions have larger rings than they need.
//
// Who may call it: Context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/core.h"

namespace bufenlarge {

template <class PortT>
class Shrinker {
 public:
  using Core = bufenlarge::Core<PortT>;

  explicit Shrinker(Core& core) : core_(core) {}

  // Whether look() is to be called now and then.
  [[nodiscard]] bool on() const { return core_.settings.shrink_after_us != 0; }
  // Looks often enough that a direction goes back at most an eighth of the time late.
  void look(std::uint64_t now_us) {
    if (now_us < next_look_us_) return;
    next_look_us_ = now_us + core_.settings.shrink_after_us / 8;
    for (std::size_t i = 0; i < core_.links.size(); ++i) core_.links[i]->look_at_use(now_us);
  }

 private:
  Core& core_;
  std::uint64_t next_look_us_ = 0;
};

}  // namespace bufenlarge
