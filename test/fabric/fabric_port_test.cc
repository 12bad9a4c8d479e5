// SPDX-License-Identifier: MIT
// The port over libfabric's tcp provider: connections with private data, writes, lost connections.
#include "fabric/fabric_port.h"

#include <catch2/catch.hpp>

#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

bool holds(const FabricPort::Region& region, std::size_t offset, const Bytes& bytes) {
  return std::memcmp(region.data() + offset, bytes.data(), bytes.size()) == 0;
}

TEST_CASE("a connection carries private data both ways", "[fabric_port]") {
  for (const std::size_t bytes : {1u, 16u, 52u, 55u}) {
    Connected pair(pattern(bytes, 1), pattern(bytes, 2));
    CHECK(pair.active.connected[0] == pattern(bytes, 2));
    CHECK(pair.active.lost.empty());
    CHECK(pair.passive.lost.empty());
  }
}

TEST_CASE("a rejected attempt gets the private data of the rejection", "[fabric_port]") {
  PortSide active, passive;
  const FabricPort::Link link = active.open(passive, pattern(52));
  REQUIRE(link);
  REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
  passive.port.reject(passive.requests.front().request, pattern(16, 9));
  REQUIRE(both_poll(active, passive, [&] { return !active.rejected.empty() || !active.lost.empty(); }));
  CHECK(active.lost.empty());
  REQUIRE(active.rejected.size() == 1);
  CHECK(active.rejected[0] == pattern(16, 9));
  CHECK(active.connected.empty());
}

TEST_CASE("a rejection without private data loses the attempt as refused", "[fabric_port]") {
  PortSide active, passive;
  const FabricPort::Link link = active.open(passive, pattern(52));
  REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
  passive.port.reject(passive.requests.front().request, {});
  REQUIRE(both_poll(active, passive, [&] { return !active.rejected.empty() || !active.lost.empty(); }));
  CHECK(active.rejected.empty());
  CHECK_THAT(active.lost.at(0), Contains("refused"));
}

TEST_CASE("an attempt at a port that nobody listens on is refused", "[fabric_port]") {
  PortSide active;
  const SocketAddress gone = PortSide().port.address();
  const FabricPort::Link link = active.port.open(gone.data(), pattern(52), &active);
  if (link) REQUIRE(comes_true([&] { return !active.lost.empty(); }, [&] { active.poll(); }));
  if (link) CHECK_THAT(active.lost.at(0), Contains("refused"));
  CHECK(active.connected.empty());
}

TEST_CASE("both sides see two attempts that cross, and either may be accepted", "[fabric_port][connect]") {
  PortSide one, two;
  FabricPort::Link from_one = one.open(two, pattern(52, 1));
  FabricPort::Link from_two = two.open(one, pattern(52, 2));
  REQUIRE(both_poll(one, two, [&] { return !one.requests.empty() && !two.requests.empty(); }));
  one.port.reject(one.requests.front().request, pattern(16, 3));
  const FabricPort::Link accepted = two.accept(pattern(52, 4));
  REQUIRE(accepted);
  REQUIRE(both_poll(
      one, two, [&] { return !one.connected.empty() && !two.connected.empty() && !two.rejected.empty(); }));
  CHECK(one.connected[0] == pattern(52, 4));
  CHECK(two.rejected[0] == pattern(16, 3));
}

TEST_CASE("a write lands at its address; a small one is copied, a large one has a completion", "[fabric_port][E12]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(1 << 20);
  const FabricPort::Region source = pair.active.port.allocate(1 << 20);
  std::uint32_t seed = 10;
  for (const std::size_t bytes : {1u, 8u, 16u, 64u, 128u, 129u, 512u, 4096u, 100'000u, 1u << 20}) {
    const Bytes data = pattern(bytes, ++seed);
    std::memcpy(source.data(), data.data(), bytes);
    const std::size_t offset = ((1 << 20) - bytes) / 2;
    const unsigned before = pair.active.written;
    const WriteResult result =
        pair.active.port.write(pair.from, {source, source.data(), bytes, target.remote_address() + offset,
                                           target.remote_key(), WriteUse::kSlots});
    INFO(bytes << " bytes");
    REQUIRE((result == WriteResult::kCopied || result == WriteResult::kPosted));
    if (bytes <= kInlineBytes) CHECK(result == WriteResult::kCopied);
    const unsigned more = result == WriteResult::kPosted ? 1 : 0;
    REQUIRE(both_poll(pair.active, pair.passive,
                      [&] { return pair.active.written == before + more && holds(target, offset, data); }));
  }
}

TEST_CASE("words, slots and data land, and only data has a completion", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(4096);
  const FabricPort::Region source = pair.active.port.allocate(4096);
  const Bytes data = pattern(512);
  std::memcpy(source.data(), data.data(), data.size());
  const auto post = [&](std::size_t offset, WriteUse use) {
    return pair.active.port.write(pair.from, {source, source.data(), data.size(),
                                              target.remote_address() + offset, target.remote_key(), use});
  };
  REQUIRE(post(0, WriteUse::kWord) == WriteResult::kCopied);
  REQUIRE(post(1024, WriteUse::kSlots) == WriteResult::kCopied);
  REQUIRE(post(2048, WriteUse::kData) == WriteResult::kPosted);
  REQUIRE(both_poll(pair.active, pair.passive, [&] { return pair.active.data_written == 1; }));
  CHECK(both_poll(pair.active, pair.passive, [&] {
    return holds(target, 0, data) && holds(target, 1024, data) && holds(target, 2048, data);
  }));
  for (int i = 0; i < 100; ++i) pair.active.poll();
  CHECK(pair.active.data_written == 1);
  CHECK(pair.active.written == 0);
}

// Polls both sides for a while and returns true if the data has arrived; a held write does not.
bool arrives(Connected& pair, const FabricPort::Region& target, const Bytes& data) {
  bool there = false;
  for (int i = 0; i < 200 && !there; ++i) {
    pair.active.poll();
    pair.passive.poll();
    there = holds(target, 0, data);
  }
  return there;
}

TEST_CASE("a write that another follows waits for it, and nothing else goes between", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(1 << 16);
  const FabricPort::Region source = pair.active.port.allocate(4096);
  const Bytes data = pattern(512);
  std::memcpy(source.data(), data.data(), data.size());
  const auto post = [&](std::size_t offset, WriteUse use, std::uint32_t sequence = 0) {
    return pair.active.port.write(pair.from, {source, source.data(), 512, target.remote_address() + offset,
                                              target.remote_key(), use, sequence});
  };
  SECTION("slots") {
    REQUIRE(post(0, WriteUse::kMoreSlots) == WriteResult::kCopied);
    CHECK_FALSE(arrives(pair, target, data));
    CHECK(post(2048, WriteUse::kWord) == WriteResult::kAgain);
    CHECK(post(2048, WriteUse::kData) == WriteResult::kAgain);
    REQUIRE(post(1024, WriteUse::kSlots) == WriteResult::kCopied);
  }
  SECTION("data") {
    REQUIRE(post(0, WriteUse::kMoreData) == WriteResult::kHeld);
    CHECK_FALSE(arrives(pair, target, data));
    CHECK(post(2048, WriteUse::kWord) == WriteResult::kAgain);
    CHECK(post(2048, WriteUse::kSlots) == WriteResult::kAgain);
    CHECK(post(2048, WriteUse::kMoreSlots) == WriteResult::kAgain);
    REQUIRE(post(1024, WriteUse::kData) == WriteResult::kPosted);
  }
  CHECK(both_poll(pair.active, pair.passive, [&] { return holds(target, 0, data) && holds(target, 1024, data); }));
  CHECK_FALSE(holds(target, 2048, data));
  CHECK(post(2048, WriteUse::kSlots) == WriteResult::kCopied);
  CHECK(both_poll(pair.active, pair.passive, [&] { return holds(target, 2048, data); }));
}

TEST_CASE("data that more follows goes with the last, four at most in one write, and has one end",
          "[fabric_port][R3]") {
  Connected pair;
  const FabricPort::Region targets[] = {pair.passive.port.allocate(1 << 20), pair.passive.port.allocate(1 << 20)};
  const FabricPort::Region sources[] = {pair.active.port.allocate(1 << 20), pair.active.port.allocate(1 << 20)};
  const Bytes data = pattern(1 << 20);
  for (const auto& source : sources) std::memcpy(source.data(), data.data(), data.size());
  std::uint32_t sequence = 0;
  for (const std::size_t bytes : {1u, 700u, 60'000u})
    for (std::size_t count = 1; count <= 9; ++count) {
      INFO(count << " ranges of " << bytes);
      for (const auto& target : targets) std::fill_n(target.data(), target.bytes(), std::byte{0});
      pair.active.data_written = 0;
      const std::size_t ended = pair.passive.ends.size();
      ++sequence;
      unsigned posted = 0;
      for (std::size_t n = 0; n < count; ++n) {
        const bool last = n + 1 == count;
        const WriteResult result = pair.active.port.write(
            pair.from, {sources[n % 2], sources[n % 2].data() + n, bytes,
                        targets[n % 2].remote_address() + n * 100'000, targets[n % 2].remote_key(),
                        last ? WriteUse::kLastData : WriteUse::kMoreData, last ? sequence : 0});
        CHECK(result == (last || n % 4 == 3 ? WriteResult::kPosted : WriteResult::kHeld));
        posted += result == WriteResult::kPosted;
      }
      REQUIRE(both_poll(pair.active, pair.passive, [&] {
        return pair.active.data_written == posted && pair.passive.ends.size() == ended + 1;
      }));
      CHECK(pair.passive.ends.back() == sequence);
      for (std::size_t n = 0; n < count; ++n)
        CHECK(std::memcmp(targets[n % 2].data() + n * 100'000, data.data() + n, bytes) == 0);
    }
}

TEST_CASE("slots that others follow go with the last, four at most in one write", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(1 << 16);
  const FabricPort::Region source = pair.active.port.allocate(4096);
  const Bytes data = pattern(600);
  std::memcpy(source.data(), data.data(), data.size());
  for (std::size_t count = 1; count <= 9; ++count) {
    INFO(count << " ranges");
    std::fill_n(target.data(), target.bytes(), std::byte{0});
    for (std::size_t n = 0; n < count; ++n)
      REQUIRE(pair.active.port.write(pair.from, {source, source.data() + n, 512,
                                                 target.remote_address() + n * 5000, target.remote_key(),
                                                 n + 1 < count ? WriteUse::kMoreSlots : WriteUse::kSlots}) ==
              WriteResult::kCopied);
    CHECK(both_poll(pair.active, pair.passive, [&] {
      for (std::size_t n = 0; n < count; ++n)
        if (std::memcmp(target.data() + n * 5000, data.data() + n, 512) != 0) return false;
      return true;
    }));
  }
}

TEST_CASE("writes of one link land in the order they were posted in", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(4096);
  const FabricPort::Region source = pair.active.port.allocate(4096 * 64);
  auto* counter = reinterpret_cast<std::uint64_t*>(target.data());
  std::uint64_t seen = 0;
  constexpr std::uint64_t kWrites = 2000;
  std::uint64_t posted = 0;
  bool in_order = true;
  REQUIRE(both_poll(pair.active, pair.passive, [&] {
    while (posted < kWrites && posted - seen < 64) {  // as many as the peer would grant
      std::byte* slot = source.data() + (posted % 64) * 4096;
      const std::uint64_t value = posted + 1;
      std::memcpy(slot, &value, sizeof value);
      if (pair.active.port.write(pair.from, {source, slot, 256, target.remote_address(), target.remote_key(),
                                             WriteUse::kSlots}) != WriteResult::kCopied)
        break;
      ++posted;
    }
    const std::uint64_t now = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    in_order = in_order && now >= seen;
    seen = now;
    return seen == kWrites;
  }));
  CHECK(in_order);
}

TEST_CASE("a write to a region that is gone does not land, not even in one that took its place", "[fabric_port][E7]") {
  Connected pair;
  FabricPort::Region target = pair.passive.port.allocate(8192);
  const std::uint64_t address = target.remote_address();
  const std::uint32_t key = target.remote_key();
  const FabricPort::Region source = pair.active.port.allocate(8192);
  std::fill_n(source.data(), 8192, std::byte{0x77});
  target = FabricPort::Region();
  target = pair.passive.port.allocate(8192);
  CHECK(target.remote_key() != key);
  (void)pair.active.port.write(pair.from, {source, source.data(), 4096, address, key, WriteUse::kSlots});
  // Expect: the connection breaks, and the bytes do not arrive in a time that would be enough
  const auto poll = [&] { pair.active.poll(), pair.passive.poll(); };
  REQUIRE(comes_true([&] { return !pair.active.lost.empty() || !pair.passive.lost.empty(); }, poll));
  (void)comes_true([] { return false; }, poll, std::chrono::milliseconds(100));
  CHECK(std::all_of(target.data(), target.data() + 8192, [](std::byte one) { return one == std::byte{0}; }));
}

TEST_CASE("a peer that closes its link is lost to the other side", "[fabric_port]") {
  Connected pair;
  pair.to = FabricPort::Link();
  REQUIRE(both_poll(pair.active, pair.passive, [&] { return !pair.active.lost.empty(); }));
  CHECK(pair.passive.lost.empty());  // its link is closed and has no callbacks any more
}

TEST_CASE("a port that is destroyed closes its connections", "[fabric_port]") {
  PortSide active;
  FabricPort::Link from;
  {
    PortSide passive;
    from = active.open(passive, pattern(52));
    REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
    const FabricPort::Link to = passive.accept(pattern(52));
    REQUIRE(both_poll(active, passive, [&] { return !active.connected.empty() && !passive.connected.empty(); }));
  }
  REQUIRE(comes_true([&] { return !active.lost.empty(); }, [&] { active.poll(); }));
}

TEST_CASE("a closed link has no callbacks any more, not even for completions", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region target = pair.passive.port.allocate(1 << 20);
  const FabricPort::Region source = pair.active.port.allocate(1 << 20);
  for (int i = 0; i < 8; ++i)
    CHECK(pair.active.port.write(pair.from, {source, source.data(), 1 << 17, target.remote_address(),
                                             target.remote_key(), WriteUse::kData}) == WriteResult::kPosted);
  const unsigned before = pair.active.data_written;
  pair.from = FabricPort::Link();
  REQUIRE(both_poll(pair.active, pair.passive, [&] { return !pair.passive.lost.empty(); }));
  CHECK(pair.active.data_written == before);
  CHECK(pair.active.lost.empty());
}

TEST_CASE("writing on an empty link fails", "[fabric_port]") {
  Connected pair;
  const FabricPort::Region source = pair.active.port.allocate(4096);
  FabricPort::Link none;
  CHECK(pair.active.port.write(none, {source, source.data(), 8, 0, 1, WriteUse::kSlots}) == WriteResult::kFailed);
}

TEST_CASE("after a hundred connections of one port nothing is left registered", "[fabric_port]") {
  PortSide one, two;
  for (int round = 0; round < 100; ++round) {
    const FabricPort::Region region = one.port.allocate(8192);
    const FabricPort::Link from = one.open(two, pattern(52));
    REQUIRE(from);
    REQUIRE(both_poll(one, two, [&] { return !two.requests.empty(); }));
    const FabricPort::Link to = two.accept(pattern(52));
    const auto count = static_cast<std::size_t>(round) + 1;
    REQUIRE(both_poll(one, two, [&] { return one.connected.size() == count && two.connected.size() == count; }));
  }
  CHECK(one.port.registrations().bytes == 0);
  CHECK(one.port.registrations().deregistrations == 100);
}

}  // namespace
}  // namespace bufenlarge::test
