// SPDX-License-Identifier: MIT
// Connect: connections that end by agreement, and those for which there is no room.
#include <catch2/catch.hpp>

#include "protocol/connect.h"

namespace bufenlarge::test {
namespace {

using State = Connect::State;
using Action = Connect::Action;

constexpr std::uint64_t kNow = 10'000'000;
constexpr std::uint64_t kLimit = 5'000'000;

Connect connecting() {
  Connect connect(2, 5, kLimit);
  connect.want(kNow);
  REQUIRE(connect.tick(kNow, true) == Action::kOpen);
  return connect;
}

Connect ready() {
  Connect connect = connecting();
  REQUIRE(connect.on_connected() == Action::kSendHello);
  return connect;
}

TEST_CASE("a connection that has ended is wanted again only if it was wanted after the agreement", "[connect]") {
  Connect connect = ready();
  connect.settle();
  connect.on_ended();
  CHECK(connect.state() == State::kIdle);
  connect.want(kNow + 1);
  CHECK(connect.state() == State::kWanted);
  CHECK(connect.tick(kNow + 1, true) == Action::kOpen);
  CHECK(connect.attempt() == 2);
  CHECK(connect.on_connected() == Action::kSendHello);
  connect.settle();
  connect.want(kNow + 2);
  CHECK(connect.state() == State::kReady);
  connect.on_ended();
  CHECK(connect.state() == State::kWanted);
}

TEST_CASE("what was refused before a connection that has ended is nothing to the next one", "[connect]") {
  Connect connect = connecting();
  std::uint64_t now = kNow;
  for (int refusal = 0; refusal < 9; ++refusal) {
    REQUIRE(connect.on_lost(now, 0) == Action::kClose);
    now += Connect::kPauseMaxUs / 2;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
  }
  REQUIRE(connect.on_connected() == Action::kSendHello);
  connect.settle();
  connect.on_ended();
  now += kLimit;
  connect.want(now);
  REQUIRE(connect.tick(now, true) == Action::kOpen);
  CHECK(connect.on_lost(now, 0) == Action::kClose);
  CHECK(connect.tick(now + Connect::kPauseMinUs, true) == Action::kOpen);
}

TEST_CASE("an attempt that gives way again and again is made again after short pauses", "[connect]") {
  Connect connect = connecting();
  std::uint64_t now = kNow;
  for (int attempt = 0; attempt < 12; ++attempt) {
    CHECK(connect.on_gave_way(now, UINT32_MAX) == Action::kClose);
    now += 2 * Connect::kRoomPauseMaxUs;
    CHECK(connect.tick(now, true) == Action::kOpen);
  }
}

TEST_CASE("an attempt for which there is no room is made again, and only an attempt is given up", "[connect]") {
  Connect connect = connecting();
  CHECK(connect.on_gave_way(kNow, 0) == Action::kClose);
  CHECK(connect.state() == State::kBackoff);
  CHECK(connect.on_gave_way(kNow, 0) == Action::kNone);
  Connect used = ready();
  CHECK(used.on_gave_way(kNow, 0) == Action::kNone);
  CHECK(used.state() == State::kReady);
}

TEST_CASE("no room at the peer is no refusal: the pause stays short, and the time limit begins anew", "[connect]") {
  Connect connect = connecting();
  REQUIRE(connect.on_lost(kNow, 0) == Action::kClose);
  std::uint64_t now = kNow + Connect::kPauseMaxUs;
  REQUIRE(connect.tick(now, true) == Action::kOpen);
  for (int attempt = 0; attempt < 12; ++attempt) {
    now += kLimit;
    CHECK(connect.on_rejected(RejectReason::kNoRoom, now, UINT32_MAX) == Action::kClose);
    now += 2 * Connect::kRoomPauseMaxUs;
    CHECK(connect.tick(now, true) == Action::kOpen);
  }
  CHECK(connect.on_lost(now, 0) == Action::kClose);
  CHECK(connect.state() == State::kBackoff);
}

TEST_CASE("an attempt that gave way says nothing about the peer: the time limit runs on, without its time",
          "[connect][S4]") {
  Connect connect = connecting();
  REQUIRE(connect.on_lost(kNow, 0) == Action::kClose);
  const std::uint64_t before = Connect::kPauseMaxUs;  // this much of the limit passes first
  REQUIRE(connect.tick(kNow + before, true) == Action::kOpen);
  const std::uint64_t end = kNow + before + 10 * kLimit;
  REQUIRE(connect.on_gave_way(end, 0) == Action::kClose);
  const std::uint64_t again = end + Connect::kRoomPauseMaxUs;
  REQUIRE(connect.tick(again, true) == Action::kOpen);
  REQUIRE(connect.on_lost(again, 0) == Action::kClose);
  const std::uint64_t late = again + kLimit - before;
  REQUIRE(connect.tick(late, true) == Action::kOpen);
  CHECK(connect.on_lost(late, 0) == Action::kFail);
}

}  // namespace
}  // namespace bufenlarge::test
