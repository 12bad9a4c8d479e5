// SPDX-License-Identifier: MIT
// Connect: an active side whose first writes may stay unseen until another one comes.
#include <vector>

#include "support/connect_states.h"

namespace bufenlarge::test {
namespace {

Connect unanswered() {
  Connect connect = reach(State::kReady, kLower);
  connect.expect_answer(kNow);
  return connect;
}

// When it asked for a repetition, in microseconds after kNow.
std::vector<std::uint64_t> repetitions(Connect& connect, std::uint64_t for_us) {
  std::vector<std::uint64_t> times;
  for (std::uint64_t us = 0; us <= for_us; us += 1000)
    if (connect.tick(kNow + us, true) == Action::kRepeat) times.push_back(us);
  return times;
}

TEST_CASE("a connection without an answer asks for repetitions after pauses that double up to a bound",
          "[connect][S3]") {
  Connect connect = unanswered();
  const std::vector<std::uint64_t> expected{20'000,    60'000,    140'000,   300'000,    620'000,
                                            1'260'000, 2'540'000, 5'100'000, 7'660'000, 10'220'000};
  CHECK(repetitions(connect, 12'000'000) == expected);
  CHECK(expected[9] - expected[8] == Connect::kRepeatPauseMaxUs);
  CHECK(connect.timed());
  CHECK(connect.ready());
}

TEST_CASE("a connection asks for no repetition after the answer, nor where none is expected", "[connect][S3]") {
  Connect connect = unanswered();
  CHECK(connect.tick(kNow + Connect::kRepeatPauseUs, true) == Action::kRepeat);
  CHECK(connect.answer_due());
  connect.on_answer();
  CHECK_FALSE(connect.answer_due());
  CHECK_FALSE(connect.timed());
  CHECK(repetitions(connect, 10'000'000).empty());
  Connect other = reach(State::kReady, kLower);
  CHECK_FALSE(other.timed());
  CHECK(repetitions(other, 10'000'000).empty());
}

TEST_CASE("a connection that is lost or has ended asks for no repetition, and the next one begins anew",
          "[connect][S3]") {
  Connect lost = unanswered();
  CHECK(lost.on_lost(kNow, 0) == Action::kFail);
  CHECK_FALSE(lost.timed());
  Connect ended = unanswered();
  ended.settle();
  ended.on_ended();
  CHECK_FALSE(ended.timed());
  CHECK(repetitions(ended, 10'000'000).empty());
  REQUIRE(ended.on_request(kTheirAttempt) == Action::kAccept);
  REQUIRE(ended.on_connected() == Action::kNone);
  ended.on_first_message();
  CHECK(ended.ready());
  CHECK_FALSE(ended.answer_due());
}

}  // namespace
}  // namespace bufenlarge::test
