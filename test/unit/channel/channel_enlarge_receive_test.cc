// SPDX-License-Identifier: MIT
// The receiving side of an enlargement: it frees the small ring, provisions the large one, acknowledges, and
// acknowledges again when asked to.
#include <catch2/catch.hpp>

#include "protocol/enlarge_sender.h"
#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Log = std::vector<std::string>;

// A connected channel whose log is empty.
struct Grown {
  explicit Grown(const ChannelSettings& how = settings(two_phases())) : fixture(how), peer(fixture.accept()) {
    fixture.rounds();
    fixture.port.news();
  }
  void ask(EnlargeRequest request) {
    peer.ask(request);
    fixture.rounds(2);
  }
  [[nodiscard]] const EnlargeAck& ack() { return peer.inbox().ack; }
  [[nodiscard]] bool ack_is_whole(std::uint32_t number) {
    return ack().head == ack_head(number) && ack().tail == ack_tail(number) && ack().check == ack_check(ack());
  }

  ContextFixture fixture;
  FakePeer& peer;
};

TEST_CASE("a request registers the large receive ring, gives the small one back, and is answered", "[channel][E7]") {
  Grown grown;
  grown.ask({1, 1});
  // Expect
  CHECK(grown.fixture.port.news() == Log{"allocate 131072", "give back 8192"});
  CHECK(grown.fixture.channel().receive_ring().phase() == 1);
  CHECK(grown.fixture.channel().ring_bytes().now == 8192 + 131072);
  CHECK(grown.fixture.channel().receive_ring().counters().enlargements == 1);
  REQUIRE(grown.ack_is_whole(1));
}

TEST_CASE("the acknowledgement tells address, remote key, sizes and where the new ring begins", "[channel][E7][E8]") {
  Grown grown;
  for (int i = 0; i < 3; ++i) grown.peer.send(pattern(9));
  grown.ask({1, 1});
  const EnlargeAck& ack = grown.ack();
  CHECK(grown.fixture.fabric.at(ack.ring_key, ack.ring_address, 131072) != nullptr);
  CHECK(ack.slot_bytes == 8192);
  CHECK(ack.slots == 16);
  CHECK(ack.phase == 1);
  CHECK(ack.status == static_cast<std::uint8_t>(AckStatus::kProvisioned));
  CHECK(ack.epoch == 1);
  CHECK(ack.base == 5);  // Hello, three messages, request
  CHECK(ack.number == 1);
}

TEST_CASE("the acknowledgement is one write of 64 bytes into the peer's control inbox", "[channel][E8]") {
  Grown grown;
  grown.fixture.port.writes.clear();
  grown.ask({1, 1});
  REQUIRE(grown.fixture.port.writes.size() == 1);
  const Hello hello = grown.peer.hello(1);
  CHECK(grown.fixture.port.writes[0].key == hello.control_key);
  CHECK(grown.fixture.port.writes[0].address == hello.control_address + offsetof(ControlInbox, ack));
  CHECK(grown.fixture.port.writes[0].bytes.size() == 64);
}

TEST_CASE("everything that was in the small ring is delivered before it is freed", "[channel][E7]") {
  Grown grown;
  for (std::uint32_t n = 1; n <= 7; ++n) grown.peer.send(pattern(50, n));
  grown.ask({1, 1});
  CHECK(grown.fixture.upper.messages[1].size() == 7);
  CHECK(grown.fixture.upper.messages[1].back() == pattern(50, 7));
}

TEST_CASE("data arrives in the new ring, once the peer has it", "[channel][E7]") {
  Grown grown;
  grown.ask({1, 1});
  grown.peer.follow_ack();
  grown.peer.send(pattern(8000));
  grown.fixture.rounds();
  REQUIRE(grown.fixture.upper.messages[1].size() == 1);
  CHECK(grown.fixture.upper.messages[1][0] == pattern(8000));
  CHECK(grown.fixture.channel().receive_ring().counters().bytes_in_phase[1] == 8000);
}

TEST_CASE("only the receiving direction of this channel has grown", "[channel][E10]") {
  Grown grown;
  grown.fixture.connect(2);
  grown.ask({1, 1});
  CHECK(grown.fixture.channel(1).receive_ring().phase() == 1);
  CHECK(grown.fixture.channel(1).send_ring().phase() == 0);
  CHECK(grown.fixture.channel(2).receive_ring().phase() == 0);
  CHECK(grown.fixture.channel(2).ring_bytes().now == 2 * 8192);
  CHECK(grown.fixture.send({100}) == Sent{Status::kOk, 100});  // through the small ring
  CHECK(grown.fixture.port.writes.back().key == grown.peer.ring().key);
}

TEST_CASE("the ring grows from phase to phase, and past one in between", "[channel][E11]") {
  Grown grown(settings(three_phases()));
  grown.ask({1, 1});
  CHECK(grown.fixture.port.news() == Log{"allocate 2048", "give back 512"});
  grown.peer.follow_ack();
  grown.peer.send(pattern(400));
  grown.ask({2, 2});
  CHECK(grown.fixture.port.news() == Log{"allocate 8192", "free 2048"});
  REQUIRE(grown.ack_is_whole(2));
  CHECK(grown.ack().epoch == 2);
  CHECK(grown.fixture.channel().receive_ring().counters().enlargements == 2);
  grown.peer.follow_ack();
  grown.peer.send(pattern(2000));
  grown.fixture.rounds();
  CHECK(grown.fixture.upper.messages[1].size() == 2);
  Grown skipping(settings(three_phases()));
  skipping.ask({1, 2});
  CHECK(skipping.fixture.port.news() == Log{"allocate 8192", "give back 512"});
}

TEST_CASE("a slot with the old ring's epoch in the new ring breaks the protocol", "[channel][E7]") {
  Grown grown;
  grown.ask({1, 1});
  grown.peer.follow_ack();
  grown.peer.epoch = 0;
  grown.peer.send(pattern(8));
  grown.fixture.rounds(2);
  REQUIRE(grown.fixture.upper.failures.size() == 1);
  CHECK(grown.fixture.upper.failures[0].status == Status::kProtocolError);
}

// ---- repetitions

TEST_CASE("a repetition is answered with the same acknowledgement, as often as it is asked for", "[channel][E8]") {
  Grown grown;
  grown.ask({1, 1});
  const EnlargeAck first = grown.ack();
  for (int i = 0; i < 3; ++i) {
    grown.peer.inbox().ack = EnlargeAck{};  // it did not arrive whole
    grown.fixture.rounds(3);
    CHECK(grown.ack().head == 0);  // nothing is written by itself
    grown.peer.repeat({1, 1});
    grown.fixture.rounds(2);
    CHECK(std::memcmp(&grown.ack(), &first, sizeof first) == 0);
  }
  CHECK(grown.fixture.port.news() == Log{"allocate 131072", "give back 8192"});
}

TEST_CASE("a repetition of another number, or a torn one, is not answered", "[channel][E8]") {
  Grown grown;
  grown.ask({1, 1});
  grown.peer.inbox().ack = EnlargeAck{};
  grown.peer.repeat({2, 1});
  grown.fixture.rounds(3);
  CHECK(grown.ack().head == 0);
  RepeatWord torn = make_repeat({1, 1});
  torn.check = 0;
  const Hello& hello = grown.peer.theirs();
  grown.fixture.fabric.place(hello.control_key, hello.control_address + offsetof(ControlInbox, repeat),
                          std::as_bytes(std::span(&torn, 1)));
  grown.fixture.rounds(3);
  CHECK(grown.ack().head == 0);
}

TEST_CASE("a repetition that comes before the request itself is answered with the request", "[channel][E8]") {
  Grown grown;
  grown.peer.repeat({1, 1});
  grown.fixture.rounds(2);
  CHECK(grown.ack().head == 0);
  grown.ask({1, 1});
  CHECK(grown.ack_is_whole(1));
}

TEST_CASE("the channel stops looking for repetitions when the first slot of the new ring has come", "[channel][E8]") {
  Grown grown;
  grown.ask({1, 1});
  grown.peer.follow_ack();
  grown.peer.send(pattern(8));
  grown.fixture.rounds(2);
  grown.peer.inbox().ack = EnlargeAck{};
  grown.peer.repeat({1, 1});  // was under way while the acknowledgement arrived
  grown.fixture.rounds(3);
  CHECK(grown.ack().head == 0);
  CHECK(grown.fixture.context.core().pending.empty());
}

// ---- refusal

TEST_CASE("a receiver without memory for the large ring says so, and uses its small ring again", "[channel]") {
  Grown grown;
  grown.fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 131072; };
  grown.ask({1, 1});
  CHECK(grown.fixture.port.news() == Log{"refuse 131072"});
  REQUIRE(grown.ack_is_whole(1));
  CHECK(grown.ack().status == static_cast<std::uint8_t>(AckStatus::kRefused));
  CHECK(grown.ack().phase == 0);
  CHECK(grown.ack().slot_bytes == 512);
  CHECK(grown.ack().epoch == 1);
  CHECK(grown.fixture.channel().receive_ring().counters().refused == 1);
  grown.peer.follow_ack();
  grown.peer.send(pattern(400));
  grown.fixture.rounds();
  CHECK(grown.fixture.upper.messages[1].size() == 1);
}

TEST_CASE("a receiver without memory for any ring loses nothing", "[channel][B3]") {
  Grown grown;
  grown.fixture.connect(2);
  grown.fixture.port.refuses_memory = [](std::size_t) { return true; };
  grown.ask({1, 1});
  CHECK(grown.fixture.upper.failures.empty());
  REQUIRE(grown.ack_is_whole(1));
  CHECK(grown.ack().status == static_cast<std::uint8_t>(AckStatus::kRefused));
  CHECK(grown.fixture.channel(1).ring_bytes().now == 2 * 8192);
  CHECK(grown.fixture.send({10}, 2) == Sent{Status::kOk, 10});
}

// ---- grants across the swap

TEST_CASE("the new ring's grants begin at its base", "[channel][E7]") {
  Grown grown(settings(phases({{512, 4}, {8192, 4}})));
  for (int i = 0; i < 2; ++i) grown.peer.send(pattern(9));
  grown.ask({1, 1});
  grown.peer.follow_ack();
  const std::uint64_t base = grown.ack().base;
  for (int i = 0; i < 3; ++i) grown.peer.send(pattern(9));
  grown.fixture.rounds();
  CHECK(read_grant(grown.peer.inbox().grant) == std::optional<std::uint64_t>(base + 3));
}

TEST_CASE("with one slot the request itself needs no grant: the acknowledgement is one", "[channel][E7]") {
  Grown grown(settings(phases({{512, 1}, {8192, 1}})));
  grown.fixture.port.writes.clear();
  grown.ask({1, 1});
  CHECK(grown.fixture.port.writes.size() == 1);
  CHECK(grown.ack_is_whole(1));
  grown.peer.follow_ack();
  grown.peer.send(pattern(8000));
  grown.fixture.rounds();
  CHECK(grown.fixture.upper.messages[1].size() == 1);
}

}  // namespace
}  // namespace bufenlarge::test
