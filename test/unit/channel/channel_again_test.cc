// SPDX-License-Identifier: MIT
// A port that has no room for a write says so; whatever kind of write it was is tried again, once, in
// order, and nothing is lost.
#include <catch2/catch.hpp>

#include "protocol/enlarge_sender.h"
#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

std::optional<WriteResult> again(const FakePort::Write&) { return WriteResult::kAgain; }

TEST_CASE("a Hello for which the port has no room goes later, before the data", "[channel][again]") {
  ContextFixture fixture;
  FakePort::LinkState* link = fixture.want();
  FakePeer& peer = fixture.peer();
  peer.meet(link->data);
  fixture.port.rule = again;
  fixture.port.connected(link, peer.answer_bytes(1));
  fixture.rounds(3);
  CHECK(fixture.send({30}) == Sent{Status::kOk, 30});
  CHECK_FALSE(peer.next());
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.next().value().kind() == SlotKind::kHello);
  CHECK(peer.next().value().payload == pattern(30));
  CHECK_FALSE(peer.next());
}

TEST_CASE("payload for which the port has no room is written later, in order, once", "[channel][again]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.rule = again;
  for (std::uint32_t n = 1; n <= 5; ++n) {
    const Vector vector({n * 50}, n);
    REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, n * 50});
  }
  CHECK_FALSE(fixture.context.idle());
  CHECK_FALSE(peer.next());
  CHECK(fixture.port.refused_writes >= 5);
  fixture.port.rule = nullptr;
  fixture.rounds(2);
  for (std::uint32_t n = 1; n <= 5; ++n) CHECK(peer.next().value().payload == pattern(n * 50, n));
  CHECK_FALSE(peer.next());
  CHECK(fixture.context.idle());
}

TEST_CASE("a send while the port has no room never takes more than the ring holds", "[channel][again]") {
  ContextFixture fixture(settings(phases({{512, 4}, {8192, 4}})));
  fixture.connect();
  fixture.port.rule = again;
  for (int n = 0; n < 4; ++n) REQUIRE(fixture.send({100}) == Sent{Status::kOk, 100});
  CHECK(fixture.send({100}) == kNothingSent);
  fixture.rounds(5);
  CHECK(fixture.send({100}) == kNothingSent);
}

TEST_CASE("a request for which the port has no room goes later, and still nothing goes behind it",
          "[channel][again][E5]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.rule = again;
  CHECK(fixture.send({5000}) == kNothingSent);
  fixture.rounds(3);
  CHECK(fixture.send({5}) == kNothingSent);
  CHECK_FALSE(peer.next());
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
  CHECK_FALSE(peer.next());
}

TEST_CASE("a grant for which the port has no room goes later, with what was read by then", "[channel][again]") {
  ContextFixture fixture(settings(phases({{512, 8}, {8192, 8}})));
  FakePeer& peer = fixture.accept();
  fixture.port.rule = again;
  for (unsigned i = 0; i < 3; ++i) peer.send(pattern(8));
  fixture.rounds();
  CHECK_FALSE(read_grant(peer.inbox().grant));
  CHECK_FALSE(fixture.context.idle());
  peer.send(pattern(8));
  fixture.rounds();
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(read_grant(peer.inbox().grant) == std::optional<std::uint64_t>(5));
  CHECK(fixture.context.idle());
}

TEST_CASE("an acknowledgement for which the port has no room goes later, and the ring is swapped once",
          "[channel][again][E7]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.accept();
  fixture.port.news();
  fixture.port.rule = again;
  peer.ask({1, 1});
  fixture.rounds(5);
  CHECK(peer.inbox().ack.head == 0);
  CHECK_FALSE(fixture.context.idle());
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.inbox().ack.head == ack_head(1));
  CHECK(peer.inbox().ack.tail == ack_tail(1));
  CHECK(fixture.port.news() == std::vector<std::string>{"allocate 131072", "give back 8192"});
}

TEST_CASE("a repeat word for which the port has no room goes later", "[channel][again][E8]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({5000}) == kNothingSent);
  REQUIRE(peer.next());
  fixture.rounds();
  fixture.port.rule = again;
  fixture.port.now += 1'000'000;
  fixture.rounds(3);
  CHECK_FALSE(read_repeat(peer.inbox().repeat));
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(read_repeat(peer.inbox().repeat));
}

TEST_CASE("a repeated acknowledgement for which the port has no room goes later", "[channel][again][E8]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.accept();
  peer.ask({1, 1});
  fixture.rounds(2);
  peer.inbox().ack = EnlargeAck{};
  fixture.port.rule = again;
  peer.repeat({1, 1});
  fixture.rounds(3);
  CHECK(peer.inbox().ack.head == 0);
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.inbox().ack.head == ack_head(1));
}

TEST_CASE("nothing is lost over a port that takes only every third write, in both directions and any phase",
          "[channel][again][E12]") {
  for (const std::uint32_t slots : {1u, 2u, 5u, 16u}) {
    ContextPair pair(settings(phases({{128, slots}, {512, slots}, {2048, slots}})));
    unsigned count = 0;
    const auto every_third = [&](const FakePort::Write&) {
      return ++count % 3 == 0 ? std::nullopt : std::optional(WriteResult::kAgain);
    };
    pair.side[0].port.rule = pair.side[1].port.rule = every_third;
    std::vector<Bytes> sent[2];
    for (std::uint32_t n = 0; n < 30; ++n) {
      for (const std::uint32_t from : {0u, 1u}) {
        const Vector vector({1 + n * n * 5, n * 3}, n + 100 * from);
        sent[from].push_back(vector.bytes());
        pair.send_all(from, vector);
      }
    }
    pair.settle();
    INFO(slots << " slots");
    CHECK(pair.side[1].messages() == sent[0]);
    CHECK(pair.side[0].messages() == sent[1]);
    CHECK(pair.side[0].channel().send_ring().phase() == 2);
    CHECK(pair.side[1].channel().send_ring().phase() == 2);
  }
}

}  // namespace
}  // namespace bufenlarge::test
