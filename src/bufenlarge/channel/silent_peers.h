// SPDX-License-Identifier: MIT
// Looks now and then whether the hosts of connected peers still respond (PEER_TIMEOUT).
//
// Who may call it: Context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "channel/core.h"
#include "protocol/silence.h"

namespace bufenlarge {

template <class PortT>
class SilentPeers {
 public:
  using Core = bufenlarge::Core<PortT>;

  explicit SilentPeers(Core& core) : core_(core) {}

  // Whether look() is to be called now and then.
  [[nodiscard]] bool on() const { return core_.settings.peer_timeout_us != 0; }
  // Looks at some connections, at each once in a Silence::kLooks-th of the time limit and never sooner.
  void look(std::uint64_t now_us) {
    if (next_ == 0) {
      if (now_us < next_round_us_) return;
      next_round_us_ = now_us + core_.settings.peer_timeout_us / Silence::kLooks;
    }
    const std::size_t end = std::min(next_ + kLinksPerLook, core_.links.size());
    for (; next_ < end; ++next_) core_.links[next_]->look_at_silence();
    if (next_ >= core_.links.size()) next_ = 0;
  }

 private:
  static constexpr std::size_t kLinksPerLook = 64;

  Core& core_;
  std::uint64_t next_round_us_ = 0;
  std::size_t next_ = 0;  // of the links; 0 between two rounds
};

}  // namespace bufenlarge
