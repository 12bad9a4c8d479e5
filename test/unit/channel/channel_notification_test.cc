// SPDX-License-Identifier: MIT
// Arrival by notification: a channel takes slots as far as a notification covers them and no further, whatever lies
// there, and misses none that was notified for.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint8_t kWhole = kMarkFirst | kMarkLast;
constexpr std::uint8_t kWholeNotified = kWhole | kMarkNotified;

// One side that takes slots by notification. The test places slots and notifies for them apart.
class Notified : public ContextFixture {
 public:
  explicit Notified(const ChannelSettings& how = settings(two_phases())) : ContextFixture(how) {
    port.arrives = Arrival::kNotified;
  }
  // Places a whole slot of the peer, with no notification yet.
  void place(const Bytes& payload, std::uint8_t marks, std::uint32_t rank = 1) {
    FakePeer& from = peer(rank);
    const Bytes slot = from.seal(SlotKind::kPayload, payload, marks);
    from.place(slot, 0, slot.size());
    from.advance();
  }
  [[nodiscard]] std::vector<Bytes>& messages(std::uint32_t rank = 1) { return upper.messages[rank]; }
};

TEST_CASE("a side that takes slots by notification asks for them, and for no checks", "[channel][notification]") {
  Notified fixture;
  FakePeer& peer = fixture.peer();
  peer.meet(fixture.want()->data);
  CHECK(peer.theirs().flags == kHelloWantsNotifications);
}

TEST_CASE("slots beyond the last notification are not taken although they look whole", "[channel][notification][E12]") {
  Notified fixture;
  fixture.accept();
  for (std::uint32_t n = 1; n <= 3; ++n) fixture.place(pattern(n * 10, n), kWholeNotified);
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  for (std::uint32_t n = 1; n <= 3; ++n) {
    fixture.notify();
    fixture.rounds(4);
    REQUIRE(fixture.messages().size() == n);
    CHECK(fixture.messages().back() == pattern(n * 10, n));
  }
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a notification covers all slots of its write, and no other", "[channel][notification][E12]") {
  Notified fixture;
  fixture.accept();
  for (std::uint32_t n = 1; n <= 3; ++n) fixture.place(pattern(n, n), n == 3 ? kWholeNotified : kWhole);
  fixture.place(pattern(4, 4), kWholeNotified);
  fixture.notify();
  fixture.rounds(3);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(1, 1), pattern(2, 2), pattern(3, 3)});
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.messages().size() == 4);
}

TEST_CASE("notifications that come together all count", "[channel][notification]") {
  Notified fixture;
  FakePeer& peer = fixture.accept();
  for (std::uint32_t n = 1; n <= 5; ++n) peer.send(pattern(n, n));
  fixture.rounds();
  CHECK(fixture.messages().size() == 5);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a slot that lands in parts is not taken before its notification", "[channel][notification][E12]") {
  Notified fixture;
  FakePeer& peer = fixture.accept();
  const Bytes payload = pattern(60);
  // event: behind a slot that was notified for, trailer and commit word are there, the payload is not
  peer.send(pattern(10));
  const Bytes slot = peer.seal(SlotKind::kPayload, payload, kWholeNotified);
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  fixture.rounds(4);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(10)});
  peer.place(slot, payload_offset(512, 60), 64);
  peer.advance();
  fixture.rounds(4);
  CHECK(fixture.messages().size() == 1);
  fixture.notify();
  fixture.rounds();
  // Expect
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(10), payload});
}

TEST_CASE("the upper layer sees the marks of its message and nothing else", "[channel][notification]") {
  Notified fixture;
  FakePeer& peer = fixture.accept();
  peer.send(pattern(488), kMarkFirst);
  peer.send(pattern(488), 0);
  peer.send(pattern(9), kMarkLast);
  peer.send(pattern(9), kWhole);
  fixture.rounds();
  std::vector<unsigned> marks;
  for (const UpperLog::Fragment& fragment : fixture.upper.fragments) marks.push_back(fragment.marks);
  CHECK(marks == std::vector<unsigned>{kMarkFirst, 0, kMarkLast, kWhole});
}

// A notification fails the channel to peer 1 with this text; peer 2 goes on.
void check_notification_fails(ContextFixture& fixture, const std::string& text) {
  fixture.accept(1);
  FakePeer& other = fixture.accept(2);
  fixture.notify(1);
  fixture.rounds();
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].peer == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
  CHECK_THAT(fixture.upper.failures[0].text, Contains(text));
  other.send(pattern(30));
  fixture.rounds();
  CHECK(fixture.upper.messages[2].size() == 1);
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("a notification without a slot fails its channel, and only it", "[channel][notification]") {
  Notified fixture;
  check_notification_fails(fixture, "breaks the wire");
}

TEST_CASE("a notification that was not asked for fails its channel, and only it", "[channel][notification]") {
  ContextFixture fixture;
  check_notification_fails(fixture, "not asked for");
}

TEST_CASE("a failed channel ignores notifications", "[channel][notification][fail]") {
  Notified fixture;
  fixture.accept();
  for (unsigned n = 0; n < 3; ++n) fixture.notify();
  fixture.rounds(4);
  CHECK(fixture.upper.failures.size() == 1);
}

// ---- opening and losing

TEST_CASE("notifications that come before the connected event are not lost", "[channel][notification][connect]") {
  Notified fixture;
  FakePeer& peer = fixture.request();
  peer.send_hello();
  peer.send(pattern(40));
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  fixture.port.connected(fixture.port.accepted.back(), {});
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(40)});
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("notifications of an attempt that was lost do not count for the next", "[channel][notification][connect]") {
  Notified fixture;
  fixture.request(1, 1).send_hello();
  fixture.rounds(2);
  fixture.port.lost(fixture.port.accepted.back(), "reset");
  fixture.rounds(FakeContext::kEventRounds);
  FakePeer& peer = fixture.request(1, 2);
  fixture.port.connected(fixture.port.accepted.back(), {});
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.upper.failures.empty());
  peer.send_hello();
  peer.send(pattern(40));
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(40)});
}

// While an attempt of another channel is out, every round polls for events.
TEST_CASE("a loss waits for the notifications in the queue", "[channel][notification][fail]") {
  Notified fixture;
  FakePeer& peer = fixture.accept(1);
  fixture.want(2);
  fixture.port.notifications_per_poll = 1;
  for (std::uint32_t n = 1; n <= 5; ++n) peer.send(pattern(n, n));
  fixture.port.lost(fixture.port.accepted.back(), "the peer closed the connection");
  fixture.rounds(10);
  CHECK(fixture.messages().size() == 5);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
}

TEST_CASE("a notification that comes between the empty poll and the loss is read before it",
          "[channel][notification][fail]") {
  Notified fixture;
  FakePeer& peer = fixture.accept(1);
  fixture.want(2);
  fixture.port.before_events = [&] {
    fixture.port.before_events = nullptr;
    peer.send(pattern(40));
    fixture.port.lost(fixture.port.accepted.back(), "the peer closed the connection");
  };
  fixture.rounds(4);
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(40)});
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
}

TEST_CASE("a loss is seen though the notifications of another peer never end", "[channel][notification][fail]") {
  Notified fixture;
  fixture.accept(1);
  FakePort::LinkState* const link = fixture.port.accepted.back();
  FakePeer& busy = fixture.accept(2);
  fixture.want(3);  // with an attempt under way each round looks for events
  fixture.port.notifications_per_poll = 1;
  busy.send(pattern(4));
  fixture.port.lost(link, "the peer closed the connection");
  for (std::size_t round = 1; round <= 8; ++round) {
    busy.send(pattern(4));
    fixture.rounds();
    CHECK(fixture.messages(2).size() == round);
  }
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].peer == 1);
}

TEST_CASE("what lies there without a notification is not delivered when the peer is lost",
          "[channel][notification][fail]") {
  Notified fixture;
  fixture.accept();
  fixture.place(pattern(40), kWholeNotified);
  fixture.port.lost(fixture.port.accepted.back(), "gone");
  fixture.rounds(FakeContext::kEventRounds + 2);
  CHECK(fixture.messages().empty());
  CHECK(fixture.upper.failures.size() == 1);
}

// ---- growing

TEST_CASE("the request for a larger ring, and the slots of that ring, are taken by notification",
          "[channel][notification][E5]") {
  Notified fixture;
  FakePeer& peer = fixture.accept();
  peer.ask({1, 1});
  fixture.rounds(2);
  CHECK(fixture.channel().receive_ring().phase() == 1);
  peer.follow_ack();
  const Bytes slot = peer.seal(SlotKind::kPayload, pattern(5000), kWholeNotified);
  peer.place(slot, 0, slot.size());
  peer.advance();
  fixture.rounds(4);
  CHECK(fixture.messages().empty());
  fixture.notify();
  fixture.rounds();
  CHECK(fixture.messages() == std::vector<Bytes>{pattern(5000)});
}

TEST_CASE("by notification, both directions and all phases work the same", "[channel][pair][notification][E12]") {
  for (const Arrival other : {Arrival::kNotified, Arrival::kChecked}) {
    ContextPair pair(settings(three_phases()));
    pair.side[0].port.arrives = Arrival::kNotified;
    pair.side[1].port.arrives = other;
    pair.open();
    for (std::uint32_t n = 0; n < 20; ++n) {
      const Vector vector({1 + n * n * 9}, n);
      pair.send_all(n % 2, vector);
      pair.settle();
      CHECK(pair.side[1 - n % 2].messages().back() == vector.bytes());
    }
  }
}

}  // namespace
}  // namespace bufenlarge::test
