// SPDX-License-Identifier: MIT
#include "fabric/descriptors.h"

#include <dirent.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace bufenlarge {

namespace {

std::string text_of(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); }

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::string describe_descriptors(std::uint32_t size) {
  rlimit limit{};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  return "this process may have " + text_of(limit.rlim_cur) + " file descriptors (ulimit -n; hard limit " +
         text_of(limit.rlim_max) + "), and the connections of a job of " + std::to_string(size) +
         " processes can take " + std::to_string(size - 1) + " of them";
}

std::uint64_t free_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const std::uint64_t most = std::min<std::uint64_t>(limit.rlim_cur, 1u << 30);
  std::uint64_t open = 0;
  if (DIR* directory = opendir("/proc/self/fd")) {
    while (const dirent* entry = readdir(directory)) {
      char* end = nullptr;  // the others are "." and ".."
      const std::uint64_t number = std::strtoull(entry->d_name, &end, 10);
      open += end != entry->d_name && number < most;
    }
    closedir(directory);
    if (open > 0) --open;  // the directory itself
  }
  return most - std::min(most, open);
}

bool spare_descriptors(unsigned count) {
  std::vector<int> opened;
  bool all = true;
  while (all && opened.size() < count) {
    const int one = eventfd(0, EFD_CLOEXEC);
    all = one >= 0;
    if (all) opened.push_back(one);
  }
  for (const int one : opened) close(one);
  return all;
}

bool DescriptorReserve::hold(unsigned more) {
  if (held_ < 0) held_ = eventfd(0, EFD_CLOEXEC);
  const bool held = held_ >= 0 && spare_descriptors(more);
  if (!held) give_up();
  return held;
}

void DescriptorReserve::give_up() {
  if (held_ >= 0) close(std::exchange(held_, -1));
}

}  // namespace bufenlarge
