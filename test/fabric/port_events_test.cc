// SPDX-License-Identifier: MIT
// Connection events of the port over libfabric's tcp provider: many at once, and those that do not come.
#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

#include "fabric/deaf_listener.h"
#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a port knows whether the peer's host has responded, though its process has not", "[fabric_port][S4]") {
  PortSide active;
  const DeafListener deaf;
  const FabricPort::Link unheard = active.port.open(deaf.address().data(), pattern(52), &active);
  REQUIRE(unheard);
  PortSide passive;
  const FabricPort::Link heard = active.open(passive, pattern(52));
  CHECK(comes_true([&] { return active.port.reached(heard); }, [&] { active.poll(); }));
  (void)comes_true([] { return false; }, [&] { active.poll(); }, std::chrono::milliseconds(50));
  CHECK_FALSE(active.port.reached(unheard));
  CHECK_FALSE(active.port.reached({}));
  CHECK(passive.requests.empty());
}

TEST_CASE("a port reads a few requests at a time, and the others the next times", "[fabric_port][S4]") {
  constexpr std::size_t kCallers = 40;
  PortSide active, passive;
  std::vector<FabricPort::Link> links;
  for (std::size_t i = 0; i < kCallers; ++i) links.push_back(active.open(passive, pattern(52)));
  for (int i = 0; i < 100; ++i) active.poll();  // all requests are sent
  while (passive.requests.size() < kCallers) {
    const std::size_t before = passive.requests.size();
    REQUIRE(comes_true([&] { return passive.requests.size() > before; }, [&] { passive.poll(); }));
    CHECK(passive.requests.size() <= before + 8);
  }
  for (PortSide::Incoming& one : passive.requests) passive.port.reject(one.request, {});
}

}  // namespace
}  // namespace bufenlarge::test
