// SPDX-License-Identifier: MIT
// How much memory a context may pin where the user leaves that to the library (knob MEMORY_MAX).
#pragma once

#include <cstdint>
#include <string>

namespace bufenlarge {

// What there is, in bytes. No figure: that is no limit here.
struct MemoryLimits {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t locked = kNone;  // that the process may lock (RLIMIT_MEMLOCK)
  std::uint64_t memory = kNone;  // of the machine, or of the control group of the process where that has less
  std::uint32_t processes = 1;   // of the job on this machine, which share the memory
  std::uint32_t contexts = 1;    // of each process, which share what it may lock
};

struct MemoryBound {
  std::uint64_t bytes = 0;  // 0: there is no bound
  std::string why;          // one phrase for the summary, with the figures
};

// The least of what the limits allow: all that the process may lock, and three quarters of its share of the memory.
[[nodiscard]] MemoryBound choose_memory_bound(const MemoryLimits& limits);
// The same for a bound that the user has set, which the contexts of a process share; 0 is none.
[[nodiscard]] MemoryBound given_memory_bound(std::uint64_t bytes, std::uint32_t contexts);

// Reads the limits of this process from the system: getrlimit(2), which does not hold for a process with CAP_IPC_LOCK
// (capabilities(7)), sysconf(3), and the control groups that /proc/self/cgroup names (cgroups(7); versions 1 and 2).
[[nodiscard]] MemoryLimits read_memory_limits();

// Whether `status`, a text as of /proc/self/status, has CAP_IPC_LOCK among the effective capabilities.
[[nodiscard]] bool may_lock_all(const std::string& status);

// The memory limit, in bytes, of the groups that `groups` names, a text as of /proc/self/cgroup, under `root` as under
// /sys/fs/cgroup: the least on the way from the group up. kNone where there is none.
[[nodiscard]] std::uint64_t group_memory(const std::string& groups, const std::string& root);

}  // namespace bufenlarge
