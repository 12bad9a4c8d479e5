// SPDX-License-Identifier: MIT
#include "memory_log.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace bufenlarge {

namespace {

std::uint64_t time_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

std::string MemoryLog::open(const std::string& prefix, std::uint32_t rank) {
  static std::atomic<unsigned> contexts{0};
  const std::string why = open_rank_file(file_, "MEMORY_LOG", prefix, rank);
  if (!why.empty()) return why;
  context_ = contexts++;
  if (std::fseek(file_.get(), 0, SEEK_END) == 0 && std::ftell(file_.get()) == 0)
    std::fprintf(file_.get(), "%s\n", kHeader);
  std::fflush(file_.get());
  return "";
}

// Each line is written at once: other contexts of the process append to the same file.
void MemoryLog::add(std::uint64_t now_us, const MemorySample& sample) {
  if (!on() || sample == last_) return;
  last_ = sample;
  next_us_ = now_us + kPeriodUs;
  std::fprintf(file_.get(), "%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", time_us(),
               context_, sample.ring_bytes, sample.user_bytes, sample.connections, sample.enlargements,
               sample.shrinks);
  std::fflush(file_.get());
}

}  // namespace bufenlarge
