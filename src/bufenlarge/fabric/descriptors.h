// SPDX-License-Identifier: MIT
// The file descriptors of the process (getrlimit(2), RLIMIT_NOFILE). On tcp each connection takes one.
//
// libfabric's tcp provider accepts callers by itself. When accept(2) finds no descriptor it reports nothing, and the
// callers wait for ever. So one is kept in reserve, which no connection gets: while there are no others it is given up,
// the provider accepts a caller with it, and the caller is told to come again.
#pragma once

#include <cstdint>
#include <string>

namespace bufenlarge {

// Raises the soft limit to the hard one. What it cannot raise stays.
void raise_descriptor_limit();

// Returns the limits, and how many descriptors the connections of a job of `size` processes can take.
std::string describe_descriptors(std::uint32_t size);

// What a completion queue with a descriptor takes (FI_WAIT_FD), the epoll set over all of them included.
inline constexpr unsigned kGroupDescriptors = 7;

// Returns how many descriptors the process can still open.
[[nodiscard]] std::uint64_t free_descriptors();

// Returns true if the process can have so many more.
[[nodiscard]] bool spare_descriptors(unsigned count);

class DescriptorReserve {
 public:
  DescriptorReserve() = default;
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;
  ~DescriptorReserve() { give_up(); }

  // Returns true if the reserve is held and so many descriptors more can be had. Otherwise the reserve is given up.
  [[nodiscard]] bool hold(unsigned more);

 private:
  void give_up();
  int held_ = -1;
};

}  // namespace bufenlarge
