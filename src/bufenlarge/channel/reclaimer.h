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
    const auto unused = [now_us](const Channel& one, std::uint64_t us) { return one.idle_since_us() + us <= now_us; };
    const auto may_give_back = [&](const Channel& one) { return unused(one, kIdleUs) && one.may_give_back(); };
    const auto may_close = [&](const Channel& one) { return unused(one, kCloseUs) && one.may_close(true); };
    if (Channel* large = core_.least_recently_used(now_us, may_give_back))
      large->give_back();
    else if (Channel* idle = core_.least_recently_used(now_us, may_close))
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
  Core& core_;
  std::uint64_t next_look_us_ = 0;
};

}  // namespace bufenlarge
