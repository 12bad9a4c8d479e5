// SPDX-License-Identifier: MIT
// The sending side of an enlargement when the peer refuses it, or when it has no memory for the large ring itself.
#include <catch2/catch.hpp>

#include "support/arrived.h"
#include "support/enlarge_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using State = EnlargeSender::State;
using Log = std::vector<std::string>;

TEST_CASE("a refusal leaves the channel small: the data goes in fragments through the ring there is", "[channel]") {
  EnlargeFixture asked;
  asked.acknowledge(AckStatus::kRefused);
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 0);
  CHECK(asked.fixture.port.news() == Log{});
  const Vector vector({1000, 2000});
  CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 3000});
  Bytes all;
  while (const auto arrival = asked.peer.next()) {
    CHECK(arrival->trailer.epoch == 1);
    all.insert(all.end(), arrival->payload.begin(), arrival->payload.end());
  }
  CHECK(all == vector.bytes());
  CHECK(asked.fixture.upper.failures.empty());
}

TEST_CASE("without memory for the large send ring small slots go into the peer's large ones", "[channel][E9]") {
  EnlargeFixture asked;
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 131072; };
  const EnlargeAck ack = asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"refuse 131072"});
  CHECK(asked.state() == State::kSteady);
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 1);
  CHECK(asked.fixture.channel().ring_bytes().now == 2 * 8192);
  // event: more than a ring of it, from all of the small ring to all of the large one and round again
  for (std::uint32_t n = 0; n < 5; ++n) {
    const Vector vector({7000 + n, 20}, n);
    CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 7020 + n});
    CHECK(asked.fixture.port.writes.back().key == ack.ring_key);
    // Expect: the peer finds it where its ring has slots
    Bytes all;
    while (const auto arrival = asked.peer.next()) {
      CHECK(arrival->trailer.epoch == 1);
      CHECK(arrival->payload.size() <= 488);
      all.insert(all.end(), arrival->payload.begin(), arrival->payload.end());
    }
    CHECK(all == vector.bytes());
    asked.peer.grant_all();
    asked.fixture.rounds();
  }
  // Expect: it does not ask again now
  CHECK(asked.fixture.channel().enlargement().sender().request().number == 1);
  CHECK(asked.fixture.upper.failures.empty());
}

TEST_CASE("a channel takes the largest send ring that there is memory for", "[channel][E9][E11]") {
  EnlargeFixture asked(2000, three_phases());
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 8192; };
  asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"refuse 8192", "allocate 2048", "give back 512"});
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 1);
  const Vector vector({400, 900});
  CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 1300});
  CHECK(drain(asked.peer).bytes == vector.bytes());
}

TEST_CASE("where larger rings have more slots, a send ring may have to go back to smaller slots than it had",
          "[channel][E9]") {
  const PhaseTable table = phases({{128, 8}, {512, 2}, {2048, 8}});
  EnlargeFixture asked(400, table);
  asked.acknowledge();
  REQUIRE(asked.fixture.channel().send_ring().phase() == 1);
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes > 1024; };
  REQUIRE(asked.fixture.send({1000}) == kNothingSent);
  asked.request = request_in(asked.peer.next().value());
  asked.fixture.rounds();
  asked.fixture.port.news();
  asked.acknowledge();
  CHECK(asked.fixture.port.news() == Log{"refuse 16384", "refuse 4096", "use 1024", "free 1024"});
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  const Vector vector({400, 300});
  CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 700});
  CHECK(drain(asked.peer).bytes == vector.bytes());
}

// A ring of one slot cannot be divided into the slots that the peer's larger ring has.
const PhaseTable kMoreSlots = phases({{512, 1}, {8256, 16}});

TEST_CASE("a channel without memory for any send ring tries again, and sends nothing meanwhile", "[channel][E9]") {
  EnlargeFixture asked(5000, kMoreSlots);
  asked.fixture.port.refuses_memory = [](std::size_t) { return true; };
  asked.acknowledge();
  CHECK(asked.state() == State::kSwapping);
  CHECK(asked.fixture.send({8}) == kNothingSent);
  CHECK(asked.fixture.channel().ring_bytes().now == 2 * 512);
  asked.fixture.port.refuses_memory = nullptr;
  asked.fixture.port.now += Connect::kPauseMinUs;
  asked.fixture.rounds(2);
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("a channel that never gets memory for a send ring fails with a clear error", "[channel][E9]") {
  EnlargeFixture asked(5000, kMoreSlots);
  asked.fixture.port.refuses_memory = [](std::size_t) { return true; };
  asked.acknowledge();
  for (int i = 0; i < 40 && asked.fixture.upper.failures.empty(); ++i) {
    asked.fixture.port.now += 1'000'000;
    asked.fixture.rounds();
  }
  asked.fixture.rounds();
  REQUIRE(asked.fixture.upper.failures.size() == 1);
  CHECK(asked.fixture.upper.failures[0].status == Status::kMemoryError);
  CHECK_THAT(asked.fixture.upper.failures[0].text, Contains("send ring"));
  CHECK(asked.fixture.channel().ring_bytes().now == 0);
}

}  // namespace
}  // namespace bufenlarge::test
