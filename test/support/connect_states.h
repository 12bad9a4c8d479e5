// SPDX-License-Identifier: MIT
// Connections in each of their states (protocol/connect.h).
#pragma once

#include <catch2/catch.hpp>

#include "protocol/connect.h"

namespace bufenlarge::test {

using State = Connect::State;
using Action = Connect::Action;

inline constexpr std::uint64_t kNow = 10'000'000;
inline constexpr std::uint64_t kLimit = 5'000'000;
inline constexpr std::uint16_t kTheirAttempt = 100;

// Whose attempt wins when they cross: the lower rank's.
inline constexpr bool kLower = true;
inline constexpr bool kHigher = false;

inline Connect make(bool lower, std::uint64_t limit = kLimit) {
  return lower ? Connect(2, 5, limit) : Connect(5, 2, limit);
}

// Brings a connection into a state at kNow, by the fewest events. The own side wants the connection, except in
// Idle, and in Accepting and Silent if `wanted` is false.
inline Connect reach(State state, bool lower, bool wanted = true) {
  Connect connect = make(lower);
  const bool passive = state == State::kAccepting || state == State::kSilent;
  if (state == State::kIdle) return connect;
  if (wanted) connect.want(kNow);
  if (passive) {
    REQUIRE(connect.on_request(kTheirAttempt) == Action::kAccept);
    if (state == State::kSilent) REQUIRE(connect.on_connected() == Action::kNone);
    return connect;
  }
  if (state == State::kWanted) return connect;
  REQUIRE(connect.tick(kNow, true) == Action::kOpen);
  if (state == State::kYielding) REQUIRE(connect.on_rejected(RejectReason::kCrossing, kNow, 0) == Action::kClose);
  if (state == State::kBackoff) REQUIRE(connect.on_lost(kNow, 0) == Action::kClose);
  if (state == State::kReady) REQUIRE(connect.on_connected() == Action::kSendHello);
  if (state == State::kFailed) REQUIRE(connect.on_rejected(RejectReason::kVersion, kNow, 0) == Action::kFail);
  REQUIRE(connect.state() == state);
  return connect;
}

}  // namespace bufenlarge::test
