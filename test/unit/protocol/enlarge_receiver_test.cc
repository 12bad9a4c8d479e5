// SPDX-License-Identifier: MIT
#include "protocol/enlarge_receiver.h"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include "protocol/digest.h"
#include "protocol/enlarge_sender.h"
#include "support/aborts.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

using State = EnlargeReceiver::State;

const PhaseTable kTable = three_phases();

EnlargeReceiver in_state(State state) {
  EnlargeReceiver receiver;
  if (state == State::kSteady) return receiver;
  REQUIRE(receiver.on_request({1, 1}, kTable));
  if (state == State::kAcked) receiver.swapped(seal_ack(EnlargeAck{}, 1));
  return receiver;
}

TEST_CASE("every state of the receiver has the name of its enumerator", "[enlarge_receiver]") {
  CHECK(std::string(to_string(State::kSteady)) == "Steady");
  CHECK(std::string(to_string(State::kSwapping)) == "Swapping");
  CHECK(std::string(to_string(State::kAcked)) == "Acked");
}

struct Step {
  const char* name;
  std::function<void(EnlargeReceiver&)> happen;
};

struct Row {
  State from;
  Step step;
  State to;
};

const Step kRequest{"request", [](EnlargeReceiver& r) { (void)r.on_request({r.request().number + 1, 2}, kTable); }};
const Step kSwapped{"swapped", [](EnlargeReceiver& r) { r.swapped(EnlargeAck{}); }};
const Step kRepeat{"repeat", [](EnlargeReceiver& r) { (void)r.on_repeat(r.request()); }};
const Step kConfirmed{"confirmed", [](EnlargeReceiver& r) { r.confirmed(); }};

TEST_CASE("the receiver's transitions are those of its table", "[enlarge_receiver][E7]") {
  const std::vector<Row> rows{
      {State::kSteady, kRequest, State::kSwapping},   {State::kSteady, kRepeat, State::kSteady},
      {State::kSwapping, kRequest, State::kSwapping}, {State::kSwapping, kSwapped, State::kAcked},
      {State::kSwapping, kRepeat, State::kSwapping},  {State::kAcked, kRequest, State::kSwapping},
      {State::kAcked, kRepeat, State::kAcked},        {State::kAcked, kConfirmed, State::kSteady},
  };
  for (const Row& row : rows) {
    EnlargeReceiver receiver = in_state(row.from);
    row.step.happen(receiver);
    INFO(to_string(row.from) << ", " << row.step.name << ", now " << to_string(receiver.state()));
    CHECK(receiver.state() == row.to);
  }
}

TEST_CASE("an event that its table does not allow ends the process", "[enlarge_receiver]") {
  const auto dies = [](State state, const Step& step) {
    EnlargeReceiver receiver = in_state(state);
    return aborts([&] { step.happen(receiver); });
  };
  CHECK(dies(State::kSteady, kSwapped));
  CHECK(dies(State::kSteady, kConfirmed));
  CHECK(dies(State::kSwapping, kConfirmed));
  CHECK(dies(State::kAcked, kSwapped));
}

struct RequestCase {
  const char* name;
  EnlargeRequest request;
  bool allowed;
};

TEST_CASE("only a request with the next number and a phase of the table is accepted", "[enlarge_receiver][E5]") {
  const std::vector<RequestCase> first{
      {"the next phase", {1, 1}, true},
      {"the phase after it", {1, 2}, true},
      {"the first phase", {1, 0}, true},
      {"number 0", {0, 1}, false},
      {"a number too far", {2, 1}, false},
      {"the largest number", {UINT32_MAX, 1}, false},
      {"a phase beyond the table", {1, 3}, false},
      {"a phase of the table in its low byte", {1, 0x101}, false},
      {"the largest phase number", {1, UINT32_MAX}, false},
  };
  for (const RequestCase& one : first) {
    EnlargeReceiver receiver;
    INFO(one.name);
    CHECK(receiver.on_request(one.request, kTable) == one.allowed);
    CHECK(receiver.state() == (one.allowed ? State::kSwapping : State::kSteady));
  }
}

TEST_CASE("numbers go on from request to request", "[enlarge_receiver]") {
  EnlargeReceiver receiver = in_state(State::kAcked);
  CHECK_FALSE(receiver.on_request({1, 2}, kTable));
  CHECK_FALSE(receiver.on_request({3, 2}, kTable));
  CHECK(receiver.state() == State::kAcked);
  CHECK(receiver.on_request({2, 2}, kTable));
  CHECK(receiver.request().number == 2);
  CHECK(receiver.request().phase == 2);
}

TEST_CASE("a request during a swap is refused", "[enlarge_receiver]") {
  EnlargeReceiver receiver = in_state(State::kSwapping);
  CHECK_FALSE(receiver.on_request({2, 2}, kTable));
  CHECK(receiver.request().number == 1);
}

TEST_CASE("the acknowledgement is repeated for the request that it acknowledges, and for no other",
          "[enlarge_receiver][E8]") {
  const EnlargeReceiver acked = in_state(State::kAcked);
  CHECK(acked.on_repeat({1, 1}));
  CHECK_FALSE(acked.on_repeat({0, 1}));
  CHECK_FALSE(acked.on_repeat({2, 1}));
  CHECK_FALSE(in_state(State::kSteady).on_repeat({0, 0}));
  CHECK_FALSE(in_state(State::kSwapping).on_repeat({1, 1}));
  EnlargeReceiver confirmed = in_state(State::kAcked);
  confirmed.confirmed();
  CHECK_FALSE(confirmed.on_repeat({1, 1}));
}

TEST_CASE("the acknowledgement that is repeated is the one that was written first", "[enlarge_receiver][E8]") {
  EnlargeReceiver receiver = in_state(State::kSwapping);
  EnlargeAck ack{};
  ack.ring_address = 0x4711;
  receiver.swapped(seal_ack(ack, 1));
  CHECK(receiver.ack().ring_address == 0x4711);
}

TEST_CASE("a sealed acknowledgement has its number, both flags and a check that holds", "[enlarge_receiver][E8]") {
  EnlargeAck dirty{};
  dirty.reserved = 5;
  const EnlargeAck ack = seal_ack(dirty, 3);
  CHECK(ack.number == 3);
  CHECK(ack.reserved == 0);
  CHECK(ack.head == ack_head(3));
  CHECK(ack.tail == ack_tail(3));
  CHECK(ack.check == ack_check(ack));
}

}  // namespace
}  // namespace bufenlarge::test
