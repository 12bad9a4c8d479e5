// SPDX-License-Identifier: MIT
#include "channel/source_table.h"

#include <catch2/catch.hpp>

#include <set>

#include "support/fake_port.h"

namespace bufenlarge::test {
namespace {

using Table = SourceTable<FakePort>;

Source<FakePort> of_peer(std::uint32_t peer, void* cookie = nullptr) {
  Source<FakePort> made;
  made.peer = peer;
  made.cookie = cookie;
  return made;
}

TEST_CASE("a source is found by its handle for its peer alone", "[sources][R2]") {
  Table table;
  int cookie = 0;
  const std::uint32_t handle = table.add(of_peer(3, &cookie));
  CHECK(handle != 0);
  REQUIRE(table.find(handle, 3) != nullptr);
  CHECK(table.find(handle, 3)->cookie == &cookie);
  CHECK(table.find(handle, 2) == nullptr);
  for (unsigned bit = 0; bit < 32; ++bit) CHECK(table.find(handle ^ 1u << bit, 3) == nullptr);
  CHECK(table.find(0, 3) == nullptr);
  CHECK(table.size() == 1);
}

TEST_CASE("a source handle is not used again until its count comes round", "[sources][R2]") {
  constexpr unsigned kUses = 4095;
  Table table;
  std::set<std::uint32_t> handles;
  std::uint32_t first = 0;
  for (unsigned n = 0; n < kUses; ++n) {
    const std::uint32_t handle = table.add(of_peer(1));
    if (n == 0) first = handle;
    REQUIRE(handle != 0);
    REQUIRE(handles.insert(handle).second);
    table.remove(handle);
    CHECK(table.find(handle, 1) == nullptr);
  }
  const std::uint32_t again = table.add(of_peer(1));
  CHECK(again == first);  // and never 0
  CHECK(table.find(again, 1) != nullptr);
  for (const std::uint32_t handle : handles) CHECK((table.find(handle, 1) != nullptr) == (handle == again));
}

TEST_CASE("sources do not move each other, and a removed one is gone", "[sources]") {
  RegistrationKeeper keeper;
  UserRegistrations<FakePort> registrations{keeper};
  FakeFabric fabric;
  FakePort port(fabric);
  Bytes memory(300);
  std::size_t begin = 0;
  Table table;
  const auto advertise = [&](std::uint32_t peer) {
    Source<FakePort> made = of_peer(peer);
    const iovec segment{memory.data() + begin++, 100};  // each a registration of its own
    made.memory = UserMemory<FakePort>(std::span(&segment, 1));
    REQUIRE(made.memory.register_all(port, MemoryUse::kSource, registrations) == RegisterResult::kDone);
    return table.add(std::move(made));
  };
  std::vector<std::uint32_t> handles;
  for (std::uint32_t n = 0; n < 200; ++n) handles.push_back(advertise(n % 7));
  CHECK(table.size() == 200);
  for (std::uint32_t n = 0; n < 200; ++n) {
    REQUIRE(table.find(handles[n], n % 7) != nullptr);
    CHECK(table.find(handles[n], n % 7)->memory.registered());
  }
  std::set<std::uint32_t> of_three;
  for (std::uint32_t n = 3; n < 200; n += 7) of_three.insert(handles[n]);
  const auto found = table.of_peer(3);
  CHECK(std::set<std::uint32_t>(found.begin(), found.end()) == of_three);
  port.log.clear();
  for (const std::uint32_t handle : found) table.remove(handle);
  CHECK(port.log.size() == found.size());
  CHECK(table.of_peer(3).empty());
  CHECK(table.size() == 200 - found.size());
  for (std::uint32_t n = 0; n < 200; ++n) CHECK((table.find(handles[n], n % 7) != nullptr) == (n % 7 != 3));
}

TEST_CASE("a source is done when it is released and nobody uses it", "[sources]") {
  Source<FakePort> source;
  CHECK_FALSE(source.done());
  source.released = true;
  CHECK(source.done());
  SourceRef<FakePort> response(source);
  CHECK_FALSE(source.done());
  {
    const SourceRef<FakePort> write(*response);
    CHECK(source.uses == 2);
  }
  SourceRef<FakePort> moved = std::move(response);
  CHECK_FALSE(static_cast<bool>(response));
  CHECK(source.uses == 1);
  CHECK_FALSE(source.done());
  CHECK(&moved.end() == &source);
  CHECK_FALSE(static_cast<bool>(moved));
  CHECK(source.done());
}

TEST_CASE("a window's source is found by every peer", "[sources][R1]") {
  Table table;
  const std::uint32_t window = table.add(of_peer(kAnyPeer));
  const std::uint32_t own = table.add(of_peer(3));
  CHECK(table.find(window, 3) != nullptr);
  CHECK(table.find(window, 4) == table.find(window, 3));
  CHECK(table.find(own, 4) == nullptr);
  CHECK(table.of_peer(3) == std::vector<std::uint32_t>{own});
}

}  // namespace
}  // namespace bufenlarge::test
