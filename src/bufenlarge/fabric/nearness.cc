// SPDX-License-Identifier: MIT
#include "fabric/nearness.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace bufenlarge {

bool is_near(const std::string& interface_name, const std::string& folder) {
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return true;  // a kernel of more processors than the set has
  std::ifstream file(folder + "/" + interface_name + "/device/local_cpulist");
  std::string range;  // "3" or "0-3"; commas between them
  bool any = false;
  while (std::getline(file, range, ',')) {
    std::istringstream words(range);
    unsigned first = 0;
    if (!(words >> first)) continue;
    unsigned last = first;
    words.ignore(1, '-') >> last;
    any = true;
    for (unsigned cpu = first; cpu <= std::min(last, unsigned{CPU_SETSIZE} - 1); ++cpu)
      if (CPU_ISSET(cpu, &own)) return true;
  }
  return !any;
}

}  // namespace bufenlarge
