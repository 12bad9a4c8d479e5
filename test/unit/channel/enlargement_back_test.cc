// SPDX-License-Identifier: MIT
// Enlargement when a ring is refused, and the way back to smaller rings.
#include <catch2/catch.hpp>

#include <algorithm>

#include "support/enlargement_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a direction that the peer refuses asks again after a pause, which grows", "[enlarge][B3]") {
  EnlargementFixture fixture;
  CHECK(fixture.enlargement.limit() == 2);
  fixture.exchange(2, 0, AckStatus::kRefused);
  CHECK(fixture.send_ring.open());
  CHECK(fixture.send_ring.phase() == 0);
  CHECK(fixture.enlargement.limit() == 0);
  CHECK(fixture.send_ring.counters().refused == 1);
  CHECK(fixture.send_ring.counters().enlargements == 0);
  CHECK_FALSE(fixture.enlargement.grow_to_limit());
  CHECK(fixture.send({104}));
  CHECK(fixture.arrived().size() == 1);
  using Tested = Enlargement<FakePort>;
  std::uint64_t pause_us = Tested::kRefusedPauseUs;
  for (std::uint32_t refusals = 1; refusals < 10; ++refusals) {
    fixture.peer.grant_all();
    fixture.port.now += pause_us - 1;
    CHECK(fixture.enlargement.limit() == 0);
    fixture.port.now += 1;
    CHECK(fixture.enlargement.limit() == 2);
    fixture.exchange(2, 0, AckStatus::kRefused);
    CHECK(fixture.send_ring.counters().refused == refusals + 1);
    pause_us = std::min(2 * pause_us, Tested::kRefusedPauseUs * Tested::kRefusedFactorMax);
  }
  fixture.port.now += pause_us;
  fixture.exchange(2, 2);
  CHECK(fixture.enlargement.limit() == 2);
  CHECK(fixture.send_ring.phase() == 2);
}

TEST_CASE("who had no memory for as large slots as the peer asks for the same phase again", "[enlarge][B3]") {
  EnlargementFixture fixture;
  fixture.port.refuses_memory = [](std::size_t bytes) { return bytes > 2048; };
  fixture.exchange(2, 2);
  REQUIRE(fixture.send_ring.phase() == 1);
  fixture.port.refuses_memory = nullptr;
  fixture.peer.grant_all();
  fixture.port.now += Enlargement<FakePort>::kRefusedPauseUs;
  CHECK(fixture.enlargement.limit() == 2);
  fixture.exchange(2, 2);
  CHECK(fixture.send_ring.phase() == 2);
  CHECK(fixture.send_ring.counters().enlargements == 1);
  CHECK(fixture.send_ring.counters().shrinks == 0);
}

TEST_CASE("a ring that catches up with the peer's while the peer refuses more has not grown once more",
          "[enlarge][B3]") {
  EnlargementFixture fixture;
  fixture.port.refuses_memory = [](std::size_t) { return true; };
  fixture.exchange(1, 1);
  CHECK(fixture.send_ring.phase() == 0);
  CHECK(fixture.send_ring.counters().enlargements == 1);
  fixture.port.refuses_memory = nullptr;
  fixture.port.now += Enlargement<FakePort>::kRefusedPauseUs;
  fixture.exchange(2, 1, AckStatus::kRefused);
  CHECK(fixture.send_ring.phase() == 1);
  CHECK(fixture.send_ring.counters().enlargements == 1);
  CHECK(fixture.send_ring.counters().refused == 2);
}

TEST_CASE("without memory for a larger receive ring the present one is used again, empty", "[enlarge][memory]") {
  EnlargementFixture fixture;
  fixture.refuse_memory();
  fixture.request({1, 2});
  CHECK(fixture.peer.inbox().ack.status == static_cast<std::uint8_t>(AckStatus::kRefused));
  CHECK(fixture.peer.inbox().ack.phase == 0);
  CHECK(fixture.peer.inbox().ack.epoch == 1);
  CHECK(fixture.receive_ring.counters().refused == 1);
  CHECK(fixture.receive_ring.counters().enlargements == 0);
  CHECK(fixture.receive_ring.has_ring());
  CHECK(fixture.logged("free") == 0);
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.peer.follow_ack();
  fixture.peer.send(pattern(100));
  SlotTrailer trailer;
  const std::byte* payload = fixture.take_slot(trailer);
  CHECK(std::ranges::equal(std::span(payload, trailer.bytes), pattern(100)));
  fixture.poll();
}

TEST_CASE("a request for the present phase gets the present ring, empty", "[enlarge][B3]") {
  EnlargementFixture fixture;
  fixture.refuse_memory();
  fixture.request({1, 0});
  CHECK(fixture.peer.inbox().ack.status == static_cast<std::uint8_t>(AckStatus::kProvisioned));
  CHECK(fixture.peer.inbox().ack.phase == 0);
  CHECK(fixture.receive_ring.counters().refused == 0);
  CHECK(fixture.receive_ring.counters().enlargements == 0);
  CHECK(fixture.receive_ring.counters().shrinks == 0);
  CHECK(fixture.look() == SlotState::kEmpty);
  fixture.poll();
}

TEST_CASE("a request for a smaller ring gives the memory of the larger one back", "[enlarge][B1]") {
  EnlargementFixture fixture;
  fixture.request({1, 2});
  fixture.poll();
  fixture.peer.follow_ack();
  fixture.request({2, 0});
  const EnlargeAck& ack = fixture.peer.inbox().ack;
  CHECK(ack.number == 2);
  CHECK(ack.phase == 0);
  CHECK(ack.status == static_cast<std::uint8_t>(AckStatus::kProvisioned));
  CHECK(fixture.receive_ring.phase() == 0);
  CHECK(fixture.receive_ring.counters().enlargements == 1);
  CHECK(fixture.receive_ring.counters().shrinks == 1);
  CHECK(fixture.link.ring_bytes().now == 2 * three_phases().at(0).ring_bytes());
  fixture.poll();
}

ChannelSettings shrinking() {
  ChannelSettings made = settings(three_phases());
  made.shrink_after_us = 1000;
  return made;
}

// The request that is made when so many periods have passed, at the latest.
EnlargeRequest request_after(EnlargementFixture& fixture, unsigned periods) {
  for (unsigned i = 0; i < periods && !fixture.enlargement.pending(); ++i) {
    fixture.port.now += 1000;
    fixture.enlargement.look_at_use(fixture.port.now);
  }
  return fixture.requested();
}

TEST_CASE("a direction that needs no large ring any more asks for a small one, and confirms it with an empty slot",
          "[enlarge][B1]") {
  EnlargementFixture fixture(shrinking());
  fixture.send_ring.note_use(2);
  fixture.exchange(2, 2);
  CHECK(fixture.send({2000}));
  CHECK(fixture.arrived().size() == 1);
  fixture.peer.grant_all();
  fixture.port.now += 1000;
  fixture.enlargement.look_at_use(fixture.port.now);
  CHECK_FALSE(fixture.enlargement.pending());
  fixture.port.now += 999;
  fixture.enlargement.look_at_use(fixture.port.now);
  CHECK_FALSE(fixture.enlargement.pending());
  const EnlargeRequest request = request_after(fixture, 2);
  CHECK(request.phase == 0);
  fixture.peer.acknowledge(fixture.peer.provision(0, request.number));
  fixture.poll();
  fixture.service();
  CHECK(fixture.send_ring.phase() == 0);
  CHECK(fixture.send_ring.counters().shrinks == 1);
  CHECK(fixture.link.ring_bytes().now == 2 * three_phases().at(0).ring_bytes());
  const auto slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].kind() == SlotKind::kHello);
  CHECK(slots[0].payload.empty());
}

TEST_CASE("who has no memory for a smaller ring makes smaller slots of the one there is", "[enlarge][B1][B3]") {
  EnlargementFixture fixture(shrinking());
  fixture.exchange(2, 2);
  fixture.peer.grant_all();
  const EnlargeRequest request = request_after(fixture, 3);
  REQUIRE(request.phase == 0);
  fixture.refuse_memory();
  fixture.peer.acknowledge(fixture.peer.provision(0, request.number));
  fixture.poll();
  fixture.service();
  CHECK(fixture.enlargement.sender().steady());
  CHECK(fixture.send_ring.phase() == 0);
  CHECK(fixture.send_ring.counters().refused == 0);
  CHECK(fixture.arrived().size() == 1);
  CHECK(fixture.send({104}));
  CHECK(fixture.arrived().size() == 1);
}

TEST_CASE("a direction whose smaller ring is refused keeps the one it has", "[enlarge][B1][B3]") {
  EnlargementFixture fixture(shrinking());
  fixture.exchange(2, 2);
  fixture.peer.grant_all();
  const EnlargeRequest request = request_after(fixture, 3);
  fixture.peer.acknowledge(fixture.peer.provision(2, request.number, AckStatus::kRefused));
  fixture.poll();
  fixture.service();
  CHECK(fixture.send_ring.phase() == 2);
  CHECK(fixture.send_ring.counters().shrinks == 0);
  CHECK(fixture.send_ring.counters().refused == 1);
  CHECK(fixture.enlargement.limit() == 2);
  CHECK(fixture.arrived().size() == 1);  // an empty slot
  CHECK_FALSE(fixture.send({2000}));     // the path of one slot, which does not note what is needed
  fixture.send_ring.note_use(2);
  CHECK(fixture.send({2000}));
  CHECK(fixture.arrived().size() == 1);
}

TEST_CASE("a direction that has changed does not grow within ten times what that took", "[enlarge][B1]") {
  EnlargementFixture fixture(shrinking());
  fixture.enlargement.begin(1);
  const EnlargeRequest request = fixture.requested();
  fixture.port.now += 50;
  fixture.peer.acknowledge(fixture.peer.provision(1, request.number));
  fixture.service();
  REQUIRE(fixture.send_ring.phase() == 1);
  CHECK(fixture.enlargement.limit() == 1);
  CHECK_FALSE(fixture.enlargement.grow_to_limit());
  fixture.port.now += 499;
  CHECK(fixture.enlargement.limit() == 1);
  fixture.port.now += 1;
  CHECK(fixture.enlargement.limit() == 2);
}

TEST_CASE("a direction whose memory was wanted does not grow within ten times what that took", "[enlarge][B1][B2]") {
  EnlargementFixture fixture;
  fixture.exchange(2, 2);
  fixture.peer.grant_all();
  CHECK(fixture.enlargement.limit() == 2);
  fixture.enlargement.give_back();
  const EnlargeRequest request = fixture.requested();
  REQUIRE(request.phase == 0);
  fixture.port.now += 50;
  fixture.peer.acknowledge(fixture.peer.provision(0, request.number));
  fixture.poll();
  fixture.service();
  REQUIRE(fixture.send_ring.phase() == 0);
  CHECK(fixture.arrived().size() == 1);  // an empty slot
  fixture.peer.grant_all();
  fixture.port.now += 499;
  CHECK(fixture.enlargement.limit() == 0);
  fixture.port.now += 1;
  CHECK(fixture.enlargement.limit() == 2);
  fixture.exchange(2, 2);
  CHECK(fixture.send_ring.phase() == 2);
  CHECK(fixture.enlargement.limit() == 2);
}

}  // namespace
}  // namespace bufenlarge::test
