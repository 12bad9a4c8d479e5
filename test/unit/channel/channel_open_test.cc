// SPDX-License-Identifier: MIT
// Opening a channel: what is registered, what the Hello says, and who speaks first.
#include <catch2/catch.hpp>

#include <set>

#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Log = std::vector<std::string>;

TEST_CASE("a channel that was never used has no memory and no connection", "[channel][E1]") {
  ContextFixture fixture;
  fixture.channel(1);
  fixture.rounds(3);
  CHECK(fixture.port.log.empty());
  CHECK(fixture.channel(1).connection().state() == Connect::State::kIdle);
  CHECK(fixture.channel(1).ring_bytes().now == 0);
}

TEST_CASE("the first send takes nothing, and registers a small ring each way and a control block", "[channel][E1]") {
  ContextFixture fixture;
  // event
  CHECK(fixture.send({8}) == kNothingSent);
  // Expect: nothing waits inside of send
  CHECK(fixture.port.log.empty());
  // event
  fixture.rounds();
  // Expect
  CHECK(fixture.port.news() == Log{"allocate 4096", "allocate 16384", "use 8192", "use 8192", "open"});
  CHECK(fixture.channel().ring_bytes().now == 2 * 8192);
  CHECK(fixture.channel().ring_bytes().most == 2 * 8192);
}

TEST_CASE("rings are there when the connection opens, and the peer is told the channel's own", "[channel][E1]") {
  ContextFixture fixture;
  std::set<std::uint64_t> rings;
  std::set<std::uint64_t> controls;
  for (const std::uint32_t rank : {1u, 2u, 3u}) {
    FakePeer& peer = fixture.connect(rank);
    // Expect: what the hello names is registered, and the peer may write there
    const Hello& hello = peer.theirs();
    CHECK(fixture.fabric.at(hello.ring_key, hello.ring_address, 8192) != nullptr);
    CHECK(fixture.fabric.at(hello.control_key, hello.control_address, sizeof(ControlInbox)) != nullptr);
    rings.insert(hello.ring_address);
    controls.insert(hello.control_address);
  }
  // Expect: different ones for each connection
  CHECK(rings.size() == 3);
  CHECK(controls.size() == 3);
}

TEST_CASE("what a peer writes reaches its own channel and no other", "[channel][E1]") {
  ContextFixture fixture;
  fixture.connect(1);
  fixture.connect(2);
  fixture.connect(3);
  fixture.peer(2).send(pattern(50));
  fixture.rounds();
  const auto fragments = fixture.upper.take();
  REQUIRE(fragments.size() == 1);
  CHECK(fragments[0].peer == 2);
  CHECK(fragments[0].bytes == pattern(50));
}

TEST_CASE("the passive side registers before it accepts, and tells its own ring", "[channel][E1]") {
  ContextFixture fixture;
  fixture.ask_in(1);
  CHECK(fixture.port.news() == Log{"allocate 4096", "allocate 16384", "use 8192", "use 8192", "accept"});
  const Hello& hello = fixture.peer(1).theirs();
  CHECK(fixture.fabric.at(hello.ring_key, hello.ring_address, 8192) != nullptr);
  CHECK(hello.rank == 0);
  CHECK(hello.attempt == 1);
}

TEST_CASE("the Hello says what the job, the geometry and the attempt are", "[channel]") {
  ContextFixture fixture(settings(three_phases()), 7, 5);
  fixture.connect(2);
  const Hello& hello = fixture.peer(2).theirs();
  CHECK(hello.rank == 5);
  CHECK(hello.attempt == 1);
  CHECK(hello.slot_bytes == 128);
  CHECK(hello.slots == 4);
  CHECK(hello.geometry == geometry_hash(three_phases()));
  CHECK(hello.flags == 0);
}

TEST_CASE("a side on a fabric that may reorder asks for checks, and fills them for a peer that asks", "[channel]") {
  ContextFixture fixture;
  fixture.port.arrives = Arrival::kChecked;
  FakePort::LinkState* link = fixture.want();
  FakePeer& peer = fixture.peer();
  peer.meet(link->data);
  CHECK(peer.theirs().flags == kHelloVerifiesSlots);
  Hello hello = peer.hello(1);
  hello.flags = kHelloVerifiesSlots;
  fixture.port.connected(link, peer.sealed(hello, true));
  fixture.rounds();
  const auto first = peer.next();
  REQUIRE(first);
  CHECK(first->trailer.check == slot_check(nullptr, first->trailer));
}

TEST_CASE("a slot carries no check that the peer did not ask for", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.connect();
  CHECK(fixture.send({40}) == Sent{Status::kOk, 40});
  CHECK(peer.next().value().trailer.check == 0);
}

// ---- who speaks first

TEST_CASE("the active side sends a Hello, and its data comes behind it", "[channel]") {
  ContextFixture fixture;
  FakePort::LinkState* link = fixture.want();
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.peer().meet(link->data);
  fixture.port.connected(link, fixture.peer().answer_bytes(1));
  fixture.rounds();
  CHECK(fixture.channel().connection().state() == Connect::State::kReady);
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
  const auto first = fixture.peer().next();
  REQUIRE(first);
  CHECK(first->kind() == SlotKind::kHello);
  CHECK(first->payload.empty());
  CHECK(fixture.peer().next().value().kind() == SlotKind::kPayload);
}

TEST_CASE("the passive side writes nothing before it has read the active side's first message", "[channel]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.ask_in();
  // event
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.rounds(100);
  // Expect
  CHECK(fixture.port.writes.empty());
  // event
  peer.send_hello();
  fixture.rounds();
  // Expect
  CHECK(fixture.channel().connection().state() == Connect::State::kReady);
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
  CHECK(peer.next().value().payload.size() == 8);
}

TEST_CASE("Hellos are not delivered", "[channel]") {
  ContextFixture fixture;
  fixture.accept();
  CHECK(fixture.upper.fragments.empty());
}

TEST_CASE("with one slot the Hello is granted like any other slot", "[channel]") {
  ContextFixture fixture(settings(phases({{512, 1}, {8192, 1}})));
  FakePeer& active = fixture.accept(1);
  REQUIRE(read_grant(active.inbox().grant));
  CHECK(*read_grant(active.inbox().grant) == 1);
  FakePort::LinkState* link = fixture.want(2);
  FakePeer& passive = fixture.peer(2);
  passive.meet(link->data);
  fixture.port.connected(link, passive.answer_bytes(1));
  fixture.rounds();
  CHECK(fixture.send({8}, 2) == kNothingSent);
  CHECK(passive.next().value().kind() == SlotKind::kHello);
  passive.grant_all();
  CHECK(fixture.send({8}, 2) == Sent{Status::kOk, 8});
}

// ---- the answer to the own attempt

TEST_CASE("a response without the job's key, from another rank or to another attempt fails the channel", "[channel]") {
  const auto error_of = [](auto change, bool answer = true, std::uint64_t key = kJobKey) {
    ContextFixture fixture;
    FakePort::LinkState* link = fixture.want();
    Hello hello = fixture.peer().hello(1);
    change(hello);
    fixture.port.connected(link, fixture.peer().sealed(hello, answer, key));
    fixture.rounds(2);
    REQUIRE(fixture.upper.failures.size() == 1);
    CHECK(fixture.upper.failures[0].status == Status::kProtocolError);
    CHECK(fixture.port.writes.empty());
    CHECK(fixture.context.core().attempts.out() == 0);
    return fixture.upper.failures[0].text;
  };
  CHECK_THAT(error_of([](Hello&) {}, true, kJobKey ^ 1), Contains("no Hello of this job"));
  CHECK_THAT(error_of([](Hello&) {}, false), Contains("no Hello of this job"));  // a call that comes as an answer
  CHECK_THAT(error_of([](Hello& hello) { hello.rank = 2; }), Contains("another process"));
  CHECK_THAT(error_of([](Hello& hello) { hello.attempt = 9; }), Contains("another process"));
  CHECK_THAT(error_of([](Hello& hello) { hello.version = kOtherWireVersion; }), Contains("version") && Contains("200"));
  CHECK_THAT(error_of([](Hello& hello) { hello.slots = 99; }), Contains("99 slots") && Contains("16 slots"));
}

TEST_CASE("without memory for the rings the channel fails with a clear error, and gives back what it had",
          "[channel]") {
  ContextFixture fixture;
  fixture.port.refuses_memory = [](std::size_t bytes) { return bytes == 16384; };
  CHECK(fixture.send({8}) == kNothingSent);
  fixture.rounds(2);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kMemoryError);
  CHECK_THAT(fixture.upper.failures[0].text, Contains("memory"));
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(fixture.context.core().attempts.out() == 0);
}

TEST_CASE("without memory a request is answered, and the channel fails", "[channel]") {
  ContextFixture fixture;
  fixture.port.refuses_memory = [](std::size_t) { return true; };
  fixture.port.request(fixture.peer().hello_bytes(1));
  fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.port.news() == Log{"refuse 4096", "reject"});
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kMemoryError);
}

}  // namespace
}  // namespace bufenlarge::test
