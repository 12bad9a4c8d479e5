// SPDX-License-Identifier: MIT
// Connection: its end by agreement.
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

template <class PortT>
void Connection<PortT>::give_way() {
  act(connect_.on_no_room(link_.port().now_us(), link_.core().random()), "");
}

}  // namespace bufenlarge
