// SPDX-License-Identifier: MIT
// Writes into window memory of the peer: the data is there before the message that was sent after it, the source is
// given back once, and on a fabric that reorders, that message is notified for, however small it is.
#include <catch2/catch.hpp>

#include "support/rendezvous_pair.h"

namespace bufenlarge::test {
namespace {

class WritePair : public RendezvousPair {
 public:
  explicit WritePair(Arrival arrival = Arrival::kInOrder, std::size_t bytes = 1000)
      : RendezvousPair({arrival, arrival}), memory(bytes) {
    REQUIRE(side[1].context.register_window(memory.data(), memory.size(), window));
  }
  ~WritePair() { side[1].context.deregister_window(window.source); }

  // Lets side 0 write all of `source`, with `&source` as the cookie.
  Status write(const Bytes& source, std::size_t offset = 0) {
    void* cookie = const_cast<Bytes*>(&source);
    return side[0].channel().write({source.data(), cookie, window.address + offset, source.size(), window.key});
  }
  Sent send_fenced(std::size_t bytes) {
    Sent result{};
    result.status = side[0].channel().send_fenced(Vector({bytes}).all(), result.bytes);
    return result;
  }
  [[nodiscard]] bool holds(const Bytes& source, std::size_t offset = 0) const {
    return std::ranges::equal(source, std::span(memory).subspan(offset, source.size()));
  }
  // Returns the uses of the writes of slots since the last call.
  std::vector<WriteUse> slots() {
    std::vector<WriteUse> uses;
    for (const FakePort::Write& one : side[0].port.writes)
      if (one.use == WriteUse::kSlots || one.use == WriteUse::kNotifiedSlots) uses.push_back(one.use);
    side[0].port.writes.clear();
    return uses;
  }

  Bytes memory;
  Window window;
};

TEST_CASE("what is written is there before the message that was sent after it", "[write][pair][R4]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kNotified, Arrival::kMixed})
    for (const std::size_t bytes : {1u, 1000u, 1u << 20, (6u << 20) + 5}) {
      WritePair pair(arrival, bytes + 10);
      const Bytes source = pattern(bytes, 7);
      REQUIRE(pair.window.writable);
      REQUIRE(pair.write(source, 10) == Status::kOk);
      CHECK(pair.side[0].upper.writes.empty());  // not from within the call
      pair.side[1].upper.fragments.clear();
      bool there = false;
      pair.side[1].upper.on_fragment = [&](const UpperLog::Fragment&) { there = pair.holds(source, 10); };
      for (unsigned tries = 0; pair.send_fenced(24).bytes == 0; ++tries) {
        REQUIRE(tries < 100);
        pair.rounds();
      }
      pair.settle();
      CHECK(pair.side[1].upper.fragments.size() == 1);
      CHECK(there);
      REQUIRE(pair.side[0].upper.writes.size() == 1);
      CHECK(pair.side[0].upper.writes[0].cookie == &source);
      CHECK(pair.side[0].upper.writes[0].status == Status::kOk);
      CHECK(pair.counters(0).writes == 1);
      CHECK(pair.counters(0).written_bytes == bytes);
      CHECK(pair.logged(0, "register") == pair.logged(0, "unregister"));
    }
}

TEST_CASE("a fenced message waits until the writes before it are posted", "[write][pair]") {
  WritePair pair;
  const Bytes source = pattern(500, 1);
  pair.side[0].port.rule = [](const FakePort::Write& write) {
    return write.use == WriteUse::kData ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  REQUIRE(pair.write(source) == Status::kOk);
  pair.rounds(3);
  pair.side[0].port.writes.clear();
  CHECK(pair.send_fenced(24) == kNothingSent);
  CHECK(pair.side[0].port.writes.empty());
  CHECK_FALSE(pair.side[0].context.idle());
  CHECK(pair.side[0].upper.writes.empty());
  pair.side[0].port.rule = nullptr;
  pair.rounds(2);
  CHECK(pair.send_fenced(24) == Sent{Status::kOk, 24});
  pair.settle();
  CHECK(pair.holds(source));
}

TEST_CASE("a small fenced message is notified for, and the next is not", "[write][pair][mixed]") {
  WritePair pair(Arrival::kMixed);
  const Bytes source = pattern(500, 1);
  REQUIRE(pair.write(source) == Status::kOk);
  pair.slots();
  REQUIRE(pair.send_fenced(24).bytes == 24);
  CHECK(pair.slots() == std::vector{WriteUse::kNotifiedSlots});
  pair.settle();
  pair.slots();
  REQUIRE(send(pair.side[0].channel(), Vector({24}).all()).bytes == 24);
  CHECK(pair.slots() == std::vector{WriteUse::kSlots});
  pair.settle();
  CHECK(pair.side[1].messages().size() == 3);
}

TEST_CASE("a fenced message that has to be posted later is notified for, too", "[write][pair][mixed]") {
  WritePair pair(Arrival::kMixed);
  pair.side[0].port.rule = [](const FakePort::Write&) { return std::optional(WriteResult::kAgain); };
  REQUIRE(pair.send_fenced(24).bytes == 24);
  pair.slots();
  pair.side[0].port.rule = nullptr;
  pair.settle();
  CHECK(pair.slots() == std::vector{WriteUse::kNotifiedSlots});
  CHECK(pair.side[1].messages().size() == 2);
}

TEST_CASE("a window is not writable where its owner learns of no write", "[write][pair]") {
  WritePair pair(Arrival::kChecked);
  CHECK_FALSE(pair.window.writable);
  CHECK(pair.window.source != 0);
}

TEST_CASE("a source that cannot be registered is not taken", "[write][pair]") {
  WritePair pair;
  const Bytes source = pattern(500, 1);
  pair.side[0].port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
  CHECK(pair.write(source) == Status::kAgain);
  pair.settle();
  CHECK(pair.side[0].upper.writes.empty());
  CHECK(pair.counters(0).writes == 0);
}

TEST_CASE("writes that wait go as the parts of fewer, and each is reported once", "[write][pair]") {
  WritePair pair(Arrival::kInOrder, 10 * 500);
  pair.side[0].port.parts_max = 4;
  pair.side[0].port.completes = false;
  std::vector<Bytes> sources;
  for (std::uint32_t n = 0; n < 10; ++n) sources.push_back(pattern(500, n));
  for (std::size_t n = 0; n < 10; ++n) REQUIRE(pair.write(sources[n], n * 500) == Status::kOk);
  pair.rounds(2);
  REQUIRE(pair.side[0].port.posted() == kDataWritesMax);  // one by one, as nothing waited
  CHECK(pair.send_fenced(24) == kNothingSent);
  pair.side[0].port.complete(1);
  pair.rounds(2);
  CHECK(pair.side[0].upper.writes.size() == 1);
  CHECK(pair.side[0].port.posted() == kDataWritesMax);  // the fourth of them four parts
  pair.side[0].port.completes = true;
  pair.settle();
  for (std::size_t n = 0; n < 10; ++n) CHECK(pair.holds(sources[n], n * 500));
  REQUIRE(pair.side[0].upper.writes.size() == 10);
  for (std::size_t n = 0; n < 10; ++n) CHECK(pair.side[0].upper.writes[n].cookie == &sources[n]);
  CHECK(pair.logged(0, "register") == pair.logged(0, "unregister"));
}

TEST_CASE("each completion of a channel counts for the write or the response that it belongs to", "[write][pair]") {
  WritePair pair;
  const Vector advertised({3000}, 1);
  Vector destination({3000}, 2);
  const Bytes first = pattern(300, 3), second = pattern(200, 4);
  pair.side[0].port.completes = false;
  pair.read(1, pair.advertise(0, advertised, &advertised), 0, destination, true);
  REQUIRE(pair.write(first) == Status::kOk);
  pair.rounds(4);
  REQUIRE(pair.write(second, 300) == Status::kOk);
  pair.rounds(2);
  CHECK(pair.side[0].upper.writes.empty());
  pair.side[0].port.completes = true;
  pair.settle_reads();
  CHECK(pair.holds(first));
  CHECK(pair.holds(second, 300));
  REQUIRE(pair.side[0].upper.writes.size() == 2);
  CHECK(pair.side[0].upper.writes[0].cookie == &first);
  CHECK(pair.side[0].upper.writes[1].cookie == &second);
  CHECK(pair.side[0].upper.releases.size() == 1);
}

TEST_CASE("no more window memory is registered than the bound, and what is given back counts no longer",
          "[write][memory]") {
  ContextPair pair(settings(two_phases()));
  auto& context = pair.side[1].context;
  Bytes memory(100);
  Window first, second, none;
  context.set_window_bytes_max(100);
  REQUIRE(context.register_window(memory.data(), 60, first));
  CHECK_FALSE(context.register_window(memory.data(), 41, none));
  REQUIRE(context.register_window(memory.data(), 40, second));
  CHECK_FALSE(context.register_window(memory.data(), 1, none));
  context.deregister_window(first.source);
  CHECK(context.register_window(memory.data(), 60, first));
  context.set_window_bytes_max(0);
  CHECK_FALSE(context.register_window(memory.data(), 1, none));
  context.deregister_window(first.source);
  context.deregister_window(second.source);
  CHECK_FALSE(context.register_window(memory.data(), 1, none));
}

TEST_CASE("a write that finds no connection is not taken, and opens one", "[write][connect]") {
  ContextPair pair(settings(two_phases()));
  Bytes memory(100);
  const Bytes source = pattern(100, 1);
  Window window;
  REQUIRE(pair.side[1].context.register_window(memory.data(), memory.size(), window));
  const WriteOrder order{source.data(), nullptr, window.address, 100, window.key};
  CHECK(pair.side[0].channel().write(order) == Status::kAgain);
  pair.rounds(200);
  CHECK(pair.side[0].upper.writes.empty());
  CHECK(pair.side[0].channel().write(order) == Status::kOk);
  pair.rounds(200);
  CHECK(pair.side[0].upper.writes.size() == 1);
  CHECK(memory == source);
}

TEST_CASE("a loss at any step gives every source back once", "[write][loss]") {
  for (unsigned steps = 0; steps < 12; ++steps) {
    WritePair pair(Arrival::kInOrder, 8u << 20);
    const Bytes large = pattern(6u << 20, 1), small = pattern(100, 2);
    pair.side[0].port.completes = false;
    REQUIRE(pair.write(large) == Status::kOk);
    REQUIRE(pair.write(small) == Status::kOk);
    for (unsigned n = 0; n < steps; ++n) {
      pair.side[0].port.complete(1);
      pair.rounds();
    }
    const bool over = pair.side[0].upper.writes.size() == 2;
    auto& port = pair.side[0].port;
    port.lost((port.opened.empty() ? port.accepted : port.opened).back(), "the link broke");
    pair.rounds(2 * FakeContext::kEventRounds + 8);
    REQUIRE(pair.side[0].upper.writes.size() == 2);
    CHECK(pair.side[0].upper.writes[0].cookie == &large);
    CHECK(pair.side[0].upper.writes[1].cookie == &small);
    CHECK(pair.side[0].upper.writes[1].status == (over ? Status::kOk : Status::kPeerFailed));
    CHECK(pair.logged(0, "register") == pair.logged(0, "unregister"));
    CHECK(pair.write(small) == Status::kPeerFailed);
    CHECK(pair.send_fenced(8).status == Status::kPeerFailed);
  }
}

}  // namespace
}  // namespace bufenlarge::test
