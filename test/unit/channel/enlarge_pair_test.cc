// SPDX-License-Identifier: MIT
// Both sides of an enlargement: two channels of the shipped code against each other.
#include <catch2/catch.hpp>

#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("one direction grows, the other stays small, and every byte arrives", "[channel][pair][E7][E9][E10]") {
  ContextPair pair(settings(two_phases()));
  pair.open();
  const Vector large({5000, 10});
  pair.send_all(0, large);
  pair.settle();
  CHECK(pair.side[1].messages().back() == large.bytes());
  CHECK(pair.side[0].channel().send_ring().phase() == 1);
  CHECK(pair.side[0].channel().receive_ring().phase() == 0);
  CHECK(pair.side[1].channel().receive_ring().phase() == 1);
  CHECK(pair.side[1].channel().send_ring().phase() == 0);
  CHECK(pair.side[0].channel().ring_bytes().now == 8192 + 131072);
  CHECK(pair.side[1].channel().ring_bytes().now == 8192 + 131072);
}

TEST_CASE("the channel stays large: a second large message asks for nothing", "[channel][pair]") {
  ContextPair pair(settings(two_phases()));
  pair.open();
  for (int i = 0; i < 5; ++i) pair.send_all(0, Vector({5000}));
  pair.settle();
  CHECK(pair.side[0].channel().send_ring().counters().enlargements == 1);
  CHECK(pair.side[1].channel().receive_ring().counters().enlargements == 1);
  CHECK(pair.side[1].messages().size() == 6);
}

TEST_CASE("both directions may grow at once", "[channel][pair]") {
  for (const std::uint32_t slots : {1u, 2u, 16u}) {
    ContextPair pair(settings(phases({{512, slots}, {8192, slots}})));
    pair.open();
    const Vector there({6000}, 1);
    const Vector back({7000}, 2);
    // event: both ask before either reads
    (void)send(pair.side[0].channel(), there.all());
    (void)send(pair.side[1].channel(), back.all());
    pair.send_all(0, there);
    pair.send_all(1, back);
    pair.settle();
    INFO(slots << " slots");
    CHECK(pair.side[1].messages().back() == there.bytes());
    CHECK(pair.side[0].messages().back() == back.bytes());
    for (auto& side : pair.side) {
      CHECK(side.channel().send_ring().phase() == 1);
      CHECK(side.channel().receive_ring().phase() == 1);
      CHECK(side.channel().ring_bytes().now == 2 * slots * 8192);
    }
  }
}

TEST_CASE("three and more phases are gone through by data that grows, in each direction by itself",
          "[channel][pair][E11]") {
  const PhaseTable five = phases({{64, 3}, {128, 3}, {256, 3}, {512, 3}, {1024, 3}});
  ContextPair pair(settings(five));
  pair.open();
  for (std::uint8_t phase = 1; phase < five.count; ++phase) {
    const Vector vector({five.at(phase).capacity()}, phase);
    pair.send_all(0, vector);
    pair.settle();
    CHECK(pair.side[1].messages().back() == vector.bytes());
    CHECK(pair.side[0].channel().send_ring().phase() == phase);
    CHECK(pair.side[1].channel().receive_ring().phase() == phase);
    CHECK(pair.side[1].channel().send_ring().phase() == 0);
    CHECK(pair.side[0].channel().send_ring().counters().enlargements == phase);
  }
  pair.send_all(1, Vector({1000}));
  pair.settle();
  CHECK(pair.side[1].channel().send_ring().phase() == 4);
  CHECK(pair.side[1].channel().send_ring().counters().enlargements == 1);
}

TEST_CASE("a message that is partly sent when its channel has to grow arrives whole", "[channel][pair][E4]") {
  ContextPair pair(settings(three_phases()));
  pair.open();
  const Vector vector({50, 60, 400, 30, 1500, 10, 9000, 5});
  pair.send_all(0, vector);
  pair.settle();
  CHECK(pair.side[1].messages().back() == vector.bytes());
  CHECK(pair.side[0].channel().send_ring().counters().enlargements == 2);
}

TEST_CASE("no payload ever travels between the request and the acknowledgement", "[channel][pair][E6][E8]") {
  ContextPair pair(settings(two_phases()));
  pair.open();
  bool asked = false;
  std::size_t too_early = 0;
  pair.side[0].port.rule = [&](const FakePort::Write& write) -> std::optional<WriteResult> {
    const auto* trailer = reinterpret_cast<const SlotTrailer*>(write.bytes.data() + write.bytes.size() - kTrailerBytes);
    if (write.bytes.size() == 32 && trailer->kind == static_cast<std::uint8_t>(SlotKind::kEnlargeRequest)) asked = true;
    else if (asked && pair.side[0].channel().send_ring().phase() == 0) ++too_early;
    return std::nullopt;
  };
  pair.send_all(0, Vector({300, 5000, 300}));
  pair.settle();
  CHECK(asked);
  CHECK(too_early == 0);
}

TEST_CASE("an acknowledgement that is lost is asked for again, and the data arrives once", "[channel][pair][E8]") {
  ContextPair pair(settings(two_phases()));
  pair.open();
  unsigned lost = 3;
  pair.side[1].port.withholds = [&](const FakePort::Write& write) {
    return write.bytes.size() == sizeof(EnlargeAck) && lost > 0 && lost-- > 0;
  };
  const Vector vector({5000});
  CHECK(send(pair.side[0].channel(), vector.all()) == kNothingSent);
  for (unsigned i = 0; i < 3; ++i) {
    pair.rounds(5);
    CHECK(pair.side[0].channel().enlargement().sender().repeats() == i);
    pair.side[0].port.now += 32'000'000;
  }
  pair.rounds(5);
  pair.send_all(0, vector);
  pair.settle();
  CHECK(pair.side[0].channel().enlargement().sender().repeats() == 3);
  CHECK(pair.side[1].messages().size() == 2);
  CHECK(pair.side[1].messages().back() == vector.bytes());
  CHECK(pair.side[0].channel().send_ring().counters().enlargements == 1);
}

TEST_CASE("an acknowledgement that comes after it was asked for again is taken, and the second does no harm",
          "[channel][pair][E8]") {
  ContextPair pair(settings(three_phases()));
  pair.open();
  pair.side[1].port.withholds = [](const FakePort::Write& write) { return write.bytes.size() == sizeof(EnlargeAck); };
  CHECK(send(pair.side[0].channel(), Vector({400}).all()) == kNothingSent);
  pair.rounds(3);
  pair.side[0].port.now += 1'000'000;
  pair.rounds(3);
  REQUIRE(pair.side[1].port.withheld.size() == 2);
  pair.side[1].port.withholds = nullptr;
  const auto land = [&](const FakePort::Write& write) {
    return pair.fabric.place(write.key, write.address, write.bytes);
  };
  REQUIRE(land(pair.side[1].port.withheld[0]));
  pair.rounds(2);
  CHECK(pair.side[0].channel().send_ring().phase() == 1);
  REQUIRE(land(pair.side[1].port.withheld[1]));
  pair.send_all(0, Vector({400}));
  pair.send_all(0, Vector({2000}));
  pair.settle();
  CHECK(pair.side[0].channel().send_ring().phase() == 2);
  CHECK(pair.side[0].upper.failures.empty());
  CHECK(pair.side[1].upper.failures.empty());
}

TEST_CASE("when the receiver cannot provide the ring everything goes in fragments, and nothing is lost",
          "[channel][pair]") {
  for (const std::uint32_t slots : {1u, 3u, 16u}) {
    ContextPair pair(settings(phases({{512, slots}, {8192, slots}})));
    pair.open();
    pair.side[1].port.refuses_memory = [&](std::size_t bytes) { return bytes == slots * 8192u; };
    for (std::uint32_t n = 0; n < 4; ++n) {
      const Vector vector({3000 + n, 20, 10'000}, n);
      pair.send_all(0, vector);
      pair.settle();
      INFO(slots << " slots, message " << n);
      CHECK(pair.side[1].messages().back() == vector.bytes());
    }
    CHECK(pair.side[0].channel().send_ring().counters().refused == 1);
    CHECK(pair.side[1].channel().receive_ring().counters().refused == 1);
    CHECK(pair.side[0].channel().send_ring().phase() == 0);
    CHECK(pair.side[0].upper.failures.empty());
    // Expect: the other direction may still grow
    pair.side[1].port.refuses_memory = nullptr;
    pair.send_all(1, Vector({5000}));
    pair.settle();
    CHECK(pair.side[1].channel().send_ring().phase() == 1);
  }
}

TEST_CASE("when the sender cannot provide the ring small slots go into the large one, and nothing is lost",
          "[channel][pair]") {
  struct Case {
    std::uint32_t small, large;
    Arrival arrival;
  };
  for (const Case& one : {Case{1, 1, Arrival::kInOrder}, Case{3, 3, Arrival::kChecked}, Case{16, 16, Arrival::kMixed},
                          Case{16, 4, Arrival::kNotified}, Case{4, 16, Arrival::kChecked}}) {
    const PhaseTable table = phases({{512, one.small}, {8192, one.large}});
    ContextPair pair(settings(table));
    for (auto& side : pair.side) side.port.arrives = one.arrival;
    pair.open();
    pair.side[0].port.refuses_memory = [&](std::size_t bytes) { return bytes == table.at(1).ring_bytes(); };
    for (std::uint32_t n = 0; n < 4; ++n) {
      const Vector vector({3000 + n, 20, 10'000}, n);
      pair.send_all(0, vector);
      pair.settle();
      INFO(one.small << " and " << one.large << " slots, message " << n);
      CHECK(pair.side[1].messages().back() == vector.bytes());
    }
    CHECK(pair.side[0].channel().send_ring().counters().refused == 1);
    CHECK(pair.side[1].channel().receive_ring().counters().refused == 0);
    CHECK(pair.side[0].channel().send_ring().phase() == 0);
    CHECK(pair.side[1].channel().receive_ring().phase() == 1);
    // Expect: the other direction cannot grow either, for this side's receive ring is refused, and goes on
    const Vector back({5000});
    pair.send_all(1, back);
    pair.settle();
    CHECK(pair.side[0].messages().back() == back.bytes());
    CHECK(pair.side[1].channel().send_ring().phase() == 0);
    for (auto& side : pair.side) CHECK(side.upper.failures.empty());
  }
}

TEST_CASE("after both sides have grown the memory of their small rings is gone", "[channel][pair][E7][E9]") {
  ContextPair pair(settings(two_phases()));
  pair.open();
  pair.send_all(0, Vector({5000}));
  pair.send_all(1, Vector({5000}));
  pair.settle();
  for (auto& side : pair.side) {
    std::size_t large = 0, small = 0;
    for (const std::string& line : side.port.log) {
      large += line == "allocate 131072";
      small += line == "give back 8192";
    }
    CHECK(large == 2);
    CHECK(small == 2);
  }
}

TEST_CASE("with checks, both directions and all phases work the same", "[channel][pair][E12]") {
  ContextPair pair(settings(three_phases()));
  pair.side[0].port.arrives = pair.side[1].port.arrives = Arrival::kChecked;
  pair.open();
  for (std::uint32_t n = 0; n < 20; ++n) {
    const Vector vector({1 + n * n * 9}, n);
    pair.send_all(n % 2, vector);
    pair.settle();
    CHECK(pair.side[1 - n % 2].messages().back() == vector.bytes());
  }
}

}  // namespace
}  // namespace bufenlarge::test
