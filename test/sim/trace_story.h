// SPDX-License-Identifier: MIT
// A small world written down by hand, and the trace it is to make (traces/*.txt). Lines up to "----":
//
//   # what this story shows
//   processes 2
//   fabric ordered               or unordered, notified, mixed
//   phases 16x512 16x8192        slots x slot size
//   ack_timeout 1000             microseconds
//   ack torn 3000                fate of the next acknowledgement: torn, late (held up so long), corrupt,
//                                lost, part_lost, whole
//   memory 1 4096                process 1 can register no more than so many bytes at once
//   send 0 1 at 50: 100,2000 + 8 from, to, when; elements of the vector; "+" begins a chunk after MORE
//   death 1 400                  process 1 dies
//
// What follows is the trace. Nothing is left to chance but where a torn write is cut.
#pragma once

#include <filesystem>
#include <string>

#include "sim/sim_config.h"

namespace bufenlarge::sim {

struct TraceStory {
  std::string head;  // with the "----"
  std::string expected;
  SimConfig config;
  std::string error;  // "" or what is wrong with the file, with the line's number
};

[[nodiscard]] TraceStory read_story(const std::filesystem::path& file);

// "" when equal, else the first lines that differ, with those before them.
[[nodiscard]] std::string first_difference(const std::string& expected, const std::string& seen);

}  // namespace bufenlarge::sim
