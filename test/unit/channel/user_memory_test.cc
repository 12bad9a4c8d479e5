// SPDX-License-Identifier: MIT
#include "channel/user_memory.h"

#include <catch2/catch.hpp>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Memory = UserMemory<FakePort>;

struct Place {
  std::size_t at, bytes;
};

struct Fixture {
  Fixture() : port(fabric) {}
  Memory over(std::initializer_list<Place> places) {
    std::vector<iovec> segments;
    for (const Place& place : places) segments.push_back({room.data() + place.at, place.bytes});
    return Memory(segments);
  }
  std::vector<std::string> registered(Memory& memory) {
    (void)port.news();
    REQUIRE(memory.register_all(port, MemoryUse::kDestination, registrations) == RegisterResult::kDone);
    return port.news();
  }
  RegistrationKeeper keeper;
  UserRegistrations<FakePort> registrations{keeper};
  FakeFabric fabric;
  FakePort port;
  Bytes room = pattern(100'000);
};

using Log = std::vector<std::string>;

TEST_CASE("segments within a page of each other share a registration", "[user_memory][R2]") {
  Fixture test;
  Memory one = test.over({{100, 50}, {150, 50}, {4295, 5}});
  CHECK(one.bytes() == 105);
  CHECK(test.registered(one) == Log{"register 4200"});
  Memory far = test.over({{100, 50}, {4246, 4}});
  CHECK(test.registered(far) == Log{"register 50", "register 4"});
  Memory back = test.over({{600, 50}, {200, 50}});
  CHECK(test.registered(back) == Log{"register 50", "register 50"});
  Memory same = test.over({{700, 50}, {720, 10}});
  CHECK(test.registered(same) == Log{"register 50", "register 10"});
}

TEST_CASE("empty segments are left out", "[user_memory]") {
  Fixture test;
  Memory memory = test.over({{0, 0}, {100, 10}, {90'000, 0}, {110, 10}});
  CHECK(memory.bytes() == 20);
  CHECK(test.registered(memory) == Log{"register 20"});
  CHECK(memory.destinations().size() == 2);
  Memory none = test.over({{0, 0}});
  CHECK(none.bytes() == 0);
}

TEST_CASE("every offset is found in its segment, to the segment's end", "[user_memory][R2]") {
  Fixture test;
  const std::vector<Place> places{{100, 3}, {90'000, 1}, {50, 7}, {60, 2}};
  Memory memory = test.over({{100, 3}, {90'000, 1}, {50, 7}, {60, 2}});
  const auto check = [&](bool registered) {
    std::uint64_t offset = 0;
    for (const Place& place : places)
      for (std::size_t i = 0; i < place.bytes; ++i, ++offset) {
        const Memory::Place found = memory.find(offset);
        CHECK(found.at == test.room.data() + place.at + i);
        CHECK(found.bytes == place.bytes - i);
        REQUIRE((found.region != nullptr) == registered);
        if (!registered) continue;
        CHECK(found.at >= found.region->data());
        CHECK(found.at + found.bytes <= found.region->data() + found.region->bytes());
      }
    CHECK(offset == memory.bytes());
  };
  check(false);
  REQUIRE(memory.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
  check(true);
}

TEST_CASE("data goes in and out over the edges of segments", "[user_memory][R2]") {
  Fixture test;
  Memory from = test.over({{100, 3}, {90'000, 1}, {50, 7}, {60, 2}});
  Bytes whole(13);
  from.copy_out(0, whole);
  CHECK(std::memcmp(whole.data(), &test.room[100], 3) == 0);
  CHECK(whole[3] == test.room[90'000]);
  CHECK(std::memcmp(whole.data() + 4, &test.room[50], 7) == 0);
  CHECK(std::memcmp(whole.data() + 11, &test.room[60], 2) == 0);
  for (std::size_t offset = 0; offset < 13; ++offset)
    for (std::size_t bytes = 1; offset + bytes <= 13; ++bytes) {
      Bytes part(bytes);
      from.copy_out(offset, part);
      CHECK(std::memcmp(part.data(), whole.data() + offset, bytes) == 0);
      const Bytes before = test.room;
      const Bytes changed = pattern(bytes, 9);
      from.copy_in(offset, changed);
      from.copy_out(offset, part);
      CHECK(part == changed);
      from.copy_in(0, whole);
      CHECK(test.room == before);
    }
}

TEST_CASE("a refusal half way leaves nothing registered", "[user_memory]") {
  for (unsigned refused = 1; refused <= 3; ++refused) {
    Fixture test;
    Memory memory = test.over({{100, 3}, {50'000, 1}, {50, 7}});
    unsigned calls = 0;
    test.port.refuses_user_memory = [&](MemoryUse, std::size_t) { return ++calls == refused; };
    CHECK(memory.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kRefused);
    CHECK_FALSE(memory.registered());
    CHECK(calls == refused);
    const auto given_back = [](const std::string& line) { return line.starts_with("unregister"); };
    CHECK(std::ranges::count_if(test.port.log, given_back) == refused - 1);
    CHECK(memory.find(3).region == nullptr);
  }
}

TEST_CASE("memory in too many regions is not registered at all", "[user_memory]") {
  Fixture test;
  Bytes room(70 * 8192);
  std::vector<iovec> segments;
  for (std::size_t n = 0; n < Memory::kRegionsMax; ++n) segments.push_back({room.data() + n * 8192, 1});
  Memory most(segments);
  CHECK(most.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
  segments.push_back({room.data() + Memory::kRegionsMax * 8192, 1});
  (void)test.port.news();
  Memory more(segments);
  CHECK(more.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kRefused);
  CHECK(test.port.news().empty());
}

TEST_CASE("what is registered is bounded; one that is larger goes alone", "[user_memory][R4]") {
  Fixture test;
  test.registrations.set_bytes_max(1000);
  Memory large = test.over({{0, 2000}}), small = test.over({{50'000, 600}}), other = test.over({{90'000, 600}});
  REQUIRE(large.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
  CHECK(test.registrations.bytes() == 2000);
  CHECK(small.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kWait);
  large.unregister();
  CHECK(test.registrations.bytes() == 0);
  CHECK(small.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
  CHECK(other.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kWait);
  CHECK_FALSE(other.registered());
  { const Memory moved = std::move(small); }
  CHECK(test.registrations.bytes() == 0);
  CHECK(other.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
}

TEST_CASE("transfers of one range share its registration, which ends with the last", "[user_memory][R4]") {
  Fixture test;
  test.registrations.set_bytes_max(1000);
  Memory first = test.over({{0, 800}}), second = test.over({{0, 800}}), shorter = test.over({{0, 799}});
  CHECK(test.registered(first) == Log{"register 800"});
  CHECK(test.registered(second).empty());
  CHECK(test.registrations.bytes() == 800);
  CHECK(first.destinations()[0].key == second.destinations()[0].key);
  CHECK(shorter.register_all(test.port, MemoryUse::kDestination, test.registrations) == RegisterResult::kWait);
  first.unregister();
  CHECK(test.port.news().empty());
  CHECK(test.registrations.bytes() == 800);
  Memory both = test.over({{0, 800}, {90'000, 100}});
  CHECK(test.registered(both) == Log{"register 100"});  // only what is new counts
  { const Memory moved = std::move(second); }
  CHECK(test.port.news().empty());
  both.unregister();
  CHECK(test.port.news() == Log{"unregister 800", "unregister 100"});
  CHECK(test.registrations.bytes() == 0);
  CHECK(test.registered(first) == Log{"register 800"});  // anew: the memory may be another by now
}

TEST_CASE("what the device refuses waits while others hold some", "[user_memory][R4]") {
  Fixture test;
  Memory first = test.over({{0, 100}}), second = test.over({{50'000, 100}});
  REQUIRE(first.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kDone);
  test.port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
  CHECK(second.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kWait);
  first.unregister();
  CHECK(second.register_all(test.port, MemoryUse::kSource, test.registrations) == RegisterResult::kRefused);
}

TEST_CASE("the peer is told where each segment lies in its region", "[user_memory][R2]") {
  Fixture test;
  Memory memory = test.over({{100, 3}, {200, 10}, {90'000, 1}});
  REQUIRE(memory.register_all(test.port, MemoryUse::kDestination, test.registrations) == RegisterResult::kDone);
  const auto to = memory.destinations();
  REQUIRE(to.size() == 3);
  CHECK(to[0].key == to[1].key);
  CHECK(to[2].key != to[1].key);
  CHECK(to[1].address == to[0].address + 100);
  CHECK(to[1].bytes == 10);
  CHECK(test.fabric.at(to[1].key, to[1].address, 10) == test.room.data() + 200);
  CHECK(test.fabric.at(to[2].key, to[2].address, 1) == test.room.data() + 90'000);
  memory.unregister();
  CHECK(test.fabric.at(to[1].key, to[1].address, 10) == nullptr);
}

TEST_CASE("a segment of more than 2^30 bytes goes as several destinations", "[user_memory][R2]") {
  Fixture test;  // nothing is touched: the memory need not be there
  const std::size_t bytes = 2 * std::size_t{kReadSegmentBytesMax} + 5;
  const iovec segment{test.room.data(), bytes};
  Memory memory(std::span(&segment, 1));
  REQUIRE(memory.register_all(test.port, MemoryUse::kDestination, test.registrations) == RegisterResult::kDone);
  const auto to = memory.destinations();
  REQUIRE(to.size() == 3);
  CHECK(to[0].bytes == kReadSegmentBytesMax);
  CHECK(to[2].bytes == 5);
  CHECK(to[2].address == to[0].address + 2 * std::uint64_t{kReadSegmentBytesMax});
}

}  // namespace
}  // namespace bufenlarge::test
