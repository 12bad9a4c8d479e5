// SPDX-License-Identifier: MIT
// The stories in traces/: what the shipped channels do, step by step, as text. A change of behaviour
// shows as a difference. When it is meant: BUFENLARGE_SIM_REWRITE=1 writes the new traces; read them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sim/sim_world.h"
#include "sim/trace_story.h"

namespace fs = std::filesystem;
using namespace bufenlarge::sim;

namespace {

// The path this file was compiled by is relative to the build's folder, where the tests run; automake
// says in `srcdir` where the sources are when they run elsewhere.
fs::path traces() {
  const fs::path beside = fs::path(__FILE__).parent_path() / "traces";
  const char* sources = std::getenv("srcdir");
  return fs::exists(beside) || sources == nullptr ? beside : fs::path(sources) / "test/sim/traces";
}

std::vector<fs::path> stories() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(traces()))
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

SimResult run(const TraceStory& story) {
  SimWorld world(story.config, TraceOutput::kKeep);
  return world.run();
}

}  // namespace

TEST_CASE("the stories go as they are written down", "[sim][E5][E7][E8][E9][E10][E11]") {
  const bool rewrite = std::getenv("BUFENLARGE_SIM_REWRITE") != nullptr;
  const std::vector<fs::path> files = stories();
  REQUIRE(files.size() >= 12);
  for (const fs::path& file : files) {
    const TraceStory story = read_story(file);
    INFO(file.filename().string() << " " << story.error);
    REQUIRE(story.error.empty());
    const SimResult result = run(story);
    CHECK(result.failure == "");
    if (rewrite) {
      std::ofstream(file) << story.head << result.trace;
      continue;
    }
    CHECK(first_difference(story.expected, result.trace) == "");
  }
}
