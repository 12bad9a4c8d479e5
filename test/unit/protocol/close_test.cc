// SPDX-License-Identifier: MIT
#include "protocol/close.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/aborts.h"

namespace bufenlarge::test {
namespace {

using State = Close::State;
using Action = Close::Action;

constexpr State kStates[] = {State::kOpen,     State::kAsked,   State::kAgreed,
                             State::kAnswered, State::kYielded, State::kEnded};
constexpr std::uint64_t kEnd = 7;  // position after the own request
constexpr bool kWins = true;       // the own request is answered first
constexpr bool kYields = false;

CloseMessage message(CloseStep step, std::uint32_t number = 1, bool for_room = false) {
  return {number, static_cast<std::uint8_t>(step), static_cast<std::uint8_t>(for_room), 0};
}

// A slot of the peer with this message.
bool take(Close& close, const CloseMessage& one) {
  const bool resumed = close.watchful() && close.on_slot();
  return close.on_message(one, resumed);
}

bool lost(Close& close, bool quiet = true, std::uint64_t staged = kEnd) { return close.on_lost(quiet, staged); }

Action next(Close& close, bool drained, std::uint64_t staged = kEnd) { return close.next(drained, drained, staged); }

// The peer's next request.
bool asked(Close& close) { return take(close, message(CloseStep::kRequest, close.peer_number() + 1)); }

// Brings the machine into a state by the fewest events.
Close reach(State state, bool wins = kYields) {
  Close close(wins);
  if (state == State::kAsked || state == State::kAgreed || state == State::kYielded) {
    REQUIRE(close.ask() == 1);
    close.requested(kEnd);
  }
  if (state == State::kAgreed) REQUIRE(take(close, message(CloseStep::kAgree)));
  if (state == State::kAnswered || state == State::kYielded || state == State::kEnded) {
    REQUIRE(take(close, message(CloseStep::kRequest)));
    REQUIRE(next(close, true) == Action::kAgree);
  }
  if (state == State::kEnded) REQUIRE(lost(close));
  REQUIRE(close.state() == state);
  return close;
}

TEST_CASE("every state of closing has the name of its enumerator", "[close]") {
  const std::vector<std::string> names{"Open", "Asked", "Agreed", "Answered", "Yielded", "Ended"};
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(to_string(kStates[i]) == names[i]);
}

// ---- the table

struct Event {
  const char* name;
  std::function<Action(Close&)> happen;
};

const std::vector<Event> kEvents{
    {"slot", [](Close& c) { return c.watchful() ? (void)c.on_slot() : void(), Action::kNone; }},
    {"agree", [](Close& c) { return (void)take(c, message(CloseStep::kAgree)), Action::kNone; }},
    {"refuse", [](Close& c) { return (void)take(c, message(CloseStep::kRefuse)), Action::kNone; }},
    {"lost", [](Close& c) { return (void)lost(c), Action::kNone; }},
    {"lost, not quiet", [](Close& c) { return (void)lost(c, false), Action::kNone; }},
    {"lost, a slot followed", [](Close& c) { return (void)lost(c, true, kEnd + 1), Action::kNone; }},
    {"next, drained", [](Close& c) { return next(c, true); }},
    {"next, not drained", [](Close& c) { return next(c, false); }},
    {"next, a slot followed", [](Close& c) { return next(c, true, kEnd + 1); }},
    {"request, next, drained", [](Close& c) { return asked(c) ? next(c, true) : Action::kNone; }},
    {"request, next, not drained", [](Close& c) { return asked(c) ? next(c, false) : Action::kNone; }},
    {"request, slot, next, drained",
     [](Close& c) { return asked(c) ? ((void)c.on_slot(), next(c, true)) : Action::kNone; }},
};

struct Row {
  State from;
  const char* event;
  State to;
  Action action;
};

// An event that is not here changes nothing.
std::vector<Row> table(bool wins) {
  std::vector<Row> rows{
      {State::kAsked, "agree", State::kAgreed, Action::kNone},
      {State::kAsked, "refuse", State::kOpen, Action::kNone},
      {State::kAgreed, "lost", State::kEnded, Action::kNone},
      {State::kAgreed, "next, drained", State::kEnded, Action::kEnd},
      {State::kAgreed, "next, not drained", State::kOpen, Action::kGoOn},
      {State::kAgreed, "next, a slot followed", State::kOpen, Action::kNone},
      {State::kAgreed, "request, next, drained", State::kEnded, Action::kEnd},
      {State::kAgreed, "request, next, not drained", State::kOpen, Action::kGoOn},
      {State::kAgreed, "request, slot, next, drained", State::kEnded, Action::kEnd},
      {State::kOpen, "request, next, drained", State::kAnswered, Action::kAgree},
      {State::kOpen, "request, next, not drained", State::kOpen, Action::kRefuse},
      {State::kOpen, "request, slot, next, drained", State::kOpen, Action::kRefuse},
      {State::kAnswered, "slot", State::kOpen, Action::kNone},
      {State::kAnswered, "agree", State::kOpen, Action::kNone},  // both a breach that the caller sees
      {State::kAnswered, "refuse", State::kOpen, Action::kNone},
      {State::kAnswered, "lost", State::kEnded, Action::kNone},
      {State::kAnswered, "lost, not quiet", State::kEnded, Action::kNone},
      {State::kAnswered, "lost, a slot followed", State::kEnded, Action::kNone},
      {State::kAnswered, "request, next, drained", State::kAnswered, Action::kAgree},
      {State::kAnswered, "request, next, not drained", State::kOpen, Action::kRefuse},
      {State::kAnswered, "request, slot, next, drained", State::kOpen, Action::kRefuse},
      {State::kYielded, "slot", State::kAsked, Action::kNone},
      {State::kYielded, "agree", State::kAgreed, Action::kNone},
      {State::kYielded, "refuse", State::kOpen, Action::kNone},
      {State::kYielded, "lost", State::kEnded, Action::kNone},
      {State::kYielded, "lost, not quiet", State::kEnded, Action::kNone},
      {State::kYielded, "lost, a slot followed", State::kEnded, Action::kNone},
      {State::kYielded, "request, next, drained", State::kYielded, Action::kAgree},
      {State::kYielded, "request, next, not drained", State::kAsked, Action::kRefuse},
      {State::kYielded, "request, slot, next, drained", State::kAsked, Action::kRefuse},
  };
  if (wins) return rows;
  rows.push_back({State::kAsked, "request, next, drained", State::kYielded, Action::kAgree});
  rows.push_back({State::kAsked, "request, next, not drained", State::kAsked, Action::kRefuse});
  rows.push_back({State::kAsked, "request, slot, next, drained", State::kAsked, Action::kRefuse});
  return rows;
}

TEST_CASE("closing follows its state table in every state, on both sides of a crossing", "[close]") {
  for (const bool wins : {kWins, kYields}) {
    const std::vector<Row> rows = table(wins);
    for (const State from : kStates) {
      if (from == State::kEnded || (from == State::kYielded && wins)) continue;
      for (const Event& event : kEvents) {
        const auto row = std::ranges::find_if(
            rows, [&](const Row& one) { return one.from == from && std::string(one.event) == event.name; });
        Close close = reach(from, wins);
        const Action action = event.happen(close);
        INFO(to_string(from) << ", " << event.name << (wins ? ", wins" : "") << ", now " << to_string(close.state()));
        CHECK(close.state() == (row == rows.end() ? from : row->to));
        CHECK(action == (row == rows.end() ? Action::kNone : row->action));
      }
    }
  }
}

TEST_CASE("a side asks only when nothing is under way, and numbers its requests", "[close]") {
  for (const State state : kStates) CHECK(reach(state).may_ask() == (state == State::kOpen));
  Close close = reach(State::kAsked);
  REQUIRE(take(close, message(CloseStep::kRefuse)));
  CHECK(close.ask() == 2);
  Close other(kYields);
  REQUIRE(take(other, message(CloseStep::kRequest)));
  CHECK_FALSE(other.may_ask());  // it answers first
  CHECK(aborts([] { (void)reach(State::kAsked).ask(); }));
}

TEST_CASE("only who has agreed holds its writes, and a slot of the peer lets it go on", "[close]") {
  for (const State state : kStates) {
    Close close = reach(state);
    CHECK(close.holds() == (state == State::kAnswered || state == State::kYielded));
    CHECK(close.watchful() == close.holds());
    if (close.watchful()) CHECK(close.on_slot());
  }
  Close close = reach(State::kAnswered);
  CHECK(close.on_slot());
  CHECK_FALSE(close.holds());
  CHECK_FALSE(close.watchful());
}

TEST_CASE("a side looks at the peer's slots only until the request is void or refused", "[close]") {
  Close close(kYields);
  REQUIRE(asked(close));
  CHECK(close.watchful());
  SECTION("another slot makes it void") { CHECK_FALSE(close.on_slot()); }
  SECTION("it is refused") { CHECK(next(close, false) == Action::kRefuse); }
  CHECK_FALSE(close.watchful());
}

TEST_CASE("a loss is the agreed end for the side that has agreed last, and for the one that would end it next",
          "[close]") {
  for (const State state : kStates)
    for (const bool quiet : {true, false})
      for (const std::uint64_t staged : {kEnd, kEnd + 1}) {
        INFO(to_string(state) << ", quiet " << quiet << ", staged " << staged);
        Close close = reach(state);
        const bool answered = state == State::kAnswered || state == State::kYielded;
        CHECK(lost(close, quiet, staged) == (answered || (state == State::kAgreed && quiet && staged == kEnd)));
      }
}

TEST_CASE("of two requests that cross, the one of the side that wins is answered first", "[close]") {
  Close winner = reach(State::kAsked, kWins);
  Close other = reach(State::kAsked, kYields);
  REQUIRE(take(winner, message(CloseStep::kRequest)));
  REQUIRE(take(other, message(CloseStep::kRequest)));
  CHECK_FALSE(winner.pending());
  CHECK(next(other, true) == Action::kAgree);
  REQUIRE(take(winner, message(CloseStep::kAgree)));
  CHECK(next(winner, true) == Action::kEnd);
  CHECK(lost(other));
}

TEST_CASE("a request that crossed and was not followed by the end gets its answer later", "[close]") {
  Close winner = reach(State::kAsked, kWins);
  REQUIRE(take(winner, message(CloseStep::kRequest)));
  REQUIRE(take(winner, message(CloseStep::kAgree)));
  CHECK(next(winner, true, kEnd + 1) == Action::kNone);  // it has sent something: the connection stays
  CHECK(winner.pending());
  CHECK(next(winner, true) == Action::kRefuse);  // the peer's answer came after the peer's request
  CHECK_FALSE(winner.pending());
}

TEST_CASE("a request for room is agreed to by the rule for room, another by the other", "[close]") {
  for (const bool for_room : {false, true}) {
    Close close(kYields);
    REQUIRE(take(close, message(CloseStep::kRequest, 1, for_room)));
    CHECK(close.next(false, true, 0) == (for_room ? Action::kAgree : Action::kRefuse));
  }
}

TEST_CASE("messages that nobody asked for break the protocol", "[close]") {
  for (const State state : kStates) {
    Close close = reach(state);
    INFO(to_string(state));
    CHECK(close.on_message(message(CloseStep::kAgree), false) == (state == State::kAsked));
    close = reach(state);
    CHECK(close.on_message(message(CloseStep::kRefuse), false) == (state == State::kAsked));
    close = reach(state);
    CHECK_FALSE(close.on_message(message(CloseStep::kGoOn, close.peer_number()), false));
  }
  Close close = reach(State::kAsked);
  CHECK_FALSE(take(close, message(CloseStep::kAgree, 2)));
  CHECK_FALSE(take(close, message(CloseStep::kRequest, 2)));
  CHECK_FALSE(take(close, message(static_cast<CloseStep>(0))));
  CHECK_FALSE(take(close, message(static_cast<CloseStep>(5))));
  CloseMessage wrong = message(CloseStep::kRequest);
  wrong.reserved = 1;
  CHECK_FALSE(take(close, wrong));
  wrong = message(CloseStep::kRequest);
  wrong.for_room = 2;
  CHECK_FALSE(take(close, wrong));
  CHECK(take(close, message(CloseStep::kRequest)));
  CHECK_FALSE(take(close, message(CloseStep::kRequest, 2)));  // the first has no answer yet
  Close answered = reach(State::kAnswered);
  CHECK(take(answered, message(CloseStep::kGoOn)));
  CHECK(answered.state() == State::kOpen);
}

struct Changes : StateLog {
  void state_changed(const char* machine, const char* from, const char* to, const char*) override {
    all.push_back(std::string(machine) + ": " + from + " to " + to);
  }
  std::vector<std::string> all;
};

TEST_CASE("the log is told every change of state, a new connection's too", "[close][log]") {
  Changes changes;
  Close close(kYields);
  close.set_log(&changes);
  REQUIRE(close.ask() == 1);
  close.requested(kEnd);
  REQUIRE(take(close, message(CloseStep::kAgree)));
  CHECK(next(close, true) == Action::kEnd);
  close.restart();
  close.restart();  // changes nothing
  CHECK(changes.all == std::vector<std::string>{"close: Open to Asked", "close: Asked to Agreed",
                                                "close: Agreed to Ended", "close: Ended to Open"});
}

TEST_CASE("a request that has no answer yet is forgotten with its connection", "[close]") {
  Close close(kYields);
  REQUIRE(take(close, message(CloseStep::kRequest)));
  REQUIRE(close.pending());
  close.restart();
  CHECK_FALSE(close.pending());
  CHECK(close.may_ask());
  CHECK(next(close, true) == Action::kNone);
}

TEST_CASE("a new connection counts from the beginning", "[close]") {
  for (const State state : kStates) {
    Close close = reach(state);
    close.restart();
    CHECK(close.state() == State::kOpen);
    CHECK_FALSE(close.pending());
    CHECK_FALSE(close.watchful());
    CHECK(close.ask() == 1);
    REQUIRE(take(close, message(CloseStep::kRequest)));
  }
}

}  // namespace
}  // namespace bufenlarge::test
