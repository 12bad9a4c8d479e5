// SPDX-License-Identifier: MIT
// What a bufenlarge_channel_t points to: the channel to a peer, or the loopback to the own process.
#pragma once

namespace bufenlarge {

struct SendTarget {
  void* const upper_user;  // UpperLayer::user of the context it belongs to
  const bool is_loopback;
};

}  // namespace bufenlarge
