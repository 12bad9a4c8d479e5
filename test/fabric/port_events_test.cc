// SPDX-License-Identifier: MIT
// Connection events of the port over libfabric's tcp provider: many at once, and those that do not come.
#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

#include "fabric/deaf_listener.h"
#include "fabric/faulty_libfabric.h"
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

// An attempt at an address where nobody listens, whose endpoint waits for its event before it is closed, as on iWARP.
FabricPort::Link waiting_attempt(PortSide& side) {
  const SocketAddress nobody = PortSide().port.address();
  FabricPort::Link link = side.port.open(nobody.data(), pattern(52), &side);
  REQUIRE(link);
  link.endpoint()->attempt = true;
  return link;
}

TEST_CASE("an attempt that fails without a name has had its event when it is the only one", "[fabric_port][S4]") {
  const FaultyLibfabric libfabric;
  hide_failed_endpoints(true);
  PortSide side;
  const std::int64_t before = open_objects();
  const bool closed = GENERATE(false, true);  // before the event
  FabricPort::Link link = waiting_attempt(side);
  if (closed) link = {};
  CHECK(open_objects() == before + 1);
  REQUIRE(comes_true([&] { return side.unnamed.size() == 1; }, [&] { side.poll(); }));
  link = {};
  CHECK(open_objects() == before);
}

TEST_CASE("of two attempts a failure without a name ends the wait of none", "[fabric_port][S4]") {
  const FaultyLibfabric libfabric;
  hide_failed_endpoints(true);
  PortSide side;
  const FabricPort::Link one = waiting_attempt(side);
  const DeafListener deaf;
  const FabricPort::Link another = side.port.open(deaf.address().data(), pattern(52), &side);
  REQUIRE(another);
  another.endpoint()->attempt = true;
  REQUIRE(comes_true([&] { return side.unnamed.size() == 1; }, [&] { side.poll(); }));
  CHECK(one.endpoint()->attempt);
  CHECK(another.endpoint()->attempt);
}

// Whoever calls is told: the end of the endpoint that was opened for it ends the connection, and where none could be
// opened the caller is rejected.
TEST_CASE("a caller that cannot be accepted is told, and libfabric keeps nothing of it", "[fabric_port][F8]") {
  const FaultyLibfabric libfabric;
  const auto [call, nth] = GENERATE(table<Call, std::uint32_t>(
      {{Call::kEndpoint, 1}, {Call::kBind, 1}, {Call::kBind, 2}, {Call::kEnable, 1}, {Call::kAccept, 1}}));
  INFO(kCallNames[static_cast<std::size_t>(call)] << " " << nth);
  PortSide active, passive;
  const std::int64_t requests = open_requests();
  const std::uint32_t misused = requests_misused();
  const FabricPort::Link link = active.open(passive, pattern(52));
  REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
  REQUIRE(open_requests() == requests + 1);
  const std::int64_t objects = open_objects();
  plan({call, nth, FI_EIO});
  CHECK_FALSE(passive.accept(pattern(52)));
  REQUIRE(calls_of(call) == nth);
  CHECK(passive.port.last_error().starts_with(kCallNames[static_cast<std::size_t>(call)]));
  CHECK(open_objects() == objects);
  CHECK(open_requests() == requests);
  CHECK(requests_misused() == misused);
  CHECK(comes_true([&] { return !active.lost.empty(); }, [&] { active.poll(); }));
}

}  // namespace
}  // namespace bufenlarge::test
