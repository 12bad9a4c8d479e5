// SPDX-License-Identifier: MIT
// Fewer file descriptors for a while.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

namespace bufenlarge::test {

// Sets the soft limit, and sets it back in the end.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t descriptors) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &former_) == 0);
    rlimit limit = former_;
    limit.rlim_cur = descriptors;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &former_); }

 private:
  rlimit former_{};
};

// The smallest limit that leaves `spare` descriptors to be opened.
inline rlim_t limit_with_spare(unsigned spare) {
  std::vector<int> opened;
  for (unsigned i = 0; i < spare; ++i) opened.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int last = *std::ranges::max_element(opened);
  for (const int one : opened) close(one);
  return static_cast<rlim_t>(last) + 1;
}

}  // namespace bufenlarge::test
