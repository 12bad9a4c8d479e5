// SPDX-License-Identifier: MIT
// A port that has no room for a write says so; whatever kind of write it was is tried again, once, in
// order, and nothing is lost.
#include <catch2/catch.hpp>

#include "protocol/enlarge_sender.h"
#include "protocol/words.h"
#include "support/solo.h"

namespace bufenlarge::test {
namespace {

std::optional<WriteResult> again(const FakePort::Write&) { return WriteResult::kAgain; }

TEST_CASE("no room for the greeting: it goes later, before the data", "[channel][again]") {
  Solo solo;
  FakePort::LinkState* link = solo.want();
  FakePeer& peer = solo.peer();
  peer.meet(link->data);
  solo.port.rule = again;
  solo.port.connected(link, peer.hello_bytes(1));
  solo.rounds(3);
  CHECK(solo.send({30}) == Sent{Status::kOk, 30});
  CHECK_FALSE(peer.next());
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(peer.next().value().kind() == SlotKind::kHello);
  CHECK(peer.next().value().payload == pattern(30));
  CHECK_FALSE(peer.next());
}

TEST_CASE("no room for payload: what was taken is written later, in order, once", "[channel][again]") {
  Solo solo;
  FakePeer& peer = solo.connect();
  solo.port.rule = again;
  for (std::uint32_t n = 1; n <= 5; ++n) {
    const Vector vector({n * 50}, n);
    REQUIRE(send(solo.channel(), vector.all()) == Sent{Status::kOk, n * 50});
  }
  CHECK_FALSE(solo.context.idle());
  CHECK_FALSE(peer.next());
  CHECK(solo.port.refused_writes >= 5);
  solo.port.rule = nullptr;
  solo.rounds(2);
  for (std::uint32_t n = 1; n <= 5; ++n) CHECK(peer.next().value().payload == pattern(n * 50, n));
  CHECK_FALSE(peer.next());
  CHECK(solo.context.idle());
}

TEST_CASE("no room for payload never takes more than the ring", "[channel][again]") {
  Solo solo(settings(phases({{512, 4}, {8192, 4}})));
  solo.connect();
  solo.port.rule = again;
  for (int n = 0; n < 4; ++n) REQUIRE(solo.send({100}) == Sent{Status::kOk, 100});
  CHECK(solo.send({100}) == kNothingSent);
  solo.rounds(5);
  CHECK(solo.send({100}) == kNothingSent);
}

TEST_CASE("no room for the request: it goes later, and still nothing behind it", "[channel][again][E5]") {
  Solo solo;
  FakePeer& peer = solo.connect();
  solo.port.rule = again;
  CHECK(solo.send({5000}) == kNothingSent);
  solo.rounds(3);
  CHECK(solo.send({5}) == kNothingSent);
  CHECK_FALSE(peer.next());
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
  CHECK_FALSE(peer.next());
}

TEST_CASE("no room for a grant: it goes later, with what was read by then", "[channel][again]") {
  Solo solo(settings(phases({{512, 8}, {8192, 8}})));
  FakePeer& peer = solo.accept();
  solo.port.rule = again;
  for (unsigned i = 0; i < 3; ++i) peer.send(pattern(8));
  solo.rounds();
  CHECK_FALSE(read_grant(peer.inbox().grant));
  CHECK_FALSE(solo.context.idle());
  peer.send(pattern(8));
  solo.rounds();
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(read_grant(peer.inbox().grant) == std::optional<std::uint64_t>(5));
  CHECK(solo.context.idle());
}

TEST_CASE("no room for the acknowledgement: it goes later, and the ring is swapped once", "[channel][again][E7]") {
  Solo solo;
  FakePeer& peer = solo.accept();
  solo.port.news();
  solo.port.rule = again;
  peer.ask({1, 1});
  solo.rounds(5);
  CHECK(peer.inbox().ack.head == 0);
  CHECK_FALSE(solo.context.idle());
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(peer.inbox().ack.head == ack_head(1));
  CHECK(peer.inbox().ack.tail == ack_tail(1));
  CHECK(solo.port.news() == std::vector<std::string>{"free 8192", "allocate 131072"});
}

TEST_CASE("no room for the repeat word: it goes later", "[channel][again][E8]") {
  Solo solo;
  FakePeer& peer = solo.connect();
  CHECK(solo.send({5000}) == kNothingSent);
  REQUIRE(peer.next());
  solo.rounds();
  solo.port.rule = again;
  solo.port.now += 1'000'000;
  solo.rounds(3);
  CHECK_FALSE(read_repeat(peer.inbox().repeat));
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(read_repeat(peer.inbox().repeat));
}

TEST_CASE("no room for a repeated acknowledgement: it goes later", "[channel][again][E8]") {
  Solo solo;
  FakePeer& peer = solo.accept();
  peer.ask({1, 1});
  solo.rounds(2);
  peer.inbox().ack = EnlargeAck{};
  solo.port.rule = again;
  peer.repeat({1, 1});
  solo.rounds(3);
  CHECK(peer.inbox().ack.head == 0);
  solo.port.rule = nullptr;
  solo.rounds();
  CHECK(peer.inbox().ack.head == ack_head(1));
}

TEST_CASE("a port that takes every third write only loses nothing, in both directions, in any phase", "[channel][again][E12]") {
  for (const std::uint32_t slots : {1u, 2u, 5u, 16u}) {
    Duo duo(settings(phases({{128, slots}, {512, slots}, {2048, slots}})));
    unsigned count = 0;
    const auto every_third = [&](const FakePort::Write&) {
      return ++count % 3 == 0 ? std::nullopt : std::optional(WriteResult::kAgain);
    };
    duo.side[0].port.rule = duo.side[1].port.rule = every_third;
    std::vector<Bytes> sent[2];
    for (std::uint32_t n = 0; n < 30; ++n) {
      for (const std::uint32_t from : {0u, 1u}) {
        const Vector vector({1 + n * n * 5, n * 3}, n + 100 * from);
        sent[from].push_back(vector.bytes());
        duo.send_all(from, vector);
      }
    }
    duo.settle();
    INFO(slots << " slots");
    CHECK(duo.side[1].messages() == sent[0]);
    CHECK(duo.side[0].messages() == sent[1]);
    CHECK(duo.side[0].channel().send_phase() == 2);
    CHECK(duo.side[1].channel().send_phase() == 2);
  }
}

}  // namespace
}  // namespace bufenlarge::test
