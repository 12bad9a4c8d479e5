// SPDX-License-Identifier: MIT
// What a peer that asked for checks and doorbells is sent: small slots with a check and no doorbell, a
// doorbell behind each write that has a larger one.
#include <catch2/catch.hpp>

#include "support/solo.h"

namespace bufenlarge::test {
namespace {

constexpr unsigned kWhole = kMarkFirst | kMarkLast;
constexpr unsigned kWholeRung = kWhole | kMarkRung;

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

class AskedBoth : public Solo {
 public:
  AskedBoth() : Solo(settings(phases({{2048, 16}, {8192, 16}}))) {
    peer().flags = kHelloVerifiesSlots | kHelloWantsDoorbells;
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
  // Whether the writes since were rung for.
  [[nodiscard]] std::vector<bool> rung() {
    std::vector<bool> all;
    for (const FakePort::Write& write : port.writes) all.push_back(write.use == WriteUse::kRungSlots);
    port.writes.clear();
    return all;
  }
  // No write is taken until the answer is called off.
  void busy(bool on) {
    port.rule = nullptr;
    if (on) port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  }
};

TEST_CASE("slots of up to 512 bytes are checked and not rung for, larger ones the other way", "[channel][mixed]") {
  AskedBoth solo;
  for (const std::size_t bytes : {1u, 8u, 200u, 511u, 512u}) {
    CHECK(solo.send({bytes}) == Sent{Status::kOk, bytes});
    CHECK(solo.rung() == std::vector<bool>{false});
    CHECK(solo.seen() == std::vector<Seen>{{bytes, kWhole, Check::kHolds}});
  }
  for (const std::size_t bytes : {513u, 1000u, 2024u}) {
    CHECK(solo.send({bytes}) == Sent{Status::kOk, bytes});
    CHECK(solo.rung() == std::vector<bool>{true});
    CHECK(solo.seen() == std::vector<Seen>{{bytes, kWholeRung, Check::kNone}});
  }
}

TEST_CASE("the greeting of a mixed peer is checked and not rung for", "[channel][mixed][connect]") {
  Solo solo;
  FakePeer& peer = solo.peer();
  peer.flags = kHelloVerifiesSlots | kHelloWantsDoorbells;
  FakePort::LinkState* link = solo.want();
  peer.meet(link->data);
  solo.port.connected(link, peer.hello_bytes(peer.theirs().attempt));
  solo.rounds();
  REQUIRE(solo.port.writes.size() == 1);
  CHECK(solo.port.writes[0].use == WriteUse::kSlots);
  const auto greeting = peer.next();
  REQUIRE(greeting);
  CHECK(greeting->kind() == SlotKind::kHello);
  CHECK(greeting->trailer.check == slot_check(greeting->payload.data(), greeting->trailer));
}

TEST_CASE("the small last slot of a rung write is marked, and its check does not stay", "[channel][mixed]") {
  AskedBoth solo;
  solo.busy(true);
  CHECK(solo.send({2000}) == Sent{Status::kOk, 2000});
  CHECK(solo.send({100}) == Sent{Status::kOk, 100});
  solo.busy(false);
  solo.rounds();
  CHECK(solo.rung() == std::vector<bool>{true});
  CHECK(solo.seen() == std::vector<Seen>{{2000, kWhole, Check::kNone}, {100, kWholeRung, Check::kNone}});
}

TEST_CASE("a write of small slots alone is not rung for, however many they are", "[channel][mixed]") {
  AskedBoth solo;
  solo.busy(true);
  for (const std::size_t bytes : {20u, 512u, 300u, 512u, 7u}) CHECK(solo.send({bytes}) == Sent{Status::kOk, bytes});
  solo.busy(false);
  solo.rounds();
  CHECK(solo.rung() == std::vector<bool>{false});
  CHECK(solo.seen() == std::vector<Seen>{{20, kWhole, Check::kHolds},
                                         {512, kWhole, Check::kHolds},
                                         {300, kWhole, Check::kHolds},
                                         {512, kWhole, Check::kHolds},
                                         {7, kWhole, Check::kHolds}});
}

TEST_CASE("one larger slot anywhere in a write has it rung for", "[channel][mixed]") {
  for (std::size_t large = 0; large < 4; ++large) {
    AskedBoth solo;
    for (std::size_t n = 0; n < 4; ++n) {
      std::size_t sent = 0;
      CHECK(solo.channel().send(Vector({n == large ? 1000u : 20u}).all(), false, sent, true) == Status::kOk);
    }
    solo.channel().post_staged();
    CHECK(solo.rung() == std::vector<bool>{true});
    std::vector<Seen> expected(4, Seen{20, kWhole, Check::kHolds});
    expected[large] = {1000, kWhole, Check::kNone};
    expected[3].marks = kWholeRung;
    expected[3].check = Check::kNone;
    INFO("the larger slot is number " << large);
    CHECK(solo.seen() == expected);
  }
}

// Three tries: small slots alone; a larger one behind them, which is marked; one more, which is now.
TEST_CASE("a write that could not be posted is rung for by what it has become", "[channel][mixed]") {
  AskedBoth solo;
  solo.busy(true);
  CHECK(solo.send({20}) == Sent{Status::kOk, 20});
  solo.rounds(2);
  CHECK(solo.send({1000}) == Sent{Status::kOk, 1000});
  solo.rounds(2);
  CHECK(solo.send({30}) == Sent{Status::kOk, 30});
  solo.rounds(2);
  CHECK(solo.rung().empty());
  // event
  solo.busy(false);
  solo.rounds();
  CHECK(solo.rung() == std::vector<bool>{true});
  CHECK(solo.seen() == std::vector<Seen>{{20, kWhole, Check::kHolds},
                                         {1000, kWhole, Check::kNone},
                                         {30, kWholeRung, Check::kNone}});
}

TEST_CASE("a small slot that was the last of a write for a time has no mark left", "[channel][mixed]") {
  AskedBoth solo;
  solo.busy(true);
  for (const std::size_t bytes : {1000u, 20u, 30u}) CHECK(solo.send({bytes}) == Sent{Status::kOk, bytes});
  solo.busy(false);
  solo.rounds();
  CHECK(solo.rung() == std::vector<bool>{true});
  std::vector<unsigned> marks;
  for (const Seen& slot : solo.seen()) marks.push_back(slot.marks);
  CHECK(marks == std::vector<unsigned>{kWhole, kWhole, kWholeRung});
}

TEST_CASE("a rung write does not change how the next one goes", "[channel][mixed]") {
  AskedBoth solo;
  for (const std::size_t bytes : {1000u, 20u, 1000u, 20u}) (void)solo.send({bytes});
  CHECK(solo.rung() == std::vector<bool>{true, false, true, false});
}

TEST_CASE("the request for a larger ring is checked and not rung for", "[channel][mixed][E5]") {
  AskedBoth solo;
  CHECK(solo.send({5000}) == kNothingSent);
  CHECK(solo.rung() == std::vector<bool>{false});
  const auto request = solo.peer().next();
  REQUIRE(request);
  CHECK(request->kind() == SlotKind::kEnlargeRequest);
  CHECK(request->trailer.check == slot_check(request->payload.data(), request->trailer));
}

}  // namespace
}  // namespace bufenlarge::test
