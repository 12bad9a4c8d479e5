// SPDX-License-Identifier: MIT
// The registrations of one use over a FakePort and a monitor that the test controls.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "channel/user_registrations.h"
#include "support/fake_monitor.h"
#include "support/fake_port.h"

namespace bufenlarge::test {

using Registrations = UserRegistrations<FakePort>;
using Log = std::vector<std::string>;

struct RegistrationsFixture {
  explicit RegistrationsFixture(std::uint64_t idle_max = 10'000, bool watched = true) : port(fabric) {
    keeper.set(idle_max, watched ? &monitor : nullptr);
    port.set_give_way([this](std::size_t bytes) { return keeper.give_way(bytes); });
  }
  [[nodiscard]] std::optional<Registrations::Handle> hold(std::size_t at, std::size_t bytes, bool persistent = false) {
    return registrations.hold(port, room.data() + at, bytes, MemoryUse::kSource, persistent);
  }
  // A transfer that begins and ends; what the port was asked for meanwhile.
  Log use(std::size_t at, std::size_t bytes, bool persistent = false) {
    const auto held = hold(at, bytes, persistent);
    REQUIRE(held.has_value());
    CHECK((*held)->region.data() <= room.data() + at);
    CHECK((*held)->region.data() + (*held)->region.bytes() >= room.data() + at + bytes);
    registrations.release(*held);
    return port.news();
  }
  void unmap(std::size_t at, std::size_t bytes) { monitor.unmap(room.data() + at, bytes); }
  bool stand(std::size_t at, std::size_t bytes) { return registrations.add_standing(room.data() + at, bytes); }
  bool fall(std::size_t at) { return registrations.end_standing(room.data() + at); }
  void persist(std::size_t at, std::size_t bytes) { registrations.add_persistent(room.data() + at, bytes); }
  bool cease(std::size_t at, std::size_t bytes) { return registrations.end_persistent(room.data() + at, bytes); }

  FakeMonitor monitor;
  FakeFabric fabric;
  FakePort port;
  Bytes room = pattern(100'000);
  RegistrationKeeper keeper;
  Registrations registrations{keeper, 20'000};
};

}  // namespace bufenlarge::test
