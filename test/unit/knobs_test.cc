// SPDX-License-Identifier: MIT
#include "knobs.h"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

using Settings = std::vector<std::pair<std::string, std::string>>;

Knobs with(const Settings& changes) {
  Knobs knobs;
  for (const auto& [name, value] : changes) REQUIRE(knobs.set(name, value).empty());
  return knobs;
}

ChannelSettings resolved(const Settings& changes) {
  Knobs knobs = with(changes);
  REQUIRE(knobs.resolve().empty());
  return knobs.settings();
}

std::string unresolved(const Settings& changes) {
  Knobs knobs = with(changes);
  const std::string why = knobs.resolve();
  CHECK_FALSE(why.empty());
  return why;
}

TEST_CASE("the table has these knobs with these defaults", "[knobs]") {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"PHASES", "256,512,8256"}, {"SLOTS", "auto"}, {"THRESHOLD", "100%"}, {"ENLARGEMENT", "on"}, {"GROWTH", "earned"},
      {"VECTOR", "partial"}, {"PROVIDER", "auto"}, {"ARRIVAL", "auto"}, {"HOT_CHANNELS", "32"}, {"RENDEZVOUS", "auto"},
      {"WINDOW_MEMORY", "auto"}, {"REGISTRATION_CACHE", "auto"}, {"MEMORY_MONITOR", "auto"}, {"INTERFACE", ""},
      {"ACK_TIMEOUT", "1s"}, {"CONNECT_TIMEOUT", "30s"}, {"PEER_TIMEOUT", "60s"}, {"IDLE_CLOSE", "off"},
      {"SHRINK_AFTER", "2s"}, {"CONNECTIONS", "auto"}, {"MEMORY_MAX", "auto"}, {"LOG", "off"}, {"LOG_FILE", ""},
      {"MEMORY_LOG", ""}};
  const Knobs defaults;
  REQUIRE(knobs().size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(knobs()[i].name == rows[i].first);
    CHECK(knobs()[i].default_text == rows[i].second);
    CHECK(defaults.text(rows[i].first) == rows[i].second);
    CHECK(std::string(knobs()[i].allowed).size() > 5);
    CHECK(std::string(knobs()[i].meaning).size() > 20);
  }
}

TEST_CASE("every default that is written down is one that may be set", "[knobs]") {
  for (const Knob& knob : knobs()) {
    Knobs fresh;
    INFO(knob.name);
    CHECK((fresh.set(knob.name, knob.default_text).empty() && fresh.resolve().empty()));
  }
}

TEST_CASE("the defaults are 4 slots of 256 bytes, 16 of 512, 16 of 8256: 2, 16, 258 KiB per peer, both directions",
          "[knobs][E1]") {
  const ChannelSettings settings = resolved({});
  REQUIRE(settings.phases.count == 3);
  CHECK(2 * settings.phases.at(0).ring_bytes() == 2 * 1024);
  CHECK(2 * settings.phases.at(1).ring_bytes() == 16 * 1024);
  CHECK(2 * settings.phases.at(2).ring_bytes() == 258 * 1024);
  CHECK(settings.phases.at(0).threshold_bytes == 232);
  CHECK(settings.phases.at(1).threshold_bytes == 488);
  CHECK(settings.phases.at(2).threshold_bytes == 8232);
  CHECK(settings.enlargement);
  CHECK(settings.growth == GrowthRule::kEarned);
  CHECK(settings.vector_mode == VectorMode::kPartial);
  CHECK(settings.ack_timeout_us == 1'000'000);
  CHECK(settings.connect_timeout_us == 30'000'000);
  CHECK(settings.shrink_after_us == 2'000'000);
  const Knobs defaults;
  CHECK(defaults.values().provider == ProviderChoice::kAuto);
  CHECK(defaults.values().arrival == ArrivalChoice::kAuto);
  CHECK(defaults.values().interface_name.empty());
}

// ---- what each knob takes

TEST_CASE("small slots of 100 to 2,000 and large ones of 1,000 to 200,000 bytes may be set", "[knobs][E2]") {
  for (const std::uint32_t small : {100u, 500u, 800u, 2000u}) {
    for (const std::uint32_t large : {2008u, 5000u, 20'000u, 200'000u}) {
      const ChannelSettings settings = resolved({{"PHASES", std::to_string(small) + "," + std::to_string(large)}});
      CHECK(settings.phases.at(0).slot_bytes == small);
      CHECK(settings.phases.at(1).slot_bytes == large);
    }
  }
  CHECK(resolved({{"PHASES", "100,1000"}}).phases.at(1).slot_bytes == 1000);
}

TEST_CASE("one to eight phases may be set", "[knobs][E11]") {
  const std::vector<std::string> lists{"64", "64,128", "64,128,256", "64,128,256,512,1024,2048,4096,8192"};
  const std::vector<int> counts{1, 2, 3, 8};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const ChannelSettings settings = resolved({{"PHASES", lists[i]}});
    CHECK(static_cast<int>(settings.phases.count) == counts[i]);
    CHECK(settings.phases.at(0).slot_bytes == 64);
  }
  CHECK(resolved({{"PHASES", "64,4194304"}, {"SLOTS", "1"}}).phases.at(1).slot_bytes == 4'194'304);
}

TEST_CASE("slots are one number for all phases or one for each", "[knobs][E2]") {
  for (const auto& [text, first, second] :
       {std::tuple("1", 1u, 1u), std::tuple("4096", 4096u, 4096u), std::tuple("32,4", 32u, 4u)}) {
    const ChannelSettings settings = resolved({{"PHASES", "512,8256"}, {"SLOTS", text}});
    CHECK(settings.phases.at(0).slots == first);
    CHECK(settings.phases.at(1).slots == second);
  }
}

TEST_CASE("a threshold is a percentage of a slot's payload or bytes", "[knobs][E3]") {
  const auto thresholds = [](const char* text) {
    const ChannelSettings settings = resolved({{"PHASES", "512,8256"}, {"THRESHOLD", text}});
    return std::pair(settings.phases.at(0).threshold_bytes, settings.phases.at(1).threshold_bytes);
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  CHECK(thresholds("100%") == Pair{488, 8232});
  CHECK(thresholds("80%") == Pair{390, 6585});
  CHECK(thresholds("1%") == Pair{4, 82});
  CHECK(thresholds("50%,100%") == Pair{244, 8232});
  CHECK(thresholds("400") == Pair{400, 8232});   // bytes given alone are those of the first phase
  CHECK(thresholds("488") == Pair{488, 8232});
  CHECK(thresholds("300,4000") == Pair{300, 4000});
  CHECK(thresholds("300,50%") == Pair{300, 4116});
  CHECK(thresholds("1") == Pair{1, 8232});
  CHECK(resolved({{"PHASES", "64"}, {"THRESHOLD", "1%"}}).phases.at(0).threshold_bytes == 1);  // not 0
}

TEST_CASE("switches are on or off", "[knobs]") {
  for (const char* on : {"on", "1", "yes", "true"}) {
    CHECK(with({{"ENLARGEMENT", on}}).values().enlargement);
  }
  for (const char* off : {"off", "0", "no", "false"}) {
    CHECK_FALSE(resolved({{"ENLARGEMENT", off}}).enlargement);
  }
}

TEST_CASE("choices, texts and counts are taken as they are", "[knobs]") {
  CHECK(resolved({{"GROWTH", "first"}}).growth == GrowthRule::kFirst);
  CHECK(resolved({{"VECTOR", "whole"}}).vector_mode == VectorMode::kWhole);
  CHECK(resolved({{"VECTOR", "partial"}}).vector_mode == VectorMode::kPartial);
  CHECK(with({{"PROVIDER", "tcp"}}).values().provider == ProviderChoice::kTcp);
  CHECK(with({{"PROVIDER", "verbs"}}).values().provider == ProviderChoice::kVerbs);
  CHECK(with({{"PROVIDER", "auto"}}).values().provider == ProviderChoice::kAuto);
  CHECK(with({{"ARRIVAL", "polled"}}).values().arrival == ArrivalChoice::kPolled);
  CHECK(with({{"ARRIVAL", "notified"}}).values().arrival == ArrivalChoice::kNotified);
  CHECK(with({{"ARRIVAL", "mixed"}}).values().arrival == ArrivalChoice::kMixed);
  CHECK(with({{"ARRIVAL", "auto"}}).values().arrival == ArrivalChoice::kAuto);
  CHECK(with({{"INTERFACE", "eth0"}}).values().interface_name == "eth0");
}

TEST_CASE("the log has four levels, each more than the one before, and the name of a file", "[knobs]") {
  CHECK(with({}).values().log == LogLevel::kOff);
  CHECK(with({{"LOG", "error"}}).values().log == LogLevel::kError);
  CHECK(with({{"LOG", "state"}}).values().log == LogLevel::kState);
  CHECK(with({{"LOG", "trace"}}).values().log == LogLevel::kTrace);
  CHECK(with({{"LOG", "trace"}, {"LOG", "off"}}).values().log == LogLevel::kOff);
  CHECK(LogLevel::kOff < LogLevel::kError);
  CHECK(LogLevel::kError < LogLevel::kState);
  CHECK(LogLevel::kState < LogLevel::kTrace);
  CHECK(with({}).values().log_file.empty());
  CHECK(with({{"LOG_FILE", "/some/where/log"}}).values().log_file == "/some/where/log");
  CHECK(with({{"MEMORY_LOG", "/some/where/memory"}}).values().memory_log == "/some/where/memory");
}

TEST_CASE("the smallest rendezvous is a number, or none at all, or the fabric's", "[knobs]") {
  CHECK_FALSE(with({}).values().rendezvous);
  CHECK_FALSE(with({{"RENDEZVOUS", "1024"}, {"RENDEZVOUS", "auto"}}).values().rendezvous);
  CHECK(with({{"RENDEZVOUS", "off"}}).values().rendezvous == ~std::uint64_t{0});
  CHECK(with({{"RENDEZVOUS", "1024"}}).values().rendezvous == 1024u);
  CHECK(with({{"RENDEZVOUS", "1073741824"}}).values().rendezvous == 1073741824u);
  Knobs knobs = with({{"RENDEZVOUS", "off"}});
  CHECK_FALSE(knobs.set("RENDEZVOUS", "1").empty());
  CHECK(knobs.values().rendezvous == ~std::uint64_t{0});
}

TEST_CASE("durations have a unit", "[knobs]") {
  CHECK(resolved({{"ACK_TIMEOUT", "1000us"}}).ack_timeout_us == 1000);
  CHECK(resolved({{"ACK_TIMEOUT", "1ms"}}).ack_timeout_us == 1000);
  CHECK(resolved({{"ACK_TIMEOUT", "20ms"}}).ack_timeout_us == 20'000);
  CHECK(resolved({{"ACK_TIMEOUT", "3600s"}}).ack_timeout_us == 3'600'000'000);
  CHECK(resolved({{"CONNECT_TIMEOUT", "86400s"}}).connect_timeout_us == 86'400'000'000);
}

TEST_CASE("an empty value changes nothing", "[knobs]") {
  for (const Knob& knob : knobs()) {
    Knobs fresh;
    CHECK(fresh.set(knob.name, "").empty());
    CHECK(fresh.text(knob.name) == knob.default_text);
  }
}

// ---- what is refused

const std::map<std::string, std::vector<std::string>> kWrong{
    {"PHASES", {"63", "4194305", "0", "-512", "512;8192", "512,,8192", ",512", "512,", "8192,512", "512,512", "x", "5k",
                "512.0", "0x200", " 512", "512 ", "+512", "64,128,256,512,1024,2048,4096,8192,16384",
                "99999999999999999999999"}},
    {"SLOTS", {"0", "4097", "-1", "x", "16,", ",16", "16,,16", "1e3", "16 ", "1,1,1,1,1,1,1,1,1"}},
    {"THRESHOLD", {"0", "0%", "101%", "%", "-5", "10%%", "x", "50 %", "4194305", "50%,", ",50%", "1.5%"}},
    {"ENLARGEMENT", {"maybe", "On", "2", "on ", "enabled"}},
    {"GROWTH", {"on", "Earned", "first,earned", "0"}},
    {"VECTOR", {"full", "Partial", "partial,whole"}},
    {"PROVIDER", {"TCP", "tcp;ofi_rxm", "sockets", "verbs,tcp"}},
    {"ARRIVAL", {"Polled", "notifications", "polled,notification", "Mixed", "mix", "bell"}},
    {"RENDEZVOUS", {"on", "Auto", "Off", "0", "1023", "1073741825", "-1", "64k", "1e6", "auto,off"}},
    {"WINDOW_MEMORY", {"on", "off", "Auto", "auto ", "-1", "1G", "1e9", "1125899906842625"}},
    {"REGISTRATION_CACHE", {"on", "0", "Off", "65535", "64k", "-1", "1125899906842625", "auto,off"}},
    {"MEMORY_MONITOR", {"on", "off", "Hooks", "ucm", "none "}},
    {"ACK_TIMEOUT", {"0s", "999us", "1", "s", "1h", "3601s", "-1s", "1.5s", "1 s", "1S", "99999999999999999999s",
                     "18446744073709551s"}},
    {"CONNECT_TIMEOUT", {"0s", "999us", "1", "86401s", "x", "ms"}},
    {"PEER_TIMEOUT", {"0", "on", "Off", "4999ms", "1s", "0s", "25h", "86401s"}},
    {"IDLE_CLOSE", {"0", "on", "Off", "999us", "0s", "25h", "86401s"}},
    {"SHRINK_AFTER", {"0", "on", "Off", "999us", "0s", "25h", "86401s"}},
    {"MEMORY_MAX", {"-1", "0", "on", "Auto", "1048575", "1M", "1125899906842625"}},
    {"CONNECTIONS", {"-1", "none", "off", "1048577", "1 "}},
    {"HOT_CHANNELS", {"-1", "auto", "1025", "1k"}},
    {"LOG", {"on", "1", "Off", "debug", "errors", "state,trace", "trace "}},
};

TEST_CASE("a wrong value is refused by name of knob, value and what is allowed, and changes nothing", "[knobs]") {
  for (const Knob& knob : knobs()) {
    const auto wrong = kWrong.find(knob.name);
    if (wrong == kWrong.end()) continue;
    for (const std::string& value : wrong->second) {
      Knobs fresh;
      const std::string why = fresh.set(knob.name, value);
      INFO(knob.name << "=" << value);
      CHECK_THAT(why, StartsWith("MPIR_CVAR_BUFENLARGE_" + std::string(knob.name) + "='" + value + "'"));
      CHECK_THAT(why, Contains(knob.allowed));
      CHECK(why.find('\n') == std::string::npos);
      CHECK(fresh.text(knob.name) == knob.default_text);
      CHECK(fresh.resolve().empty());
      const ChannelSettings untouched = resolved({});
      CHECK(fresh.settings().phases.count == untouched.phases.count);
      CHECK(geometry_hash(fresh.settings().phases) == geometry_hash(untouched.phases));
      CHECK(fresh.settings().ack_timeout_us == untouched.ack_timeout_us);
      CHECK(fresh.settings().connect_timeout_us == untouched.connect_timeout_us);
      CHECK(fresh.settings().enlargement == untouched.enlargement);
      CHECK(fresh.settings().vector_mode == untouched.vector_mode);
      CHECK(fresh.values().provider == ProviderChoice::kAuto);
      CHECK(fresh.values().arrival == ArrivalChoice::kAuto);
      CHECK(fresh.values().log == LogLevel::kOff);
      CHECK_FALSE(fresh.values().rendezvous);
      CHECK_FALSE(fresh.values().window_memory);
    }
  }
  // Every knob that is not free text is in the list of wrong values.
  for (const Knob& knob : knobs()) {
    const std::string name = knob.name;
    const bool free_text = name == "INTERFACE" || name == "LOG_FILE" || name == "MEMORY_LOG";
    CHECK((kWrong.count(knob.name) == 1) != free_text);
  }
}

TEST_CASE("a refusal leaves a value that was set before", "[knobs]") {
  Knobs knobs = with({{"SLOTS", "4"}, {"PHASES", "128,256,512"}});
  CHECK_FALSE(knobs.set("SLOTS", "0").empty());
  CHECK_FALSE(knobs.set("PHASES", "128,64").empty());
  CHECK(knobs.text("SLOTS") == "4");
  REQUIRE(knobs.resolve().empty());
  CHECK(knobs.settings().phases.at(2).slots == 4);
  CHECK(static_cast<int>(knobs.settings().phases.count) == 3);
}

TEST_CASE("a knob there is not is refused with the names of those there are", "[knobs]") {
  Knobs fresh;
  for (const char* name : {"PHASE", "phases", "", "MPIR_CVAR_BUFENLARGE_PHASES"}) {
    const std::string why = fresh.set(name, "1");
    CHECK_THAT(why, Contains("'" + std::string(name) + "'"));
    for (const Knob& knob : knobs()) CHECK_THAT(why, Contains(knob.name));
  }
}

// ---- knobs against each other

TEST_CASE("slots must be one number or one for each phase", "[knobs]") {
  CHECK_THAT(unresolved({{"SLOTS", "16,16"}}),
             StartsWith("MPIR_CVAR_BUFENLARGE_SLOTS='16,16'") && Contains("3 PHASES"));
  CHECK_THAT(unresolved({{"PHASES", "64,128,256"}, {"SLOTS", "4,4"}}), Contains("SLOTS='4,4'") && Contains("3 PHASES"));
}

TEST_CASE("thresholds must be one or one for each phase", "[knobs][E3]") {
  CHECK_THAT(unresolved({{"THRESHOLD", "50%,50%"}}), Contains("THRESHOLD='50%,50%'") && Contains("3 PHASES"));
  CHECK_THAT(unresolved({{"PHASES", "128,512,2048"}, {"THRESHOLD", "50%,60%"}}),
             Contains("THRESHOLD='50%,60%'") && Contains("3 PHASES"));
}

TEST_CASE("a threshold must fit its slot's payload", "[knobs][E3]") {
  CHECK_THAT(unresolved({{"THRESHOLD", "233"}}),
             StartsWith("MPIR_CVAR_BUFENLARGE_THRESHOLD='233'") && Contains("256") && Contains("232"));
  CHECK_THAT(unresolved({{"THRESHOLD", "200,400,8233"}}), Contains("8256") && Contains("8232"));
  CHECK_THAT(unresolved({{"PHASES", "100"}, {"THRESHOLD", "100"}}), Contains("80"));
}

TEST_CASE("thresholds must grow from phase to phase", "[knobs][E3]") {
  CHECK_THAT(unresolved({{"THRESHOLD", "200,200,8000"}}), Contains("THRESHOLD='200,200,8000'") && Contains("grow"));
  CHECK_THAT(unresolved({{"THRESHOLD", "100%,1%,100%"}}), Contains("grow"));
}

TEST_CASE("phases whose slots hold the same are refused by the name of PHASES", "[knobs]") {
  // 65 and 72 bytes are both 72 in memory: there would be nothing to gain.
  CHECK_THAT(unresolved({{"PHASES", "65,72"}}), Contains("PHASES='65,72'"));
}

}  // namespace
}  // namespace bufenlarge::test
