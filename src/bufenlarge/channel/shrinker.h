// SPDX-License-Identifier: MIT
// Looks now and then which directions have larger rings than they need.
//
// Who may call it: Context.
#pragma once

#include <algorithm>
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
  // Looks at some connections, at each often enough that a direction goes back at most an eighth of the time late.
  void look(std::uint64_t now_us) {
    if (now_us < next_look_us_) return;
    const std::size_t links = core_.links.size();
    const std::size_t some = std::min(links, kLinksPerLook);
    const std::uint64_t round_us = core_.settings.shrink_after_us / 8;
    next_look_us_ = now_us + (links == 0 ? round_us : round_us * some / links);
    for (std::size_t i = 0; i < some; ++i) {
      if (next_ >= core_.links.size()) next_ = 0;
      core_.links[next_++]->look_at_use(now_us);
    }
  }

 private:
  static constexpr std::size_t kLinksPerLook = 64;

  Core& core_;
  std::uint64_t next_look_us_ = 0;
  std::size_t next_ = 0;  // of the links
};

}  // namespace bufenlarge
