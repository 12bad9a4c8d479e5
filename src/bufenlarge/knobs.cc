// SPDX-License-Identifier: MIT
#include "knobs.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "knob_table.h"

namespace bufenlarge {

namespace {

using Values = Knobs::Values;

constexpr Knob kKnobs[] = {
#define BUFENLARGE_KNOB_ROW(name, reader, default_text, allowed, meaning) \
  Knob{#name, default_text, allowed, meaning},
    BUFENLARGE_KNOBS(BUFENLARGE_KNOB_ROW)
#undef BUFENLARGE_KNOB_ROW
};

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

// Splits at commas and reads each part; false when one of them is not readable.
template <class Read>
bool each(std::string_view text, Read read) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!read(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool read_numbers(std::vector<std::uint32_t>& into, std::string_view text, std::uint64_t least,
                  std::uint64_t most) {
  into.clear();
  return each(text, [&](std::string_view part) {
    const auto value = number(part, least, most);
    if (value) into.push_back(static_cast<std::uint32_t>(*value));
    return value && into.size() <= kPhasesMax;
  });
}

bool read_phases(Values& values, std::string_view text) {
  return read_numbers(values.phases, text, kSlotBytesMin, kSlotBytesMax) &&
         std::adjacent_find(values.phases.begin(), values.phases.end(), std::greater_equal<>()) ==
             values.phases.end();
}

bool read_slots(Values& values, std::string_view text) {
  values.slots.clear();
  return text == "auto" || read_numbers(values.slots, text, kSlotsMin, kSlotsMax);
}

bool read_thresholds(Values& values, std::string_view text) {
  values.thresholds.clear();
  return each(text, [&](std::string_view part) {
    const bool percent = part.ends_with('%');
    if (percent) part.remove_suffix(1);
    const auto value = number(part, 1, percent ? 100 : kSlotBytesMax);
    if (value) values.thresholds.push_back({static_cast<std::uint32_t>(*value), percent});
    return value && values.thresholds.size() <= kPhasesMax;
  });
}

bool read_switch(bool& into, std::string_view text) {
  constexpr std::string_view kOn[] = {"on", "1", "yes", "true"};
  constexpr std::string_view kOff[] = {"off", "0", "no", "false"};
  into = std::ranges::find(kOn, text) != std::end(kOn);
  return into || std::ranges::find(kOff, text) != std::end(kOff);
}

bool read_enlargement(Values& values, std::string_view text) { return read_switch(values.enlargement, text); }

bool read_growth(Values& values, std::string_view text) {
  values.growth = text == "earned" ? GrowthRule::kEarned : GrowthRule::kFirst;
  return text == "earned" || text == "first";
}

bool read_vector(Values& values, std::string_view text) {
  values.vector = text == "whole" ? VectorMode::kWhole : VectorMode::kPartial;
  return text == "whole" || text == "partial";
}

bool read_provider(Values& values, std::string_view text) {
  values.provider = text == "tcp"     ? ProviderChoice::kTcp
                    : text == "verbs" ? ProviderChoice::kVerbs
                                      : ProviderChoice::kAuto;
  return text == "auto" || values.provider != ProviderChoice::kAuto;
}

bool read_arrival(Values& values, std::string_view text) {
  values.arrival = text == "polled"     ? ArrivalChoice::kPolled
                   : text == "notified" ? ArrivalChoice::kNotified
                   : text == "mixed"    ? ArrivalChoice::kMixed
                                        : ArrivalChoice::kAuto;
  return text == "auto" || values.arrival != ArrivalChoice::kAuto;
}

bool read_rendezvous(Values& values, std::string_view text) {
  values.rendezvous.reset();
  if (text == "auto") return true;
  values.rendezvous = text == "off" ? std::optional(~std::uint64_t{0}) : number(text, 1024, 1u << 30);
  return values.rendezvous.has_value();
}

bool read_window_memory(Values& values, std::string_view text) {
  values.window_memory = text == "auto" ? std::nullopt : number(text, 0, std::uint64_t{1} << 50);
  return text == "auto" || values.window_memory;
}

bool read_memory_max(Values& values, std::string_view text) {
  values.memory_max.reset();
  if (text == "auto") return true;
  values.memory_max = text == "off" ? std::optional<std::uint64_t>(0) : number(text, 1u << 20, std::uint64_t{1} << 50);
  return values.memory_max.has_value();
}

bool read_registration_cache(Values& values, std::string_view text) {
  values.registration_cache.reset();
  if (text == "auto") return true;
  values.registration_cache =
      text == "off" ? std::optional<std::uint64_t>(0) : number(text, 65536, std::uint64_t{1} << 50);
  return values.registration_cache.has_value();
}

bool read_memory_monitor(Values& values, std::string_view text) {
  values.memory_monitor = text == "hooks"  ? MonitorChoice::kHooks
                          : text == "none" ? MonitorChoice::kNone
                                           : MonitorChoice::kAuto;
  return text == "auto" || values.memory_monitor != MonitorChoice::kAuto;
}

bool read_text_interface(Values& values, std::string_view text) {
  values.interface_name = text;
  return true;
}

bool read_log(Values& values, std::string_view text) {
  values.log = text == "error"   ? LogLevel::kError
               : text == "state" ? LogLevel::kState
               : text == "trace" ? LogLevel::kTrace
                                 : LogLevel::kOff;
  return text == "off" || values.log != LogLevel::kOff;
}

bool read_text_log_file(Values& values, std::string_view text) {
  values.log_file = text;
  return true;
}

bool read_text_memory_log(Values& values, std::string_view text) {
  values.memory_log = text;
  return true;
}

bool read_duration(std::uint64_t& into, std::string_view text, std::uint64_t most_us) {
  constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {{"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto value = number(text.substr(0, text.size() - unit.size()), 1, most_us);
    if (!value) continue;
    into = *value * factor;
    return into >= 1000 && into <= most_us;
  }
  return false;
}

constexpr std::uint64_t kHourUs = 3'600'000'000;

bool read_ack_timeout(Values& values, std::string_view text) {
  return read_duration(values.ack_timeout_us, text, kHourUs);
}

bool read_connect_timeout(Values& values, std::string_view text) {
  return read_duration(values.connect_timeout_us, text, 24 * kHourUs);
}

bool read_duration_or_off(std::uint64_t& into, std::string_view text) {
  into = 0;
  return text == "off" || read_duration(into, text, 24 * kHourUs);
}

bool read_idle_close(Values& values, std::string_view text) { return read_duration_or_off(values.idle_close_us, text); }

bool read_shrink_after(Values& values, std::string_view text) {
  return read_duration_or_off(values.shrink_after_us, text);
}

bool read_peer_timeout(Values& values, std::string_view text) {  // TCP's probes go in whole seconds
  return read_duration_or_off(values.peer_timeout_us, text) && (text == "off" || values.peer_timeout_us >= 5'000'000);
}

bool read_count(std::uint32_t& into, std::string_view text, std::uint32_t most) {
  const auto value = number(text, 0, most);
  if (value) into = static_cast<std::uint32_t>(*value);
  return value.has_value();
}

bool read_connections(Values& values, std::string_view text) {
  values.connections.reset();
  return text == "auto" || read_count(values.connections.emplace(), text, 1u << 20);
}

bool read_hot_channels(Values& values, std::string_view text) { return read_count(values.hot_channels, text, 1024); }

using Reader = bool (*)(Values&, std::string_view);
constexpr Reader kReaders[] = {
#define BUFENLARGE_KNOB_READER(name, reader, default_text, allowed, meaning) &read_##reader,
    BUFENLARGE_KNOBS(BUFENLARGE_KNOB_READER)
#undef BUFENLARGE_KNOB_READER
};

constexpr std::string_view kPrefix = "MPIR_CVAR_BUFENLARGE_";

std::size_t find_knob(std::string_view name) {
  const auto at = std::ranges::find(kKnobs, name, [](const Knob& knob) { return std::string_view(knob.name); });
  return static_cast<std::size_t>(at - std::begin(kKnobs));
}

std::uint32_t threshold_bytes(const std::vector<Threshold>& given, std::size_t phase, std::uint32_t capacity) {
  const bool own = phase < given.size();
  const Threshold threshold = own ? given[phase] : given.back().percent ? given.back() : Threshold{100, true};
  if (!threshold.percent) return threshold.value;
  return std::max(1u, static_cast<std::uint32_t>(std::uint64_t{capacity} * threshold.value / 100));
}

// SLOTS=auto: few in a first phase that is there to be left by who needs more.
std::uint32_t slots_of(const Knobs::Values& values, std::size_t phase) {
  if (!values.slots.empty()) return values.slots[values.slots.size() > 1 ? phase : 0];
  return phase == 0 && values.phases.size() > 1 && values.phases[0] <= 256 ? 4 : 16;
}

// What two connections take, with the pages of their control blocks and 64 KiB for the queues of each.
std::uint64_t memory_needed(const PhaseTable& phases) { return 2 * (2 * phases.at(0).ring_bytes() + (80u << 10)); }

}  // namespace

std::span<const Knob> knobs() { return kKnobs; }

Knobs::Knobs() : texts_(std::size(kKnobs)) {
  for (std::size_t i = 0; i < std::size(kKnobs); ++i) {
    texts_[i] = kKnobs[i].default_text;
    kReaders[i](values_, texts_[i]);
  }
}

std::string Knobs::refusal(std::string_view name, std::string_view why) const {
  return std::string(kPrefix) + std::string(name) + "='" + text(name) + "': " + std::string(why);
}

const std::string& Knobs::text(std::string_view name) const { return texts_.at(find_knob(name)); }

std::string Knobs::set(std::string_view name, std::string_view value) {
  const std::size_t index = find_knob(name);
  if (index == std::size(kKnobs)) {
    std::string known;
    for (const Knob& knob : kKnobs) known += (known.empty() ? "" : ", ") + std::string(knob.name);
    return "there is no knob '" + std::string(name) + "'; known are " + known;
  }
  if (value.empty()) return "";
  Values changed = values_;
  if (!kReaders[index](changed, value))
    return std::string(kPrefix) + kKnobs[index].name + "='" + std::string(value) + "' is not allowed: " +
           kKnobs[index].allowed;
  values_ = std::move(changed);
  texts_[index] = value;
  return "";
}

std::string Knobs::resolve() {
  ChannelSettings settings;
  const std::size_t count = values_.phases.size();
  if (values_.slots.size() > 1 && values_.slots.size() != count)
    return refusal("SLOTS", "must be auto, one number, or one for each of the " + std::to_string(count) + " PHASES");
  if (values_.thresholds.size() != 1 && values_.thresholds.size() != count)
    return refusal("THRESHOLD", "must be one, or one for each of the " + std::to_string(count) + " PHASES");
  settings.phases.count = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    Phase& phase = settings.phases.phases[i];
    phase.slot_bytes = values_.phases[i];
    phase.slots = slots_of(values_, i);
    phase.threshold_bytes = threshold_bytes(values_.thresholds, i, phase.capacity());
    if (phase.threshold_bytes > phase.capacity())
      return refusal("THRESHOLD", "a slot of " + std::to_string(phase.slot_bytes) + " bytes holds " +
                                      std::to_string(phase.capacity()) +
                                      " bytes of payload, so the threshold can be 1 to " +
                                      std::to_string(phase.capacity()) + " bytes there");
    if (i > 0 && phase.stride() <= settings.phases.phases[i - 1].stride())
      return refusal("PHASES", "slots are rounded up to 8 bytes, so each must be at least 8 above the one before");
    if (i > 0 && phase.threshold_bytes <= settings.phases.phases[i - 1].threshold_bytes)
      return refusal("THRESHOLD", "must grow from phase to phase");
  }
  const std::uint64_t needed = memory_needed(settings.phases);
  if (const std::uint64_t most = values_.memory_max.value_or(0); most != 0 && most < needed)
    return refusal("MEMORY_MAX", "two connections take " + std::to_string(needed) +
                                     " bytes with these PHASES and SLOTS; allowed are that and more");
  settings.enlargement = values_.enlargement;
  settings.growth = values_.growth;
  settings.vector_mode = values_.vector;
  settings.ack_timeout_us = values_.ack_timeout_us;
  settings.connect_timeout_us = values_.connect_timeout_us;
  settings.idle_close_us = values_.idle_close_us;
  settings.shrink_after_us = values_.shrink_after_us;
  settings.peer_timeout_us = values_.peer_timeout_us;
  settings.connections_max = values_.connections.value_or(0);
  settings.hot_max = values_.hot_channels;
  settings_ = settings;
  return "";
}

}  // namespace bufenlarge
