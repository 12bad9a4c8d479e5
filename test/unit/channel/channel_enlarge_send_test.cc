// SPDX-License-Identifier: MIT
// The sending side of an enlargement: which acknowledgement it takes, and what it does to its ring.
#include <catch2/catch.hpp>

#include "support/enlarge_fixture.h"

namespace bufenlarge::test {
namespace {

using State = EnlargeSender::State;
using Log = std::vector<std::string>;

TEST_CASE("with the acknowledgement the large send ring is registered, the small one freed, and then data goes",
          "[channel][E9]") {
  EnlargeFixture asked;
  const EnlargeAck ack = asked.acknowledge();
  // Expect: the old one goes when the new one is there
  CHECK(asked.fixture.port.news() == Log{"allocate 131072", "give back 8192"});
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  CHECK(asked.fixture.channel().ring_bytes().now == 8192 + 131072);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 1);
  // event: the upper layer's retry
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
  // Expect: to the address and the key of the acknowledgement
  CHECK(asked.fixture.port.writes.back().key == ack.ring_key);
  CHECK(asked.fixture.port.writes.back().address > ack.ring_address);
  const auto arrival = asked.peer.next();
  REQUIRE(arrival);
  CHECK(arrival->payload.size() == 5000);
  CHECK(arrival->trailer.epoch == 1);
  CHECK(asked.fixture.channel().send_ring().counters().bytes_in_phase[1] == 5000);
}

TEST_CASE("only the sending direction of this channel has grown", "[channel][E10]") {
  EnlargeFixture asked;
  asked.fixture.connect(2);
  asked.acknowledge();
  CHECK(asked.fixture.channel(1).send_ring().phase() == 1);
  CHECK(asked.fixture.channel(1).receive_ring().phase() == 0);
  CHECK(asked.fixture.channel(2).send_ring().phase() == 0);
  CHECK(asked.fixture.channel(2).receive_ring().phase() == 0);
  CHECK(asked.fixture.channel(2).ring_bytes().now == 2 * 8192);
  asked.peer.send(pattern(400));  // still into the small ring
  asked.fixture.rounds();
  CHECK(asked.fixture.upper.messages[1].size() == 1);
}

TEST_CASE("the send ring is not freed while a write reads it", "[channel][E9]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  fixture.port.completes = false;
  REQUIRE(fixture.send({200}) == Sent{Status::kOk, 200});
  CHECK(fixture.send({5000}) == kNothingSent);
  REQUIRE(peer.next());
  const EnlargeRequest request = request_in(peer.next().value());
  fixture.port.news();
  peer.acknowledge(peer.provision(1, request.number));
  // event: the acknowledgement overtakes the completion
  fixture.rounds(3);
  // Expect
  CHECK(fixture.channel().enlargement().sender().state() == State::kSwapping);
  CHECK(fixture.port.news().empty());
  CHECK(fixture.send({5000}) == kNothingSent);
  // event
  fixture.port.completes = true;
  fixture.rounds(2);
  // Expect
  CHECK(fixture.port.news() == Log{"allocate 131072", "give back 8192"});
}

TEST_CASE("an acknowledgement in two halves is taken when it is whole", "[channel][E8]") {
  EnlargeFixture asked;
  const EnlargeAck ack = asked.peer.provision(1, asked.request.number);
  asked.peer.place_ack(ack, 0, 32);
  asked.fixture.rounds(2);
  CHECK(asked.state() == State::kHeadSeen);
  CHECK(asked.fixture.port.news().empty());
  CHECK(asked.fixture.send({5000}) == kNothingSent);
  asked.peer.place_ack(ack, 32, 32);
  asked.fixture.rounds(2);
  CHECK(asked.state() == State::kSteady);
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("the bytes of an acknowledgement may land in any order", "[channel][E8]") {
  EnlargeFixture asked;
  const EnlargeAck ack = asked.peer.provision(1, asked.request.number);
  const Hello& hello = asked.peer.theirs();
  const std::byte* variable =
      asked.fixture.fabric.at(hello.control_key, hello.control_address + offsetof(ControlInbox, ack), sizeof ack);
  for (std::size_t i = 0; i < sizeof ack; ++i) {
    asked.peer.place_ack(ack, (i * 37 + 11) % sizeof ack, 1);
    const bool whole = std::memcmp(variable, &ack, sizeof ack) == 0;  // some of its bytes are zero
    asked.fixture.rounds(2);
    CHECK((asked.state() == State::kSteady) == whole);
  }
  CHECK(asked.state() == State::kSteady);
}

TEST_CASE("a corrupt acknowledgement is cleared, asked for again, and no data is written meanwhile", "[channel][E8]") {
  EnlargeFixture asked;
  const EnlargeAck right = asked.peer.provision(1, asked.request.number);
  EnlargeAck corrupt = right;
  corrupt.ring_key ^= 0x10;
  asked.peer.acknowledge(corrupt);
  asked.fixture.rounds(2);
  asked.fixture.port.writes.clear();
  asked.fixture.port.now += 1'000'000;
  // event: the time limit passes
  asked.fixture.rounds(2);
  // Expect: one write, the repeat word
  REQUIRE(asked.fixture.port.writes.size() == 1);
  const auto repeat = read_repeat(asked.peer.inbox().repeat);
  REQUIRE(repeat);
  CHECK(repeat->number == asked.request.number);
  CHECK(repeat->phase == 1);
  CHECK(asked.fixture.channel().enlargement().sender().rejected() == 1);
  CHECK(asked.fixture.channel().enlargement().sender().repeats() == 1);
  CHECK(asked.fixture.send({5000}) == kNothingSent);
  // event: it comes again, whole
  asked.peer.acknowledge(right);
  asked.fixture.rounds(2);
  // Expect
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("an acknowledgement that does not come is asked for again, with growing pauses", "[channel][E8]") {
  EnlargeFixture asked;
  asked.fixture.port.writes.clear();
  std::uint64_t pause = 1'000'000;
  for (std::size_t repeats = 1; repeats <= 7; ++repeats) {
    asked.fixture.port.now += pause - 1;
    asked.fixture.rounds();
    CHECK(asked.fixture.port.writes.size() == repeats - 1);
    asked.fixture.port.now += 1;
    asked.fixture.rounds();
    CHECK(asked.fixture.port.writes.size() == repeats);
    pause = std::min<std::uint64_t>(2 * pause, 32'000'000);
  }
  asked.acknowledge();
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("an old acknowledgement left in the variable is not taken for the next request's", "[channel][E8][E11]") {
  EnlargeFixture asked(400, three_phases());
  const EnlargeAck first = asked.acknowledge();
  REQUIRE(asked.fixture.send({2000}) == kNothingSent);
  const EnlargeRequest second = request_in(asked.peer.next().value());
  CHECK(second.number == 2);
  CHECK(second.phase == 2);
  asked.peer.acknowledge(first);  // written once more, for a repetition that crossed it
  asked.fixture.rounds(2);
  CHECK(asked.state() == State::kRequested);
  asked.peer.acknowledge(asked.peer.provision(2, second.number));
  asked.fixture.rounds(2);
  CHECK(asked.fixture.send({2000}) == Sent{Status::kOk, 2000});
}

TEST_CASE("three phases are gone through one after the other", "[channel][E11]") {
  EnlargeFixture asked(200, three_phases());
  CHECK(asked.request.phase == 1);
  asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"allocate 2048", "give back 512"});
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  REQUIRE(asked.fixture.send({200}) == Sent{Status::kOk, 200});
  REQUIRE(asked.peer.next());
  REQUIRE(asked.fixture.send({1000}) == kNothingSent);
  asked.request = request_in(asked.peer.next().value());
  CHECK(asked.request.phase == 2);
  asked.fixture.rounds();
  asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"allocate 8192", "free 2048"});
  CHECK(asked.fixture.channel().send_ring().phase() == 2);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 2);
  // Expect: there is no fourth, so the largest goes in fragments
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("a phase in between is left out when the element needs a larger one", "[channel][E11]") {
  EnlargeFixture asked(2000, three_phases());
  CHECK(asked.request.phase == 2);
  asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"allocate 8192", "give back 512"});
}

TEST_CASE("a fenced message goes whole, after the direction has grown for any of its elements", "[channel][B1]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  const Vector vector({8, 5000});
  std::size_t sent = 1;
  CHECK(fixture.channel().send_fenced(vector.all(), sent) == Status::kAgain);
  CHECK(sent == 0);
  const EnlargeRequest request = request_in(peer.next().value());
  CHECK(request.phase == 1);
  CHECK(fixture.channel().send_fenced(vector.all(), sent) == Status::kAgain);
  fixture.rounds();
  peer.acknowledge(peer.provision(1, request.number));
  fixture.rounds(2);
  CHECK(fixture.channel().send_fenced(vector.all(), sent) == Status::kOk);
  CHECK(sent == 5008);
  const auto slot = peer.next();
  REQUIRE(slot);
  CHECK(slot->payload == vector.bytes());
}

}  // namespace
}  // namespace bufenlarge::test
