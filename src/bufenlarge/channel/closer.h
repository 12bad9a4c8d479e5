// SPDX-License-Identifier: MIT
// Decides which connections of a context are to end: those that were not used for the set time, and, when there are as
// many as there may be, the one that was not used for longest.
//
// Who may call it: Context.
#pragma once

#include <cstdint>

#include "channel/core.h"

namespace bufenlarge {

template <class PortT>
class Closer {
 public:
  using Core = bufenlarge::Core<PortT>;
  using Channel = bufenlarge::Channel<PortT>;

  explicit Closer(Core& core) : core_(core) {}

  // Whether look() is to be called now and then.
  [[nodiscard]] bool on() const { return core_.settings.idle_close_us != 0; }
  // Asks the peers of connections that were not used for the set time to end them.
  void look(std::uint64_t now_us);

  // There is no room for a connection: asks for the end of the one that was not used for longest.
  void make_room(std::uint64_t now_us);
  // Whether there is room for a request of this peer; an own attempt at a peer that comes later in the order of all
  // pairs is given up for it.
  [[nodiscard]] bool room_for(const Channel& caller);

  // A peer that does not answer may be computing: then another is asked after this time.
  static constexpr std::uint64_t kAskPauseUs = 1'000;
  // All are in use: they are looked at again after this time.
  static constexpr std::uint64_t kLookPauseUs = 100;
  // A connection that was opened and not used yet stays for so long.
  static constexpr std::uint64_t kUnusedUs = 20'000;

 private:
  Core& core_;
  std::uint64_t next_look_us_ = 0;
};

}  // namespace bufenlarge
