// SPDX-License-Identifier: MIT
// What a peer that asked for doorbells is sent: each write of slots with a doorbell behind it, the last
// slot of the write marked, words without.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/solo.h"

namespace bufenlarge::test {
namespace {

// Connected to a peer that asked for `flags`.
class Asked : public Solo {
 public:
  explicit Asked(std::uint8_t flags) {
    peer().flags = flags;
    connect();
    port.writes.clear();
  }
  // The marks of what arrived since.
  [[nodiscard]] std::vector<unsigned> marks() {
    std::vector<unsigned> seen;
    while (const auto arrival = peer().next()) seen.push_back(arrival->trailer.marks);
    return seen;
  }
  // No write is taken until the answer is called off.
  void busy(bool on) {
    port.rule = nullptr;
    if (on) port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  }
};

constexpr unsigned kWhole = kMarkFirst | kMarkLast;

TEST_CASE("each write of slots is rung, and its last slot is marked", "[channel][doorbell]") {
  Asked solo(kHelloWantsDoorbells);
  CHECK(solo.send({20}) == Sent{Status::kOk, 20});
  REQUIRE(solo.port.writes.size() == 1);
  CHECK(solo.port.writes[0].use == WriteUse::kRungSlots);
  CHECK(solo.marks() == std::vector<unsigned>{kWhole | kMarkRung});
  // event: pieces that go in one write
  CHECK(solo.send({400, 400, 400}) == Sent{Status::kOk, 1200});
  REQUIRE(solo.port.writes.size() == 2);
  CHECK(solo.marks() == std::vector<unsigned>{kMarkFirst, 0, kMarkLast | kMarkRung});
}

TEST_CASE("the greeting is rung for, too", "[channel][doorbell][connect]") {
  Solo solo;
  solo.peer().flags = kHelloWantsDoorbells;
  solo.connect();
  REQUIRE(solo.port.writes.size() == 1);
  CHECK(solo.port.writes[0].use == WriteUse::kRungSlots);
}

TEST_CASE("a peer that did not ask for doorbells gets none, and no mark", "[channel][doorbell]") {
  for (const std::uint8_t flags : {std::uint8_t{0}, kHelloVerifiesSlots}) {
    Asked solo(flags);
    CHECK(solo.send({400, 400}) == Sent{Status::kOk, 800});
    CHECK(solo.port.writes.at(0).use == WriteUse::kSlots);
    CHECK(solo.marks() == std::vector<unsigned>{kMarkFirst, kMarkLast});
  }
}

TEST_CASE("a write that has become longer since it could not be posted has one mark", "[channel][doorbell]") {
  Asked solo(kHelloWantsDoorbells);
  solo.busy(true);
  CHECK(solo.send({20}) == Sent{Status::kOk, 20});
  CHECK(solo.send({30}) == Sent{Status::kOk, 30});
  solo.rounds(2);
  CHECK(solo.port.writes.empty());
  solo.busy(false);
  solo.rounds();
  REQUIRE(solo.port.writes.size() == 1);
  CHECK(solo.marks() == std::vector<unsigned>{kWhole, kWhole | kMarkRung});
}

TEST_CASE("words are not rung for", "[channel][doorbell]") {
  Asked solo(kHelloWantsDoorbells);
  FakePeer& peer = solo.peer();
  for (unsigned n = 0; n < 16; ++n) peer.send(pattern(8));
  solo.rounds(2);
  REQUIRE_FALSE(solo.port.writes.empty());
  for (const FakePort::Write& write : solo.port.writes) CHECK(write.use == WriteUse::kWord);
  CHECK(read_grant(peer.inbox().grant) == std::optional<std::uint64_t>(16));
}

TEST_CASE("an acknowledgement is posted from its place and needs no completion", "[channel][doorbell][E8]") {
  Asked solo(kHelloWantsDoorbells);
  FakePeer& peer = solo.peer();
  solo.port.completes = false;
  peer.ask({1, 1});
  solo.rounds(2);
  REQUIRE(solo.port.writes.size() == 1);
  CHECK(solo.port.writes[0].use == WriteUse::kWord);
  CHECK(solo.port.writes[0].bytes.size() == sizeof(EnlargeAck));
  CHECK(solo.port.posted() == 0);
  CHECK(solo.channel().idle());
  peer.follow_ack();
  peer.send(pattern(5000));
  solo.rounds();
  CHECK(solo.upper.messages[1] == std::vector<Bytes>{pattern(5000)});
}

}  // namespace
}  // namespace bufenlarge::test
