// SPDX-License-Identifier: MIT
#include "fabric/connection_bound.h"

#include <algorithm>
#include <ranges>

#include "fabric/completion_queues.h"

namespace bufenlarge {

namespace {

// A process with one connection could talk to its peers in turn; with two it need not close one before each connect.
constexpr std::uint64_t kLeast = 2;
// Descriptors that no connection takes: see descriptors.h.
constexpr std::uint64_t kKept = 2;

std::uint64_t without_an_eighth(std::uint64_t all) { return all - all / 8; }

// Connections of one context.
std::uint64_t by_descriptors(const ConnectionLimits& limits) {
  const std::uint64_t usable = without_an_eighth(limits.descriptors) / limits.contexts;
  const std::uint64_t free = usable - std::min(kKept, usable);
  const auto fit = [&](std::uint64_t connections) {
    return connections + (group_count(connections) - 1) * limits.group_descriptors <= free;
  };
  return *std::ranges::partition_point(std::views::iota(std::uint64_t{0}, free + 1), fit) - 1;
}

std::uint64_t by_queue_pairs(const ConnectionLimits& limits) {
  return without_an_eighth(limits.queue_pairs) / limits.processes / limits.contexts;
}

}  // namespace

ConnectionBound choose_bound(const ConnectionLimits& limits) {
  std::uint64_t least = ConnectionLimits::kNone;
  std::string why;
  if (limits.descriptors != ConnectionLimits::kNone) {
    least = by_descriptors(limits);
    why = std::to_string(limits.descriptors) + " free file descriptors allow " + std::to_string(least);
  }
  if (limits.queue_pairs != ConnectionLimits::kNone) {
    const std::uint64_t allowed = by_queue_pairs(limits);
    least = std::min(least, allowed);
    why += (why.empty() ? "" : ", ") + std::to_string(limits.queue_pairs) + " queue pairs for " +
           std::to_string(limits.processes) + " processes allow " + std::to_string(allowed);
  }
  if (why.empty()) why = "nothing limits them";
  if (least >= limits.peers) return {0, why};
  return {static_cast<std::uint32_t>(std::max(least, kLeast)), why};
}

ConnectionBound given_bound(std::uint32_t connections) { return {connections, "set by the user"}; }

}  // namespace bufenlarge
