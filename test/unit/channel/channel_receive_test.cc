// SPDX-License-Identifier: MIT
// Arrival: a channel delivers each slot once and in order; a peer that breaks the wire's rules fails its channel only.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/aborts.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("slots are delivered in order, each once, from the receive ring", "[channel][E12]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.accept();
  const Hello& hello = peer.theirs();
  const std::byte* ring = fixture.fabric.at(hello.ring_key, hello.ring_address, 8192);
  std::vector<bool> inside;
  fixture.upper.on_fragment = [&](const UpperLog::Fragment&) { inside.push_back(true); };
  for (std::uint32_t n = 1; n <= 5; ++n) peer.send(pattern(n * 10, n));
  fixture.rounds(3);
  const auto fragments = fixture.upper.take();
  REQUIRE(fragments.size() == 5);
  for (std::uint32_t n = 1; n <= 5; ++n) CHECK(fragments[n - 1].bytes == pattern(n * 10, n));
  CHECK(ring != nullptr);
  CHECK(fixture.channel().receive_ring().counters().messages == 5);
}

struct Spot {
  const std::byte* begin;
  const std::byte* end;
  bool in_ring;
  bool aligned;
};

TEST_CASE("what is delivered lies in the receive ring, 8-byte aligned", "[channel][E12]") {
  FakeFabric fabric;
  FakePort port(fabric);
  Spot spot{nullptr, nullptr, false, false};
  const UpperLayer upper{[](void* user, std::uint32_t, const void* data, std::size_t, unsigned) {
                           auto* seen = static_cast<Spot*>(user);
                           const auto* at = static_cast<const std::byte*>(data);
                           seen->in_ring = at >= seen->begin && at < seen->end;
                           seen->aligned = reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
                         },
                         [](void*, std::uint32_t, Status, const char*) {}, &spot};
  FakeContext context(port, settings(two_phases()), 0, 2, kJobKey, upper);
  context.set_addresses(fake_addresses(2));
  FakePeer peer(fabric, 1, 2, two_phases());
  port.request(peer.hello_bytes(1));
  for (unsigned i = 0; i < FakeContext::kEventRounds; ++i) context.progress();
  peer.meet(port.accepted.back()->data);
  port.connected(port.accepted.back(), {});
  for (unsigned i = 0; i < FakeContext::kEventRounds; ++i) context.progress();
  spot.begin = fabric.at(peer.theirs().ring_key, peer.theirs().ring_address, 8192);
  spot.end = spot.begin + 8192;
  for (const std::size_t bytes : {1u, 7u, 8u, 13u, 488u}) {
    peer.send(pattern(bytes));
    context.progress();
    CHECK(spot.in_ring);
    CHECK(spot.aligned);
    spot.in_ring = spot.aligned = false;
  }
}

TEST_CASE("a slot without payload is delivered, too", "[channel]") {
  ContextFixture fixture;
  fixture.accept().send({});
  fixture.rounds();
  const auto fragments = fixture.upper.take();
  REQUIRE(fragments.size() == 1);
  CHECK(fragments[0].bytes.empty());
  CHECK(fragments[0].marks == (kMarkFirst | kMarkLast));
}

TEST_CASE("one round reads a ring full at most, so that no peer keeps the others waiting", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 4}, {8192, 4}})));
  FakePeer& peer = fixture.accept();
  // The upper layer answers each message, the grant rides on the answer, and the next message is there at once.
  unsigned answers = 20;
  fixture.upper.on_fragment = [&](const UpperLog::Fragment&) {
    if (answers-- == 0) return;
    REQUIRE(fixture.send({8}) == Sent{Status::kOk, 8});
    REQUIRE(peer.next());
    peer.grant_all();
    peer.send(pattern(8));
  };
  peer.send(pattern(8));
  CHECK(fixture.channel().receive() == 4);
  CHECK(fixture.upper.fragments.size() == 4);
}

// ---- grants

TEST_CASE("half of a ring read without traffic back is granted by a word, and not before", "[channel]") {
  for (const std::uint32_t slots : {1u, 2u, 3u, 16u}) {
    ContextFixture fixture(settings(phases({{512, slots}, {8192, slots}})));
    FakePeer& peer = fixture.ask_in();
    const std::uint32_t owed_from = slots > 3 ? slots / 2 : 1;
    peer.send_hello();
    fixture.rounds();
    for (std::uint32_t read = 1; read < 3 * slots; ++read) {
      INFO(slots << " slots, " << read << " read");
      const auto granted = read_grant(peer.inbox().grant);
      CHECK(granted.value_or(0) == read / owed_from * owed_from);
      peer.send(pattern(8));
      fixture.rounds();
    }
  }
}

TEST_CASE("what rode on a slot is not granted again by a word", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 8}, {8192, 8}})));
  FakePeer& peer = fixture.accept();  // read 1
  REQUIRE(fixture.send({10}) == Sent{Status::kOk, 10});
  CHECK(peer.next().value().trailer.grant == 1);
  peer.send(pattern(8));
  fixture.rounds();
  CHECK_FALSE(read_grant(peer.inbox().grant));  // one unreported, four are owed
  for (unsigned i = 0; i < 3; ++i) {
    peer.send(pattern(8));
    fixture.rounds();
  }
  CHECK(read_grant(peer.inbox().grant) == std::optional<std::uint64_t>(5));
}

// ---- torn

TEST_CASE("with checks, a slot that lands in parts is delivered when it is whole, once", "[channel][E12]") {
  ContextFixture fixture;
  fixture.port.arrives = Arrival::kChecked;
  FakePeer& peer = fixture.accept();
  const Bytes payload = pattern(60);
  const Bytes slot = peer.seal(SlotKind::kPayload, payload, kMarkFirst | kMarkLast);
  // event: the trailer first, then the payload byte by byte from its end
  peer.place(slot, slot.size() - kTrailerBytes, kTrailerBytes);
  const std::size_t begin = payload_offset(512, 60);
  for (std::size_t place = begin + 60; place-- > begin;) {
    fixture.rounds();
    CHECK(fixture.upper.fragments.empty());
    peer.place(slot, place, 1);
  }
  peer.advance();
  fixture.rounds();
  // Expect
  REQUIRE(fixture.upper.fragments.size() == 1);
  CHECK(fixture.upper.fragments[0].bytes == payload);
  CHECK(fixture.upper.failures.empty());
}

// ---- what is not allowed

struct Broken {
  const char* name;
  std::function<void(FakePeer&)> write;
  const char* text;
};

TEST_CASE("a slot that breaks the wire's rules fails its channel and delivers nothing", "[channel]") {
  const std::vector<Broken> cases{
      {"an unknown kind", [](FakePeer& p) { p.write_slot(static_cast<SlotKind>(9), {}, 0); }, "breaks the wire"},
      {"a wrong epoch", [](FakePeer& p) { p.epoch = 1; p.send(pattern(8)); }, "breaks the wire"},
      {"a grant of what was never posted",
       [](FakePeer& p) { p.granted_low = 500; p.send(pattern(8)); }, "breaks the wire"},
      {"a fragment without a beginning", [](FakePeer& p) { p.send(pattern(8), kMarkLast); }, "fragments"},
      {"a beginning in the middle",
       [](FakePeer& p) { p.send(pattern(8), kMarkFirst); p.send(pattern(9), kMarkFirst); }, "fragments"},
      {"a request for a phase there is not", [](FakePeer& p) { p.ask({1, 7}); }, "ring"},
      {"a request with a wrong number", [](FakePeer& p) { p.ask({2, 1}); }, "ring"},
      {"a request without its content",
       [](FakePeer& p) { p.write_slot(SlotKind::kEnlargeRequest, {}, 0); }, "ring"},
  };
  for (const Broken& one : cases) {
    INFO(one.name);
    ContextFixture fixture;
    FakePeer& peer = fixture.connect(1);
    FakePeer& other = fixture.connect(2);
    one.write(peer);
    fixture.rounds(2);
    REQUIRE(fixture.upper.failures.size() == 1);
    CHECK(fixture.upper.failures[0].peer == 1);
    CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
    CHECK_THAT(fixture.upper.failures[0].text, Contains(one.text));
    CHECK(fixture.channel(1).ring_bytes().now == 0);
    // Expect: others are unharmed
    other.send(pattern(20));
    fixture.rounds();
    CHECK(fixture.upper.messages[2].size() == 1);
    CHECK(fixture.send({10}, 2) == Sent{Status::kOk, 10});
  }
}

// Lets the peer write one more slot than the ring has, without a grant: four in the first lap (the Hello is one of
// them), then one over the first.
void write_without_credit(ContextFixture& fixture) {
  FakePeer& peer = fixture.accept();
  fixture.port.rule = [](const FakePort::Write&) { return WriteResult::kAgain; };  // no grant gets out
  for (int n = 0; n < 4; ++n) {  // with the Hello one more than the ring has
    peer.send(pattern(8));
    fixture.rounds();
  }
}

TEST_CASE("a peer that writes without credit breaks the protocol and does not end this process", "[channel]") {
  REQUIRE_FALSE(aborts([] {
    ContextFixture fixture(settings(phases({{512, 4}, {8192, 4}})));
    write_without_credit(fixture);
  }));
  ContextFixture fixture(settings(phases({{512, 4}, {8192, 4}})));
  write_without_credit(fixture);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
}

TEST_CASE("a size beyond the slot fails the channel and reads nothing outside of the ring", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  Bytes slot = peer.seal(SlotKind::kPayload, pattern(8), kMarkFirst | kMarkLast);
  trailer_of(slot.data(), 512)->bytes = 0x7fffffff;
  peer.place(slot, 512 - kTrailerBytes, kTrailerBytes);
  fixture.rounds(2);
  CHECK(fixture.upper.fragments.empty());
  REQUIRE(fixture.upper.failures.size() == 1);
}

TEST_CASE("stale bytes of an earlier lap are never delivered again", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 2}, {8192, 2}})));
  FakePeer& peer = fixture.accept();
  for (std::uint32_t n = 0; n < 9; ++n) {
    peer.send(pattern(30, n));
    fixture.rounds(5);
    CHECK(fixture.upper.fragments.size() == n + 1);
  }
}

// ---- calls from inside of deliver

TEST_CASE("deliver may send on the same and on other channels", "[channel]") {
  ContextFixture fixture;
  FakePeer& one = fixture.connect(1);
  FakePeer& two = fixture.connect(2);
  fixture.upper.on_fragment = [&](const UpperLog::Fragment& fragment) {
    if (fragment.peer != 1) return;
    CHECK(fixture.send({11}, 1) == Sent{Status::kOk, 11});
    CHECK(fixture.send({22}, 2) == Sent{Status::kOk, 22});
  };
  one.send(pattern(8));
  fixture.rounds();
  CHECK(one.next().value().payload.size() == 11);
  CHECK(two.next().value().payload.size() == 22);
}

}  // namespace
}  // namespace bufenlarge::test
