// SPDX-License-Identifier: MIT
#include "info_memory.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "channel/channel.h"
#include "fabric/endpoint.h"
#include "fabric/fabric_port.h"
#include "info_error.h"
#include "knobs.h"
#include "memory_model.h"

namespace bufenlarge {

namespace {

constexpr std::uint64_t kRanksMax = 100'000'000;
constexpr std::uint64_t kMessageMax = std::uint64_t{1} << 50;
constexpr std::uint64_t kRendezvousBytes = 65'536;  // RENDEZVOUS=auto
constexpr std::uint64_t kQueuePairsSeen = 130'763;  // of an adapter that has few

[[noreturn]] void refuse(std::string_view option, std::string_view value, const std::string& allowed) {
  throw InfoError(std::string(option) + " '" + std::string(value) + "': allowed is " + allowed);
}

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most,
                     const std::string& what) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(option, text, what + ", " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

void read_pattern(MemoryJob& job, std::string_view text) {
  constexpr std::string_view kNeighbours = "neighbours:";
  if (text == "alltoall") return;
  if (text == "hub") {
    job.pattern = MemoryPattern::kHub;
  } else if (text.starts_with(kNeighbours)) {
    job.pattern = MemoryPattern::kNeighbours;
    text.remove_prefix(kNeighbours.size());
    job.neighbours = number("--pattern neighbours:", text, 1, kRanksMax, "a number of ranks");
  } else {
    refuse("--pattern", text, "alltoall, neighbours:N or hub");
  }
}

// Slots are notified as with ARRIVAL=auto.
void read_fabric(MemoryJob& job, std::string_view text) {
  struct Fabric {
    std::string_view name;
    Driver driver;
    bool notified;
  };
  constexpr Fabric kFabrics[] = {{"roce", Driver::kHardware, true},
                                 {"iwarp", Driver::kHardware, false},
                                 {"rxe", Driver::kRxe, true},
                                 {"siw", Driver::kSiw, false},
                                 {"tcp", Driver::kTcp, false}};
  for (const Fabric& fabric : kFabrics) {
    if (fabric.name != text) continue;
    job.driver = fabric.driver;
    job.notified = fabric.notified;
    return;
  }
  refuse("--fabric", text, "roce, iwarp, rxe, siw or tcp");
}

// Returns whether JSON is wanted.
bool read_options(MemoryJob& job, const std::vector<std::string_view>& arguments) {
  job.ranks = number("--memory", arguments[0], 1, kRanksMax, "a number of ranks");
  read_fabric(job, "roce");
  bool json = false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (option == "--json") {
      json = true;
      continue;
    }
    const bool known = option == "--per-node" || option == "--pattern" || option == "--message" || option == "--fabric";
    if (!known)
      throw InfoError("--memory has no option '" + std::string(option) +
                        "'; there are --per-node, --pattern, --message, --fabric and --json");
    if (++i == arguments.size()) throw InfoError(std::string(option) + " needs a value");
    if (option == "--per-node") job.per_node = number(option, arguments[i], 1, kRanksMax, "a number of ranks");
    if (option == "--pattern") read_pattern(job, arguments[i]);
    if (option == "--message") job.message_bytes = number(option, arguments[i], 0, kMessageMax, "a number of bytes");
    if (option == "--fabric") read_fabric(job, arguments[i]);
  }
  return json;
}

// What `name` is set to; empty when it is not.
std::string_view value_of(const char* const* environment, const std::string& name) {
  for (; *environment != nullptr; ++environment) {
    std::string_view entry = *environment;
    if (!entry.starts_with(name + "=")) continue;
    entry.remove_prefix(name.size() + 1);
    return entry;
  }
  return "";
}

Knobs knobs_of(const char* const* environment) {
  Knobs known;
  std::string why;
  for (const Knob& knob : knobs()) {
    const std::string_view value = value_of(environment, std::string("MPIR_CVAR_BUFENLARGE_") + knob.name);
    if (why.empty()) why = known.set(knob.name, value);
  }
  if (why.empty()) why = known.resolve();
  if (!why.empty()) throw InfoError(why);
  return known;
}

void print_phases(const PhaseTable& phases, const MemoryJob& job) {
  const std::uint64_t peers = job.ranks - 1;
  for (std::uint8_t phase = 0; phase < phases.count; ++phase) {
    const std::uint64_t both = 2 * phases.at(phase).ring_bytes();
    std::printf("phase %u: %u slots of %u bytes, %" PRIu64 " bytes per peer, %" PRIu64 " bytes for %" PRIu64 " peers\n",
                phase, phases.at(phase).slots, phases.at(phase).slot_bytes, both, both * peers, peers);
  }
}

std::string mebibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

void print_use(const MemoryTaken& use) {
  std::printf(" %12s %10s %9" PRIu64 " %9" PRIu64, mebibytes(use.pinned).c_str(), mebibytes(use.other).c_str(),
              use.queue_pairs, use.descriptors);
}

void print_table(const MemoryJob& job, const std::vector<MemoryRow>& rows) {
  std::printf("\n%" PRIu64 " ranks, %" PRIu64 " on each node, at most %" PRIu64
              " connections of a process; MiB and numbers\n",
              job.ranks, job.on_node(), job.peers_most());
  std::printf("%-58s %43s %43s\n%-58s", "", "---- process ----", "---- node ----", "");
  for (int i = 0; i < 2; ++i) std::printf(" %12s %10s %9s %9s", "pinned", "other", "queue p.", "descr.");
  std::printf("\n");
  std::uint64_t queue_pairs = 0;
  for (const MemoryRow& row : rows) {
    if (row.transport == "bufenlarge") queue_pairs = std::max(queue_pairs, row.node.queue_pairs);
    std::printf("%-32s %-25s", row.transport.c_str(), row.when.c_str());
    print_use(row.process);
    print_use(row.node);
    std::printf("\n");
  }
  if (queue_pairs > kQueuePairsSeen)
    std::printf("%" PRIu64 " queue pairs of a node: adapters have been seen with %" PRIu64 " and more. "
                "MPIR_CVAR_BUFENLARGE_CONNECTIONS bounds those of a process.\n",
                queue_pairs, kQueuePairsSeen);
}

void print_json_use(const char* name, const MemoryTaken& use) {
  std::printf(", \"%s\": {\"pinned\": %" PRIu64 ", \"other\": %" PRIu64 ", \"queue_pairs\": %" PRIu64
              ", \"descriptors\": %" PRIu64 ", \"registrations\": %" PRIu64 "}",
              name, use.pinned, use.other, use.queue_pairs, use.descriptors, use.registrations);
}

void print_json(const MemoryJob& job, const std::vector<MemoryRow>& rows) {
  std::printf("{\"ranks\": %" PRIu64 ", \"per_node\": %" PRIu64 ", \"connections\": %" PRIu64 ", \"rows\": [",
              job.ranks, job.on_node(), job.peers_most());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::printf("%s\n  {\"transport\": \"%s\", \"when\": \"%s\"", i == 0 ? "" : ",", rows[i].transport.c_str(),
                rows[i].when.c_str());
    print_json_use("process", rows[i].process);
    print_json_use("node", rows[i].node);
    std::printf("}");
  }
  std::printf("\n]}\n");
}

}  // namespace

void print_memory(const std::vector<std::string_view>& arguments, const char* const* environment) {
  MemoryJob job;
  const bool json = read_options(job, arguments);
  const Knobs known = knobs_of(environment);
  const ChannelSettings& settings = known.settings();
  job.connections_max = settings.connections_max;
  job.rendezvous_bytes = known.values().rendezvous.value_or(kRendezvousBytes);
  if (!settings.enlargement) job.message_bytes = 0;
  const auto rows = model_memory(job, settings.phases, sizeof(Channel<FabricPort>) + sizeof(Endpoint));
  if (json) {
    print_json(job, rows);
  } else {
    print_phases(settings.phases, job);
    print_table(job, rows);
  }
}

}  // namespace bufenlarge
