// SPDX-License-Identifier: MIT
// Writing into what the peer shares: the data is there before the message that was sent after it, the source is
// given back once, and on a fabric that reorders that message is rung for, however small it is.
#include <catch2/catch.hpp>

#include "support/read_duo.h"

namespace bufenlarge::test {
namespace {

class WriteDuo : public ReadDuo {
 public:
  explicit WriteDuo(Arrival arrival = Arrival::kInOrder, std::size_t bytes = 1000) : ReadDuo({arrival, arrival}), memory(bytes) {
    REQUIRE(side[1].context.share(memory.data(), memory.size(), shared));
  }
  ~WriteDuo() { side[1].context.unshare(shared.name); }

  // Side 0 writes all of `source`; `&source` is the cookie.
  Status write(const Bytes& source, std::size_t offset = 0) {
    return side[0].channel().write({source.data(), const_cast<Bytes*>(&source), shared.address + offset, source.size(), shared.key});
  }
  Sent send_after(std::size_t bytes) {
    Sent result{};
    result.status = side[0].channel().send_after_writes(Vector({bytes}).all(), result.bytes);
    return result;
  }
  [[nodiscard]] bool holds(const Bytes& source, std::size_t offset = 0) const {
    return std::ranges::equal(source, std::span(memory).subspan(offset, source.size()));
  }
  // The uses of the writes of slots since the last call.
  std::vector<WriteUse> slots() {
    std::vector<WriteUse> uses;
    for (const FakePort::Write& one : side[0].port.writes)
      if (one.use == WriteUse::kSlots || one.use == WriteUse::kRungSlots) uses.push_back(one.use);
    side[0].port.writes.clear();
    return uses;
  }

  Bytes memory;
  Shared shared;
};

TEST_CASE("what is written is there before the message that was sent after it", "[write][duo][R4]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kDoorbell, Arrival::kMixed})
    for (const std::size_t bytes : {1u, 1000u, 1u << 20, (6u << 20) + 5}) {
      WriteDuo duo(arrival, bytes + 10);
      const Bytes source = pattern(bytes, 7);
      REQUIRE(duo.shared.writable);
      REQUIRE(duo.write(source, 10) == Status::kOk);
      CHECK(duo.side[0].upper.writes.empty());  // not from within the call
      duo.side[1].upper.pieces.clear();
      bool there = false;
      duo.side[1].upper.on_piece = [&](const UpperLog::Piece&) { there = duo.holds(source, 10); };
      for (unsigned tries = 0; duo.send_after(24).bytes == 0; ++tries) {
        REQUIRE(tries < 100);
        duo.rounds();
      }
      duo.settle();
      CHECK(duo.side[1].upper.pieces.size() == 1);
      CHECK(there);
      REQUIRE(duo.side[0].upper.writes.size() == 1);
      CHECK(duo.side[0].upper.writes[0].cookie == &source);
      CHECK(duo.side[0].upper.writes[0].status == Status::kOk);
      CHECK(duo.counters(0).writes == 1);
      CHECK(duo.counters(0).written_bytes == bytes);
      CHECK(duo.logged(0, "register") == duo.logged(0, "unregister"));
    }
}

TEST_CASE("a message after writes waits until they are posted", "[write][duo]") {
  WriteDuo duo;
  const Bytes source = pattern(500, 1);
  duo.side[0].port.rule = [](const FakePort::Write& write) {
    return write.use == WriteUse::kData ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  REQUIRE(duo.write(source) == Status::kOk);
  duo.rounds(3);
  duo.side[0].port.writes.clear();
  CHECK(duo.send_after(24) == kNothingSent);
  CHECK(duo.side[0].port.writes.empty());
  CHECK_FALSE(duo.side[0].context.idle());
  CHECK(duo.side[0].upper.writes.empty());
  duo.side[0].port.rule = nullptr;
  duo.rounds(2);
  CHECK(duo.send_after(24) == Sent{Status::kOk, 24});
  duo.settle();
  CHECK(duo.holds(source));
}

TEST_CASE("a small message after writes is rung for, and the next is not", "[write][duo][mixed]") {
  WriteDuo duo(Arrival::kMixed);
  const Bytes source = pattern(500, 1);
  REQUIRE(duo.write(source) == Status::kOk);
  duo.slots();
  REQUIRE(duo.send_after(24).bytes == 24);
  CHECK(duo.slots() == std::vector{WriteUse::kRungSlots});
  duo.settle();
  duo.slots();
  REQUIRE(send(duo.side[0].channel(), Vector({24}).all()).bytes == 24);
  CHECK(duo.slots() == std::vector{WriteUse::kSlots});
  duo.settle();
  CHECK(duo.side[1].messages().size() == 3);
}

TEST_CASE("a message after writes that has to be posted later is rung for, too", "[write][duo][mixed]") {
  WriteDuo duo(Arrival::kMixed);
  duo.side[0].port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  REQUIRE(duo.send_after(24).bytes == 24);
  duo.slots();
  duo.side[0].port.rule = nullptr;
  duo.settle();
  CHECK(duo.slots() == std::vector{WriteUse::kRungSlots});
  CHECK(duo.side[1].messages().size() == 2);
}

TEST_CASE("what is shared where nothing tells of a write is not to be written", "[write][duo]") {
  WriteDuo duo(Arrival::kChecked);
  CHECK_FALSE(duo.shared.writable);
  CHECK(duo.shared.name != 0);
}

TEST_CASE("a source that cannot be registered is not taken", "[write][duo]") {
  WriteDuo duo;
  const Bytes source = pattern(500, 1);
  duo.side[0].port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
  CHECK(duo.write(source) == Status::kAgain);
  duo.settle();
  CHECK(duo.side[0].upper.writes.empty());
  CHECK(duo.counters(0).writes == 0);
}

TEST_CASE("writes that wait go as the parts of fewer, and each is told of once", "[write][duo]") {
  WriteDuo duo(Arrival::kInOrder, 10 * 500);
  duo.side[0].port.parts_max = 4;
  duo.side[0].port.completes = false;
  std::vector<Bytes> sources;
  for (std::uint32_t n = 0; n < 10; ++n) sources.push_back(pattern(500, n));
  for (std::size_t n = 0; n < 10; ++n) REQUIRE(duo.write(sources[n], n * 500) == Status::kOk);
  duo.rounds(2);
  REQUIRE(duo.side[0].port.posted() == kDataWritesMax);  // one by one, as nothing waited
  CHECK(duo.send_after(24) == kNothingSent);
  duo.side[0].port.complete(1);
  duo.rounds(2);
  CHECK(duo.side[0].upper.writes.size() == 1);
  CHECK(duo.side[0].port.posted() == kDataWritesMax);  // the fourth of them four parts
  duo.side[0].port.completes = true;
  duo.settle();
  for (std::size_t n = 0; n < 10; ++n) CHECK(duo.holds(sources[n], n * 500));
  REQUIRE(duo.side[0].upper.writes.size() == 10);
  for (std::size_t n = 0; n < 10; ++n) CHECK(duo.side[0].upper.writes[n].cookie == &sources[n]);
  CHECK(duo.logged(0, "register") == duo.logged(0, "unregister"));
}

TEST_CASE("writes and answers of one channel complete each its own", "[write][duo]") {
  WriteDuo duo;
  const Vector exposed({3000}, 1);
  Vector destination({3000}, 2);
  const Bytes first = pattern(300, 3), second = pattern(200, 4);
  duo.side[0].port.completes = false;
  duo.read(1, duo.expose(0, exposed, &exposed), 0, destination, true);
  REQUIRE(duo.write(first) == Status::kOk);
  duo.rounds(4);
  REQUIRE(duo.write(second, 300) == Status::kOk);
  duo.rounds(2);
  CHECK(duo.side[0].upper.writes.empty());
  duo.side[0].port.completes = true;
  duo.settle_reads();
  CHECK(duo.holds(first));
  CHECK(duo.holds(second, 300));
  REQUIRE(duo.side[0].upper.writes.size() == 2);
  CHECK(duo.side[0].upper.writes[0].cookie == &first);
  CHECK(duo.side[0].upper.writes[1].cookie == &second);
  CHECK(duo.side[0].upper.releases.size() == 1);
}

TEST_CASE("no more is shared than the bound, and what is given back counts no longer", "[write][memory]") {
  Duo duo(settings(two_phases()));
  auto& context = duo.side[1].context;
  Bytes memory(100);
  Shared first, second, none;
  context.set_shared_max(100);
  REQUIRE(context.share(memory.data(), 60, first));
  CHECK_FALSE(context.share(memory.data(), 41, none));
  REQUIRE(context.share(memory.data(), 40, second));
  CHECK_FALSE(context.share(memory.data(), 1, none));
  context.unshare(first.name);
  CHECK(context.share(memory.data(), 60, first));
  context.set_shared_max(0);
  CHECK_FALSE(context.share(memory.data(), 1, none));
  context.unshare(first.name);
  context.unshare(second.name);
  CHECK_FALSE(context.share(memory.data(), 1, none));
}

TEST_CASE("a write connects", "[write][connect]") {
  Duo duo(settings(two_phases()));
  Bytes memory(100);
  const Bytes source = pattern(100, 1);
  Shared shared;
  REQUIRE(duo.side[1].context.share(memory.data(), memory.size(), shared));
  REQUIRE(duo.side[0].channel().write({source.data(), nullptr, shared.address, 100, shared.key}) == Status::kOk);
  duo.rounds(200);
  CHECK(duo.side[0].upper.writes.size() == 1);
  CHECK(memory == source);
}

TEST_CASE("a loss at any step gives every source back once", "[write][loss]") {
  for (unsigned steps = 0; steps < 12; ++steps) {
    WriteDuo duo(Arrival::kInOrder, 8u << 20);
    const Bytes large = pattern(6u << 20, 1), small = pattern(100, 2);
    duo.side[0].port.completes = false;
    REQUIRE(duo.write(large) == Status::kOk);
    REQUIRE(duo.write(small) == Status::kOk);
    for (unsigned n = 0; n < steps; ++n) {
      duo.side[0].port.complete(1);
      duo.rounds();
    }
    const bool over = duo.side[0].upper.writes.size() == 2;
    auto& port = duo.side[0].port;
    port.lost((port.opened.empty() ? port.accepted : port.opened).back(), "the link broke");
    duo.rounds(2 * FakeContext::kEventRounds + 8);
    REQUIRE(duo.side[0].upper.writes.size() == 2);
    CHECK(duo.side[0].upper.writes[0].cookie == &large);
    CHECK(duo.side[0].upper.writes[1].cookie == &small);
    CHECK(duo.side[0].upper.writes[1].status == (over ? Status::kOk : Status::kPeerFailed));
    CHECK(duo.logged(0, "register") == duo.logged(0, "unregister"));
    CHECK(duo.write(small) == Status::kPeerFailed);
    CHECK(duo.send_after(8).status == Status::kPeerFailed);
  }
}

}  // namespace
}  // namespace bufenlarge::test
