// SPDX-License-Identifier: MIT
#include "fabric/descriptors.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

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
