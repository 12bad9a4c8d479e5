// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "protocol/connect.h"
#include "support/enlargement_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a request is the last slot of its ring: nothing else goes until the ring is exchanged", "[enlarge]") {
  EnlargementFixture fixture;
  CHECK_FALSE(fixture.enlargement.pending());
  fixture.enlargement.begin(1);
  const EnlargeRequest request = fixture.requested();
  CHECK(request.number == 1);
  CHECK(request.phase == 1);
  CHECK_FALSE(fixture.send_ring.open());
  CHECK(fixture.enlargement.pending());
  CHECK(fixture.wants_service());
  fixture.service();
  CHECK(fixture.arrived().empty());
}

TEST_CASE("a request waits for room and then goes once", "[enlarge]") {
  EnlargementFixture fixture;
  CHECK(fixture.stage(4 * 104, false) == 4 * 104);
  fixture.send_ring.flush();
  fixture.enlargement.begin(1);
  CHECK(fixture.state() == EnlargeSender::State::kRequestDue);
  CHECK(fixture.arrived().size() == 4);
  CHECK_FALSE(fixture.send_ring.may_stage());
  fixture.service();
  CHECK(fixture.arrived().empty());
  fixture.poll();
  fixture.peer.grant_all();
  fixture.service();
  CHECK(fixture.requested().phase == 1);
  fixture.service();
  CHECK(fixture.arrived().empty());
}

TEST_CASE("what the peer provides is in use at once: its ring, its place, its epoch", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.exchange(2, 2);
  CHECK(fixture.enlargement.sender().steady());
  CHECK_FALSE(fixture.enlargement.pending());
  CHECK(fixture.send_ring.open());
  CHECK(fixture.send_ring.phase() == 2);
  CHECK(fixture.send_ring.counters().enlargements == 1);
  CHECK(fixture.send_ring.counters().refused == 0);
  CHECK(fixture.send({2000}));
  const auto slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].payload == pattern(2000));
  CHECK(fixture.link.ring_bytes().now == 4 * (2048 + 128));
}

TEST_CASE("the send ring stays until its writes are complete", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.port.completes = false;
  CHECK(fixture.send({104}));
  CHECK(fixture.arrived().size() == 1);
  fixture.exchange(1, 1);
  CHECK(fixture.state() == EnlargeSender::State::kSwapping);
  CHECK(fixture.logged("give back") == 0);
  fixture.port.complete(1);
  fixture.poll();
  fixture.service();
  CHECK(fixture.enlargement.sender().steady());
  CHECK(fixture.logged("give back 512") == 1);
}

TEST_CASE("an acknowledgement in parts is taken when it is whole", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.enlargement.begin(1);
  const EnlargeAck ack = fixture.peer.provision(1, fixture.requested().number);
  fixture.peer.place_ack(ack, 0, 8);
  fixture.peer.place_ack(ack, 56, 8);
  fixture.service();
  CHECK(fixture.state() == EnlargeSender::State::kHeadSeen);
  fixture.peer.place_ack(ack, 8, 48);
  fixture.service();
  CHECK(fixture.enlargement.sender().steady());
}

TEST_CASE("an acknowledgement that does not come is asked for again, and an old one is not taken", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.exchange(1, 1);
  const EnlargeAck old = fixture.link.inbox().ack;
  fixture.peer.grant_all();
  fixture.enlargement.begin(2);
  const EnlargeRequest request = fixture.requested();
  CHECK(fixture.link.inbox().ack.head == 0);
  fixture.peer.acknowledge(old);
  fixture.service();
  CHECK(fixture.state() == EnlargeSender::State::kRequested);
  fixture.port.now += fixture.core.settings.ack_timeout_us;
  fixture.answer(WriteResult::kAgain);
  fixture.service();
  CHECK(fixture.enlargement.words_due());
  CHECK_FALSE(read_repeat(fixture.peer.inbox().repeat));
  fixture.answer_as_usual();
  fixture.service();
  CHECK_FALSE(fixture.enlargement.words_due());
  REQUIRE(read_repeat(fixture.peer.inbox().repeat));
  CHECK(read_repeat(fixture.peer.inbox().repeat)->number == request.number);
  CHECK(fixture.link.inbox().ack.head == 0);
  fixture.peer.acknowledge(fixture.peer.provision(2, request.number));
  fixture.service();
  CHECK(fixture.send_ring.phase() == 2);
}

TEST_CASE("a direction grows to its limit when it may, and not otherwise", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.send_ring.pause();
  CHECK_FALSE(fixture.enlargement.grow_to_limit());
  fixture.send_ring.resume();
  CHECK(fixture.enlargement.grow_to_limit());
  CHECK(fixture.requested().phase == 2);
  CHECK_FALSE(fixture.enlargement.grow_to_limit());

  ChannelSettings fixed = settings(three_phases());
  fixed.enlargement = false;
  EnlargementFixture never(fixed);
  CHECK(never.enlargement.limit() == 0);
  CHECK_FALSE(never.enlargement.grow_to_limit());
  CHECK(never.arrived().empty());
}

TEST_CASE("without memory for large slots the own ones are smaller and end where the peer's end", "[enlarge][memory]") {
  EnlargementFixture fixture;
  fixture.port.refuses_memory = [](std::size_t bytes) { return bytes > 2048; };
  fixture.exchange(2, 2);
  CHECK(fixture.send_ring.open());
  CHECK(fixture.send_ring.phase() == 1);
  CHECK(fixture.enlargement.limit() == 1);
  CHECK(fixture.send_ring.counters().enlargements == 1);
  CHECK(fixture.send_ring.counters().refused == 1);
  CHECK(fixture.stage(900) == 900);
  fixture.send_ring.flush();
  Bytes whole;
  for (const auto& slot : fixture.arrived()) whole.insert(whole.end(), slot.payload.begin(), slot.payload.end());
  CHECK(whole == pattern(900));
}

TEST_CASE("memory for any send ring is asked for again after a pause, and in the end given up", "[enlarge][memory]") {
  for (const bool comes : {true, false}) {
    EnlargementFixture fixture(settings(phases({{128, 1}, {512, 4}})));  // one slot cannot be divided into four
    fixture.refuse_memory();
    fixture.exchange(1, 1);
    fixture.service();  // the ring is provisioned one round after the acknowledgement at the earliest
    const std::size_t asked = fixture.logged("refuse");
    CHECK(asked == 2);
    fixture.service();
    CHECK(fixture.logged("refuse") == asked);
    CHECK(fixture.enlargement.pending());
    fixture.port.now += Connect::kPauseMinUs;
    if (comes) fixture.port.refuses_memory = nullptr;
    fixture.service();
    CHECK(fixture.enlargement.sender().steady() == comes);
    CHECK(fixture.logged("refuse") == (comes ? asked : 2 * asked));
    if (comes) continue;
    fixture.port.now += fixture.core.settings.connect_timeout_us;
    fixture.service();
    fixture.check_failure(Status::kMemoryError, "a send ring of any size");
  }
}

TEST_CASE("a request of the peer exchanges the receive ring, and the acknowledgement describes it", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.peer.send(pattern(8));
  SlotTrailer trailer;
  fixture.take_slot(trailer);
  fixture.request({1, 2});
  const EnlargeAck& ack = fixture.peer.inbox().ack;
  CHECK(ack.number == 1);
  CHECK(ack.base == 2);
  CHECK(ack.slot_bytes == 2048);
  CHECK(ack.slots == 4);
  CHECK(ack.status == static_cast<std::uint8_t>(AckStatus::kProvisioned));
  CHECK(ack.check == seal_ack(ack, 1).check);
  CHECK(fixture.receive_ring.phase() == 2);
  CHECK(fixture.receive_ring.counters().enlargements == 1);
  CHECK(fixture.wants_service());
  CHECK(fixture.enlargement.pending());
  fixture.peer.follow_ack();
  fixture.peer.send(pattern(2000));
  const std::byte* payload = fixture.take_slot(trailer);
  CHECK(std::ranges::equal(std::span(payload, trailer.bytes), pattern(2000)));
  fixture.enlargement.on_slot();
  CHECK_FALSE(fixture.enlargement.pending());
  fixture.poll();
}

TEST_CASE("an acknowledgement is written until it goes, and again when it is asked for", "[enlarge]") {
  EnlargementFixture fixture;
  fixture.answer(WriteResult::kAgain);
  fixture.request({1, 1});
  CHECK(fixture.enlargement.words_due());
  CHECK(fixture.peer.inbox().ack.head == 0);
  fixture.answer_as_usual();
  fixture.service();
  CHECK_FALSE(fixture.enlargement.words_due());
  const EnlargeAck first = fixture.peer.inbox().ack;
  CHECK(first.number == 1);
  fixture.service();
  CHECK(fixture.port.writes.size() == 1);
  fixture.peer.inbox().ack = {};
  fixture.peer.repeat({2, 1});
  fixture.service();
  CHECK(fixture.peer.inbox().ack.head == 0);
  fixture.peer.repeat({1, 1});
  fixture.service();
  fixture.service();
  CHECK(std::memcmp(&fixture.peer.inbox().ack, &first, sizeof first) == 0);
  CHECK(fixture.port.writes.size() == 2);
  fixture.enlargement.on_slot();
  fixture.peer.repeat({1, 1});
  fixture.service();
  CHECK(fixture.port.writes.size() == 2);
  fixture.poll();
}

TEST_CASE("a request that is not possible breaks the protocol", "[enlarge]") {
  for (const EnlargeRequest wrong : {EnlargeRequest{0, 1}, {2, 1}, {1, 3}, {1, 0x101}}) {
    EnlargementFixture fixture;
    fixture.request(wrong);
    fixture.check_failure(Status::kProtocolError, "a ring that is not possible");
    CHECK(fixture.receive_ring.phase() == 0);
    CHECK(fixture.port.writes.empty());
  }
}

TEST_CASE("a channel that fails while a word is due writes none", "[enlarge][loss]") {
  EnlargementFixture fixture;
  fixture.answer(WriteResult::kAgain);
  fixture.request({1, 1});
  fixture.answer_as_usual();
  fixture.link.fail(Status::kPeerFailed, "gone");
  fixture.service();
  CHECK(fixture.port.writes.empty());
}

}  // namespace
}  // namespace bufenlarge::test
