// SPDX-License-Identifier: MIT
#include "channel/peer_link.h"

#include <catch2/catch.hpp>

#include "support/aborts.h"
#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using State = PeerLink<FakePort>::State;

constexpr std::size_t kGrant = offsetof(ControlInbox, grant);
constexpr std::size_t kAck = offsetof(ControlInbox, ack);

TEST_CASE("a link is connected or ready as it was told, until it has failed", "[link]") {
  PartFixture fixture;
  PeerLink<FakePort>& link = fixture.link;
  CHECK_FALSE(link.connected());
  link.set_state(State::kConnected);
  CHECK(link.connected());
  CHECK_FALSE(link.ready());
  link.set_state(State::kReady);
  CHECK(link.connected());
  CHECK(link.ready());
  link.set_state(State::kClosed);
  CHECK_FALSE(link.connected());
  link.fail(Status::kPeerFailed, "gone");
  link.set_state(State::kReady);
  CHECK(link.failed());
  CHECK_FALSE(link.connected());
}

TEST_CASE("open and accept say whether there is an endpoint, which bears the channel's name", "[link]") {
  PartFixture fixture;
  const Bytes hello = pattern(20);
  CHECK(fixture.link.open(&kPeerRank, hello));
  CHECK(fixture.port.opened.back()->user == &fixture.channel);
  CHECK(fixture.port.opened.back()->data == hello);
  FakePort::Request request{hello};
  CHECK(fixture.link.accept(request, hello));
  CHECK(fixture.port.opened.back()->user == nullptr);  // the first one is closed
  CHECK(fixture.port.accepted.back()->user == &fixture.channel);
  fixture.link.close();
  CHECK(fixture.port.accepted.back()->user == nullptr);
  fixture.port.refuses_open = fixture.port.refuses_accept = true;
  CHECK_FALSE(fixture.link.open(&kPeerRank, hello));
  CHECK_FALSE(fixture.link.accept(request, hello));
}

TEST_CASE("a failure is told once, with its first reason, and asks for service", "[link]") {
  PartFixture fixture;
  fixture.open();
  fixture.upper.on_failure = [&](const UpperLog::Failure&) {
    CHECK(fixture.link.failed());
    fixture.link.fail(Status::kProtocolError, "again");
  };
  fixture.link.fail(Status::kMemoryError, "no memory");
  fixture.link.fail(Status::kPeerFailed, "another reason");
  fixture.check_failure(Status::kMemoryError, "no memory");
  CHECK(fixture.link.failure() == Status::kMemoryError);
  CHECK(fixture.link.error() == "no memory");
  CHECK(fixture.wants_service());
  CHECK(fixture.port.opened.back()->user != nullptr);  // the endpoint ends in the next round
}

TEST_CASE("a loss keeps its first reason, and completions from before it are to be read", "[link]") {
  PartFixture fixture;
  fixture.open();
  fixture.port.notify(fixture.port.opened.back());
  CHECK_FALSE(fixture.link.lost());
  fixture.link.lose("the link broke");
  fixture.link.lose("another reason");
  CHECK(fixture.link.lost());
  CHECK(fixture.link.loss() == "the link broke");
  CHECK_FALSE(fixture.link.loss_is_read());
  fixture.poll();
  fixture.port.notify(fixture.port.opened.back());  // another, which is none of these
  CHECK(fixture.link.loss_is_read());
  CHECK(fixture.wants_service());
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.link.connected());  // what came before can still be read
  fixture.link.close();
  CHECK_FALSE(fixture.link.lost());
}

TEST_CASE("a channel that has failed is not lost as well", "[link]") {
  PartFixture fixture;
  fixture.link.fail(Status::kProtocolError, "broken");
  fixture.link.lose("the link broke");
  CHECK_FALSE(fixture.link.lost());
}

TEST_CASE("a write that fails is a loss, and one that finds no room is not", "[link][loss]") {
  PartFixture fixture;
  fixture.open();
  const auto region = fixture.port.allocate(100);
  const RdmaWrite<FakePort::Region> write{region, region.data(), 100, fixture.peer.ring().address,
                                          fixture.peer.ring().key, WriteUse::kSlots};
  fixture.answer(WriteResult::kAgain);
  CHECK(fixture.link.write(write) == WriteResult::kAgain);
  CHECK_FALSE(fixture.link.lost());
  CHECK_FALSE(fixture.wants_service());
  fixture.answer(WriteResult::kFailed);
  CHECK(fixture.link.write(write) == WriteResult::kFailed);
  CHECK(fixture.link.lost());
  CHECK(fixture.wants_service());
  fixture.answer_as_usual();
  CHECK(fixture.link.write(write) == WriteResult::kPosted);
  fixture.poll();
}

TEST_CASE("a word goes into the same place of the peer's inbox, and nothing beside it", "[link][words]") {
  PartFixture fixture;
  fixture.open();
  const Bytes junk = pattern(sizeof(ControlInbox), 9);
  std::memcpy(&fixture.link.outbox(), junk.data(), junk.size());
  fixture.link.outbox().grant = make_grant(77);
  CHECK(fixture.link.post_word(kGrant, sizeof(GrantWord)));
  CHECK(read_grant(fixture.peer.inbox().grant) == 77);
  const ControlInbox empty{};
  CHECK(std::memcmp(&fixture.peer.inbox().repeat, &empty.repeat, sizeof empty - sizeof(GrantWord)) == 0);
  CHECK(fixture.port.writes.back().use == WriteUse::kWord);
}

TEST_CASE("a word is tried again when there is no room, and not when the link is lost", "[link][words]") {
  PartFixture fixture;
  fixture.open();
  fixture.answer(WriteResult::kAgain);
  CHECK_FALSE(fixture.link.post_word(kGrant, sizeof(GrantWord)));
  CHECK_FALSE(fixture.link.lost());
  fixture.answer(WriteResult::kFailed);
  CHECK(fixture.link.post_word(kGrant, sizeof(GrantWord)));
  CHECK(fixture.link.lost());
}

TEST_CASE("a hint goes to the byte of the peer's block, where the peer wants hints", "[link][words][S1]") {
  PartFixture without;
  without.open();
  CHECK_FALSE(without.link.peer_takes_hints());
  PartFixture fixture;
  fixture.peer.hinted = true;
  fixture.open();
  REQUIRE(fixture.link.peer_takes_hints());
  CHECK(fixture.link.post_hint());
  CHECK(fixture.port.writes.back().use == WriteUse::kHint);
  CHECK(fixture.port.writes.back().bytes.size() == 1);
  CHECK(fixture.peer.take_hint());
  CHECK_FALSE(fixture.peer.take_hint());
  fixture.answer(WriteResult::kAgain);
  CHECK_FALSE(fixture.link.post_hint());
  fixture.answer(WriteResult::kPosted);  // a device that sends nothing inline reads the byte later
  CHECK(fixture.link.post_hint());
  fixture.poll();
}

TEST_CASE("only an acknowledgement may be read by the device after the call", "[link][words]") {
  PartFixture fixture;
  fixture.open();
  fixture.answer(WriteResult::kPosted);
  CHECK(fixture.link.post_word(kAck, sizeof(EnlargeAck)));
  CHECK(aborts([&] { (void)fixture.link.post_word(kGrant, sizeof(GrantWord)); }));
  fixture.poll();
}

TEST_CASE("a control block is taken once, cleared for another attempt, and given back", "[link][memory]") {
  PartFixture fixture;
  fixture.refuse_memory();
  CHECK_FALSE(fixture.link.take_control());
  CHECK_FALSE(fixture.link.has_control());
  fixture.port.refuses_memory = nullptr;
  CHECK(fixture.link.take_control());
  const std::uint64_t address = fixture.link.inbox_address();
  fixture.link.inbox().grant = fixture.link.outbox().grant = make_grant(5);
  fixture.refuse_memory();
  CHECK(fixture.link.take_control());
  CHECK(fixture.link.inbox_address() == address);
  CHECK_FALSE(read_grant(fixture.link.inbox().grant));
  CHECK_FALSE(read_grant(fixture.link.outbox().grant));
  fixture.link.give_back_control();
  CHECK_FALSE(fixture.link.has_control());
  fixture.link.give_back_control();
  PeerLink<FakePort> other(fixture.core, 2, fixture.channel);
  CHECK(other.take_control());
  CHECK(other.inbox_address() == address);
  CHECK(fixture.link.take_control());
  CHECK(fixture.link.inbox_address() != address);  // it was given back once
}

TEST_CASE("a ring keeps its memory until there is other memory, and both are counted", "[link][memory]") {
  PartFixture fixture;
  PeerLink<FakePort>& link = fixture.link;
  RingMemory<FakePort> ring;
  RingMemory<FakePort> before;
  const PhaseTable table = two_phases();
  REQUIRE(link.provision(ring, before, table.at(1), Ledger::Use::kGrown));
  REQUIRE(link.provision(ring, before, table.at(0), Ledger::Use::kBeginning));
  before = {};
  CHECK(fixture.port.news() ==
        std::vector<std::string>{"allocate 131072", "allocate 16384", "use 8192", "free 131072"});
  CHECK(link.ring_bytes().now == 8192);
  CHECK(link.ring_bytes().most == 131072 + 8192);
  CHECK(ring.is_part());
  CHECK(ring.stride() == 512);
  fixture.refuse_memory();
  RingMemory<FakePort> last;
  REQUIRE(link.provision(last, before, table.at(0), Ledger::Use::kBeginning));  // of the same slab
  CHECK_FALSE(link.provision(ring, before, table.at(0), Ledger::Use::kBeginning));
  link.drop(last);
  CHECK(static_cast<bool>(ring));
  CHECK(link.ring_bytes().now == 8192);
  link.drop(ring);
  CHECK(link.ring_bytes().now == 0);
  CHECK_THAT(link.no_memory("a ring"), Catch::Matchers::Contains("no memory could be registered for a ring"));
}

TEST_CASE("service is asked for once until it has come", "[link]") {
  PartFixture fixture;
  fixture.link.want_service();
  fixture.link.want_service();
  CHECK(fixture.wants_service());
  CHECK_FALSE(fixture.wants_service());
  fixture.link.want_service();
  CHECK(fixture.wants_service());
}

}  // namespace
}  // namespace bufenlarge::test
