// SPDX-License-Identifier: MIT
#include "sim/trace_story.h"

#include <array>
#include <deque>
#include <fstream>
#include <sstream>
#include <utility>

namespace bufenlarge::sim {

namespace {

using Words = std::istringstream;

bool read_processes(SimConfig& config, Words& words) {
  return words >> config.peers && config.peers >= 2 && config.peers <= 6;
}

bool read_fabric(SimConfig& config, Words& words) {
  std::string kind;
  words >> kind;
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified, Arrival::kMixed}) {
    if (kind != arrival_name(arrival)) continue;
    config.arrival = config.arrival_odd = arrival;
    config.channel.hot_max = 32;
    if (arrival == Arrival::kInOrder) config.inline_bytes = 2 * sizeof(EnlargeAck);
    return true;
  }
  return false;
}

bool read_phases(SimConfig& config, Words& words) {
  PhaseTable& table = config.channel.phases;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  for (char by = 0; words >> slots >> by >> slot_bytes && by == 'x';) {
    if (table.count == kPhasesMax) return false;
    Phase& phase = table.phases[table.count++];
    phase = {slot_bytes, slots, 0};
    phase.threshold_bytes = phase.capacity();
  }
  return words.eof() && table.count != 0;
}

bool read_ack_timeout(SimConfig& config, Words& words) {
  return static_cast<bool>(words >> config.channel.ack_timeout_us);
}

bool read_ack(SimConfig& config, Words& words) {
  using enum AckFate::Kind;
  static constexpr std::array kKinds{std::pair{"whole", kWhole}, std::pair{"torn", kTorn},
                                     std::pair{"late", kLate},   std::pair{"corrupt", kCorrupt},
                                     std::pair{"lost", kLost},   std::pair{"part_lost", kPartLost}};
  std::string name;
  words >> name;
  for (const auto& [known, kind] : kKinds) {
    if (name != known) continue;
    AckFate fate{kind, 0};
    const bool held = kind == kTorn || kind == kLate;
    if (held && !(words >> fate.hold_us)) return false;
    config.scripted_acks.push_back(fate);
    return true;
  }
  return false;
}

bool read_memory(SimConfig& config, Words& words) {
  std::uint32_t rank = 0;
  std::uint64_t bytes = 0;
  if (!(words >> rank >> bytes) || rank >= config.peers) return false;
  config.block_bytes_max.resize(config.peers);
  config.block_bytes_max[rank] = bytes;
  return true;
}

bool read_send(SimConfig& config, Words& words) {
  SimMessagePlan message;
  std::string at;
  char colon = 0;
  if (!(words >> message.from >> message.to >> at >> message.start_us >> colon) || at != "at" || colon != ':')
    return false;
  message.chunks.emplace_back();
  std::uint32_t bytes = 0;
  for (char next = ','; next == ',' || next == '+';) {
    if (next == '+') message.chunks.emplace_back();
    if (!(words >> bytes)) return false;
    message.chunks.back().push_back(bytes);
    if (!(words >> next)) next = 0;
  }
  config.plan.push_back(std::move(message));
  const SimMessagePlan& put = config.plan.back();
  return words.eof() && put.from < config.peers && put.to < config.peers && put.from != put.to;
}

bool read_death(SimConfig& config, Words& words) {
  SimDeath death;
  config.death = death;
  return words >> config.death->rank >> config.death->at_us && config.death->rank < config.peers;
}

struct Reader {
  const char* name;
  bool (*read)(SimConfig& config, Words& words);
};

constexpr std::array kReaders{Reader{"processes", read_processes},
                              Reader{"fabric", read_fabric},
                              Reader{"phases", read_phases},
                              Reader{"ack_timeout", read_ack_timeout},
                              Reader{"ack", read_ack},
                              Reader{"memory", read_memory},
                              Reader{"send", read_send},
                              Reader{"death", read_death}};

bool read_line(SimConfig& config, const std::string& line) {
  Words words(line);
  std::string name;
  if (!(words >> name) || name.front() == '#') return true;
  for (const Reader& reader : kReaders) {
    if (name == reader.name) return reader.read(config, words);
  }
  return false;
}

}  // namespace

TraceStory read_story(const std::filesystem::path& file) {
  TraceStory story;
  story.config.in_turn = true;
  story.config.faults.delay_us_max = 0;
  story.config.faults.connect_us_max = 0;
  std::ifstream stream(file);
  std::string line;
  for (unsigned number = 1; std::getline(stream, line); ++number) {
    story.head += line + "\n";
    if (line == "----") {
      std::ostringstream rest;
      rest << stream.rdbuf();
      story.expected = rest.str();
      return story;
    }
    if (story.error.empty() && !read_line(story.config, line))
      story.error = file.filename().string() + ":" + std::to_string(number) + ": not understood: " + line;
  }
  if (story.error.empty()) story.error = file.string() + ": there is no line \"----\"";
  return story;
}

std::string first_difference(const std::string& expected, const std::string& seen) {
  if (expected == seen) return "";
  std::istringstream lines(expected);
  std::istringstream seen_lines(seen);
  std::deque<std::string> before;
  for (;;) {
    std::string one;
    std::string other;
    const bool more = static_cast<bool>(std::getline(lines, one));
    const bool seen_more = static_cast<bool>(std::getline(seen_lines, other));
    if (more && seen_more && one == other) {
      before.push_back("  " + one + "\n");
      if (before.size() > 8) before.pop_front();
      continue;
    }
    std::string text;
    for (const std::string& same : before) text += same;
    text += more ? "- " + one + "\n" : "- (end)\n";
    return text + (seen_more ? "+ " + other + "\n" : "+ (end)\n");
  }
}

}  // namespace bufenlarge::sim
