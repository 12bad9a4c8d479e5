// SPDX-License-Identifier: MIT
// The knob MEMORY_LOG through the C interface, over libfabric's tcp provider.
#include "memory_log.h"

#include <algorithm>
#include <cstdio>

#include "fabric/job.h"
#include "support/test_folder.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

struct Line {
  unsigned long long time_us, context, ring_bytes, user_bytes, connections, enlargements, shrinks;
};

// The samples of a file whose first line is the header.
std::vector<Line> samples_of(const std::filesystem::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  REQUIRE(lines.size() > 1);
  CHECK(lines[0] == MemoryLog::kHeader);
  std::vector<Line> samples;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Line one{};
    INFO(lines[i]);
    REQUIRE(std::sscanf(lines[i].c_str(), "%llu,%llu,%llu,%llu,%llu,%llu,%llu", &one.time_us, &one.context,
                        &one.ring_bytes, &one.user_bytes, &one.connections, &one.enlargements, &one.shrinks) == 7);
    samples.push_back(one);
  }
  return samples;
}

TEST_CASE("the memory log of a process shows a ring that grows and goes back", "[memory_log][tcp]") {
  const Folder folder;
  const std::string prefix = folder.path / "memory";
  {
    Job job(2, {{"MEMORY_LOG", prefix}, {"SHRINK_AFTER", "20ms"}});
    job.send(0, 1, Vector({5000}));
    REQUIRE(job.until([&] { return job[0].stats(1).send.shrinks == 1 && job[1].stats(0).receive.shrinks == 1; }));
    const std::vector<Line> before = samples_of(prefix + ".0");
    REQUIRE(job.until([&] { return samples_of(prefix + ".0").back().shrinks == 1; }));
    CHECK(before.back().connections == 1);
  }
  const std::vector<Line> samples = samples_of(prefix + ".0");
  CHECK(std::ranges::is_sorted(samples, {}, &Line::time_us));
  const auto large = std::ranges::max_element(samples, {}, &Line::ring_bytes);
  CHECK(large->ring_bytes == (4 + 2 * 8 + 132) * 1024);
  CHECK(large->enlargements == 1);
  CHECK(large->shrinks == 0);
  CHECK(samples.back().ring_bytes == (4 + 8 + 8) * 1024);
  CHECK(samples.back().shrinks == 1);
}

TEST_CASE("a memory log is written once a millisecond at most, and only when something has changed", "[memory_log]") {
  const Folder folder;
  MemoryLog log;
  CHECK_FALSE(log.due(5));
  REQUIRE(log.open(folder.path / "memory", 3).empty());
  MemorySample sample;
  sample.ring_bytes = 1;
  CHECK(log.due(5));
  log.add(5, sample);
  CHECK_FALSE(log.due(5 + MemoryLog::kPeriodUs - 1));
  CHECK(log.due(5 + MemoryLog::kPeriodUs));
  log.add(5 + MemoryLog::kPeriodUs, sample);
  CHECK(samples_of(folder.path / "memory.3").size() == 1);
  MemoryLog other;
  REQUIRE(other.open(folder.path / "memory", 3).empty());
  other.add(0, sample);
  const std::vector<Line> both = samples_of(folder.path / "memory.3");
  REQUIRE(both.size() == 2);
  CHECK(both[0].context != both[1].context);
}

TEST_CASE("a memory log that cannot be written is named", "[memory_log]") {
  MemoryLog log;
  CHECK_THAT(log.open("/no/such/folder/memory", 0),
             Contains("MEMORY_LOG: /no/such/folder/memory.0 cannot be written: "));
  CHECK_FALSE(log.on());
}

}  // namespace
}  // namespace bufenlarge::test
