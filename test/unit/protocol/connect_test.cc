// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/connect_states.h"

namespace bufenlarge::test {
namespace {

constexpr State kStates[] = {State::kIdle,    State::kWanted,    State::kConnecting, State::kYielding, State::kBackoff,
                             State::kAccepting, State::kSilent,    State::kReady,      State::kFailed};

TEST_CASE("every state of a connection has the name of its enumerator", "[connect]") {
  const std::vector<std::string> names{"Idle",      "Wanted", "Connecting", "Yielding", "Backoff",
                                       "Accepting", "Silent", "Ready",      "Failed"};
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(to_string(kStates[i]) == names[i]);
}

// ---- the table

struct Event {
  const char* name;
  std::function<Action(Connect&)> happen;
};

Action rejected(Connect& connect, RejectReason reason) { return connect.on_rejected(reason, kNow, 0); }

const std::vector<Event> kEvents{
    {"want", [](Connect& c) { return c.want(kNow), Action::kNone; }},
    {"tick", [](Connect& c) { return c.tick(kNow, true); }},
    {"tick, no attempt free", [](Connect& c) { return c.tick(kNow, false); }},
    {"tick, much later", [](Connect& c) { return c.tick(kNow + Connect::kYieldUs, true); }},
    {"tick, much later, no attempt free", [](Connect& c) { return c.tick(kNow + Connect::kYieldUs, false); }},
    {"connected", [](Connect& c) { return c.on_connected(); }},
    {"rejected: crossing", [](Connect& c) { return rejected(c, RejectReason::kCrossing); }},
    {"rejected: stale", [](Connect& c) { return rejected(c, RejectReason::kStale); }},
    {"rejected: version", [](Connect& c) { return rejected(c, RejectReason::kVersion); }},
    {"rejected: geometry", [](Connect& c) { return rejected(c, RejectReason::kGeometry); }},
    {"rejected: unauthorized", [](Connect& c) { return rejected(c, RejectReason::kUnauthorized); }},
    {"lost", [](Connect& c) { return c.on_lost(kNow, 0); }},
    {"lost, past the limit", [](Connect& c) { return c.on_lost(kNow + kLimit, 0); }},
    {"unreachable", [](Connect& c) { return c.on_unreachable(kNow, 0); }},
    {"unreachable, past the limit", [](Connect& c) { return c.on_unreachable(kNow + kLimit, 0); }},
    {"interrupted", [](Connect& c) { return c.on_interrupted(kNow, 0); }},
    {"interrupted, past the limit", [](Connect& c) { return c.on_interrupted(kNow + kLimit, 0); }},
    {"gave way", [](Connect& c) { return c.on_gave_way(kNow, 0); }},
    {"gave way, past the limit", [](Connect& c) { return c.on_gave_way(kNow + kLimit, 0); }},
    {"request, newer", [](Connect& c) { return c.on_request(kTheirAttempt + 1); }},
    {"request, the same", [](Connect& c) { return c.on_request(kTheirAttempt); }},
    {"request, older", [](Connect& c) { return c.on_request(kTheirAttempt - 1); }},
    {"first message", [](Connect& c) { return c.on_first_message(), Action::kNone; }},
};

// Events after which an attempt is made again.
constexpr const char* kMadeAgain[] = {"lost", "lost, past the limit", "unreachable", "interrupted",
                                      "interrupted, past the limit", "gave way", "gave way, past the limit"};

struct Row {
  State from;
  const char* event;
  State to;
  Action action;
};

// An event that is not here changes nothing and returns kNone.
std::vector<Row> table(bool lower) {
  std::vector<Row> rows{
      {State::kIdle, "want", State::kWanted, Action::kNone},
      {State::kWanted, "tick", State::kConnecting, Action::kOpen},
      {State::kWanted, "tick, much later", State::kConnecting, Action::kOpen},
      {State::kConnecting, "connected", State::kReady, Action::kSendHello},
      {State::kConnecting, "rejected: crossing", State::kYielding, Action::kClose},
      {State::kConnecting, "rejected: stale", State::kBackoff, Action::kClose},
      {State::kConnecting, "rejected: version", State::kFailed, Action::kFail},
      {State::kConnecting, "rejected: geometry", State::kFailed, Action::kFail},
      {State::kConnecting, "rejected: unauthorized", State::kFailed, Action::kFail},
      {State::kConnecting, "unreachable, past the limit", State::kFailed, Action::kFail},
      {State::kYielding, "tick, much later", State::kConnecting, Action::kOpen},
      {State::kYielding, "tick, much later, no attempt free", State::kWanted, Action::kNone},
      {State::kBackoff, "tick, much later", State::kConnecting, Action::kOpen},
      {State::kBackoff, "tick, much later, no attempt free", State::kWanted, Action::kNone},
      {State::kAccepting, "connected", State::kSilent, Action::kNone},
      {State::kAccepting, "lost", State::kWanted, Action::kClose},
      {State::kAccepting, "lost, past the limit", State::kWanted, Action::kClose},
      {State::kAccepting, "request, newer", State::kAccepting, Action::kReplace},
      {State::kSilent, "first message", State::kReady, Action::kNone},
      {State::kSilent, "lost", State::kWanted, Action::kClose},  // no message was sent on it yet
      {State::kSilent, "lost, past the limit", State::kWanted, Action::kClose},
      {State::kSilent, "request, newer", State::kAccepting, Action::kReplace},
      {State::kReady, "lost", State::kFailed, Action::kFail},
      {State::kReady, "lost, past the limit", State::kFailed, Action::kFail},
  };
  for (const char* any : kMadeAgain)
    rows.push_back({State::kConnecting, any, State::kBackoff, Action::kClose});
  for (const char* any : {"request, newer", "request, the same", "request, older"}) {
    for (const State state : {State::kIdle, State::kWanted, State::kYielding, State::kBackoff})
      rows.push_back({state, any, State::kAccepting, Action::kAccept});
    rows.push_back(lower ? Row{State::kConnecting, any, State::kConnecting, Action::kReject}
                         : Row{State::kConnecting, any, State::kAccepting, Action::kReplace});
    for (const State state : {State::kReady, State::kFailed}) rows.push_back({state, any, state, Action::kReject});
  }
  for (const char* old : {"request, the same", "request, older"})
    for (const State state : {State::kAccepting, State::kSilent}) rows.push_back({state, old, state, Action::kReject});
  return rows;
}

TEST_CASE("a connection follows its state table in every state, on both sides of a crossing", "[connect]") {
  for (const bool lower : {kLower, kHigher}) {
    const std::vector<Row> rows = table(lower);
    for (const State from : kStates) {
      for (const Event& event : kEvents) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
          return one.from == from && std::string(one.event) == event.name;
        });
        Connect connect = reach(from, lower);
        const Action action = event.happen(connect);
        INFO(to_string(from) << ", " << event.name << (lower ? ", lower rank" : ", higher rank") << ", now "
                             << to_string(connect.state()));
        CHECK(connect.state() == (row == rows.end() ? from : row->to));
        CHECK(action == (row == rows.end() ? Action::kNone : row->action));
      }
    }
  }
}

TEST_CASE("an accepted connection that the own side does not want goes back to Idle when it is lost", "[connect]") {
  for (const State state : {State::kAccepting, State::kSilent}) {
    Connect connect = reach(state, kLower, false);
    CHECK(connect.on_lost(kNow, 0) == Action::kClose);
    CHECK(connect.state() == State::kIdle);
    connect.want(kNow);
    CHECK(connect.state() == State::kWanted);
  }
}

TEST_CASE("a connection that is wanted while accepting is wanted after its loss, too", "[connect]") {
  Connect connect = reach(State::kAccepting, kLower, false);
  connect.want(kNow);
  CHECK(connect.state() == State::kAccepting);
  CHECK(connect.on_lost(kNow, 0) == Action::kClose);
  CHECK(connect.state() == State::kWanted);
}

TEST_CASE("only states that wait for a time say that they do", "[connect]") {
  for (const State state : kStates) {
    const Connect connect = reach(state, kLower);
    CHECK(connect.timed() == (state == State::kWanted || state == State::kYielding || state == State::kBackoff));
    CHECK(connect.established() == (state == State::kSilent || state == State::kReady));
    CHECK(connect.ready() == (state == State::kReady));
  }
}

// ---- crossing

TEST_CASE("crossing attempts leave one connection, in both orders of events", "[connect]") {
  for (const bool lower_first : {true, false}) {
    Connect lower = reach(State::kConnecting, kLower);
    Connect higher = reach(State::kConnecting, kHigher);
    const auto at_lower = [&] {
      // event
      CHECK(lower.on_request(higher.attempt()) == Action::kReject);
      // Expect
      CHECK(lower.reject_reason() == RejectReason::kCrossing);
      CHECK(lower.crossings() == 1);
    };
    const auto at_higher = [&] {
      // event
      CHECK(higher.on_request(lower.attempt()) == Action::kReplace);
      // Expect
      CHECK(higher.state() == State::kAccepting);
      CHECK(higher.crossings() == 1);
    };
    if (lower_first) at_lower(), at_higher();
    if (!lower_first) at_higher(), at_lower();
    // event: the reject reaches the higher rank, whose own attempt is closed by then
    CHECK(higher.on_rejected(RejectReason::kCrossing, kNow, 0) == Action::kNone);
    CHECK(lower.on_connected() == Action::kSendHello);
    CHECK(higher.on_connected() == Action::kNone);
    higher.on_first_message();
    // Expect
    CHECK(lower.ready());
    CHECK(higher.ready());
  }
}

TEST_CASE("a side whose attempt was rejected as crossing waits for the peer's request and accepts it", "[connect]") {
  Connect higher = reach(State::kConnecting, kHigher);
  CHECK(higher.on_rejected(RejectReason::kCrossing, kNow, 0) == Action::kClose);
  CHECK(higher.state() == State::kYielding);
  CHECK(higher.tick(kNow + Connect::kYieldUs - 1, true) == Action::kNone);
  CHECK(higher.on_request(1) == Action::kAccept);
  CHECK(higher.state() == State::kAccepting);
}

TEST_CASE("a side tries again if the peer's request does not come after a crossing", "[connect]") {
  Connect higher = reach(State::kYielding, kHigher);
  CHECK(higher.tick(kNow + Connect::kYieldUs, true) == Action::kOpen);
  CHECK(higher.attempt() == 2);
}

// ---- numbers of attempts

TEST_CASE("a newer attempt replaces an accepted one, across the wrap of its number", "[connect]") {
  struct {
    std::uint16_t known, next;
    bool newer;
  } const cases[] = {{1, 2, true},      {2, 1, false},          {1, 1, false},          {65535, 0, true},
                     {65535, 5, true},  {0, 65535, false},      {32767, 32768, true},   {0, 32767, true},
                     {0, 32768, false}, {40000, 40001, true},   {65000, 100, true},     {100, 65000, false}};
  for (const auto& one : cases) {
    for (const bool silent : {false, true}) {
      Connect connect = make(kLower);
      REQUIRE(connect.on_request(one.known) == Action::kAccept);
      if (silent) REQUIRE(connect.on_connected() == Action::kNone);
      INFO(one.known << " then " << one.next << (silent ? ", silent" : ""));
      CHECK(connect.on_request(one.next) == (one.newer ? Action::kReplace : Action::kReject));
      if (!one.newer) CHECK(connect.reject_reason() == RejectReason::kStale);
    }
  }
}

TEST_CASE("requests to an established or failed connection are stale", "[connect]") {
  for (const State state : {State::kReady, State::kFailed}) {
    Connect connect = reach(state, kHigher);
    CHECK(connect.on_request(60'000) == Action::kReject);
    CHECK(connect.reject_reason() == RejectReason::kStale);
  }
}

}  // namespace
}  // namespace bufenlarge::test
