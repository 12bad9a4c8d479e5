// SPDX-License-Identifier: MIT
// What a world is, in words.
#include <algorithm>

#include "sim/sim_config.h"

namespace bufenlarge::sim {

const char* arrival_name(Arrival arrival) {
  switch (arrival) {
    case Arrival::kInOrder: return "ordered";
    case Arrival::kChecked: return "unordered";
    case Arrival::kNotified: return "notified";
    case Arrival::kMixed: return "mixed";
  }
  return "";
}

std::string describe(const SimConfig& config) {
  std::string text = std::to_string(config.peers) + " processes, " + arrival_name(config.arrival) +
                     (config.arrival_odd == config.arrival
                          ? std::string()
                          : std::string(" and ") + arrival_name(config.arrival_odd)) +
                     (config.any_order ? " (writes in any order)" : "") +
                     (config.unsignaled ? " (slots without completions)" : "") +
                     " fabric, enlargement " +
                     (config.channel.enlargement ? "on" : "off") + ", vector " +
                     (config.channel.vector_mode == VectorMode::kWhole ? "whole" : "partial") + ", phases";
  for (std::uint8_t i = 0; i < config.channel.phases.count; ++i) {
    const Phase& phase = config.channel.phases.at(i);
    text += " " + std::to_string(phase.slots) + "x" + std::to_string(phase.slot_bytes) + "(" +
            std::to_string(phase.threshold_bytes) + ")";
  }
  return text + ", " + std::to_string(config.plan.size()) + " messages, " + std::to_string(config.reads.size()) +
         " reads" +
         (config.channel.idle_close_us != 0 ? ", closes after " + std::to_string(config.channel.idle_close_us) + " us"
                                            : "") +
         (config.channel.shrink_after_us != 0
              ? ", shrinks after " + std::to_string(config.channel.shrink_after_us) + " us"
              : "") +
         (config.earns.empty()
              ? ""
              : ", " + std::to_string(std::ranges::count(config.earns, true)) + " of them earn larger rings") +
         (config.channel.connections_max != 0
              ? ", at most " + std::to_string(config.channel.connections_max) + " connections"
              : config.port_links_max != 0
              ? ", descriptors for " + std::to_string(config.port_links_max) + " connections"
              : "") +
         (config.channel.memory_max != 0
              ? ", at most " + std::to_string(config.channel.memory_max) + " bytes pinned"
              : "") +
         (config.kept_bytes != 0 ? ", " + std::to_string(config.kept_bytes) + " bytes stay registered" : "") +
         (config.requests_max != 0 ? ", at most " + std::to_string(config.source_bytes_max) + " bytes of sources, " +
                                         std::to_string(config.destination_bytes_max) + " of destinations and " +
                                         std::to_string(config.requests_max) + " requests of transfers"
                                   : "") +
         ", at most " + std::to_string(config.channel.hot_max) + " hot channels";
}

}  // namespace bufenlarge::sim
