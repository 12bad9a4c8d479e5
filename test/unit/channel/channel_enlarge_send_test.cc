// SPDX-License-Identifier: MIT
// The sending side of an enlargement: when it asks, what it sends meanwhile (nothing), which
// acknowledgement it takes, and what it does to its ring.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using State = EnlargeSender::State;
using Log = std::vector<std::string>;

EnlargeRequest request_in(const FakePeer::Arrival& arrival) {
  REQUIRE(arrival.kind() == SlotKind::kEnlargeRequest);
  EnlargeRequest request{};
  REQUIRE(arrival.payload.size() == sizeof request);
  std::memcpy(&request, arrival.payload.data(), sizeof request);
  return request;
}

// Connected, an element of `bytes` was too large, and the peer has read the request.
struct Asked {
  explicit Asked(std::size_t bytes = 5000, const PhaseTable& table = two_phases()) : Asked(bytes, settings(table)) {}
  Asked(std::size_t bytes, const ChannelSettings& how) : fixture(how), peer(fixture.connect()) {
    REQUIRE(fixture.send({bytes}) == kNothingSent);
    request = request_in(peer.next().value());
    fixture.rounds();
    fixture.port.news();
  }
  [[nodiscard]] State state() { return fixture.channel().enlargement().sender().state(); }
  // The whole response, and what it leads to.
  EnlargeAck response(AckStatus status = AckStatus::kProvisioned) {
    const bool refused = status == AckStatus::kRefused;
    const std::uint8_t phase = refused ? fixture.channel().send_ring().phase() : static_cast<std::uint8_t>(request.phase);
    const EnlargeAck ack = peer.provision(phase, request.number, status);
    peer.acknowledge(ack);
    fixture.rounds(2);
    return ack;
  }

  ContextFixture fixture;
  FakePeer& peer;
  EnlargeRequest request{};
};

// ---- asking

TEST_CASE("an element that does not fit sends nothing, without an error, and asks for larger buffers", "[channel][E5]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  // event
  CHECK(fixture.send({489}) == kNothingSent);
  // Expect: a control message in the small ring, recorded in the channel, and nothing else
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequested);
  const EnlargeRequest request = request_in(peer.next().value());
  CHECK(request.number == 1);
  CHECK(request.phase == 1);
  CHECK_FALSE(peer.next());
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.channel().send_ring().counters().messages == 0);
}

TEST_CASE("an element of just the threshold does not ask", "[channel][E3]") {
  ContextFixture fixture(settings(phases({{512, 16, 300}, {8192, 16}})));
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({300}) == Sent{Status::kOk, 300});
  CHECK(peer.next().value().kind() == SlotKind::kPayload);
  CHECK(fixture.send({301}) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("elements before the one that does not fit go, and the retry asks", "[channel][E4]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  const Vector vector({100, 50, 600, 20});
  CHECK(send(fixture.channel(), vector.all()) == Sent{Status::kOk, 150});
  const auto first = peer.next();
  REQUIRE(first);
  CHECK(first->payload.size() == 150);
  CHECK(first->trailer.marks == kMarkFirst);
  CHECK(fixture.channel().enlargement().sender().steady());
  CHECK(send(fixture.channel(), vector.rest(150)) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("in whole mode nothing of a vector goes when any element does not fit", "[channel][E4]") {
  ChannelSettings whole = settings(two_phases());
  whole.vector_mode = VectorMode::kWhole;
  ContextFixture fixture(whole);
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({100, 50, 600, 20}) == kNothingSent);
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
}

TEST_CASE("with enlargement off nothing is asked for: it goes in fragments", "[channel]") {
  ChannelSettings off = settings(two_phases());
  off.enlargement = false;
  ContextFixture fixture(off);
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({1000}) == Sent{Status::kOk, 1000});
  while (const auto arrival = peer.next()) CHECK(arrival->kind() == SlotKind::kPayload);
  CHECK(fixture.channel().enlargement().sender().steady());
}

TEST_CASE("the request waits for room like any slot, and nothing is sent before it is out", "[channel][E5]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  CHECK(fixture.send({1000}) == kNothingSent);
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequestDue);
  peer.next();
  CHECK(peer.next().value().kind() == SlotKind::kPayload);
  CHECK_FALSE(peer.next());
  // event: room comes, something small is tried before the request could go
  peer.grant_all();
  CHECK(fixture.send({10}) == kNothingSent);
  fixture.rounds();
  // Expect
  CHECK(peer.next().value().kind() == SlotKind::kEnlargeRequest);
  CHECK(fixture.channel().enlargement().sender().state() == State::kRequested);
}

// ---- while the acknowledgement is out

TEST_CASE("while the acknowledgement is out every attempt sends nothing, small ones too", "[channel][E6]") {
  Asked asked;
  for (int i = 0; i < 100; ++i) {
    CHECK(asked.fixture.send({8}) == kNothingSent);
    CHECK(asked.fixture.send({5000}) == kNothingSent);
    asked.fixture.rounds();
  }
  CHECK_FALSE(asked.peer.next());
  CHECK(asked.fixture.upper.failures.empty());
  CHECK(asked.request.number == 1);
}

TEST_CASE("the request is the last slot of its ring", "[channel][E6]") {
  Asked asked;
  for (int i = 0; i < 20; ++i) {
    (void)asked.fixture.send({8});
    asked.peer.send(pattern(20));  // traffic the other way asks for grants, not for slots
    asked.fixture.rounds();
  }
  CHECK_FALSE(asked.peer.next());
  CHECK(asked.fixture.upper.messages[1].size() == 20);
}

TEST_CASE("other channels go on while one waits", "[channel][E6][E10]") {
  Asked asked;
  FakePeer& other = asked.fixture.connect(2);
  for (int i = 0; i < 10; ++i) {
    CHECK(asked.fixture.send({100}, 2) == Sent{Status::kOk, 100});
    CHECK(other.next().value().payload.size() == 100);
    other.send(pattern(30));
    asked.fixture.rounds();
  }
  CHECK(asked.fixture.upper.messages[2].size() == 10);
  CHECK(asked.state() == State::kRequested);
}

TEST_CASE("data the other way arrives while one direction waits", "[channel][E6]") {
  Asked asked;
  asked.peer.send(pattern(50));
  asked.fixture.rounds();
  CHECK(asked.fixture.upper.messages[1].size() == 1);
}

// ---- the acknowledgement

TEST_CASE("with the acknowledgement the small send ring is freed, the large one registered, and then data goes", "[channel][E9]") {
  Asked asked;
  const EnlargeAck ack = asked.response();
  // Expect: the old one is gone before the new one is there
  CHECK(asked.fixture.port.news() == Log{"free 8192", "allocate 131072"});
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
  Asked asked;
  asked.fixture.connect(2);
  asked.response();
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
  CHECK(fixture.port.news() == Log{"free 8192", "allocate 131072"});
}

TEST_CASE("an acknowledgement in two halves is taken when it is whole", "[channel][E8]") {
  Asked asked;
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
  Asked asked;
  const EnlargeAck ack = asked.peer.provision(1, asked.request.number);
  const Hello& told = asked.peer.theirs();
  const std::byte* variable =
      asked.fixture.fabric.at(told.control_key, told.control_address + offsetof(ControlInbox, ack), sizeof ack);
  for (std::size_t i = 0; i < sizeof ack; ++i) {
    asked.peer.place_ack(ack, (i * 37 + 11) % sizeof ack, 1);
    const bool whole = std::memcmp(variable, &ack, sizeof ack) == 0;  // some of its bytes are zero
    asked.fixture.rounds(2);
    CHECK((asked.state() == State::kSteady) == whole);
  }
  CHECK(asked.state() == State::kSteady);
}

TEST_CASE("a corrupt acknowledgement is cleared, asked for again, and no data is written meanwhile", "[channel][E8]") {
  Asked asked;
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
  Asked asked;
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
  asked.response();
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("an old acknowledgement left in the variable is not taken for the next request's", "[channel][E8][E11]") {
  Asked asked(400, three_phases());
  const EnlargeAck first = asked.response();
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
  Asked asked(200, three_phases());
  CHECK(asked.request.phase == 1);
  asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 512", "allocate 2048"});
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  REQUIRE(asked.fixture.send({200}) == Sent{Status::kOk, 200});
  REQUIRE(asked.peer.next());
  REQUIRE(asked.fixture.send({1000}) == kNothingSent);
  asked.request = request_in(asked.peer.next().value());
  CHECK(asked.request.phase == 2);
  asked.fixture.rounds();
  asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 2048", "allocate 8192"});
  CHECK(asked.fixture.channel().send_ring().phase() == 2);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 2);
  // Expect: there is no fourth, so the largest goes in fragments
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("a phase in between is left out when the element needs a larger one", "[channel][E11]") {
  Asked asked(2000, three_phases());
  CHECK(asked.request.phase == 2);
  asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 512", "allocate 8192"});
}

// ---- refusal, and no memory

TEST_CASE("a refusal leaves the channel small: the data goes in fragments through the ring there is", "[channel]") {
  Asked asked;
  asked.response(AckStatus::kRefused);
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 0);
  CHECK(asked.fixture.port.news() == Log{"free 8192", "allocate 8192"});
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
  Asked asked;
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 131072; };
  const EnlargeAck ack = asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 8192", "refuse 131072", "allocate 8192"});
  CHECK(asked.state() == State::kSteady);
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 0);
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
  // Expect: it does not ask again
  CHECK(asked.fixture.channel().enlargement().sender().request().number == 1);
  CHECK(asked.fixture.upper.failures.empty());
}

TEST_CASE("of the send rings that are smaller than the peer's the largest there is memory for is taken", "[channel][E9][E11]") {
  Asked asked(2000, three_phases());
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 8192; };
  asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 512", "refuse 8192", "allocate 2048"});
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  CHECK(asked.fixture.channel().send_ring().counters().refused == 1);
  CHECK(asked.fixture.channel().send_ring().counters().enlargements == 1);
  const Vector vector({400, 900});
  CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 1300});
  Bytes all;
  while (const auto arrival = asked.peer.next()) all.insert(all.end(), arrival->payload.begin(), arrival->payload.end());
  CHECK(all == vector.bytes());
}

TEST_CASE("where larger rings have more slots, a send ring may have to go back to smaller slots than it had", "[channel][E9]") {
  const PhaseTable table = phases({{128, 8}, {512, 2}, {2048, 8}});
  Asked asked(400, table);
  asked.response();
  REQUIRE(asked.fixture.channel().send_ring().phase() == 1);
  asked.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes > 1024; };
  REQUIRE(asked.fixture.send({1000}) == kNothingSent);
  asked.request = request_in(asked.peer.next().value());
  asked.fixture.rounds();
  asked.fixture.port.news();
  asked.response();
  CHECK(asked.fixture.port.news() == Log{"free 1024", "refuse 16384", "refuse 4096", "allocate 1024"});
  CHECK(asked.fixture.channel().send_ring().phase() == 0);
  const Vector vector({400, 300});
  CHECK(send(asked.fixture.channel(), vector.all()) == Sent{Status::kOk, 700});
  Bytes all;
  while (const auto arrival = asked.peer.next()) all.insert(all.end(), arrival->payload.begin(), arrival->payload.end());
  CHECK(all == vector.bytes());
}

TEST_CASE("without memory for a send ring of any size it is tried again, and the channel stays silent", "[channel][E9]") {
  Asked asked;
  asked.fixture.port.refuses_memory = [](std::size_t) { return true; };
  asked.response();
  CHECK(asked.state() == State::kSwapping);
  CHECK(asked.fixture.send({8}) == kNothingSent);
  CHECK(asked.fixture.channel().ring_bytes().now == 8192);
  asked.fixture.port.refuses_memory = nullptr;
  asked.fixture.port.now += Connect::kPauseMinUs;
  asked.fixture.rounds(2);
  CHECK(asked.fixture.channel().send_ring().phase() == 1);
  CHECK(asked.fixture.send({5000}) == Sent{Status::kOk, 5000});
}

TEST_CASE("without memory for a send ring of any size for good the channel fails, clearly", "[channel][E9]") {
  Asked asked;
  asked.fixture.port.refuses_memory = [](std::size_t) { return true; };
  asked.response();
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
