// SPDX-License-Identifier: MIT
#include "protocol/close.h"

#include <algorithm>
#include <array>

#include "check.h"

namespace bufenlarge {

namespace {

using State = Close::State;

struct Edge {
  State from;
  State to;
};

constexpr std::array kEdges{
    Edge{State::kOpen, State::kAsked},     Edge{State::kAsked, State::kOpen},      Edge{State::kAsked, State::kAgreed},
    Edge{State::kAgreed, State::kOpen},    Edge{State::kAgreed, State::kEnded},    Edge{State::kOpen, State::kAnswered},
    Edge{State::kAsked, State::kYielded},  Edge{State::kAnswered, State::kOpen},   Edge{State::kYielded, State::kAsked},
    Edge{State::kAnswered, State::kEnded}, Edge{State::kYielded, State::kEnded},
};

}  // namespace

const char* to_string(Close::State state) {
  switch (state) {
#define BUFENLARGE_STATE_NAME(name) \
  case Close::State::k##name: return #name;
    BUFENLARGE_CLOSE_STATES(BUFENLARGE_STATE_NAME)
#undef BUFENLARGE_STATE_NAME
  }
  return "?";
}

void Close::set_state(State next, const char* why) {
  const bool legal = std::any_of(kEdges.begin(), kEdges.end(), [&](const Edge& edge) {
    return edge.from == state_ && edge.to == next;
  });
  BUFENLARGE_CHECK(legal);
  if (log_ != nullptr) log_->state_changed("close", to_string(state_), to_string(next), why);
  state_ = next;
  update_watch();
}

std::uint32_t Close::ask() {
  BUFENLARGE_CHECK(may_ask());
  set_state(State::kAsked, "the connection is not used, or its room is needed");
  return ++number_;
}

bool Close::on_slot() {
  if (asked_ == Asked::kStands) asked_ = Asked::kVoid;
  const bool resumed = holds();
  if (state_ == State::kAnswered) set_state(State::kOpen, "the peer goes on");
  if (state_ == State::kYielded) set_state(State::kAsked, "the peer goes on");
  update_watch();
  return resumed;
}

bool Close::on_message(const CloseMessage& message, bool resumed) {
  if (message.reserved != 0 || message.for_room > 1) return false;
  switch (static_cast<CloseStep>(message.step)) {
    case CloseStep::kRequest:
      if (asked() || message.number != peer_number_ + 1) return false;
      peer_number_ = message.number;
      for_room_ = message.for_room != 0;
      asked_ = Asked::kStands;
      update_watch();
      return true;
    case CloseStep::kAgree:
    case CloseStep::kRefuse:
      if (state_ != State::kAsked || message.number != number_) return false;
      if (message.step == static_cast<std::uint8_t>(CloseStep::kAgree))
        set_state(State::kAgreed, "the peer agrees");
      else
        set_state(State::kOpen, "the peer refuses");
      return true;
    case CloseStep::kGoOn:
      return resumed && message.number == peer_number_;
  }
  return false;
}

// The peer that has agreed takes any loss for the end, so the side that would have closed next does the same.
bool Close::on_lost(bool quiet, std::uint64_t staged) {
  const bool about_to_end = state_ == State::kAgreed && quiet && staged == end_;
  if (!holds() && !about_to_end) return false;
  set_state(State::kEnded, "the connection is gone, as agreed");
  return true;
}

Close::Action Close::next(bool drained, bool drained_for_room, std::uint64_t staged) {
  if (!pending()) return Action::kNone;
  if (state_ != State::kAgreed) return answer(drained, drained_for_room);
  if (staged != end_) {
    set_state(State::kOpen, "something was sent after the request");
    return Action::kNone;
  }
  if (drained_for_room) {
    set_state(State::kEnded, "both sides agree");
    return Action::kEnd;
  }
  set_state(State::kOpen, "something is under way again");
  return Action::kGoOn;
}

Close::Action Close::answer(bool drained, bool drained_for_room) {
  const bool agree = asked_ == Asked::kStands && (for_room_ ? drained_for_room : drained);
  asked_ = Asked::kNo;
  if (agree) set_state(state_ == State::kAsked ? State::kYielded : State::kAnswered, "nothing is under way");
  update_watch();
  return agree ? Action::kAgree : Action::kRefuse;
}

void Close::restart() {
  if (log_ != nullptr && state_ != State::kOpen)
    log_->state_changed("close", to_string(state_), to_string(State::kOpen), "a new connection");
  state_ = State::kOpen;
  asked_ = Asked::kNo;
  number_ = peer_number_ = 0;
  update_watch();
}

}  // namespace bufenlarge
