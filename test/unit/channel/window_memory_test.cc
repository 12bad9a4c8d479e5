// SPDX-License-Identifier: MIT
#include "channel/window_memory.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

// The windows outlive the sources, as in Context.
struct Windows {
  explicit Windows(Arrival arrival = Arrival::kInOrder) : part(settings(two_phases()), arrival) {}

  bool add(std::size_t bytes, Window& window, std::size_t from = 0) {
    return windows.add(part.core, memory.data() + from, bytes, window);
  }
  void remove(const Window& window) { windows.remove(part.core, window.source); }
  [[nodiscard]] Source<FakePort>* find(const Window& window, std::uint32_t peer = 3) {
    return part.core.sources.find(window.source, peer);
  }

  Bytes memory = pattern(1000);
  WindowMemory<FakePort> windows;
  PartFixture part;
};

TEST_CASE("a window is described so that a peer can write and read it", "[window]") {
  Windows all;
  Window window;
  REQUIRE(all.add(300, window, 100));
  CHECK(window.writable);
  CHECK(all.part.fabric.at(window.key, window.address, 300) == all.memory.data() + 100);
  CHECK(all.part.fabric.at(window.key, window.address, 301) == nullptr);
  REQUIRE(all.find(window) != nullptr);
  CHECK(all.find(window, 0) == all.find(window, 3));
  CHECK(all.find(window)->memory.bytes() == 300);
  CHECK(all.find(window)->memory.registered());
}

TEST_CASE("where only a check tells of arrival, peers only read a window", "[window]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kNotified, Arrival::kMixed, Arrival::kChecked}) {
    Windows all(arrival);
    Window window;
    std::optional<MemoryUse> use;
    all.part.port.refuses_user_memory = [&](MemoryUse wanted, std::size_t) {
      use = wanted;
      return false;
    };
    REQUIRE(all.add(300, window));
    const bool writable = arrival != Arrival::kChecked;
    CHECK(window.writable == writable);
    CHECK(use == (writable ? MemoryUse::kWindow : MemoryUse::kSource));
    CHECK((window.key != 0) == writable);
    CHECK(window.source != 0);
  }
}

TEST_CASE("all windows together take no more than the bound, and what ends counts no longer", "[window][memory]") {
  Windows all;
  Window first, second, none;
  all.windows.set_bytes_max(100);
  REQUIRE(all.add(60, first));
  CHECK_FALSE(all.add(41, none, 500));
  REQUIRE(all.add(40, second, 500));
  CHECK_FALSE(all.add(1, none, 700));
  all.remove(first);
  CHECK_FALSE(all.add(61, none, 700));
  CHECK(all.add(60, first, 700));
  CHECK(all.part.logged("register") == 3);
  CHECK(all.part.logged("unregister") == 1);
}

TEST_CASE("a registration that is refused leaves nothing behind", "[window][memory]") {
  Windows all;
  all.windows.set_bytes_max(300);
  Window window;
  all.part.refuse_user_memory();
  CHECK_FALSE(all.add(300, window));
  CHECK(all.part.core.sources.size() == 0);
  all.part.port.refuses_user_memory = nullptr;
  CHECK(all.add(300, window));
}

TEST_CASE("windows of the same memory share a registration, which the last of them ends", "[window][memory]") {
  Windows all;
  Window first, second;
  REQUIRE(all.add(300, first));
  REQUIRE(all.add(300, second));
  CHECK(first.source != second.source);
  CHECK(all.part.logged("register") == 1);
  all.remove(first);
  CHECK(all.part.logged("unregister") == 0);
  all.remove(second);
  CHECK(all.part.logged("unregister") == 1);
}

TEST_CASE("a window that ends while a write reads it keeps its registration until that is complete", "[window]") {
  Windows all;
  Window window;
  REQUIRE(all.add(300, window));
  SourceRef<FakePort> use(*all.find(window));
  all.remove(window);
  all.remove(window);
  REQUIRE(all.find(window) != nullptr);
  CHECK(all.find(window)->released);
  CHECK(all.part.logged("unregister") == 0);
  Source<FakePort>& source = use.end();
  REQUIRE(source.done());
  all.part.core.sources.remove(source.handle);
  CHECK(all.part.logged("unregister") == 1);
}

TEST_CASE("only a window can be ended as one, and only once", "[window]") {
  Windows all;
  const Vector data({100});
  const std::uint32_t of_peer = all.part.core.sources.add(data.all(), nullptr, kPeerRank);
  Window window;
  REQUIRE(all.add(300, window));
  all.windows.remove(all.part.core, of_peer);
  all.windows.remove(all.part.core, 0);
  all.windows.remove(all.part.core, window.source + (1u << 20));
  CHECK(all.part.core.sources.size() == 2);
  all.remove(window);
  all.remove(window);
  CHECK(all.part.core.sources.size() == 1);
  CHECK(all.part.core.sources.find(of_peer, kPeerRank) != nullptr);
}

TEST_CASE("there is no window of nothing", "[window]") {
  Windows all;
  Window window;
  CHECK_FALSE(all.add(0, window));
  CHECK(window.source == 0);
  CHECK(all.part.core.sources.size() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
