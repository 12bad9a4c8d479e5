// SPDX-License-Identifier: MIT
// Opening a channel: what is registered, what is told, who speaks first.
#include <catch2/catch.hpp>

#include <set>

#include "protocol/words.h"
#include "support/solo.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Log = std::vector<std::string>;

TEST_CASE("a channel that was never used has no memory and no connection", "[channel][E1]") {
  Solo solo;
  solo.channel(1);
  solo.rounds(3);
  CHECK(solo.port.log.empty());
  CHECK(solo.channel(1).connect_state() == Connect::State::kIdle);
  CHECK(solo.channel(1).registered_bytes() == 0);
}

TEST_CASE("the first send takes nothing, and registers a small ring each way and a control block", "[channel][E1]") {
  Solo solo;
  // event
  CHECK(solo.send({8}) == kNothingSent);
  // Expect: nothing waits inside of send
  CHECK(solo.port.log.empty());
  // event
  solo.rounds();
  // Expect
  CHECK(solo.port.news() == Log{"allocate 4096", "allocate 8192", "allocate 8192", "open"});
  CHECK(solo.channel().registered_bytes() == 2 * 8192);
  CHECK(solo.channel().registered_bytes_max() == 2 * 8192);
}

TEST_CASE("rings are there when the connection opens, and the peer is told the channel's own", "[channel][E1]") {
  Solo solo;
  std::set<std::uint64_t> rings;
  std::set<std::uint64_t> controls;
  for (const std::uint32_t rank : {1u, 2u, 3u}) {
    FakePeer& peer = solo.connect(rank);
    // Expect: what the hello names is registered, and the peer may write there
    const Hello& told = peer.theirs();
    CHECK(solo.fabric.at(told.ring_key, told.ring_address, 8192) != nullptr);
    CHECK(solo.fabric.at(told.control_key, told.control_address, sizeof(ControlInbox)) != nullptr);
    rings.insert(told.ring_address);
    controls.insert(told.control_address);
  }
  // Expect: different ones for each connection
  CHECK(rings.size() == 3);
  CHECK(controls.size() == 3);
}

TEST_CASE("what one connection's peer writes is no other channel's", "[channel][E1]") {
  Solo solo;
  solo.connect(1);
  solo.connect(2);
  solo.connect(3);
  solo.peer(2).send(pattern(50));
  solo.rounds();
  const auto pieces = solo.upper.take();
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].peer == 2);
  CHECK(pieces[0].bytes == pattern(50));
}

TEST_CASE("the passive side registers before it accepts, and tells its own ring", "[channel][E1]") {
  Solo solo;
  solo.ask_in(1);
  CHECK(solo.port.news() == Log{"allocate 4096", "allocate 8192", "allocate 8192", "accept"});
  const Hello& told = solo.peer(1).theirs();
  CHECK(solo.fabric.at(told.ring_key, told.ring_address, 8192) != nullptr);
  CHECK(told.rank == 0);
  CHECK(told.attempt == 1);
}

TEST_CASE("the hello says what the job, the geometry and the attempt are", "[channel]") {
  Solo solo(settings(three_phases()), 7, 5);
  solo.connect(2);
  const Hello& told = solo.peer(2).theirs();
  CHECK(told.job_key == kJobKey);
  CHECK(told.rank == 5);
  CHECK(told.attempt == 1);
  CHECK(told.slot_bytes == 128);
  CHECK(told.slots == 4);
  CHECK(told.geometry == geometry_hash(three_phases()));
  CHECK(told.flags == 0);
}

TEST_CASE("a side on a fabric that may reorder asks for checks, and fills them for a peer that asks", "[channel]") {
  Solo solo;
  solo.port.arrives = Arrival::kChecked;
  FakePort::LinkState* link = solo.want();
  FakePeer& peer = solo.peer();
  peer.meet(link->data);
  CHECK(peer.theirs().flags == kHelloVerifiesSlots);
  Hello hello = peer.hello(1);
  hello.flags = kHelloVerifiesSlots;
  const HelloBytes bytes = encode_hello(hello);
  solo.port.connected(link, Bytes(bytes.begin(), bytes.end()));
  solo.rounds();
  const auto greeting = peer.next();
  REQUIRE(greeting);
  CHECK(greeting->trailer.check == slot_check(nullptr, greeting->trailer));
}

TEST_CASE("nothing is checked that the peer did not ask for", "[channel]") {
  Solo solo;
  FakePeer& peer = solo.connect();
  CHECK(solo.send({40}) == Sent{Status::kOk, 40});
  CHECK(peer.next().value().trailer.check == 0);
}

// ---- who speaks first

TEST_CASE("the active side greets, and its data comes behind the greeting", "[channel]") {
  Solo solo;
  FakePort::LinkState* link = solo.want();
  CHECK(solo.send({8}) == kNothingSent);
  solo.peer().meet(link->data);
  solo.port.connected(link, solo.peer().hello_bytes(1));
  solo.rounds();
  CHECK(solo.channel().connect_state() == Connect::State::kReady);
  CHECK(solo.send({8}) == Sent{Status::kOk, 8});
  const auto greeting = solo.peer().next();
  REQUIRE(greeting);
  CHECK(greeting->kind() == SlotKind::kHello);
  CHECK(greeting->payload.empty());
  CHECK(solo.peer().next().value().kind() == SlotKind::kPayload);
}

TEST_CASE("the passive side writes nothing before it has read the active side's first message", "[channel]") {
  Solo solo;
  FakePeer& peer = solo.ask_in();
  // event
  CHECK(solo.send({8}) == kNothingSent);
  solo.rounds(100);
  // Expect
  CHECK(solo.port.writes.empty());
  // event
  peer.greet();
  solo.rounds();
  // Expect
  CHECK(solo.channel().connect_state() == Connect::State::kReady);
  CHECK(solo.send({8}) == Sent{Status::kOk, 8});
  CHECK(peer.next().value().payload.size() == 8);
}

TEST_CASE("greetings are not delivered", "[channel]") {
  Solo solo;
  solo.accept();
  CHECK(solo.upper.pieces.empty());
}

TEST_CASE("with one slot the greeting is granted like any other slot", "[channel]") {
  Solo solo(settings(phases({{512, 1}, {8192, 1}})));
  FakePeer& active = solo.accept(1);
  REQUIRE(read_grant(active.inbox().grant));
  CHECK(*read_grant(active.inbox().grant) == 1);
  FakePort::LinkState* link = solo.want(2);
  FakePeer& passive = solo.peer(2);
  passive.meet(link->data);
  solo.port.connected(link, passive.hello_bytes(1));
  solo.rounds();
  CHECK(solo.send({8}, 2) == kNothingSent);
  CHECK(passive.next().value().kind() == SlotKind::kHello);
  passive.grant_all();
  CHECK(solo.send({8}, 2) == Sent{Status::kOk, 8});
}

// ---- the answer to the own attempt

TEST_CASE("an answer without the job's key, from another rank or to another attempt fails the channel", "[channel]") {
  const auto answered = [](auto change) {
    Solo solo;
    FakePort::LinkState* link = solo.want();
    Hello hello = solo.peer().hello(1);
    change(hello);
    const HelloBytes bytes = encode_hello(hello);
    solo.port.connected(link, Bytes(bytes.begin(), bytes.end()));
    solo.rounds(2);
    REQUIRE(solo.upper.failures.size() == 1);
    CHECK(solo.upper.failures[0].status == Status::kProtocolError);
    CHECK(solo.port.writes.empty());
    CHECK(solo.context.core().attempts_out == 0);
    return solo.upper.failures[0].text;
  };
  CHECK_THAT(answered([](Hello& hello) { hello.job_key ^= 1; }), Contains("no greeting of this job"));
  CHECK_THAT(answered([](Hello& hello) { hello.rank = 2; }), Contains("another process"));
  CHECK_THAT(answered([](Hello& hello) { hello.attempt = 9; }), Contains("another process"));
  CHECK_THAT(answered([](Hello& hello) { hello.version = 9; }), Contains("version") && Contains("9"));
  CHECK_THAT(answered([](Hello& hello) { hello.slots = 99; }), Contains("99 slots") && Contains("16 slots"));
}

TEST_CASE("without memory for the rings the channel fails, clearly, and gives back what it had", "[channel]") {
  Solo solo;
  solo.port.refuses_memory = [](std::size_t bytes) { return bytes == 8192; };
  CHECK(solo.send({8}) == kNothingSent);
  solo.rounds(2);
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kMemoryError);
  CHECK_THAT(solo.upper.failures[0].text, Contains("memory"));
  CHECK(solo.channel().registered_bytes() == 0);
  CHECK(solo.context.core().attempts_out == 0);
}

TEST_CASE("without memory a request is answered, and the channel fails", "[channel]") {
  Solo solo;
  solo.port.refuses_memory = [](std::size_t) { return true; };
  solo.port.request(solo.peer().hello_bytes(1));
  solo.rounds(FakeContext::kEventRounds);
  CHECK(solo.port.news() == Log{"refuse 4096", "reject"});
  REQUIRE(solo.upper.failures.size() == 1);
  CHECK(solo.upper.failures[0].status == Status::kMemoryError);
}

}  // namespace
}  // namespace bufenlarge::test
