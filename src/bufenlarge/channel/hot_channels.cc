// SPDX-License-Identifier: MIT
#include "channel/hot_channels.h"

#include <algorithm>

#include "channel/channel.h"

namespace bufenlarge {

template <class PortT>
unsigned HotChannels<PortT>::look() {
  ++round_;
  unsigned moved = 0;
  for (const auto& entry : rings().all().first(rings().hot())) moved += look_at(entry);
  const std::size_t cold = rings().size() - rings().hot();
  if (cold != 0 && (round_ % kColdEvery == 0 || cold <= kColdLooks)) moved += look_at_cold();
  return moved;
}

template <class PortT>
inline unsigned HotChannels<PortT>::look_at(const typename PollSet<Channel>::Entry& entry) {
  if (!entry.arrived()) [[likely]]
    return 0;
  return receive(*entry.channel);
}

template <class PortT>
unsigned HotChannels<PortT>::receive(Channel& channel) {
  const unsigned taken = channel.receive();
  if (taken != 0) on_slots(channel);
  return taken;
}

template <class PortT>
unsigned HotChannels<PortT>::look_at_cold() {
  unsigned moved = 0;
  for (unsigned i = 0; i < kColdLooks && rings().hot() < rings().size(); ++i) {
    if (next_cold_ < rings().hot() || next_cold_ >= rings().size()) next_cold_ = rings().hot();
    moved += look_at(rings()[next_cold_++]);
  }
  core_.control.read_hints([this, &moved](void* owner) { moved += receive(*static_cast<Channel*>(owner)); });
  cool_one();
  return moved;
}

template <class PortT>
void HotChannels<PortT>::on_connected(Channel& channel) {
  if (!chooses() || !channel.watched()) return;
  if (channel.poll_index() < rings().hot())
    channel.set_hot(true);  // the peer knows nothing of the connection before
  else if (rings().size() <= core_.settings.hot_max)
    heat(channel);
}

template <class PortT>
void HotChannels<PortT>::on_slots(Channel& channel) {
  if (!chooses() || !channel.watched()) return;
  const std::size_t index = channel.poll_index();
  const bool again = round_ - rings()[index].active_round < core_.settings.quiet_rounds;
  rings().touch(index, round_);
  if (index < rings().hot() || rings().hot() >= core_.settings.hot_max) return;
  if (again || rings().size() <= core_.settings.hot_max) heat(channel);
}

template <class PortT>
void HotChannels<PortT>::heat(Channel& channel) {
  rings().heat(channel.poll_index());
  rings().touch(channel.poll_index(), round_);
  channel.set_hot(true);
}

// Looks at one hot channel, in turn.
template <class PortT>
void HotChannels<PortT>::cool_one() {
  if (rings().hot() <= std::min<std::size_t>(kKept, core_.settings.hot_max / 8)) return;
  if (next_hot_ >= rings().hot()) next_hot_ = 0;
  const auto& entry = rings()[next_hot_];
  if (round_ - entry.active_round < core_.settings.quiet_rounds) {
    ++next_hot_;
    return;
  }
  Channel& channel = *entry.channel;
  rings().cool(next_hot_);
  channel.set_hot(false);
}

}  // namespace bufenlarge
