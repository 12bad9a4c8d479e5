// SPDX-License-Identifier: MIT
// What a channel sends to a peer that asked for checks and notifications: small slots with a check and no notification,
// and a notification behind each write that has a larger slot.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr unsigned kWhole = kMarkFirst | kMarkLast;
constexpr unsigned kWholeNotified = kWhole | kMarkNotified;

// A slot as it arrived: its size, its marks, and what is in its check.
enum class Check { kNone, kHolds, kWrong };
struct Seen {
  std::size_t bytes;
  unsigned marks;
  Check check;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.bytes << " bytes, marks " << seen.marks << ", check " << static_cast<int>(seen.check);
}

class AskedBoth : public ContextFixture {
 public:
  AskedBoth() : ContextFixture(settings(phases({{2048, 16}, {8192, 16}}))) {
    peer().flags = kHelloVerifiesSlots | kHelloWantsNotifications;
    connect();
    port.writes.clear();
  }
  [[nodiscard]] std::vector<Seen> seen() {
    std::vector<Seen> all;
    while (const auto slot = peer().next()) {
      const std::uint32_t check = slot_check(slot->payload.data(), slot->trailer);
      all.push_back({slot->payload.size(), slot->trailer.marks,
                     slot->trailer.check == 0       ? Check::kNone
                     : slot->trailer.check == check ? Check::kHolds
                                                    : Check::kWrong});
    }
    return all;
  }
  // Returns for each write since the last call whether it was notified for.
  [[nodiscard]] std::vector<bool> notified() {
    std::vector<bool> all;
    for (const FakePort::Write& write : port.writes) all.push_back(write.use == WriteUse::kNotifiedSlots);
    port.writes.clear();
    return all;
  }
  // While it is on the port takes no write.
  void busy(bool on) {
    port.rule = nullptr;
    if (on) port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  }
};

TEST_CASE("slots of up to 512 bytes are checked and not notified for, larger ones are only notified for",
          "[channel][mixed]") {
  AskedBoth fixture;
  for (const std::size_t bytes : {1u, 8u, 200u, 511u, 512u}) {
    CHECK(fixture.send({bytes}) == Sent{Status::kOk, bytes});
    CHECK(fixture.notified() == std::vector<bool>{false});
    CHECK(fixture.seen() == std::vector<Seen>{{bytes, kWhole, Check::kHolds}});
  }
  for (const std::size_t bytes : {513u, 1000u, 2024u}) {
    CHECK(fixture.send({bytes}) == Sent{Status::kOk, bytes});
    CHECK(fixture.notified() == std::vector<bool>{true});
    CHECK(fixture.seen() == std::vector<Seen>{{bytes, kWholeNotified, Check::kNone}});
  }
}

TEST_CASE("the Hello of a mixed peer is checked and not notified for", "[channel][mixed][connect]") {
  ContextFixture fixture;
  FakePeer& peer = fixture.peer();
  peer.flags = kHelloVerifiesSlots | kHelloWantsNotifications;
  FakePort::LinkState* link = fixture.want();
  peer.meet(link->data);
  fixture.port.connected(link, peer.answer_bytes(peer.theirs().attempt));
  fixture.rounds();
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].use == WriteUse::kSlots);
  const auto first = peer.next();
  REQUIRE(first);
  CHECK(first->kind() == SlotKind::kHello);
  CHECK(first->trailer.check == slot_check(first->payload.data(), first->trailer));
}

TEST_CASE("the small last slot of a notified write is marked, and its check does not stay", "[channel][mixed]") {
  AskedBoth fixture;
  fixture.busy(true);
  CHECK(fixture.send({2000}) == Sent{Status::kOk, 2000});
  CHECK(fixture.send({100}) == Sent{Status::kOk, 100});
  fixture.busy(false);
  fixture.rounds();
  CHECK(fixture.notified() == std::vector<bool>{true});
  CHECK(fixture.seen() == std::vector<Seen>{{2000, kWhole, Check::kNone}, {100, kWholeNotified, Check::kNone}});
}

TEST_CASE("a write of small slots alone is not notified for, however many they are", "[channel][mixed]") {
  AskedBoth fixture;
  fixture.busy(true);
  for (const std::size_t bytes : {20u, 512u, 300u, 512u, 7u}) CHECK(fixture.send({bytes}) == Sent{Status::kOk, bytes});
  fixture.busy(false);
  fixture.rounds();
  CHECK(fixture.notified() == std::vector<bool>{false});
  CHECK(fixture.seen() == std::vector<Seen>{{20, kWhole, Check::kHolds},
                                         {512, kWhole, Check::kHolds},
                                         {300, kWhole, Check::kHolds},
                                         {512, kWhole, Check::kHolds},
                                         {7, kWhole, Check::kHolds}});
}

TEST_CASE("one larger slot anywhere in a write has it notified for", "[channel][mixed]") {
  for (std::size_t large = 0; large < 4; ++large) {
    AskedBoth fixture;
    for (std::size_t n = 0; n < 4; ++n) {
      std::size_t sent = 0;
      CHECK(fixture.channel().send(Vector({n == large ? 1000u : 20u}).all(), false, sent, true) == Status::kOk);
    }
    fixture.channel().post_staged();
    CHECK(fixture.notified() == std::vector<bool>{true});
    std::vector<Seen> expected(4, Seen{20, kWhole, Check::kHolds});
    expected[large] = {1000, kWhole, Check::kNone};
    expected[3].marks = kWholeNotified;
    expected[3].check = Check::kNone;
    INFO("the larger slot is number " << large);
    CHECK(fixture.seen() == expected);
  }
}

// The port refuses the write three times: with small slots alone; with a larger one behind them, which is marked; with
// one more, which is now the marked one.
TEST_CASE("a write that could not be posted is notified for by what it has become", "[channel][mixed]") {
  AskedBoth fixture;
  fixture.busy(true);
  CHECK(fixture.send({20}) == Sent{Status::kOk, 20});
  fixture.rounds(2);
  CHECK(fixture.send({1000}) == Sent{Status::kOk, 1000});
  fixture.rounds(2);
  CHECK(fixture.send({30}) == Sent{Status::kOk, 30});
  fixture.rounds(2);
  CHECK(fixture.notified().empty());
  // event
  fixture.busy(false);
  fixture.rounds();
  CHECK(fixture.notified() == std::vector<bool>{true});
  CHECK(fixture.seen() == std::vector<Seen>{{20, kWhole, Check::kHolds},
                                         {1000, kWhole, Check::kNone},
                                         {30, kWholeNotified, Check::kNone}});
}

TEST_CASE("a small slot that was the last of a write for a time has no mark left", "[channel][mixed]") {
  AskedBoth fixture;
  fixture.busy(true);
  for (const std::size_t bytes : {1000u, 20u, 30u}) CHECK(fixture.send({bytes}) == Sent{Status::kOk, bytes});
  fixture.busy(false);
  fixture.rounds();
  CHECK(fixture.notified() == std::vector<bool>{true});
  std::vector<unsigned> marks;
  for (const Seen& slot : fixture.seen()) marks.push_back(slot.marks);
  CHECK(marks == std::vector<unsigned>{kWhole, kWhole, kWholeNotified});
}

TEST_CASE("a notified write does not change how the next one goes", "[channel][mixed]") {
  AskedBoth fixture;
  for (const std::size_t bytes : {1000u, 20u, 1000u, 20u}) (void)fixture.send({bytes});
  CHECK(fixture.notified() == std::vector<bool>{true, false, true, false});
}

TEST_CASE("the request for a larger ring is checked and not notified for", "[channel][mixed][E5]") {
  AskedBoth fixture;
  CHECK(fixture.send({5000}) == kNothingSent);
  CHECK(fixture.notified() == std::vector<bool>{false});
  const auto request = fixture.peer().next();
  REQUIRE(request);
  CHECK(request->kind() == SlotKind::kEnlargeRequest);
  CHECK(request->trailer.check == slot_check(request->payload.data(), request->trailer));
}

}  // namespace
}  // namespace bufenlarge::test
