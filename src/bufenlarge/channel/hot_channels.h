// SPDX-License-Identifier: MIT
// Which rings a round looks at where a device places data at any time and tells of little or nothing of it
// (Arrival::kChecked and kMixed).
//
// Rounds look at the rings of hot channels, `hot_max` at most, and the peers of these know it by a word in their
// inboxes. The peer of any other channel tells of what it writes: by a notification where the port has them (kMixed),
// else by a hint (control_slab.h). So a round costs what hot channels and arrivals cost, with any number of
// connections.
//
// Every 32nd round looks for hints. A hint may be early, late, doubled or lost without harm, and a peer may write
// just when a channel stops being hot: such a round also looks at four of the other rings, in turn. That is where
// everything is found in the end.
//
// All channels are hot while `hot_max` or fewer are connected. With more, a channel becomes hot when slots arrive twice
// within `quiet_rounds` rounds, and stops being so after as many rounds without any. A few stay hot, four of 32: a
// program that talks to few peers now and then pays for no notification or hint.
#pragma once

#include <cstdint>

#include "channel/core.h"

namespace bufenlarge {

template <class PortT>
class HotChannels {
 public:
  using Channel = bufenlarge::Channel<PortT>;
  using Core = bufenlarge::Core<PortT>;

  explicit HotChannels(Core& core) : core_(core) {}

  // One round. Returns how many slots were taken.
  unsigned look();
  // The channel has a connection, its first or another one.
  void on_connected(Channel& channel);
  // Takes what has arrived in a channel's ring. Returns how many slots.
  unsigned receive(Channel& channel);

  static constexpr std::size_t kKept = 4;
  static constexpr std::uint32_t kColdEvery = 32;  // rounds
  static constexpr unsigned kColdLooks = 4;  // with no more than that every round looks

 private:
  // Elsewhere no round calls look().
  [[nodiscard]] bool chooses() const {
    const Arrival arrival = core_.port.arrival();
    return arrival == Arrival::kChecked || arrival == Arrival::kMixed;
  }
  [[nodiscard]] PollSet<Channel>& rings() { return core_.rings.of(0); }
  [[nodiscard]] unsigned look_at(const typename PollSet<Channel>::Entry& entry);
  [[nodiscard]] unsigned look_at_cold();
  void on_slots(Channel& channel);
  void heat(Channel& channel);
  void cool_one();

  Core& core_;
  std::uint32_t round_ = 0;
  std::size_t next_cold_ = 0;
  std::size_t next_hot_ = 0;
};

}  // namespace bufenlarge
