// SPDX-License-Identifier: MIT
#include "protocol/ring_producer.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <sstream>
#include <string>

#include "protocol/ring_consumer.h"
#include "support/aborts.h"

namespace bufenlarge::test {
namespace {

// Positions at which a ring may begin: no result may depend on them.
constexpr std::uint64_t kBases[] = {0,
                                    1,
                                    (1ull << 31) - 3,
                                    (1ull << 31),
                                    (1ull << 32) - 3,
                                    (1ull << 32),
                                    (3ull << 31) - 2,
                                    (1ull << 62) - 3,
                                    (1ull << 62)};

// Steps: s3 stages three slots, p3 posts them one by one, c3 completes and g3 grants all before base + 3.
void play(RingProducer& producer, std::uint64_t base, const std::string& steps) {
  std::istringstream in(steps);
  for (std::string step; in >> step;) {
    const auto count = static_cast<unsigned>(std::atoi(step.c_str() + 1));
    switch (step[0]) {
      case 's':
        for (unsigned i = 0; i < count; ++i) producer.stage_one();
        break;
      case 'p':
        for (unsigned i = 0; i < count; ++i) producer.post(1);
        break;
      case 'c': producer.complete(base + count); break;
      case 'g': REQUIRE(producer.grant(base + count)); break;
      default: FAIL("no such step: " << step);
    }
  }
}

struct RoomCase {
  const char* name;
  std::uint32_t slots;
  const char* steps;
  std::uint32_t room;
};

constexpr RoomCase kRoomCases[] = {
    {"a new ring is all room", 4, "", 4},
    {"staged slots take room before they are posted", 4, "s3", 1},
    {"a full ring has none", 4, "s4", 0},
    {"posted is not free", 4, "s4 p4", 0},
    {"completed without a grant is not free", 4, "s4 p4 c4", 0},
    {"granted without completion is not free", 4, "s4 p4 g4", 0},
    {"granted and completed is free", 4, "s4 p4 c4 g4", 4},
    {"the older of grant and completion counts: grant", 4, "s4 p4 c3 g1", 1},
    {"the older of grant and completion counts: completion", 4, "s4 p4 c1 g3", 1},
    {"a part of the posted ones is granted", 4, "s4 p2 c2 g2", 2},
    {"a second lap begins", 4, "s4 p4 c4 g4 s3 p3", 1},
    {"two laps and a half", 4, "s4 p4 c4 g4 s4 p4 c8 g8 s2 p2", 2},
    {"an older grant changes nothing", 4, "s4 p4 c4 g3 g1", 3},
    {"an older completion changes nothing", 4, "s4 p4 g4 c3 c1", 3},
    {"one slot, taken", 1, "s1 p1", 0},
    {"one slot, granted only", 1, "s1 p1 g1", 0},
    {"one slot, given back", 1, "s1 p1 c1 g1", 1},
    {"one slot, second lap", 1, "s1 p1 c1 g1 s1", 0},
    {"the most slots there can be", 4096, "s4096 p4096 c4096 g4095", 4095},
};

TEST_CASE("a sender's ring that has not begun has no slots, and nothing in them", "[ring_producer]") {
  const RingProducer ring;
  CHECK(ring.slots() == 0);
  CHECK(ring.room() == 0);
  CHECK(ring.staged() == 0);
  CHECK(ring.posted() == 0);
  CHECK(ring.granted() == 0);
  CHECK(ring.stage_index() == 0);
  CHECK(ring.post_index() == 0);
}

TEST_CASE("room is what is granted and completed, at every base", "[ring_producer][E12]") {
  for (const RoomCase& one : kRoomCases) {
    for (const std::uint64_t base : kBases) {
      INFO(one.name << ", base " << base);
      RingProducer producer;
      producer.start(base, one.slots);
      play(producer, base, one.steps);
      CHECK(producer.room() == one.room);
    }
  }
}

TEST_CASE("indexes go round the ring in step with the positions", "[ring_producer]") {
  for (const std::uint64_t base : kBases) {
    RingProducer producer;
    producer.start(base, 3);
    for (std::uint64_t n = 0; n < 10; ++n) {
      INFO("slot " << n << ", base " << base);
      CHECK(producer.staged() == base + n);
      CHECK(producer.stage_index() == n % 3);
      CHECK(producer.post_index() == n % 3);
      producer.stage_one();
      CHECK_FALSE(producer.all_posted());
      producer.post(1);
      CHECK(producer.all_posted());
      producer.complete(base + n + 1);
      REQUIRE(producer.grant(base + n + 1));
    }
  }
}

TEST_CASE("the producer's commit word is the one that the consumer expects, in every lap and ring", "[ring_producer]") {
  for (const std::uint64_t base : kBases) {
    RingProducer producer;
    RingConsumer consumer;
    producer.start(base, 3);
    consumer.start(base, 3);
    for (std::uint64_t n = 1; n <= 800; ++n) {
      INFO("slot " << n << ", base " << base);
      REQUIRE(producer.stage_commit() == consumer.expected_commit());
      REQUIRE(producer.stage_index() == consumer.index());
      play(producer, base, "s1 p1");
      producer.complete(base + n);
      REQUIRE(producer.grant(base + n));
      consumer.consume();
      consumer.report();
    }
  }
}

TEST_CASE("a new ring begins at its base, with its own number of slots", "[ring_producer][E9]") {
  RingProducer producer;
  producer.start(0, 4);
  play(producer, 0, "s3 p3 c3 g3");
  producer.start(3, 16);
  CHECK(producer.room() == 16);
  CHECK(producer.staged() == 3);
  CHECK(producer.posted() == 3);
  CHECK(producer.granted() == 3);
  CHECK(producer.stage_index() == 0);
  CHECK(producer.post_index() == 0);
  CHECK(producer.slots() == 16);
}

TEST_CASE("a grant for what was never posted breaks the protocol and changes nothing", "[ring_producer]") {
  for (const std::uint64_t base : kBases) {
    INFO("base " << base);
    RingProducer producer;
    producer.start(base, 4);
    play(producer, base, "s3 p2 c2 g1");
    for (const std::uint64_t bogus : {base + 3, base + 4, base + 1000, base + (std::uint64_t{1} << 33), UINT64_MAX}) {
      CHECK_FALSE(producer.grant(bogus));
      CHECK(producer.granted() == base + 1);
    }
  }
}

struct LowCase {
  const char* name;
  std::int64_t granted_low;  // the position whose low half is in the slot, from the base
  bool right;
  std::uint64_t granted;  // from the base, afterwards
};

// Four slots posted, two of them granted.
constexpr LowCase kLowCases[] = {
    {"the next one", 3, true, 3},
    {"all that was posted", 4, true, 4},
    {"nothing new", 2, true, 2},
    {"an older grant, which a newer one overtook", 1, true, 2},
    {"from before this ring", -3, true, 2},
    {"one more than was posted", 5, false, 2},
    {"far more than was posted", 1'000'000, false, 2},
    {"the largest step ahead that the low half can express", std::int64_t{2} + INT32_MAX, false, 2},
    {"a position 2^31 behind is old", 2 - (std::int64_t{1} << 31), true, 2},
};

TEST_CASE("the low half of a position grants as the whole position does", "[ring_producer]") {
  for (const LowCase& one : kLowCases) {
    for (const std::uint64_t base : kBases) {
      INFO(one.name << ", base " << base);
      RingProducer producer;
      producer.start(base, 8);
      play(producer, base, "s4 p4 c4 g2");
      const std::uint64_t position = base + static_cast<std::uint64_t>(one.granted_low);
      CHECK(producer.grant_low(static_cast<std::uint32_t>(position)) == one.right);
      CHECK(producer.granted() == base + one.granted);
    }
  }
}

TEST_CASE("grants by the low half go on across 2^32", "[ring_producer]") {
  const std::uint64_t base = (1ull << 32) - 5;
  RingProducer producer;
  producer.start(base, 4);
  for (std::uint64_t n = 1; n <= 12; ++n) {
    play(producer, base, "s1 p1");
    producer.complete(base + n);
    REQUIRE(producer.grant_low(static_cast<std::uint32_t>(base + n)));
    CHECK(producer.granted() == base + n);
    CHECK(producer.room() == 4);
  }
}

TEST_CASE("a call that breaks an invariant of the producer ends the process", "[ring_producer]") {
  const auto with = [](const char* steps, auto call) {
    RingProducer producer;
    producer.start(0, 4);
    play(producer, 0, steps);
    return aborts([&] { call(producer); });
  };
  CHECK(with("s4", [](RingProducer& full) { full.stage_one(); }));
  CHECK(with("s2", [](RingProducer& two) { two.post(3); }));
  CHECK(with("s2 p1", [](RingProducer& one) { one.complete(2); }));
  // Slots 2, 3 and 0 do not lie next to each other.
  CHECK(with("s4 p2 c2 g2 s1", [](RingProducer& wraps) { wraps.post(3); }));
  CHECK_FALSE(with("s4", [](RingProducer& right) { right.post(4); }));
}

}  // namespace
}  // namespace bufenlarge::test
