// SPDX-License-Identifier: MIT
// Two channels that read each other's memory over ports that the test controls.
#include <catch2/catch.hpp>

#include <random>

#include "support/rendezvous_pair.h"

namespace bufenlarge::test {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes cut(std::size_t bytes, std::size_t parts, std::uint32_t seed) {
  std::mt19937 random(seed);
  Sizes sizes;
  for (std::size_t left = bytes; left != 0;) {
    const std::size_t size = sizes.size() + 1 >= parts ? left : std::min(left, 1 + random() % (2 * bytes / parts + 1));
    sizes.push_back(size);
    left -= size;
  }
  return sizes;
}

TEST_CASE("what one side advertises the other reads, whatever the segments", "[read][pair][R1][R2][R4]") {
  for (const std::size_t bytes : {1u, 7u, 32u, 33u, 4096u, (1u << 20) - 1, (1u << 20) + 1, (3u << 20) + 5})
    for (const std::size_t parts : {1u, 2u, 9u, 150u}) {
      INFO(bytes << " bytes in " << parts << " parts");
      RendezvousPair pair;
      const std::uint32_t seed = static_cast<std::uint32_t>(bytes + parts);
      const Vector source(cut(bytes, parts, seed), seed);
      Vector destination(cut(bytes, parts == 9 ? 1 : parts, seed + 1), 99);
      pair.read_all(source, destination);
      CHECK(destination.bytes() == source.bytes());
      CHECK(pair.counters(1).read_bytes == bytes);
      CHECK(pair.counters(0).response_bytes == bytes);
      CHECK(pair.counters(0).fragment_bytes + pair.counters(1).fragment_bytes == 0);
      CHECK(pair.counters(1).reads == 1);
      pair.check_nothing_left();
    }
}

TEST_CASE("a part of what is advertised is read, from anywhere", "[read][pair][R2]") {
  RendezvousPair pair;
  const Vector source({1000, 500, 700}, 3);
  const std::uint32_t handle = pair.advertise(0, source, &source);
  for (const std::size_t offset : {0u, 1u, 999u, 1000u, 1400u, 2199u})
    for (const std::size_t bytes : {1u, 2u, 501u, 2200u}) {
      if (offset + bytes > 2200) continue;
      Vector destination({bytes}, 77);
      pair.read(1, handle, offset, destination, false);
      pair.settle_reads();
      CHECK(std::memcmp(destination.bytes().data(), source.bytes().data() + offset, bytes) == 0);
    }
  CHECK(pair.side[0].upper.releases.empty());
  pair.release(1, handle);
  pair.settle_reads();
  REQUIRE(pair.side[0].upper.releases.size() == 1);
  CHECK(pair.side[0].upper.releases[0].cookie == &source);
  CHECK(pair.side[0].upper.releases[0].status == Status::kOk);
  pair.check_nothing_left();
}

TEST_CASE("a release that follows reads comes after their data", "[read][pair][R3]") {
  for (const bool by_flag : {false, true}) {
    RendezvousPair pair;
    pair.side[0].port.completes = false;
    const Vector source({200'000}, 3);
    const std::uint32_t handle = pair.advertise(0, source, nullptr);
    Vector first({100'000}, 1), second({100'000}, 2);
    pair.read(1, handle, 0, first, false);
    pair.read(1, handle, 100'000, second, by_flag);
    if (!by_flag) pair.release(1, handle);
    pair.rounds(20);
    CHECK(pair.side[1].upper.reads.size() == 2);
    CHECK(pair.side[0].upper.releases.empty());  // a posted write still reads the memory
    while (pair.side[0].port.posted() != 0) {
      CHECK(pair.side[0].upper.releases.empty());
      pair.side[0].port.complete(1);
      pair.rounds(1);
    }
    CHECK(pair.side[0].upper.releases.size() == 1);
    CHECK(std::memcmp(first.bytes().data(), source.bytes().data(), 100'000) == 0);
    CHECK(std::memcmp(second.bytes().data(), source.bytes().data() + 100'000, 100'000) == 0);
    pair.side[0].port.completes = true;
    pair.check_nothing_left();
  }
}

TEST_CASE("what cannot be registered goes through the ring", "[read][pair]") {
  for (const bool source_refused : {false, true})
    for (const bool destination_refused : {false, true})
      for (const std::size_t bytes : {1u, 480u, 481u, 100'000u}) {
        INFO(source_refused << destination_refused << " " << bytes);
        RendezvousPair pair;
        for (auto& side : pair.side)
          side.port.refuses_user_memory = [=](MemoryUse use, std::size_t) {
            return use == MemoryUse::kSource ? source_refused : destination_refused;
          };
        const Vector source(cut(bytes, 5, 1), 5);
        Vector destination(cut(bytes, 3, 2), 6);
        pair.read_all(source, destination);
        CHECK(destination.bytes() == source.bytes());
        const bool fragments = source_refused || destination_refused;
        CHECK(pair.counters(1).fragment_bytes == (fragments ? bytes : 0));
        CHECK(pair.counters(0).fragment_bytes == (fragments ? bytes : 0));
        CHECK(pair.counters(1).read_bytes == (fragments ? 0 : bytes));
        // A source is registered only when it is to be written from.
        CHECK(pair.counters(0).refused == (source_refused && !destination_refused ? 1 : 0));
        CHECK(pair.counters(1).refused == (destination_refused ? 1 : 0));
        pair.check_nothing_left();
      }
}

TEST_CASE("a read without a destination is handed up in order", "[read][pair]") {
  RendezvousPair pair;
  const Vector source({30'000, 7, 40'000}, 5);
  const std::uint32_t handle = pair.advertise(0, source, nullptr);
  int first = 0, second = 0;
  REQUIRE(pair.side[1].channel().read({{}, &first, 5, 60'000, handle, false}) == Status::kOk);
  REQUIRE(pair.side[1].channel().read({{}, &second, 60'005, 10'002, handle, true}) == Status::kOk);
  pair.settle_reads();
  const Bytes& all = source.bytes();
  CHECK(pair.side[1].upper.handed_up[&first] == Bytes(all.begin() + 5, all.begin() + 60'005));
  CHECK(pair.side[1].upper.handed_up[&second] == Bytes(all.begin() + 60'005, all.end()));
  CHECK(pair.side[1].upper.reads.size() == 2);
  CHECK(pair.side[0].upper.releases.size() == 1);
  pair.check_nothing_left();
}

TEST_CASE("a write that is refused for now is tried again, whichever it is", "[read][pair][R1]") {
  for (const bool fragments : {false, true}) {
    std::size_t writes = 0;
    for (std::size_t refused = 0; refused <= writes; ++refused) {
      RendezvousPair pair;
      std::size_t seen = 0;
      for (auto& side : pair.side) {
        side.port.refuses_user_memory = [=](MemoryUse, std::size_t) { return fragments; };
        side.port.rule = [&seen, refused](const FakePort::Write&) -> std::optional<WriteResult> {
          if (seen++ >= refused && seen <= refused + 3) return WriteResult::kAgain;
          return std::nullopt;
        };
      }
      const Vector one({5000, 20, 3}, 1), two({40, 2000}, 2);
      Vector to_one({3000, 2023}, 3), to_two({2040}, 4);
      const std::uint32_t a = pair.advertise(0, one, nullptr);
      const std::uint32_t b = pair.advertise(1, two, nullptr);
      pair.read(1, a, 0, to_one, true);
      pair.read(0, b, 0, to_two, true);
      pair.send_all(0, Vector({700, 9}));
      pair.settle_reads();
      CHECK(to_one.bytes() == one.bytes());
      CHECK(to_two.bytes() == two.bytes());
      CHECK(pair.counters(0).reads + pair.counters(1).reads == 2);
      CHECK(pair.counters(0).response_bytes + pair.counters(1).response_bytes == (fragments ? 0 : 5023 + 2040));
      CHECK(pair.counters(0).read_bytes + pair.counters(1).read_bytes == (fragments ? 0 : 5023 + 2040));
      pair.check_nothing_left();
      writes = seen;
    }
    CHECK(writes >= 8);
  }
}

TEST_CASE("a read that is ordered while a source is released goes, too", "[read][pair][R1]") {
  RendezvousPair pair;
  const Vector given({20}, 1), wanted({20}, 2);
  Vector to_given({20}, 3), to_wanted({20}, 4);
  const std::uint32_t mine = pair.advertise(0, given, nullptr);
  const std::uint32_t theirs = pair.advertise(1, wanted, nullptr);
  pair.side[0].upper.on_release = [&](const UpperLog::End&) { pair.read(0, theirs, 0, to_wanted, true); };
  pair.read(1, mine, 0, to_given, true);
  pair.settle_reads();
  CHECK(to_given.bytes() == given.bytes());
  CHECK(to_wanted.bytes() == wanted.bytes());
  pair.check_nothing_left();
}

TEST_CASE("reads go both ways between messages, with notifications and without", "[read][pair][R1][R2]") {
  for (const Arrival one : {Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified, Arrival::kMixed})
    for (const Arrival two : {Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified, Arrival::kMixed}) {
      RendezvousPair pair({one, two});
      std::vector<std::unique_ptr<Vector>> from, to;
      for (std::uint32_t n = 0; n < 40; ++n) {
        const std::uint32_t who = n % 2;
        const std::size_t bytes = 1 + n * n * 400;
        from.push_back(std::make_unique<Vector>(cut(bytes, n % 5 + 1, n), n));
        to.push_back(std::make_unique<Vector>(cut(bytes, n % 7 + 1, n + 9), 1000));
        pair.read(who, pair.advertise(1 - who, *from.back(), from.back().get()), 0, *to.back(), true);
        if (n % 3 == 0) pair.send_all(who, Vector({5 + n * 300}, n));
      }
      pair.settle_reads();
      for (std::size_t n = 0; n < from.size(); ++n) CHECK(from[n]->bytes() == to[n]->bytes());
      pair.check_nothing_left();
    }
}

}  // namespace
}  // namespace bufenlarge::test
