// SPDX-License-Identifier: MIT
// Attempts to connect, the pauses between them, and the time limit.
#include <algorithm>
#include <functional>
#include <vector>

#include "support/connect_states.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("attempts are numbered from 1 and the number wraps", "[connect]") {
  Connect connect = make(kLower, UINT64_MAX);
  connect.want(0);
  std::uint64_t now = 0;
  for (std::uint32_t attempt = 1; attempt <= 65'537; ++attempt) {
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    REQUIRE(connect.attempt() == static_cast<std::uint16_t>(attempt));
    REQUIRE(connect.on_lost(now, 0) == Action::kClose);
    now += Connect::kPauseMaxUs;
  }
}

TEST_CASE("the pause doubles from 1 ms to 1 s and has at most as much jitter again", "[connect]") {
  for (const std::uint32_t random : {0u, 1u, 499u, 123'456'789u, UINT32_MAX}) {
    Connect connect = make(kLower, UINT64_MAX);
    std::uint64_t now = kNow;
    connect.want(now);
    std::uint64_t pause = Connect::kPauseMinUs;
    for (int attempt = 0; attempt < 14; ++attempt) {
      INFO("attempt " << attempt << ", random " << random);
      REQUIRE(connect.tick(now, true) == Action::kOpen);
      REQUIRE(connect.on_lost(now, random) == Action::kClose);
      const std::uint64_t wake = now + pause + random % pause;
      CHECK(connect.tick(wake - 1, true) == Action::kNone);
      CHECK(connect.state() == State::kBackoff);
      CHECK(connect.tick(wake, false) == Action::kNone);
      CHECK(connect.state() == State::kWanted);
      CHECK(wake - now < 2 * pause);
      now = wake;
      pause = std::min<std::uint64_t>(pause * 2, Connect::kPauseMaxUs);
    }
    CHECK(pause == Connect::kPauseMaxUs);
  }
}

// How an attempt ends at a peer that is there.
const std::vector<std::function<Action(Connect&, std::uint64_t)>> kRefusals{
    [](Connect& c, std::uint64_t now) { return c.on_rejected(RejectReason::kStale, now, 0); },
    [](Connect& c, std::uint64_t now) { return c.on_lost(now, 0); }};

TEST_CASE("a refused attempt is followed by another until the time limit, from the first refusal", "[connect]") {
  for (const auto& refuse : kRefusals) {
    Connect connect = make(kLower);
    connect.want(kNow);
    std::uint64_t now = kNow + 100 * kLimit;  // it has waited for a free attempt
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now) == Action::kClose);
    const std::uint64_t first = now;
    now += kLimit - 1;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now) == Action::kClose);
    now = first + kLimit + Connect::kPauseMaxUs;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now) == Action::kFail);
    CHECK(connect.state() == State::kFailed);
  }
}

TEST_CASE("a peer that was silent and then refuses has its whole time limit", "[connect][S4]") {
  for (const auto& refuse : kRefusals) {
    Connect connect = reach(State::kBackoff, kLower);
    std::uint64_t now = kNow;
    for (int silences = 0; silences < 3; ++silences) {
      now += Connect::kPauseMaxUs;
      REQUIRE(connect.tick(now, true) == Action::kOpen);
      now += 10 * kLimit;
      REQUIRE(refuse(connect, now) == Action::kClose);
    }
    const std::uint64_t refused = now;
    now += kLimit - 1;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now) == Action::kClose);
    now = refused + kLimit + Connect::kPauseMaxUs;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now + Connect::kSilenceUs - 1) == Action::kFail);
  }
}

TEST_CASE("an attempt that was out for the time of silence has met silence", "[connect][S4]") {
  for (const auto& refuse : kRefusals) {
    Connect connect = reach(State::kBackoff, kLower);
    const std::uint64_t now = kNow + 2 * kLimit;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now + Connect::kSilenceUs) == Action::kClose);
  }
}

TEST_CASE("time in which no attempt was free is no part of the time limit", "[connect][S4]") {
  for (const auto& refuse : kRefusals) {
    Connect connect = reach(State::kBackoff, kLower);
    std::uint64_t now = kNow;
    for (int blocked = 0; blocked < 3; ++blocked) {
      now += kLimit / 4;
      CHECK(connect.tick(now, false) == Action::kNone);
      CHECK(connect.tick(now + kLimit, false) == Action::kNone);
      now += 2 * kLimit;
      REQUIRE(connect.tick(now, true) == Action::kOpen);
      REQUIRE(refuse(connect, now) == Action::kClose);
    }
    now += kLimit / 4;
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(refuse(connect, now) == Action::kFail);
  }
}

// A state that follows a refusal at kNow: since then the peer has asked for a connection itself, or said that its own
// attempt wins.
struct Heard {
  const char* name;
  std::function<void(Connect&)> hear;
};

const std::vector<Heard> kHeard{
    {"a request that is accepted, and lost",
     [](Connect& c) {
       REQUIRE(c.on_request(7) == Action::kAccept);
       REQUIRE(c.on_lost(kNow + 1, 0) == Action::kClose);
     }},
    {"a request that crosses the own attempt, which wins",
     [](Connect& c) {
       REQUIRE(c.tick(kNow + Connect::kPauseMinUs, true) == Action::kOpen);
       REQUIRE(c.on_request(7) == Action::kReject);
       REQUIRE(c.on_interrupted(kNow + 2 * Connect::kPauseMinUs, 0) == Action::kClose);
     }},
    {"a rejection as crossing",
     [](Connect& c) {
       REQUIRE(c.tick(kNow + Connect::kPauseMinUs, true) == Action::kOpen);
       REQUIRE(c.on_rejected(RejectReason::kCrossing, kNow + 2 * Connect::kPauseMinUs, 0) == Action::kClose);
     }},
};

TEST_CASE("a peer that asks for a connection itself does not refuse: the time limit begins anew", "[connect][S4]") {
  for (const Heard& one : kHeard) {
    INFO(one.name);
    Connect connect = make(kLower, kLimit);
    connect.want(kNow);
    REQUIRE(connect.tick(kNow, true) == Action::kOpen);
    REQUIRE(connect.on_lost(kNow, 0) == Action::kClose);
    one.hear(connect);
    const std::uint64_t later = kNow + 10 * kLimit;
    REQUIRE(connect.tick(later, true) == Action::kOpen);
    CHECK(connect.on_lost(later, 0) == Action::kClose);
    REQUIRE(connect.tick(later + kLimit, true) == Action::kOpen);
    CHECK(connect.on_lost(later + kLimit, 0) == Action::kFail);
  }
}

TEST_CASE("an attempt that the peer's host did not respond to uses up its time", "[connect][S4]") {
  for (const std::uint64_t out : {kLimit - 1, kLimit, 40 * kLimit}) {
    Connect connect = reach(State::kConnecting, kLower);
    CHECK(connect.on_unreachable(kNow + out, 0) == (out < kLimit ? Action::kClose : Action::kFail));
  }
  Connect connect = reach(State::kConnecting, kLower);
  REQUIRE(connect.on_unreachable(kNow + kLimit / 2, 0) == Action::kClose);
  REQUIRE(connect.tick(kNow + kLimit - 1, true) == Action::kOpen);
  CHECK(connect.on_unreachable(kNow + kLimit, 0) == Action::kFail);
}

TEST_CASE("an interrupted attempt is made again after a pause and uses up no time", "[connect][S4]") {
  for (const bool refused : {false, true}) {
    Connect connect = reach(refused ? State::kBackoff : State::kWanted, kLower);
    std::uint64_t now = kNow + kLimit - 1;
    std::uint64_t pause = Connect::kPauseMinUs * (refused ? 2 : 1);
    for (int i = 0; i < 100; ++i) {
      REQUIRE(connect.tick(now, true) == Action::kOpen);
      now += 100;
      REQUIRE(connect.on_interrupted(now, 0) == Action::kClose);
      CHECK(connect.tick(now + pause - 1, true) == Action::kNone);
      now += pause;
      pause = std::min(pause * 2, Connect::kPauseMaxUs);
    }
    REQUIRE(connect.tick(now, true) == Action::kOpen);
    CHECK(connect.on_lost(now, 0) == Action::kClose);
  }
}

TEST_CASE("a refusal before the end of an interruption's pause counts as one at its end", "[connect][S4]") {
  Connect connect = reach(State::kBackoff, kLower);
  REQUIRE(connect.tick(kNow + Connect::kPauseMaxUs, true) == Action::kOpen);
  REQUIRE(connect.on_interrupted(kNow + Connect::kPauseMaxUs, 0) == Action::kClose);
  // event: the peer's request comes, and its connection is lost
  REQUIRE(connect.on_request(kTheirAttempt) == Action::kAccept);
  REQUIRE(connect.on_lost(kNow + Connect::kPauseMaxUs, 0) == Action::kClose);
  REQUIRE(connect.tick(kNow + Connect::kPauseMaxUs, true) == Action::kOpen);
  CHECK(connect.on_lost(kNow + Connect::kPauseMaxUs, 0) == Action::kClose);
}

TEST_CASE("silence is not a failure: an attempt without a response waits", "[connect]") {
  Connect connect = reach(State::kConnecting, kLower);
  CHECK(connect.tick(kNow + 1000 * kLimit, true) == Action::kNone);
  CHECK(connect.state() == State::kConnecting);
  CHECK(connect.on_connected() == Action::kSendHello);
}

}  // namespace
}  // namespace bufenlarge::test
