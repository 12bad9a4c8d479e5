// SPDX-License-Identifier: MIT
// Knobs that bound what a process uses.
#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include "knobs.h"

namespace bufenlarge::test {
namespace {

Knobs with(const std::vector<std::pair<std::string, std::string>>& changes) {
  Knobs knobs;
  for (const auto& [name, value] : changes) REQUIRE(knobs.set(name, value).empty());
  return knobs;
}

ChannelSettings resolved(const std::vector<std::pair<std::string, std::string>>& changes) {
  Knobs knobs = with(changes);
  REQUIRE(knobs.resolve().empty());
  return knobs.settings();
}

TEST_CASE("what does not fit leaves the settings as they were", "[knobs]") {
  Knobs knobs = with({{"PHASES", "128,256"}});
  REQUIRE(knobs.resolve().empty());
  REQUIRE(knobs.set("SLOTS", "1,2,3").empty());
  CHECK_FALSE(knobs.resolve().empty());
  CHECK(knobs.settings().phases.at(0).slot_bytes == 128);
  CHECK(knobs.settings().phases.at(0).slots == 4);
}

TEST_CASE("by itself a first phase of at most 256 bytes has 4 slots, if others follow; all others have 16",
          "[knobs][E2]") {
  const auto slots = [](const char* sizes) {
    const ChannelSettings settings = resolved({{"PHASES", sizes}});
    return std::pair(settings.phases.at(0).slots, settings.phases.at(settings.phases.last()).slots);
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  CHECK(slots("256,8192") == Pair{4, 16});
  CHECK(slots("64,128,256") == Pair{4, 16});
  CHECK(slots("257,8192") == Pair{16, 16});
  CHECK(slots("256") == Pair{16, 16});
}

TEST_CASE("the bound on window memory is a number of bytes, none too, or the fabric's", "[knobs]") {
  CHECK_FALSE(with({}).values().window_memory);
  CHECK_FALSE(with({{"WINDOW_MEMORY", "5"}, {"WINDOW_MEMORY", "auto"}}).values().window_memory);
  CHECK(with({{"WINDOW_MEMORY", "0"}}).values().window_memory == 0u);
  CHECK(with({{"WINDOW_MEMORY", "1125899906842624"}}).values().window_memory == std::uint64_t{1} << 50);
  Knobs knobs = with({{"WINDOW_MEMORY", "7"}});
  CHECK_FALSE(knobs.set("WINDOW_MEMORY", "1125899906842625").empty());
  CHECK(knobs.values().window_memory == 7u);
}

TEST_CASE("what stays registered is bounded by a number of bytes, none, or the fabric's", "[knobs]") {
  CHECK_FALSE(with({}).values().registration_cache);
  CHECK_FALSE(with({{"REGISTRATION_CACHE", "off"}, {"REGISTRATION_CACHE", "auto"}}).values().registration_cache);
  CHECK(with({{"REGISTRATION_CACHE", "off"}}).values().registration_cache == 0u);
  CHECK(with({{"REGISTRATION_CACHE", "65536"}}).values().registration_cache == 65536u);
  CHECK(with({{"REGISTRATION_CACHE", "1125899906842624"}}).values().registration_cache == std::uint64_t{1} << 50);
  CHECK(with({}).values().memory_monitor == MonitorChoice::kAuto);
  CHECK(with({{"MEMORY_MONITOR", "hooks"}}).values().memory_monitor == MonitorChoice::kHooks);
  CHECK(with({{"MEMORY_MONITOR", "hooks"}, {"MEMORY_MONITOR", "none"}}).values().memory_monitor ==
        MonitorChoice::kNone);
}

TEST_CASE("connections stay open unless a time is set after which they close", "[knobs][S3]") {
  CHECK(resolved({}).idle_close_us == 0);
  CHECK(resolved({{"IDLE_CLOSE", "30s"}}).idle_close_us == 30'000'000);
  CHECK(resolved({{"IDLE_CLOSE", "1ms"}, {"IDLE_CLOSE", "off"}}).idle_close_us == 0);
  CHECK(resolved({{"SHRINK_AFTER", "off"}}).shrink_after_us == 0);
  CHECK(resolved({{"SHRINK_AFTER", "5ms"}}).shrink_after_us == 5'000);
  CHECK(resolved({{"SHRINK_AFTER", "1ms"}, {"SHRINK_AFTER", "off"}}).shrink_after_us == 0);
}

TEST_CASE("a host is given up after a minute of silence, after a set time, or never", "[knobs][F5]") {
  CHECK(resolved({}).peer_timeout_us == 60'000'000);
  CHECK(resolved({{"PEER_TIMEOUT", "5s"}}).peer_timeout_us == 5'000'000);
  CHECK(resolved({{"PEER_TIMEOUT", "86400s"}}).peer_timeout_us == 86'400'000'000);
  CHECK(resolved({{"PEER_TIMEOUT", "off"}}).peer_timeout_us == 0);
}

TEST_CASE("the limit on pinned memory is a number that holds two connections, none, or what the machine allows",
          "[knobs][B2]") {
  CHECK_FALSE(with({}).values().memory_max);
  CHECK_FALSE(with({{"MEMORY_MAX", "1048576"}, {"MEMORY_MAX", "auto"}}).values().memory_max);
  CHECK(with({{"MEMORY_MAX", "off"}}).values().memory_max == 0u);
  CHECK(with({{"MEMORY_MAX", "1048576"}}).values().memory_max == 1u << 20);
  Knobs knobs = with({{"PHASES", "65536"}, {"MEMORY_MAX", "4358143"}});
  CHECK_THAT(knobs.resolve(), Catch::Matchers::Contains("MPIR_CVAR_BUFENLARGE_MEMORY_MAX='4358143'") &&
                                  Catch::Matchers::Contains("two connections take 4358144 bytes"));
  CHECK(with({{"PHASES", "65536"}, {"MEMORY_MAX", "4358144"}}).resolve().empty());
}

TEST_CASE("the bound on connections is a number, none, or what the machine allows", "[knobs][S3]") {
  CHECK_FALSE(with({}).values().connections);
  CHECK_FALSE(with({{"CONNECTIONS", "5"}, {"CONNECTIONS", "auto"}}).values().connections);
  CHECK(with({{"CONNECTIONS", "0"}}).values().connections == 0u);
  CHECK(resolved({}).connections_max == 0);
  CHECK(resolved({{"CONNECTIONS", "1"}}).connections_max == 1);
  CHECK(resolved({}).hot_max == 32);
  CHECK(resolved({{"HOT_CHANNELS", "0"}}).hot_max == 0);
  CHECK(resolved({{"HOT_CHANNELS", "1024"}}).hot_max == 1024);
  CHECK(resolved({{"CONNECTIONS", "1048576"}, {"CONNECTIONS", "0"}}).connections_max == 0);
}

}  // namespace
}  // namespace bufenlarge::test
