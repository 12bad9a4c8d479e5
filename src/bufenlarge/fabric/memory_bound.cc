// SPDX-License-Identifier: MIT
#include "fabric/memory_bound.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace bufenlarge {

namespace {

// A file with a number, or with "max", which is none.
std::uint64_t read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : MemoryLimits::kNone;
}

// The least of the files `name` in the folder and those above it, down to `root`.
std::uint64_t least_up_to(const std::string& root, std::string group, const char* name) {
  std::uint64_t least = MemoryLimits::kNone;
  for (;;) {
    least = std::min(least, read_number(root + group + "/" + name));
    const std::size_t slash = group.find_last_of('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool names_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

// A line is "number:controllers:/group"; version 2 has no controllers.
std::uint64_t group_memory(const std::string& groups, const std::string& root) {
  std::uint64_t least = MemoryLimits::kNone;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty())
      least = std::min(least, least_up_to(root, group, "memory.max"));
    else if (names_memory(controllers))
      least = std::min(least, least_up_to(root + "/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

bool may_lock_all(const std::string& status) {
  constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK
  constexpr const char* kLine = "CapEff:";
  const std::size_t at = status.find(kLine);
  if (at == std::string::npos) return false;
  return (std::strtoull(status.c_str() + at + std::strlen(kLine), nullptr, 16) >> kIpcLock & 1) != 0;
}

MemoryLimits read_memory_limits() {
  MemoryLimits limits;
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY &&
      !may_lock_all(text_of("/proc/self/status")))
    limits.locked = locked.rlim_cur;
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) limits.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  limits.memory = std::min(limits.memory, group_memory(text_of("/proc/self/cgroup"), "/sys/fs/cgroup"));
  return limits;
}

MemoryBound choose_memory_bound(const MemoryLimits& limits) {
  std::uint64_t least = MemoryLimits::kNone;
  std::string why;
  if (limits.locked != MemoryLimits::kNone) {
    least = limits.locked / limits.contexts;
    why = "the process may lock " + std::to_string(limits.locked) + " bytes";
  }
  if (limits.memory != MemoryLimits::kNone) {
    least = std::min(least, limits.memory / 4 * 3 / limits.processes / limits.contexts);
    why += (why.empty() ? "" : ", ") + std::to_string(limits.processes) + " processes share " +
           std::to_string(limits.memory) + " bytes";
  }
  if (why.empty()) return {0, "nothing limits it"};
  return {std::max<std::uint64_t>(least, 1), why};
}

MemoryBound given_memory_bound(std::uint64_t bytes, std::uint32_t contexts) {
  return {bytes / contexts, "set by the user"};
}

}  // namespace bufenlarge
