// SPDX-License-Identifier: MIT
// Sending through the ring in use: what is copied, how a message is cut and marked, and what credit allows.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/arrived.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr unsigned kFirst = kMarkFirst;
constexpr unsigned kLast = kMarkLast;
constexpr unsigned kBoth = kMarkFirst | kMarkLast;
using Marks = std::vector<unsigned>;

TEST_CASE("what was sent is copied: the memory is the caller's again when send returns", "[channel][E12]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  // The write is posted, but does not leave before the caller changed its memory.
  fixture.port.withholds = [](const FakePort::Write&) { return true; };
  fixture.port.completes = false;
  Vector vector({200, 100});
  const Bytes original = vector.bytes();
  REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 300});
  std::fill(vector.bytes().begin(), vector.bytes().end(), std::byte{0xee});
  REQUIRE(fixture.port.withheld.size() == 1);
  for (const auto& write : fixture.port.withheld) REQUIRE(fixture.fabric.place(write.key, write.address, write.bytes));
  CHECK(drain(peer).bytes == original);
  fixture.port.complete(1);
  fixture.rounds();  // the port checks here that the memory it read did not change
}

TEST_CASE("data goes from the send ring, by one write, to the peer's receive ring", "[channel][E12]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.writes.clear();
  REQUIRE(fixture.send({300}) == Sent{Status::kOk, 300});
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].key == peer.ring().key);
  CHECK(fixture.port.writes[0].bytes.size() == 304 + kTrailerBytes);  // not the unused front of the slot
}

TEST_CASE("elements of a vector follow each other without gaps, across slots", "[channel][E12]") {
  for (const std::size_t sizes : {1u, 7u, 100u, 488u}) {
    ContextFixture fixture;
    FakePeer& peer = fixture.connect();
    const Vector vector({sizes, 488, 1, 0, 300, sizes});
    const std::size_t total = vector.bytes().size();
    REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, total});
    CHECK(drain(peer).bytes == vector.bytes());
  }
}

TEST_CASE("the marks say where a message begins and ends", "[channel]") {
  ContextFixture fixture(without_enlargement(two_phases()));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({100}) == Sent{Status::kOk, 100});
  CHECK(drain(peer).marks == Marks{kBoth});
  REQUIRE(fixture.send({489}) == Sent{Status::kOk, 489});
  CHECK(drain(peer).marks == Marks{kFirst, kLast});
  REQUIRE(fixture.send({3 * 488}) == Sent{Status::kOk, 3 * 488});
  CHECK(drain(peer).marks == Marks{kFirst, 0, kLast});
}

TEST_CASE("MORE leaves the message open, and the call without it ends it", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({100}, 1, true) == Sent{Status::kOk, 100});
  REQUIRE(fixture.send({50}, 1, true) == Sent{Status::kOk, 50});
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  CHECK(drain(peer).marks == Marks{kFirst, 0, kLast, kBoth});
  CHECK(fixture.channel().send_ring().counters().messages == 2);
  CHECK(fixture.channel().send_ring().counters().messages_fragmented == 1);
}

TEST_CASE("a message that is taken in part stays open until its rest has come", "[channel][E4]") {
  ContextFixture fixture(without_enlargement(phases({{128, 2}})));
  FakePeer& peer = fixture.connect();
  const Vector vector({500});
  REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 84 + 104});
  CHECK(send(fixture.channel(), vector.rest(188)) == kNothingSent);
  Arrived all = drain(peer);
  CHECK(all.marks == Marks{kFirst, 0});
  peer.grant_all();
  fixture.rounds();
  REQUIRE(send(fixture.channel(), vector.rest(188)) == Sent{Status::kOk, 208});
  Arrived more = drain(peer);
  CHECK(more.marks == Marks{0, 0});
  peer.grant_all();
  fixture.rounds();
  REQUIRE(send(fixture.channel(), vector.rest(396)) == Sent{Status::kOk, 104});
  const Arrived last = drain(peer);
  CHECK(last.marks == Marks{kLast});
  all.bytes.insert(all.bytes.end(), more.bytes.begin(), more.bytes.end());
  all.bytes.insert(all.bytes.end(), last.bytes.begin(), last.bytes.end());
  CHECK(all.bytes == vector.bytes());
}

TEST_CASE("the slots of a message that takes several go in one write without a gap", "[channel]") {
  ContextFixture fixture(without_enlargement(phases({{8192, 16}})));
  FakePeer& peer = fixture.connect();
  fixture.port.writes.clear();
  REQUIRE(fixture.send({16, 16384}) == Sent{Status::kOk, 16400});
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].bytes.size() == 16400 + 3 * sizeof(SlotTrailer));
  CHECK(drain(peer).marks == Marks{kFirst, 0, kLast});
}

TEST_CASE("an empty vector takes nothing and opens nothing", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({}) == kNothingSent);
  CHECK(fixture.send({0, 0}) == kNothingSent);
  REQUIRE(fixture.send({5}) == Sent{Status::kOk, 5});
  CHECK(drain(peer).marks == Marks{kBoth});
}

TEST_CASE("every size from 1 byte to three slots arrives as it was", "[channel][E12]") {
  ContextFixture fixture(without_enlargement(phases({{64, 8}})));
  FakePeer& peer = fixture.connect();
  for (std::size_t size = 1; size <= 3 * 40; ++size) {
    const Vector vector({size}, static_cast<std::uint32_t>(size));
    REQUIRE(send(fixture.channel(), vector.all()) == Sent{Status::kOk, size});
    const Arrived all = drain(peer);
    CHECK(all.bytes == vector.bytes());
    CHECK(all.marks.front() == (size <= 40 ? kBoth : kFirst));
    CHECK((all.marks.back() & kLast) != 0);
    peer.grant_all();
    fixture.rounds();
  }
}

// ---- credit

TEST_CASE("a full ring takes as many slots as are granted", "[channel]") {
  for (const std::uint32_t slots : {1u, 2u, 3u, 16u}) {
    ContextFixture fixture(settings(phases({{512, slots}, {8192, slots}})));
    FakePeer& peer = fixture.connect();
    for (std::uint32_t lap = 0; lap < 3; ++lap) {
      INFO(slots << " slots, lap " << lap);
      for (std::uint32_t n = 0; n < slots; ++n) REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
      CHECK(fixture.send({60}) == kNothingSent);
      CHECK(drain(peer).marks.size() == slots);
      fixture.rounds();
      CHECK(fixture.send({60}) == kNothingSent);
      peer.grant_all();
      REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
      REQUIRE(drain(peer).marks.size() == 1);
      peer.grant_all();
      fixture.rounds();
    }
  }
}

TEST_CASE("a grant that rides on a slot of the peer is taken", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
  REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
  REQUIRE(fixture.send({60}) == kNothingSent);
  CHECK(drain(peer).marks.size() == 2);
  peer.send(pattern(5));
  fixture.rounds();
  CHECK(fixture.send({60}) == Sent{Status::kOk, 60});
}

TEST_CASE("a torn grant is not taken", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 1}, {8192, 1}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
  drain(peer);
  const GrantWord word = make_grant(peer.consumed());
  const Hello& to = peer.theirs();
  fixture.fabric.place(to.control_key, to.control_address, std::as_bytes(std::span(&word.consumed, 1)));
  fixture.rounds();
  CHECK(fixture.send({60}) == kNothingSent);
  fixture.fabric.place(to.control_key, to.control_address, std::as_bytes(std::span(&word, 1)));
  CHECK(fixture.send({60}) == Sent{Status::kOk, 60});
}

TEST_CASE("a grant for what was never posted breaks the protocol", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 1}, {8192, 1}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
  peer.grant(1000);
  CHECK(fixture.send({60}) == Sent{Status::kProtocolError, 0});
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
}

TEST_CASE("a slot that is granted before its write is complete is not written over", "[channel][E12]") {
  ContextFixture fixture(settings(phases({{512, 1}, {8192, 1}})));
  FakePeer& peer = fixture.connect();
  fixture.port.completes = false;
  REQUIRE(fixture.send({200}) == Sent{Status::kOk, 200});
  REQUIRE(peer.next());
  peer.grant_all();
  CHECK(fixture.send({200}) == kNothingSent);
  fixture.port.complete(1);
  fixture.rounds();
  CHECK(fixture.send({200}) == Sent{Status::kOk, 200});
}

TEST_CASE("a message of several slots that must go whole goes when a grant makes room for it", "[channel][write]") {
  ContextFixture fixture(without_enlargement(three_phases()));
  FakePeer& peer = fixture.connect();
  for (int i = 0; i < 2; ++i) REQUIRE(fixture.send({8}) == Sent{Status::kOk, 8});
  CHECK(drain(peer).marks.size() == 2);
  fixture.rounds();
  std::size_t sent = 0;
  const Vector three_slots({300});
  CHECK(fixture.channel().send_fenced(three_slots.all(), sent) == Status::kAgain);
  peer.grant_all();
  CHECK(fixture.channel().send_fenced(three_slots.all(), sent) == Status::kOk);
  CHECK(drain(peer).bytes == three_slots.bytes());
}

TEST_CASE("the consumed position rides on every slot", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  for (int i = 0; i < 3; ++i) peer.send(pattern(9));
  fixture.rounds();
  REQUIRE(fixture.send({60}) == Sent{Status::kOk, 60});
  CHECK(peer.next().value().trailer.grant == 3);
}

}  // namespace
}  // namespace bufenlarge::test
