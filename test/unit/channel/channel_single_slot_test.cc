// SPDX-License-Identifier: MIT
// A channel sends a whole message that fits one slot in fewer steps than others. What it writes, counts and leaves
// behind has to be the same as on the data path that a corked message takes when it is flushed.
#include <catch2/catch.hpp>

#include <random>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

class Sender : public ContextFixture {
 public:
  Sender(std::uint8_t flags, bool single_slot)
      : ContextFixture(settings(phases({{2048, 16, 1500}, {8192, 16}}))), single_slot_(single_slot) {
    peer().flags = flags;
    connect();
    port.writes.clear();
  }
  Sent send(const Vector& vector) {
    Sent result{};
    result.status = channel().send(vector.all(), false, result.bytes, !single_slot_);
    if (!single_slot_) channel().post_staged();
    return result;
  }
  // Has the port refuse one write in `n`, or none if `n` is 0.
  void refuse(unsigned n) {
    port.rule = nullptr;
    if (n != 0) port.rule = [n, count = 0u](const FakePort::Write&) mutable -> std::optional<WriteResult> {
      if (++count % n == 0) return WriteResult::kAgain;
      return std::nullopt;
    };
  }
  // Reads what has arrived, and grants it if `grants` says so.
  std::vector<Bytes> read(bool grants) {
    std::vector<Bytes> all;
    while (const auto slot = peer().next()) all.push_back(slot->payload);
    if (grants) peer().grant_all();
    return all;
  }

 private:
  const bool single_slot_;
};

void check_same(Sender& single, Sender& other) {
  REQUIRE(single.port.writes.size() == other.port.writes.size());
  for (std::size_t i = 0; i < single.port.writes.size(); ++i) {
    const FakePort::Write& one = single.port.writes[i];
    const FakePort::Write& two = other.port.writes[i];
    REQUIRE(one.bytes == two.bytes);
    REQUIRE(one.address == two.address);
    REQUIRE(one.key == two.key);
    REQUIRE(one.use == two.use);
  }
  single.port.writes.clear();
  other.port.writes.clear();
  const auto& one = single.channel().send_ring();
  const auto& two = other.channel().send_ring();
  REQUIRE(one.producer().staged() == two.producer().staged());
  REQUIRE(one.producer().posted() == two.producer().posted());
  REQUIRE(one.counters().messages == two.counters().messages);
  REQUIRE(one.counters().bytes_in_phase == two.counters().bytes_in_phase);
  REQUIRE(single.context.idle() == other.context.idle());
}

// Sizes of one to three elements; some add up to more than the threshold, and so take another data path.
std::vector<std::size_t> sizes_of(std::mt19937& random) {
  std::vector<std::size_t> sizes(1 + random() % 3);
  const std::size_t most = random() % 4 == 0 ? 1500 : random() % 2 == 0 ? 300 : 24;
  for (std::size_t& size : sizes) size = random() % (most + 1);
  sizes[0] += 1;
  return sizes;
}

TEST_CASE("a message that fits one slot is written as the data path of all messages writes it",
          "[channel][single_slot]") {
  const std::uint8_t flags = GENERATE(std::uint8_t{0}, kHelloVerifiesSlots, kHelloWantsNotifications,
                                      std::uint8_t{kHelloVerifiesSlots | kHelloWantsNotifications});
  const unsigned refused = GENERATE(0u, 3u);
  INFO("flags " << unsigned{flags} << ", refused 1 in " << refused);
  Sender single(flags, true), other(flags, false);
  single.refuse(refused);
  other.refuse(refused);
  std::mt19937 random(flags + 10 * refused + 1);
  for (std::uint32_t n = 0; n < 1000; ++n) {
    const Vector vector(sizes_of(random), n);
    REQUIRE(single.send(vector) == other.send(vector));
    check_same(single, other);
    const bool grants = random() % 3 == 0;
    REQUIRE(single.read(grants) == other.read(grants));
    if (random() % 4 == 0) {
      single.rounds();
      other.rounds();
      check_same(single, other);
    }
  }
  CHECK(single.channel().send_ring().counters().messages > 500);
}

TEST_CASE("behind a message that is open or waits, none takes the single-slot path", "[channel][single_slot]") {
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

TEST_CASE("a failed write fails the channel, whichever path the message took", "[channel][single_slot]") {
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
