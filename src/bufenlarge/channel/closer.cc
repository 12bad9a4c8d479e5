// SPDX-License-Identifier: MIT
#include "channel/closer.h"

#include <algorithm>
#include <utility>

#include "channel/channel.h"

namespace bufenlarge {

// Looks often enough that a connection ends at most a quarter of the time late.
template <class PortT>
void Closer<PortT>::look(std::uint64_t now_us) {
  if (now_us < next_look_us_) return;
  const std::uint64_t limit_us = core_.settings.idle_close_us;
  next_look_us_ = now_us + limit_us / 4;
  for (std::size_t i = 0; i < core_.links.size(); ++i) {
    Channel& channel = *core_.links[i];
    channel.note_use(now_us);
    if (channel.idle_since_us() + limit_us <= now_us && channel.may_close(false)) channel.ask_to_close(false);
  }
}

template <class PortT>
void Closer<PortT>::make_room(std::uint64_t now_us) {
  core_.room_wanted = false;
  if (now_us < core_.ask_again_us) return;
  if (!core_.port_has_room) core_.port_has_room = core_.port.has_room(RoomFor::kAttempt);  // it changes by itself
  if (core_.has_room(FirstRings::kSlab)) return;
  Channel* oldest = core_.least_recently_used(now_us, [now_us](const Channel& one) {
    const bool spared = !one.used() && one.idle_since_us() + kUnusedUs > now_us;
    return !spared && one.may_close(true);
  });
  core_.ask_again_us = now_us + (oldest == nullptr ? kLookPauseUs : kAskPauseUs);
  if (oldest != nullptr) oldest->ask_to_close(true);
}

// All processes have the same order of pairs, so the attempt that comes first in it is given up nowhere: not all of
// them can give way to each other for ever.
template <class PortT>
bool Closer<PortT>::room_for(const Channel& caller) {
  if (caller.holds_link()) return true;
  core_.port_has_room = core_.port.has_room(RoomFor::kRequest);
  if (core_.has_room(caller.first_rings())) return true;
  const auto place = [this](const Channel& one) { return std::minmax({core_.rank, one.peer()}); };
  Channel* last = nullptr;
  for (Channel* channel : core_.links) {
    const bool later = channel->connection().state() == Connect::State::kConnecting && place(caller) < place(*channel);
    if (later && (last == nullptr || place(*last) < place(*channel))) last = channel;
  }
  if (last != nullptr) last->give_way();
  return last != nullptr;
}

}  // namespace bufenlarge
