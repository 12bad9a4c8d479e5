// SPDX-License-Identifier: MIT
// Gives memory back where the limit on it (channel/ledger.h) has refused something. Of the large rings that were not
// used for a time the one that was not used for longest goes back; where there is none, the connection that was not
// used for longest is asked to end. One at a time.
//
// Who may call it: Context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/core.h"

namespace bufenlarge {

template <class PortT>
class Reclaimer {
 public:
  using Core = bufenlarge::Core<PortT>;
  using Channel = bufenlarge::Channel<PortT>;

  explicit Reclaimer(Core& core) : core_(core) {}

  // Whether look() is to be called.
  [[nodiscard]] bool due() const { return core_.ledger.wanted(); }
  void look(std::uint64_t now_us) {
    if (now_us < next_look_us_) return;
    next_look_us_ = now_us + kPauseUs;
    core_.ledger.satisfied();
    for (Channel* channel : core_.links) channel->note_use(now_us);
    if (Channel* large = oldest(now_us, kIdleUs, [](const Channel& one) { return one.may_give_back(); }))
      large->give_back();
    else if (Channel* idle = oldest(now_us, kCloseUs, [](const Channel& one) { return one.may_close(true); }))
      idle->ask_to_close(true);
  }

  // A ring that was used within this time stays: a change costs some 0.3 ms, and none comes sooner after another than
  // ten times its cost.
  static constexpr std::uint64_t kIdleUs = 5'000;
  // A connection that was used within this time stays.
  static constexpr std::uint64_t kCloseUs = 20'000;
  // The one that was asked is given this time, before another is.
  static constexpr std::uint64_t kPauseUs = 1'000;

 private:
  // Of the channels that were not used for so long and of which `may` is true the one that was not used for longest.
  template <class May>
  [[nodiscard]] Channel* oldest(std::uint64_t now_us, std::uint64_t unused_us, May may) const {
    Channel* found = nullptr;
    for (Channel* channel : core_.links) {
      if (now_us < channel->idle_since_us() + unused_us || !may(*channel)) continue;
      if (found == nullptr || channel->idle_since_us() < found->idle_since_us()) found = channel;
    }
    return found;
  }

  Core& core_;
  std::uint64_t next_look_us_ = 0;
};

}  // namespace bufenlarge
