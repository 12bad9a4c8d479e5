// SPDX-License-Identifier: MIT
// Channel: the end of its connection by agreement, after which it can be connected again.
#include "channel/channel.h"

namespace bufenlarge {

template <class PortT>
bool Channel<PortT>::drained(bool for_room) const {
  return link_.ready() && !link_.lost() && connection_.can_reopen() && !connection_.hello_due() &&
         send_ring_.drained() && receive_ring_.drained() && !enlargement_.pending() &&
         (!rendezvous_ || (rendezvous_->idle() && (for_room || !link_.core().sources.has_of_peer(peer()))));
}

template <class PortT>
void Channel<PortT>::ask_to_close(bool for_room) {
  ++core().closing.asked;
  core().closing.for_room += for_room;
  closing_.ask(for_room);
}

template <class PortT>
void Channel<PortT>::serve_closing() {
  using Outcome = typename Closing<Port>::Outcome;
  const Outcome outcome = closing_.serve(drained(false), drained(true));
  if (failed()) return;
  if (outcome == Outcome::kHeld) connection_.hold(true);
  if (outcome == Outcome::kEnd) end_connection();
}

// The peer has agreed to nothing any more: what had to wait goes now.
template <class PortT>
void Channel<PortT>::go_on() {
  connection_.hold(false);
  link_.want_service();
}

// The endpoint goes first: nothing that is still on its way can be placed in memory that is used again.
template <class PortT>
void Channel<PortT>::end_connection() {
  connection_.end();
  send_ring_.end();
  receive_ring_.end();
  link_.give_back_control();
  enlargement_.end();
  closing_.restart();
  ++core().closing.closed;
  core().ask_again_us = 0;
  ended_ = true;
  link_.trace("the connection is closed, as agreed");
}

}  // namespace bufenlarge
