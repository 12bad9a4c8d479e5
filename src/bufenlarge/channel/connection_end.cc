// SPDX-License-Identifier: MIT
// Connection: its end by agreement, and the room it needs.
#include <utility>

#include "channel/connection.h"

namespace bufenlarge {

template <class PortT>
void Connection<PortT>::hold(bool held) {
  held_ = held;
  if (held) connect_.settle();
  update_link();
}

// Whoever asked for the end had nothing to send any more.
template <class PortT>
void Connection<PortT>::end() {
  if (!std::exchange(held_, false)) connect_.settle();
  close();
  connect_.on_ended();
  update_link();
  if (connect_.timed()) want_time();
}

// The attempt is made again when there is room; another connection is asked to end.
template <class PortT>
bool Connection<PortT>::find_room() {
  auto& core = link_.core();
  core.port_has_room = link_.port().has_room(RoomFor::kAttempt);
  if (core.port_has_room && core.has_memory(first_rings())) return true;
  wait_for_room();
  return false;
}

// Where memory is limited, those that wait hold none: all of it could be with channels that wait for each other. A
// process of another job that went before its first slot may never come back.
template <class PortT>
bool Connection<PortT>::is_to_release() const {
  return link_.core().ledger.limited() || (other_job_ != nullptr && connect_.state() == Connect::State::kIdle);
}

template <class PortT>
void Connection<PortT>::release_memory() {
  send_ring_.end();
  receive_ring_.end();
  link_.give_back_control();
}

template <class PortT>
void Connection<PortT>::wait_for_room() {
  link_.trace("attempt ", connect_.attempt(), " is to be made again: there is no room for it");
  link_.core().room_wanted = true;
  give_way();
}

template <class PortT>
void Connection<PortT>::turn_away(typename Port::Request& request, std::uint16_t attempt) {
  auto& core = link_.core();
  ++core.closing.no_room;
  const Reject reject = make_reject(RejectReason::kNoRoom, core.expected, attempt);
  core.port.reject(request, std::as_bytes(std::span(&reject, 1)));
  core.room_wanted = true;
  link_.want_service();  // a list that is not empty is served
}

template <class PortT>
void Connection<PortT>::give_way() {
  act(connect_.on_gave_way(link_.port().now_us(), link_.core().random()), "");
}

}  // namespace bufenlarge
