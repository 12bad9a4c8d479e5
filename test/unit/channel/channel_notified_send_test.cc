// SPDX-License-Identifier: MIT
// What a channel sends to a peer that asked for notifications: each write of slots with a notification behind it and
// its last slot marked, and words without a notification.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

// A channel that is connected to a peer that asked for `flags`.
class Asked : public ContextFixture {
 public:
  explicit Asked(std::uint8_t flags) {
    peer().flags = flags;
    connect();
    port.writes.clear();
  }
  // Returns the marks of the slots that arrived since the last call.
  [[nodiscard]] std::vector<unsigned> marks() {
    std::vector<unsigned> seen;
    while (const auto arrival = peer().next()) seen.push_back(arrival->trailer.marks);
    return seen;
  }
  // While it is on the port takes no write.
  void busy(bool on) {
    port.rule = nullptr;
    if (on) port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  }
};

constexpr unsigned kWhole = kMarkFirst | kMarkLast;

TEST_CASE("each write of slots is notified, and its last slot is marked", "[channel][notification]") {
  Asked fixture(kHelloWantsNotifications);
  CHECK(fixture.send({20}) == Sent{Status::kOk, 20});
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].use == WriteUse::kNotifiedSlots);
  CHECK(fixture.marks() == std::vector<unsigned>{kWhole | kMarkNotified});
  // event: fragments that go in one write
  CHECK(fixture.send({400, 400, 400}) == Sent{Status::kOk, 1200});
  REQUIRE(fixture.port.writes.size() == 2);
  CHECK(fixture.marks() == std::vector<unsigned>{kMarkFirst, 0, kMarkLast | kMarkNotified});
}

TEST_CASE("the Hello is notified for, too", "[channel][notification][connect]") {
  ContextFixture fixture;
  fixture.peer().flags = kHelloWantsNotifications;
  fixture.connect();
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].use == WriteUse::kNotifiedSlots);
}

TEST_CASE("a peer that did not ask for notifications gets none, and no mark", "[channel][notification]") {
  for (const std::uint8_t flags : {std::uint8_t{0}, kHelloVerifiesSlots}) {
    Asked fixture(flags);
    CHECK(fixture.send({400, 400}) == Sent{Status::kOk, 800});
    CHECK(fixture.port.writes.at(0).use == WriteUse::kSlots);
    CHECK(fixture.marks() == std::vector<unsigned>{kMarkFirst, kMarkLast});
  }
}

TEST_CASE("a write that has become longer since it could not be posted has one mark", "[channel][notification]") {
  Asked fixture(kHelloWantsNotifications);
  fixture.busy(true);
  CHECK(fixture.send({20}) == Sent{Status::kOk, 20});
  CHECK(fixture.send({30}) == Sent{Status::kOk, 30});
  fixture.rounds(2);
  CHECK(fixture.port.writes.empty());
  fixture.busy(false);
  fixture.rounds();
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.marks() == std::vector<unsigned>{kWhole, kWhole | kMarkNotified});
}

TEST_CASE("words are not notified for", "[channel][notification]") {
  Asked fixture(kHelloWantsNotifications);
  FakePeer& peer = fixture.peer();
  for (unsigned n = 0; n < 16; ++n) peer.send(pattern(8));
  fixture.rounds(2);
  REQUIRE_FALSE(fixture.port.writes.empty());
  for (const FakePort::Write& write : fixture.port.writes) CHECK(write.use == WriteUse::kWord);
  CHECK(read_grant(peer.inbox().grant) == std::optional<std::uint64_t>(16));
}

TEST_CASE("an acknowledgement is posted from its place and needs no completion", "[channel][notification][E8]") {
  Asked fixture(kHelloWantsNotifications);
  FakePeer& peer = fixture.peer();
  fixture.port.completes = false;
  peer.ask({1, 1});
  fixture.rounds(2);
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].use == WriteUse::kWord);
  CHECK(fixture.port.writes[0].bytes.size() == sizeof(EnlargeAck));
  CHECK(fixture.port.posted() == 0);
  CHECK(fixture.channel().idle());
  peer.follow_ack();
  peer.send(pattern(5000));
  fixture.rounds();
  CHECK(fixture.upper.messages[1] == std::vector<Bytes>{pattern(5000)});
}

}  // namespace
}  // namespace bufenlarge::test
