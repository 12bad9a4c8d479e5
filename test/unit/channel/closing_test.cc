// SPDX-License-Identifier: MIT
// The end of connections by agreement: a channel of the shipped code against a peer that the test plays, and two
// channels against each other.
#include "channel/closing.h"

#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kIdleUs = 1000;

ChannelSettings closing_settings() {
  ChannelSettings made = settings(two_phases());
  made.idle_close_us = kIdleUs;
  return made;
}

Bytes message(CloseStep step, std::uint32_t number = 1) {
  const CloseMessage made{number, static_cast<std::uint8_t>(step), 0, 0};
  const auto bytes = std::as_bytes(std::span(&made, 1));
  return {bytes.begin(), bytes.end()};
}

struct ClosingFixture : ContextFixture {
  explicit ClosingFixture(std::uint32_t rank = 0) : ContextFixture(closing_settings(), 4, rank) {}

  // Lets the idle time pass, with the rounds in which it is looked for.
  void idle() {
    for (int i = 0; i < 2; ++i) {
      port.now += kIdleUs;
      rounds(FakeContext::kEventRounds);
    }
  }
  void tell(CloseStep step, std::uint32_t number = 1) { peer().write_slot(SlotKind::kClose, message(step, number), 0); }
  // The peer's next slot that it gets, which is about closing.
  void expect(CloseStep step, std::uint32_t number = 1) {
    const auto slot = peer().next();
    REQUIRE(slot);
    CHECK(slot->kind() == SlotKind::kClose);
    CHECK(slot->payload == message(step, number));
  }
  // Connected, idle, and the request is out.
  void ask() {
    connect();
    idle();
    expect(CloseStep::kRequest);
  }
  [[nodiscard]] Connect::State state() { return channel().connection().state(); }
};

TEST_CASE("a connection that is not used is asked to end, once, and ends when the peer agrees", "[closing]") {
  ClosingFixture fixture;
  fixture.ask();
  fixture.idle();
  CHECK_FALSE(fixture.peer().next());
  fixture.tell(CloseStep::kAgree);
  fixture.rounds(2);
  CHECK(fixture.state() == Connect::State::kIdle);
  CHECK(fixture.port.opened.back()->user == nullptr);
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(fixture.context.core().links.empty());
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.context.core().closing.closed == 1);
}

TEST_CASE("without a time nothing is asked to end", "[closing]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.now += 1'000'000'000;
  fixture.rounds(4 * FakeContext::kEventRounds);
  CHECK_FALSE(peer.next());
}

TEST_CASE("a connection that is used stays", "[closing]") {
  ClosingFixture fixture;
  FakePeer& peer = fixture.connect();
  for (int i = 0; i < 10; ++i) {
    fixture.port.now += kIdleUs / 2;
    if (i % 2 == 0)
      peer.send(pattern(8));
    else
      (void)fixture.send({8});
    fixture.rounds(FakeContext::kEventRounds);
    while (const auto slot = peer.next()) CHECK(slot->kind() == SlotKind::kPayload);
    peer.grant_all();
  }
}

TEST_CASE("what is sent after the request keeps the connection, and arrives", "[closing]") {
  ClosingFixture fixture;
  fixture.ask();
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
  fixture.tell(CloseStep::kAgree);  // before it has read the message
  fixture.rounds(2);
  CHECK(fixture.state() == Connect::State::kReady);
  CHECK(fixture.peer().next().value().kind() == SlotKind::kPayload);
  CHECK_FALSE(fixture.peer().next());
  CHECK(fixture.channel().closing().state() == Close::State::kOpen);
}

TEST_CASE("a side that the peer has agreed with and that is not drained any more says that it goes on", "[closing]") {
  ClosingFixture fixture;
  fixture.ask();
  fixture.tell(CloseStep::kAgree);
  // event: a message of the peer has begun, which ends later
  std::uint32_t source = 0;
  Bytes memory(100);
  const iovec whole{memory.data(), memory.size()};
  REQUIRE(fixture.channel().advertise(std::span(&whole, 1), nullptr, source) == Status::kOk);
  Bytes from(5000);
  fixture.port.rule = [](const FakePort::Write& write) {
    return is_data(write.use) ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  REQUIRE(fixture.channel().write({from.data(), nullptr, 0, from.size(), 0}) == Status::kOk);
  fixture.rounds(2);
  // Expect
  CHECK(fixture.state() == Connect::State::kReady);
  fixture.expect(CloseStep::kGoOn);
  CHECK(fixture.context.core().closing.taken_back == 1);
}

TEST_CASE("a peer's request is agreed to when nothing is under way, and then nothing more is written", "[closing]") {
  ClosingFixture fixture;
  fixture.connect();
  fixture.tell(CloseStep::kRequest);
  fixture.rounds(2);
  fixture.expect(CloseStep::kAgree);
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.rounds(FakeContext::kEventRounds);
  CHECK_FALSE(fixture.peer().next());
  // event: the peer closes
  fixture.lose();
  fixture.rounds(FakeContext::kEventRounds);
  // Expect
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.port.opened.size() == 2);  // what was to be sent wants another connection
  fixture.peer().meet(fixture.port.opened.back()->data);
  CHECK(fixture.peer().theirs().attempt == 2);
}

TEST_CASE("a peer that goes on after the agreement gets what was to be sent, on the same connection", "[closing]") {
  for (const bool says_so : {false, true}) {
    ClosingFixture fixture;
    fixture.connect();
    fixture.tell(CloseStep::kRequest);
    fixture.rounds(2);
    fixture.expect(CloseStep::kAgree);
    CHECK(fixture.send({8}) == kNothingSent);
    if (says_so)
      fixture.tell(CloseStep::kGoOn);
    else
      fixture.peer().send(pattern(8));
    fixture.rounds();
    CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
    CHECK(fixture.peer().next().value().kind() == SlotKind::kPayload);
    CHECK(fixture.port.opened.size() == 1);
  }
}

TEST_CASE("a peer's request is refused while something is under way, or when a slot follows it", "[closing]") {
  ClosingFixture open;
  open.connect();
  open.peer().send(pattern(8), kMarkFirst);  // a message that is not over
  open.tell(CloseStep::kRequest);
  open.rounds(2);
  open.expect(CloseStep::kRefuse);

  ClosingFixture followed;
  followed.connect();
  followed.tell(CloseStep::kRequest);
  followed.peer().send(pattern(8));
  followed.rounds(2);
  followed.expect(CloseStep::kRefuse);

  ClosingFixture advertised;
  advertised.connect();
  Bytes memory(100);
  const iovec whole{memory.data(), memory.size()};
  std::uint32_t source = 0;
  REQUIRE(advertised.channel().advertise(std::span(&whole, 1), nullptr, source) == Status::kOk);
  advertised.tell(CloseStep::kRequest);
  advertised.rounds(2);
  advertised.expect(CloseStep::kRefuse);
}

TEST_CASE("a loss without an agreement is a loss, also while an own request is out", "[closing][loss]") {
  ClosingFixture fixture;
  fixture.ask();
  fixture.lose();
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
}

TEST_CASE("a loss behind the agreement is the agreed end, unless something was sent after the request",
          "[closing][loss]") {
  for (const bool sends : {false, true}) {
    ClosingFixture fixture;
    fixture.ask();
    if (sends) CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
    fixture.tell(CloseStep::kAgree);  // lies in the ring when the loss is seen
    fixture.lose();
    fixture.rounds(FakeContext::kEventRounds);
    CHECK(fixture.upper.failures.size() == (sends ? 1 : 0));
    CHECK(fixture.context.core().closing.closed == (sends ? 0 : 1));
    CHECK(fixture.channel().failed() == sends);
  }
}

TEST_CASE("a loss in the middle of something that a peer began after it had agreed is a loss", "[closing][loss]") {
  const bool enlarges = GENERATE(false, true);
  ClosingFixture fixture;
  fixture.ask();
  fixture.port.placed.emplace();  // what comes now is read when the loss is seen
  fixture.tell(CloseStep::kAgree);
  if (enlarges)
    fixture.peer().ask({1, 1});
  else
    fixture.peer().send(pattern(8), kMarkFirst);
  fixture.lose();
  fixture.rounds(FakeContext::kEventRounds);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
  CHECK(fixture.context.core().closing.closed == 0);
}

TEST_CASE("an answer that nobody asked for fails the channel", "[closing]") {
  ClosingFixture fixture;
  fixture.connect();
  fixture.tell(CloseStep::kAgree);
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
  ClosingFixture shorter;
  shorter.connect();
  shorter.peer().write_slot(SlotKind::kClose, pattern(4), 0);
  shorter.rounds(2);
  CHECK(shorter.upper.failures.size() == 1);
}

TEST_CASE("a message about closing is notified where the peer mixes, so that all before it is placed", "[closing]") {
  ClosingFixture fixture;
  fixture.port.arrives = Arrival::kMixed;
  fixture.peer().flags = kHelloVerifiesSlots | kHelloWantsNotifications;
  fixture.connect();
  fixture.idle();
  REQUIRE_FALSE(fixture.port.writes.empty());
  CHECK(fixture.port.writes.back().use == WriteUse::kNotifiedSlots);
  fixture.expect(CloseStep::kRequest);
}

TEST_CASE("a connection that was made again begins anew: ring, epoch, phase, credit, requests", "[closing]") {
  ContextPair pair(closing_settings());
  pair.open();
  pair.send_all(0, Vector({5000}, 3));
  pair.send_all(1, Vector({6000}, 4));
  pair.settle();
  REQUIRE(pair.side[0].channel().send_ring().phase() == 1);
  for (int i = 0; i < 4; ++i) {
    for (auto& side : pair.side) side.port.now += kIdleUs;
    pair.rounds(FakeContext::kEventRounds);
  }
  // A FakePort does not tell one side that the other has closed.
  auto& first = pair.side[0];
  auto& second = pair.side[1];
  const bool first_closed = first.channel().connection().state() == Connect::State::kIdle;
  auto& waits = first_closed ? second : first;
  CHECK((first_closed ? first : second).channel().element_bytes_max() == 488);
  FakePort::LinkState* link = waits.port.opened.empty() ? waits.port.accepted.back() : waits.port.opened.back();
  waits.port.lost(link, "the peer closed the connection");
  pair.rounds(FakeContext::kEventRounds);
  for (auto& side : pair.side) {
    CHECK(side.channel().connection().state() == Connect::State::kIdle);
    CHECK(side.channel().ring_bytes().now == 0);
    CHECK(side.channel().send_ring().phase() == 0);
    CHECK(side.channel().receive_ring().phase() == 0);
    CHECK(side.channel().receive_ring().epoch() == 0);
    CHECK(side.upper.failures.empty());
  }
  pair.send_all(1, Vector({7000}, 5));
  pair.send_all(0, Vector({400}, 6));
  CHECK(second.messages().back() == Vector({400}, 6).bytes());
  CHECK(first.messages().back() == Vector({7000}, 5).bytes());
  CHECK(second.channel().send_ring().phase() == 1);
  CHECK(second.context.core().closing.reopened == 1);
}

}  // namespace
}  // namespace bufenlarge::test
