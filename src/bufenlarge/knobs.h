// SPDX-License-Identifier: MIT
// Knob values: strict reading of text into typed settings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "channel/settings.h"
#include "fabric/provider_choice.h"
#include "log_level.h"

namespace bufenlarge {

enum class MonitorChoice : std::uint8_t { kAuto, kHooks, kNone };

struct Knob {
  const char* name;
  const char* default_text;
  const char* allowed;
  const char* meaning;
};

std::span<const Knob> knobs();

// A size that is a share of the slot or a number of bytes.
struct Threshold {
  std::uint32_t value;
  bool percent;
};

class Knobs {
 public:
  Knobs();

  // Empty on success; else one line that names the knob, the value and what is allowed, and nothing
  // has changed. An empty value keeps the default.
  [[nodiscard]] std::string set(std::string_view name, std::string_view value);

  // Empty when the knobs fit each other; else one line. Fills settings() on success.
  [[nodiscard]] std::string resolve();

  [[nodiscard]] const ChannelSettings& settings() const { return settings_; }
  [[nodiscard]] const std::string& text(std::string_view name) const;

  // What the readers of knobs.cc fill.
  struct Values {
    std::vector<std::uint32_t> phases;
    std::vector<std::uint32_t> slots;
    std::vector<Threshold> thresholds;
    bool enlargement = true;
    GrowthRule growth = GrowthRule::kFirst;
    VectorMode vector = VectorMode::kPartial;
    ProviderChoice provider = ProviderChoice::kAuto;
    ArrivalChoice arrival = ArrivalChoice::kAuto;
    std::optional<std::uint64_t> rendezvous;  // bytes; ~0 is off, nothing is auto
    std::optional<std::uint64_t> window_memory;  // bytes; nothing is auto
    std::optional<std::uint64_t> registration_cache;  // bytes; 0 is off, nothing is auto
    MonitorChoice memory_monitor = MonitorChoice::kAuto;
    std::string interface_name;
    std::uint64_t ack_timeout_us = 0;
    std::uint64_t connect_timeout_us = 0;
    std::uint64_t idle_close_us = 0;    // 0 is off
    std::uint64_t shrink_after_us = 0;  // 0 is off
    std::uint64_t peer_timeout_us = 0;  // 0 is off
    std::optional<std::uint64_t> memory_max;   // bytes; 0 is no limit, nothing is auto
    std::optional<std::uint32_t> connections;  // 0 is no bound; nothing is auto
    std::uint32_t hot_channels = 0;
    LogLevel log = LogLevel::kOff;
    std::string log_file;    // each process appends .RANK; empty is standard error
    std::string memory_log;  // the same; empty is none
  };
  [[nodiscard]] const Values& values() const { return values_; }

 private:
  [[nodiscard]] std::string refusal(std::string_view name, std::string_view why) const;

  Values values_;
  std::vector<std::string> texts_;  // as set, in table order
  ChannelSettings settings_;
};

}  // namespace bufenlarge
