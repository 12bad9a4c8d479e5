// SPDX-License-Identifier: MIT
// The registered memory of one context over time (knob MEMORY_LOG): a line of comma-separated values when something has
// changed, at most one in kPeriodUs.
#pragma once

#include <cstdint>
#include <string>

#include "rank_file.h"

namespace bufenlarge {

struct MemorySample {
  std::uint64_t ring_bytes = 0;  // registered, with control blocks
  std::uint64_t user_bytes = 0;  // registered, of transfers, also ended ones, and of windows
  std::uint64_t connections = 0;
  std::uint64_t enlargements = 0;  // until now
  std::uint64_t shrinks = 0;

  bool operator==(const MemorySample&) const = default;
};

class MemoryLog {
 public:
  // Appends to the file `prefix`.RANK from now on. Returns what is wrong, with the file's name; empty when nothing is.
  [[nodiscard]] std::string open(const std::string& prefix, std::uint32_t rank);

  [[nodiscard]] bool on() const { return file_ != nullptr; }
  // Whether a sample would be written at this time, in microseconds of any clock.
  [[nodiscard]] bool due(std::uint64_t now_us) const { return on() && now_us >= next_us_; }
  void add(std::uint64_t now_us, const MemorySample& sample);

  static constexpr std::uint64_t kPeriodUs = 1'000;
  // The first line of a file. Contexts of one process write to the same file; times are microseconds since 1970.
  static constexpr const char* kHeader = "time_us,context,ring_bytes,user_bytes,connections,enlargements,shrinks";

 private:
  RankFile file_;
  MemorySample last_;
  std::uint64_t next_us_ = 0;
  unsigned context_ = 0;
};

}  // namespace bufenlarge
