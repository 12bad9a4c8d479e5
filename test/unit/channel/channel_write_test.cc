// SPDX-License-Identifier: MIT
// How staged slots go out as writes: how many at once, which slots share one, and when corked messages go.
#include <catch2/catch.hpp>

#include "support/arrived.h"
#include "support/context_fixture.h"
#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("no more writes are in flight than the bound", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 64}, {8192, 64}})));
  fixture.connect();
  fixture.port.completes = false;
  fixture.port.writes.clear();
  for (int i = 0; i < 40; ++i) REQUIRE(fixture.send({300}) == Sent{Status::kOk, 300});
  CHECK(fixture.port.posted() == kWritesInFlightMax);
  CHECK_FALSE(fixture.context.idle());
  fixture.rounds(5);
  CHECK(fixture.port.posted() == kWritesInFlightMax);
  // event: one completes, what waited goes out behind it
  fixture.port.complete(1);
  fixture.rounds();
  CHECK(fixture.port.posted() == kWritesInFlightMax);
  fixture.port.completes = true;
  fixture.rounds(10);
  CHECK(fixture.context.idle());
  FakePeer& peer = fixture.peer();
  CHECK(drain(peer).marks.size() == 40);
}

TEST_CASE("the first 64 KiB of a long message go while the rest is copied to the ring", "[sendring]") {
  const PhaseTable long_ring = phases({{8192, 12}});
  RingsFixture fixture(settings(long_ring));
  const std::size_t bytes = 10 * long_ring.at(0).capacity();
  REQUIRE(fixture.stage(bytes) == bytes);
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].bytes.size() == 8 * 8192);
  fixture.send_ring.flush();
  REQUIRE(fixture.port.writes.size() == 2);
  CHECK(fixture.port.writes[1].bytes.size() == 2 * 8192);
}

TEST_CASE("a context is idle when all peers' hosts have what was written, and asks all of them", "[channel][F7]") {
  ContextFixture fixture(settings(phases({{512, 64}})));
  for (const std::uint32_t rank : {1u, 2u, 3u}) fixture.connect(rank);
  const std::vector<FakePort::LinkState*> links = fixture.port.opened;
  REQUIRE(links.size() == 3);
  CHECK(fixture.context.idle());
  links[0]->settled = links[2]->settled = false;
  const int before[] = {links[0]->asked_settled, links[1]->asked_settled, links[2]->asked_settled};
  CHECK_FALSE(fixture.context.idle());
  for (int i = 0; i < 3; ++i) CHECK(links[static_cast<std::size_t>(i)]->asked_settled == before[i] + 1);
  links[0]->settled = true;
  CHECK_FALSE(fixture.context.idle());
  links[2]->settled = true;
  CHECK(fixture.context.idle());
  // event: a channel that has something to write itself is not asked about
  const int asked = links[1]->asked_settled;
  fixture.port.completes = false;
  REQUIRE(fixture.send({300}, 2) == Sent{Status::kOk, 300});
  CHECK_FALSE(fixture.context.idle());
  CHECK(links[1]->asked_settled == asked);
}

TEST_CASE("slots that lie next to each other with little between them go out as one write", "[channel]") {
  ContextFixture fixture(without_enlargement(two_phases()));
  FakePeer& peer = fixture.connect();  // the Hello took slot 0
  fixture.port.writes.clear();
  const Vector vector({5 * 488});
  REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 5 * 488});
  CHECK(fixture.port.writes.size() == 1);
  CHECK(drain(peer).bytes == vector.bytes());
}

TEST_CASE("a write never goes round the ring's end", "[channel]") {
  ContextFixture fixture(without_enlargement(phases({{128, 4}})));
  FakePeer& peer = fixture.connect();
  for (int lap = 0; lap < 6; ++lap) {
    const Vector vector({3 * 104}, static_cast<std::uint32_t>(lap + 1));
    REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 3 * 104});
    CHECK(drain(peer).bytes == vector.bytes());
    peer.grant_all();
    fixture.rounds();
  }
}

TEST_CASE("large slots with little in them are written one by one, without their unused fronts", "[channel]") {
  ContextFixture fixture(without_enlargement(phases({{8192, 8}})));
  FakePeer& peer = fixture.connect();
  fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kAgain; };
  for (int i = 0; i < 3; ++i) REQUIRE(fixture.send({100}) == Sent{Status::kOk, 100});
  fixture.port.rule = nullptr;
  fixture.port.writes.clear();
  fixture.rounds();
  CHECK(fixture.port.writes.size() == 3);
  for (const auto& write : fixture.port.writes) CHECK(write.bytes.size() == 104 + kTrailerBytes);
  CHECK(drain(peer).marks.size() == 3);
}

// ---- corked messages

Sent send_corked(FakeChannel& channel, const Vector& vector) {
  Sent result{};
  result.status = channel.send(vector.all(), false, result.bytes, true);
  return result;
}

TEST_CASE("corked messages share a write when they are flushed", "[channel][cork]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.writes.clear();
  for (std::uint32_t n = 1; n <= 5; ++n)
    REQUIRE(send_corked(fixture.channel(), Vector({40}, n)) == Sent{Status::kOk, 40});
  CHECK(fixture.port.writes.empty());
  CHECK_FALSE(fixture.context.idle());
  fixture.channel().post_staged();
  CHECK(fixture.port.writes.size() == 1);
  for (std::uint32_t n = 1; n <= 5; ++n) CHECK(peer.next().value().payload == pattern(40, n));
  fixture.rounds();
  CHECK(fixture.context.idle());
}

TEST_CASE("what is corked and never flushed goes with the next round of progress", "[channel][cork]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  REQUIRE(send_corked(fixture.channel(), Vector({40})) == Sent{Status::kOk, 40});
  CHECK_FALSE(peer.next());
  fixture.rounds();
  CHECK(peer.next().value().payload == pattern(40));
}

TEST_CASE("what is corked keeps its place before what is not", "[channel][cork]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  REQUIRE(send_corked(fixture.channel(), Vector({40}, 1)) == Sent{Status::kOk, 40});
  REQUIRE(send(fixture.channel(), Vector({50}, 2).all()) == Sent{Status::kOk, 50});
  CHECK(peer.next().value().payload == pattern(40, 1));
  CHECK(peer.next().value().payload == pattern(50, 2));
}

TEST_CASE("an enlargement request takes what is corked along, in order", "[channel][cork][E5]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  REQUIRE(send_corked(fixture.channel(), Vector({40})) == Sent{Status::kOk, 40});
  CHECK(send_corked(fixture.channel(), Vector({5000})) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kPayload);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("a ring full of corked slots is written by progress, and its grants come", "[channel][cork]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.connect();
  for (int n = 0; n < 2; ++n) REQUIRE(send_corked(fixture.channel(), Vector({40})) == Sent{Status::kOk, 40});
  CHECK(send_corked(fixture.channel(), Vector({40})) == kNothingSent);
  fixture.rounds();
  CHECK(drain(peer).marks.size() == 2);
  peer.grant_all();
  fixture.rounds();
  CHECK(send_corked(fixture.channel(), Vector({40})) == Sent{Status::kOk, 40});
}

TEST_CASE("flushing before there is a connection, or without anything corked, writes nothing", "[channel][cork]") {
  ContextFixture fixture;
  fixture.channel().post_staged();
  CHECK(fixture.port.log.empty());
  fixture.connect();
  fixture.port.writes.clear();
  fixture.channel().post_staged();
  CHECK(fixture.port.writes.empty());
}

}  // namespace
}  // namespace bufenlarge::test
