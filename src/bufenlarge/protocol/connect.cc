// SPDX-License-Identifier: MIT
#include "protocol/connect.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "check.h"

namespace bufenlarge {

namespace {

using State = Connect::State;

struct Edge {
  State from;
  State to;
};

constexpr std::array kEdges{
    Edge{State::kIdle, State::kWanted},          Edge{State::kIdle, State::kAccepting},
    Edge{State::kWanted, State::kConnecting},    Edge{State::kWanted, State::kAccepting},
    Edge{State::kConnecting, State::kReady},     Edge{State::kConnecting, State::kYielding},
    Edge{State::kConnecting, State::kBackoff},   Edge{State::kConnecting, State::kFailed},
    Edge{State::kConnecting, State::kAccepting}, Edge{State::kYielding, State::kWanted},
    Edge{State::kYielding, State::kAccepting},   Edge{State::kBackoff, State::kWanted},
    Edge{State::kBackoff, State::kAccepting},    Edge{State::kAccepting, State::kSilent},
    Edge{State::kAccepting, State::kAccepting},  Edge{State::kAccepting, State::kIdle},
    Edge{State::kAccepting, State::kWanted},     Edge{State::kSilent, State::kReady},
    Edge{State::kSilent, State::kAccepting},     Edge{State::kSilent, State::kIdle},
    Edge{State::kSilent, State::kWanted},        Edge{State::kReady, State::kFailed},
    Edge{State::kReady, State::kIdle},           Edge{State::kReady, State::kWanted},
};

}  // namespace

const char* to_string(Connect::State state) {
  switch (state) {
#define BUFENLARGE_STATE_NAME(name) \
  case Connect::State::k##name: return #name;
    BUFENLARGE_CONNECT_STATES(BUFENLARGE_STATE_NAME)
#undef BUFENLARGE_STATE_NAME
  }
  return "?";
}

void Connect::set_state(State next, const char* why) {
  const bool legal = std::any_of(kEdges.begin(), kEdges.end(), [&](const Edge& edge) {
    return edge.from == state_ && edge.to == next;
  });
  BUFENLARGE_CHECK(legal);
  if (log_ != nullptr) log_->state_changed("connection", to_string(state_), to_string(next), why);
  state_ = next;
}

void Connect::want(std::uint64_t /*now_us*/) {
  if (wanted_) return;
  wanted_ = true;
  if (state_ == State::kIdle) set_state(State::kWanted, "there is something to send");
}

Connect::Action Connect::tick(std::uint64_t now_us, bool attempt_free) {
  const bool pausing = state_ == State::kYielding || state_ == State::kBackoff;
  if (pausing && now_us >= wake_us_) set_state(State::kWanted, "the pause is over");
  if (answer_due() && now_us >= wake_us_) {
    repeat_pause_us_ = std::min(2 * repeat_pause_us_, kRepeatPauseMaxUs);
    wake_us_ = now_us + repeat_pause_us_;
    return Action::kRepeat;
  }
  if (state_ != State::kWanted) return Action::kNone;
  if (!attempt_free) {
    if (!blocked_us_) blocked_us_ = now_us;
    return Action::kNone;
  }
  refused_us_ += now_us - std::exchange(blocked_us_, std::nullopt).value_or(now_us);
  set_state(State::kConnecting, "an attempt is free");
  ++attempt_;
  opened_us_ = now_us;
  return Action::kOpen;
}

Connect::Action Connect::on_connected() {
  repeat_pause_us_ = 0;
  if (state_ == State::kConnecting) {
    set_state(State::kReady, "the peer accepted");
    return Action::kSendHello;
  }
  if (state_ == State::kAccepting) set_state(State::kSilent, "the connection stands; the peer is the first to write");
  return Action::kNone;
}

void Connect::expect_answer(std::uint64_t now_us) {
  repeat_pause_us_ = kRepeatPauseUs;
  wake_us_ = now_us + repeat_pause_us_;
}

Connect::Action Connect::back_off(std::uint64_t now_us, std::uint32_t random, const char* why) {
  set_state(State::kBackoff, why);
  wake_us_ = now_us + pause_us_ + random % pause_us_;
  pause_us_ = std::min(pause_us_ * 2, kPauseMaxUs);
  return Action::kClose;
}

// The limit runs from `refusing_since_us`, unless it runs already and there was no silence since.
Connect::Action Connect::retry(std::uint64_t now_us, std::uint32_t random, std::uint64_t refusing_since_us) {
  const bool silent = refusing_since_us - opened_us_ >= kSilenceUs;
  if (!refused_ || silent) refused_us_ = refusing_since_us;
  refused_ = true;
  const std::uint64_t refused_for_us = now_us - std::min(refused_us_, now_us);
  if (refused_for_us < limit_us_) return back_off(now_us, random, "the attempt failed");
  set_state(State::kFailed, "the connect time limit passed");
  return Action::kFail;
}

Connect::Action Connect::on_rejected(RejectReason reason, std::uint64_t now_us, std::uint32_t random) {
  if (state_ != State::kConnecting) return Action::kNone;
  switch (reason) {
    case RejectReason::kCrossing:
      refused_ = false;
      set_state(State::kYielding, "two attempts crossed, and the peer's wins");
      wake_us_ = now_us + kYieldUs;
      return Action::kClose;
    case RejectReason::kStale:
      return retry(now_us, random, now_us);
    case RejectReason::kNoRoom:
      refused_ = false;  // a peer that makes room is no peer that refuses: the time limit begins anew
      pause_us_ = std::min(pause_us_, kRoomPauseMaxUs);
      return back_off(now_us, random, "the peer has no room for the connection");
    case RejectReason::kVersion:
    case RejectReason::kGeometry:
    case RejectReason::kUnauthorized:
      break;
  }
  set_state(State::kFailed, "the peer refuses this process");
  return Action::kFail;
}

// That says nothing about the peer, who may be gone.
Connect::Action Connect::on_gave_way(std::uint64_t now_us, std::uint32_t random) {
  if (state_ != State::kConnecting) return Action::kNone;
  pause_us_ = std::min(pause_us_, kRoomPauseMaxUs);
  return pass_over(now_us, random, "there is no room for the attempt");
}

void Connect::on_ended() {
  set_state(wanted_ ? State::kWanted : State::kIdle, "both sides agreed to close");
  pause_us_ = kPauseMinUs;
  refused_ = false;
}

Connect::Action Connect::on_lost(std::uint64_t now_us, std::uint32_t random) {
  switch (state_) {
    case State::kConnecting:
      return retry(now_us, random, now_us);
    case State::kAccepting:
    case State::kSilent:  // no message has been sent on it in either direction
      set_state(wanted_ ? State::kWanted : State::kIdle, "the connection was lost before its first message");
      return Action::kClose;
    case State::kReady:
      set_state(State::kFailed, "the connection was lost");
      return Action::kFail;
    case State::kIdle:
    case State::kWanted:
    case State::kYielding:
    case State::kBackoff:
    case State::kFailed:
      break;
  }
  return Action::kNone;
}

Connect::Action Connect::on_unreachable(std::uint64_t now_us, std::uint32_t random) {
  return state_ == State::kConnecting ? retry(now_us, random, opened_us_) : Action::kNone;
}

Connect::Action Connect::on_interrupted(std::uint64_t now_us, std::uint32_t random) {
  if (state_ != State::kConnecting) return Action::kNone;
  return pass_over(now_us, random, "the attempt was interrupted");
}

Connect::Action Connect::pass_over(std::uint64_t now_us, std::uint32_t random, const char* why) {
  const Action action = back_off(now_us, random, why);
  refused_us_ += wake_us_ - opened_us_;  // neither the attempt nor the pause counts
  return action;
}

Connect::Action Connect::reject(RejectReason reason) {
  reject_reason_ = reason;
  return Action::kReject;
}

// A peer that wants the connection, too, is no peer that refuses: the time limit begins anew.
Connect::Action Connect::on_request(std::uint16_t attempt) {
  refused_ = false;
  bool replace = false;
  switch (state_) {
    case State::kConnecting:
      ++crossings_;
      if (own_wins_) return reject(RejectReason::kCrossing);
      replace = true;
      break;
    case State::kAccepting:
    case State::kSilent:
      if (static_cast<std::int16_t>(attempt - peer_attempt_) <= 0) return reject(RejectReason::kStale);
      replace = true;
      break;
    case State::kReady:
    case State::kFailed:
      return reject(RejectReason::kStale);
    case State::kIdle:
    case State::kWanted:
    case State::kYielding:
    case State::kBackoff:
      break;
  }
  set_state(State::kAccepting, replace ? "a request replaces the attempt before" : "a request of the peer");
  peer_attempt_ = attempt;
  return replace ? Action::kReplace : Action::kAccept;
}

void Connect::on_first_message() {
  if (state_ == State::kSilent) set_state(State::kReady, "the peer's first message");
}

}  // namespace bufenlarge
