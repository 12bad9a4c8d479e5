// SPDX-License-Identifier: MIT
// A whole message that fits one slot is sent in fewer steps than others. What it writes, counts and leaves
// behind has to be the same: the other way is the one that a corked message takes when it is flushed.
#include <catch2/catch.hpp>

#include <random>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

class Sender : public ContextFixture {
 public:
  Sender(std::uint8_t flags, bool straight) : ContextFixture(settings(phases({{2048, 16, 1500}, {8192, 16}}))), straight_(straight) {
    peer().flags = flags;
    connect();
    port.writes.clear();
  }
  Sent send(const Vector& vector) {
    Sent result{};
    result.status = channel().send(vector.all(), false, result.bytes, !straight_);
    if (!straight_) channel().post_staged();
    return result;
  }
  // One write in `n` is refused; 0: none.
  void refuse(unsigned n) {
    port.rule = nullptr;
    if (n != 0) port.rule = [n, count = 0u](const FakePort::Write&) mutable -> std::optional<WriteResult> {
      if (++count % n == 0) return WriteResult::kAgain;
      return std::nullopt;
    };
  }
  // Reads what has arrived; grants it when told.
  std::vector<Bytes> read(bool grants) {
    std::vector<Bytes> all;
    while (const auto slot = peer().next()) all.push_back(slot->payload);
    if (grants) peer().grant_all();
    return all;
  }

 private:
  const bool straight_;
};

void check_same(Sender& straight, Sender& other) {
  REQUIRE(straight.port.writes.size() == other.port.writes.size());
  for (std::size_t i = 0; i < straight.port.writes.size(); ++i) {
    const FakePort::Write& one = straight.port.writes[i];
    const FakePort::Write& two = other.port.writes[i];
    REQUIRE(one.bytes == two.bytes);
    REQUIRE(one.address == two.address);
    REQUIRE(one.key == two.key);
    REQUIRE(one.use == two.use);
  }
  straight.port.writes.clear();
  other.port.writes.clear();
  REQUIRE(straight.channel().send_ring().producer().staged() == other.channel().send_ring().producer().staged());
  REQUIRE(straight.channel().send_ring().producer().posted() == other.channel().send_ring().producer().posted());
  REQUIRE(straight.channel().send_ring().counters().messages == other.channel().send_ring().counters().messages);
  REQUIRE(straight.channel().send_ring().counters().bytes_in_phase == other.channel().send_ring().counters().bytes_in_phase);
  REQUIRE(straight.context.idle() == other.context.idle());
}

// Sizes of one to three elements; some add up to more than the threshold, and so to another way.
std::vector<std::size_t> sizes_of(std::mt19937& random) {
  std::vector<std::size_t> sizes(1 + random() % 3);
  const std::size_t most = random() % 4 == 0 ? 1500 : random() % 2 == 0 ? 300 : 24;
  for (std::size_t& size : sizes) size = random() % (most + 1);
  sizes[0] += 1;
  return sizes;
}

TEST_CASE("a message that fits one slot is written as by the way for all messages", "[channel][straight]") {
  const std::uint8_t flags = GENERATE(std::uint8_t{0}, kHelloVerifiesSlots, kHelloWantsNotifications,
                                      std::uint8_t{kHelloVerifiesSlots | kHelloWantsNotifications});
  const unsigned refused = GENERATE(0u, 3u);
  INFO("flags " << unsigned{flags} << ", refused 1 in " << refused);
  Sender straight(flags, true), other(flags, false);
  straight.refuse(refused);
  other.refuse(refused);
  std::mt19937 random(flags + 10 * refused + 1);
  for (std::uint32_t n = 0; n < 1000; ++n) {
    const Vector vector(sizes_of(random), n);
    REQUIRE(straight.send(vector) == other.send(vector));
    check_same(straight, other);
    const bool grants = random() % 3 == 0;
    REQUIRE(straight.read(grants) == other.read(grants));
    if (random() % 4 == 0) {
      straight.rounds();
      other.rounds();
      check_same(straight, other);
    }
  }
  CHECK(straight.channel().send_ring().counters().messages > 500);
}

TEST_CASE("behind a message that is open or waits, none is sent straight", "[channel][straight]") {
  Sender sender(0, true);
  REQUIRE(test::send(sender.channel(), Vector({40}, 1).all(), true) == Sent{Status::kOk, 40});
  REQUIRE(sender.send(Vector({8}, 2)) == Sent{Status::kOk, 8});
  CHECK(sender.peer().next().value().trailer.marks == kMarkFirst);
  CHECK(sender.peer().next().value().trailer.marks == kMarkLast);
  sender.port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  REQUIRE(sender.send(Vector({8}, 3)) == Sent{Status::kOk, 8});
  sender.port.rule = nullptr;
  sender.port.writes.clear();
  REQUIRE(sender.send(Vector({8}, 4)) == Sent{Status::kOk, 8});
  CHECK(sender.port.writes.size() == 1);
  CHECK(sender.peer().next().value().payload == pattern(8, 3));
  CHECK(sender.peer().next().value().payload == pattern(8, 4));
}

TEST_CASE("a failed write fails the channel, whichever way the message took", "[channel][straight]") {
  for (const bool is_single_slot : {true, false}) {
    Sender sender(0, is_single_slot);
    sender.port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kFailed); };
    sender.send(Vector({8}));
    sender.rounds(3);
    CHECK(sender.channel().failure() == Status::kPeerFailed);
  }
}

}  // namespace
}  // namespace bufenlarge::test
