// SPDX-License-Identifier: MIT
// How many connections a process may have at once where the user leaves that to the library (knob CONNECTIONS).
#pragma once

#include <cstdint>
#include <string>

namespace bufenlarge {

// What there is. No figure: that is no limit here.
struct ConnectionLimits {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t descriptors = kNone;  // that the process can still open, where each connection takes one
  std::uint32_t group_descriptors = 0;  // that each group of connections takes besides; the first one's are taken
  std::uint64_t queue_pairs = kNone;  // of the device
  std::uint32_t processes = 1;        // of the job on this machine, which share the device
  std::uint32_t contexts = 1;         // of each process, which share its descriptors
  std::uint32_t peers = 0;            // of the job, that there could be a connection to
};

struct ConnectionBound {
  std::uint32_t connections = 0;  // 0: there is no bound
  std::string why;                // one phrase for the summary, with the figures
};

// The least of what the limits allow. An eighth of each stays for the rest of the process and of the machine. There is
// no bound where all peers can be connected.
[[nodiscard]] ConnectionBound choose_bound(const ConnectionLimits& limits);
// The same for a bound that the user has set; 0 is none.
[[nodiscard]] ConnectionBound given_bound(std::uint32_t connections);

}  // namespace bufenlarge
