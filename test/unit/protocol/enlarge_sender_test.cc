// SPDX-License-Identifier: MIT
#include "protocol/enlarge_sender.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "protocol/enlarge_receiver.h"
#include "support/aborts.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

using State = EnlargeSender::State;
using Verdict = EnlargeSender::Verdict;

constexpr std::uint64_t kTimeout = 1000;
constexpr std::uint64_t kStart = 50'000;
constexpr std::uint64_t kBase = 7;

const PhaseTable kTable = three_phases();

EnlargeAck right_ack(std::uint32_t number = 1, std::uint8_t phase = 1, AckStatus status = AckStatus::kProvisioned) {
  EnlargeAck ack{};
  ack.ring_address = 0x123456789a;
  ack.base = kBase;
  ack.ring_key = 77;
  ack.slot_bytes = kTable.at(phase).slot_bytes;
  ack.slots = kTable.at(phase).slots;
  ack.phase = phase;
  ack.status = static_cast<std::uint8_t>(status);
  ack.epoch = 1;
  return seal_ack(ack, number);
}

EnlargeAck head_only(std::uint32_t number = 1) {
  EnlargeAck ack{};
  ack.head = ack_head(number);
  return ack;
}

struct Sender {
  EnlargeSender machine{kTimeout};
  std::uint64_t now = kStart;

  Sender& requested(std::uint8_t phase = 1) {
    machine.need(phase);
    machine.requested(kBase, now);
    return *this;
  }
  Verdict poll(const EnlargeAck& seen) { return machine.poll(seen, kTable, now); }
  Verdict poll_after(std::uint64_t us, const EnlargeAck& seen) {
    now += us;
    return poll(seen);
  }
};

Sender in_state(State state) {
  Sender sender;
  if (state == State::kSteady) return sender;
  sender.machine.need(1);
  if (state == State::kRequestDue) return sender;
  sender.machine.requested(kBase, sender.now);
  if (state == State::kHeadSeen) (void)sender.poll(head_only());
  if (state == State::kSwapping) (void)sender.poll(right_ack());
  return sender;
}

TEST_CASE("every state has the name of its enumerator", "[enlarge_sender]") {
  CHECK(std::string(to_string(State::kSteady)) == "Steady");
  CHECK(std::string(to_string(State::kRequestDue)) == "RequestDue");
  CHECK(std::string(to_string(State::kRequested)) == "Requested");
  CHECK(std::string(to_string(State::kHeadSeen)) == "HeadSeen");
  CHECK(std::string(to_string(State::kSwapping)) == "Swapping");
}

// ---- the state table of the header, and that there are no other transitions

constexpr State kStates[] = {State::kSteady, State::kRequestDue, State::kRequested, State::kHeadSeen, State::kSwapping};

struct Event {
  const char* name;
  std::function<void(Sender&)> happen;
};

const std::vector<Event> kEvents{
    {"need", [](Sender& s) { s.machine.need(1); }},
    {"requested", [](Sender& s) { s.machine.requested(kBase, s.now); }},
    {"poll: nothing yet", [](Sender& s) { (void)s.poll(EnlargeAck{}); }},
    {"poll: head seen", [](Sender& s) { (void)s.poll(head_only()); }},
    {"poll: time limit, nothing", [](Sender& s) { (void)s.poll_after(kTimeout, EnlargeAck{}); }},
    {"poll: time limit, head", [](Sender& s) { (void)s.poll_after(kTimeout, head_only()); }},
    {"poll: whole", [](Sender& s) { (void)s.poll(right_ack()); }},
    {"swapped", [](Sender& s) { s.machine.swapped(); }},
};

struct Edge {
  State from;
  const char* event;
  State to;
};

const std::vector<Edge> kEdges{
    {State::kSteady, "need", State::kRequestDue},
    {State::kRequestDue, "requested", State::kRequested},
    {State::kRequested, "poll: nothing yet", State::kRequested},
    {State::kRequested, "poll: head seen", State::kHeadSeen},
    {State::kRequested, "poll: time limit, nothing", State::kRequested},
    {State::kRequested, "poll: time limit, head", State::kHeadSeen},  // the tail has a time limit of its own
    {State::kRequested, "poll: whole", State::kSwapping},
    {State::kHeadSeen, "poll: nothing yet", State::kHeadSeen},
    {State::kHeadSeen, "poll: head seen", State::kHeadSeen},
    {State::kHeadSeen, "poll: time limit, nothing", State::kRequested},
    {State::kHeadSeen, "poll: time limit, head", State::kRequested},
    {State::kHeadSeen, "poll: whole", State::kSwapping},
    {State::kSwapping, "swapped", State::kSteady},
};

TEST_CASE("the transitions are those of the table and no others", "[enlarge_sender][E5][E6][E8][E9]") {
  for (const State from : kStates) {
    for (const Event& event : kEvents) {
      INFO(to_string(from) << ", " << event.name);
      Sender sender = in_state(from);
      REQUIRE(sender.machine.state() == from);
      const Edge* legal = nullptr;
      for (const Edge& edge : kEdges)
        if (edge.from == from && std::string(edge.event) == event.name) legal = &edge;
      if (legal == nullptr) {
        CHECK(aborts([&] { event.happen(sender); }));
        continue;
      }
      event.happen(sender);
      INFO("now " << to_string(sender.machine.state()));
      CHECK(sender.machine.state() == legal->to);
    }
  }
}

TEST_CASE("only Steady is steady, only Requested and HeadSeen wait", "[enlarge_sender][E6]") {
  for (const State state : kStates) {
    const Sender sender = in_state(state);
    CHECK(sender.machine.steady() == (state == State::kSteady));
    CHECK(sender.machine.waiting() == (state == State::kRequested || state == State::kHeadSeen));
  }
}

// ---- the acknowledgement

TEST_CASE("a whole acknowledgement is accepted at once and kept", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  CHECK(sender.poll(right_ack()) == Verdict::kAccepted);
  CHECK(sender.machine.ack().ring_address == 0x123456789a);
  CHECK(sender.machine.ack().ring_key == 77);
  CHECK(sender.machine.repeats() == 0);
  CHECK(sender.machine.rejected() == 0);
}

TEST_CASE("a head whose tail does not come within the limit makes the sender repeat its request",
          "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  EnlargeAck torn = right_ack();
  torn.tail = 0;
  sender.now += kTimeout - 1;  // shortly before the request's limit: the tail has a limit of its own
  CHECK(sender.poll(torn) == Verdict::kNothing);
  CHECK(sender.machine.state() == State::kHeadSeen);
  CHECK(sender.poll_after(kTimeout - 1, torn) == Verdict::kNothing);
  CHECK(sender.poll_after(1, torn) == Verdict::kRepeat);
  CHECK(sender.machine.repeats() == 1);
  CHECK(sender.machine.rejected() == 1);
  CHECK(sender.machine.state() == State::kRequested);
}

TEST_CASE("a tail that lands after its head makes the acknowledgement whole", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  EnlargeAck torn = right_ack();
  torn.tail = 0;
  CHECK(sender.poll(torn) == Verdict::kNothing);
  CHECK(sender.poll_after(kTimeout - 1, right_ack()) == Verdict::kAccepted);
  CHECK(sender.machine.rejected() == 0);
}

TEST_CASE("a tail without its head is not looked at", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  EnlargeAck headless = right_ack();
  headless.head = 0;
  CHECK(sender.poll_after(kTimeout - 1, headless) == Verdict::kNothing);
  CHECK(sender.machine.state() == State::kRequested);
  CHECK(sender.poll_after(1, headless) == Verdict::kRepeat);
  CHECK(sender.machine.rejected() == 0);
  CHECK(sender.poll(right_ack()) == Verdict::kAccepted);
}

TEST_CASE("an acknowledgement with any bit wrong is never accepted", "[enlarge_sender][E8]") {
  for (std::size_t bit = 0; bit < 8 * sizeof(EnlargeAck); ++bit) {
    EnlargeAck flipped = right_ack();
    reinterpret_cast<unsigned char*>(&flipped)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    Sender sender = Sender().requested();
    INFO("bit " << bit);
    CHECK(sender.poll(flipped) == Verdict::kNothing);
    CHECK(sender.poll_after(kTimeout, flipped) == Verdict::kRepeat);
    CHECK(sender.poll(right_ack()) == Verdict::kAccepted);
  }
}

TEST_CASE("an acknowledgement is accepted in no state of arrival but the whole one", "[enlarge_sender][E8]") {
  const EnlargeAck ack = right_ack();
  for (std::size_t cut = 0; cut < sizeof ack; ++cut) {
    EnlargeAck front{};
    EnlargeAck back{};
    std::memcpy(&front, &ack, cut);
    std::memcpy(reinterpret_cast<char*>(&back) + cut, reinterpret_cast<const char*>(&ack) + cut, sizeof ack - cut);
    INFO("cut at " << cut);
    // The high bytes of the tail flag are part of its value, so no acknowledgement that lacks bytes is whole.
    CHECK(Sender().requested().poll(front) != Verdict::kAccepted);
    CHECK((Sender().requested().poll(back) == Verdict::kAccepted) == (cut == 0));
  }
}

TEST_CASE("an acknowledgement that describes another ring than the requested one is not accepted",
          "[enlarge_sender][E8]") {
  const auto refused = [](auto change) {
    EnlargeAck ack = right_ack();
    change(ack);
    return Sender().requested().poll(seal_ack(ack, ack.number)) == Verdict::kNothing;
  };
  CHECK_FALSE(refused([](EnlargeAck&) {}));
  CHECK(refused([](EnlargeAck& ack) { ack.base = kBase + 1; }));
  CHECK(refused([](EnlargeAck& ack) { ack.base = kBase - 1; }));
  CHECK(refused([](EnlargeAck& ack) { ack.slot_bytes += 8; }));
  CHECK(refused([](EnlargeAck& ack) { ack.slots += 1; }));
  CHECK(refused([](EnlargeAck& ack) { ack.number = 2; }));
  CHECK(refused([](EnlargeAck& ack) { ack.phase = 3; }));
  CHECK(refused([](EnlargeAck& ack) { ack.phase = 255; }));
  // A phase that is not in the table, with the geometry of one that is not.
  CHECK(refused([](EnlargeAck& ack) {
    ack.phase = 3;
    ack.slot_bytes = ack.slots = 0;
    ack.status = static_cast<std::uint8_t>(AckStatus::kRefused);
  }));
  CHECK(refused([](EnlargeAck& ack) { ack.status = 0; }));
  CHECK(refused([](EnlargeAck& ack) { ack.status = 4; }));
  // Other phases than the requested one, with their own geometry.
  CHECK(refused([](EnlargeAck& ack) { ack = right_ack(1, 0); }));
  CHECK(refused([](EnlargeAck& ack) { ack = right_ack(1, 2); }));
}

TEST_CASE("a refusal that describes the old ring is accepted as one", "[enlarge_sender]") {
  Sender sender = Sender().requested();
  const AckStatus status = GENERATE(AckStatus::kRefused, AckStatus::kRefusedByLimit);
  CHECK(sender.poll(right_ack(1, 0, status)) == Verdict::kAccepted);
  CHECK(sender.machine.ack().status == static_cast<std::uint8_t>(status));
  CHECK(sender.machine.ack().phase == 0);
}

TEST_CASE("an acknowledgement of an earlier request is ignored", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  REQUIRE(sender.poll(right_ack()) == Verdict::kAccepted);
  sender.machine.swapped();
  sender.requested(2);
  CHECK(sender.machine.request().number == 2);
  CHECK(sender.machine.request().phase == 2);
  CHECK(sender.poll(right_ack(1, 1)) == Verdict::kNothing);
  CHECK(sender.machine.state() == State::kRequested);
  CHECK(sender.poll(right_ack(2, 2)) == Verdict::kAccepted);
}

// ---- time

TEST_CASE("a late acknowledgement is accepted after the request was repeated", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  CHECK(sender.poll_after(kTimeout, EnlargeAck{}) == Verdict::kRepeat);
  CHECK(sender.poll_after(1, right_ack()) == Verdict::kAccepted);
  CHECK(sender.machine.repeats() == 1);
  CHECK(sender.machine.rejected() == 0);
}

TEST_CASE("the pauses between repetitions double up to 32 times the limit", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  std::uint64_t pause = kTimeout;
  for (std::uint32_t repeat = 1; repeat <= 9; ++repeat) {
    INFO("repetition " << repeat);
    CHECK(sender.poll_after(pause - 1, EnlargeAck{}) == Verdict::kNothing);
    CHECK(sender.poll_after(1, EnlargeAck{}) == Verdict::kRepeat);
    CHECK(sender.machine.repeats() == repeat);
    pause = std::min(pause * 2, kTimeout * 32);
  }
  CHECK(EnlargeSender::kPauseFactorMax == 32);
}

TEST_CASE("the pauses are short again for the next request", "[enlarge_sender][E8]") {
  Sender sender = Sender().requested();
  for (int i = 0; i < 6; ++i) REQUIRE(sender.poll_after(kTimeout * 32, EnlargeAck{}) == Verdict::kRepeat);
  REQUIRE(sender.poll(right_ack()) == Verdict::kAccepted);
  sender.machine.swapped();
  sender.requested(2);
  CHECK(sender.poll_after(kTimeout, EnlargeAck{}) == Verdict::kRepeat);
}

TEST_CASE("the flags of different requests differ", "[enlarge_sender][E8]") {
  CHECK(ack_head(1) != ack_head(2));
  CHECK(ack_tail(1) != ack_tail(2));
  CHECK(ack_head(1) != ack_tail(1));
  CHECK(ack_head(0) != 0);
}

}  // namespace
}  // namespace bufenlarge::test
