// SPDX-License-Identifier: MIT
#include "memory_log.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace bufenlarge {

namespace {

unsigned long long number(std::uint64_t value) { return value; }

std::uint64_t time_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

std::string MemoryLog::open(const std::string& prefix, std::uint32_t rank) {
  static std::atomic<unsigned> contexts{0};
  const std::string name = prefix + "." + std::to_string(rank);
  file_.reset(std::fopen(name.c_str(), "a"));
  if (!file_) return "MEMORY_LOG: " + name + " cannot be written: " + std::strerror(errno);
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
  std::fprintf(file_.get(), "%llu,%u,%llu,%llu,%llu,%llu,%llu\n", number(time_us()), context_,
               number(sample.ring_bytes), number(sample.user_bytes), number(sample.connections),
               number(sample.enlargements), number(sample.shrinks));
  std::fflush(file_.get());
}

}  // namespace bufenlarge
