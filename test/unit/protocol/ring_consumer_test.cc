// SPDX-License-Identifier: MIT
#include "protocol/ring_consumer.h"

#include <catch2/catch.hpp>

#include "support/aborts.h"

namespace bufenlarge::test {
namespace {

struct OwesCase {
  std::uint32_t slots;
  std::uint32_t owes_from;  // unreported slots
};

TEST_CASE("a receiver's ring that has not begun has no slots, and owes nothing", "[ring_consumer]") {
  const RingConsumer ring;
  CHECK(ring.slots() == 0);
  CHECK(ring.consumed() == 0);
  CHECK(ring.index() == 0);
  CHECK(ring.credit_used_up());
  CHECK_FALSE(ring.owes_grant());
}

TEST_CASE("a grant is owed for half of a ring, for all slots but one of four to seven, and for each of less than four",
          "[ring_consumer]") {
  for (const OwesCase& one : {OwesCase{1, 1}, OwesCase{2, 1}, OwesCase{3, 1}, OwesCase{4, 3}, OwesCase{7, 6},
                              OwesCase{8, 4}, OwesCase{16, 8}, OwesCase{4096, 2048}}) {
    for (const std::uint64_t base : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 2, std::uint64_t{1} << 62}) {
      RingConsumer consumer;
      consumer.start(base, one.slots);
      CHECK_FALSE(consumer.owes_grant());
      for (std::uint32_t read = 1; read <= one.slots; ++read) {
        consumer.consume();
        INFO(one.slots << " slots, " << read << " read, base " << base);
        CHECK(consumer.owes_grant() == (read >= one.owes_from));
      }
    }
  }
}

TEST_CASE("after a report no grant is owed until half of the ring was read again", "[ring_consumer]") {
  RingConsumer consumer;
  consumer.start(0, 8);
  for (int i = 0; i < 4; ++i) consumer.consume();
  REQUIRE(consumer.owes_grant());
  consumer.report();
  CHECK_FALSE(consumer.owes_grant());
  for (int i = 0; i < 3; ++i) consumer.consume();
  CHECK_FALSE(consumer.owes_grant());
  consumer.consume();
  CHECK(consumer.owes_grant());
}

TEST_CASE("the expected commit word has position and lap, and a new ring begins with the first lap",
          "[ring_consumer]") {
  RingConsumer consumer;
  consumer.start(5, 2);
  for (std::uint64_t n = 0; n < 1200; ++n) {
    CHECK(consumer.expected_commit() == commit_word(5 + n, n / 2));
    consumer.consume();
    consumer.report();
  }
  consumer.start(1ull << 32, 2);
  CHECK(consumer.expected_commit() == commit_word(1ull << 32, 0));
}

TEST_CASE("credit is used up when a whole ring was read and not reported", "[ring_consumer]") {
  for (const std::uint32_t slots : {1u, 3u, 16u}) {
    RingConsumer consumer;
    consumer.start(100, slots);
    for (std::uint32_t read = 0; read < slots; ++read) {
      CHECK_FALSE(consumer.credit_used_up());
      consumer.consume();
    }
    CHECK(consumer.credit_used_up());
    consumer.report();
    CHECK_FALSE(consumer.credit_used_up());
  }
}

TEST_CASE("a new ring begins at slot 0 and at the position where the old one ended", "[ring_consumer][E7]") {
  RingConsumer consumer;
  consumer.start(0, 4);
  for (int i = 0; i < 3; ++i) consumer.consume();
  CHECK(consumer.index() == 3);
  consumer.start(consumer.consumed(), 16);
  CHECK(consumer.index() == 0);
  CHECK(consumer.consumed() == 3);
  CHECK(consumer.slots() == 16);
  CHECK_FALSE(consumer.owes_grant());
}

TEST_CASE("the index goes round the ring", "[ring_consumer]") {
  RingConsumer consumer;
  consumer.start(7, 3);
  for (std::uint32_t n = 0; n < 9; ++n) {
    CHECK(consumer.index() == n % 3);
    consumer.consume();
    consumer.report();
  }
}

TEST_CASE("reading more than a ring without a report breaks an invariant", "[ring_consumer]") {
  RingConsumer consumer;
  consumer.start(0, 2);
  consumer.consume();
  consumer.consume();
  CHECK(aborts([&] { consumer.consume(); }));
}

}  // namespace
}  // namespace bufenlarge::test
