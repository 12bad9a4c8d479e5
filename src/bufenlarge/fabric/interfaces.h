// SPDX-License-Identifier: MIT
// The network interfaces of this host, and which address a context uses.
#pragma once

#include <string>
#include <vector>

namespace bufenlarge {

// Returns the addresses that `wanted` names: names or addresses of interfaces, separated by commas. Those whose device
// is near the processors of the calling thread (nearness.h) come first; otherwise the order is that of `wanted`. Of an
// interface with several addresses the first one of IPv4 counts, or of IPv6 where it has no other. What this host does
// not have is left out, since hosts may name theirs differently. Throws a FabricError that lists all interfaces when
// nothing is left.
[[nodiscard]] std::vector<std::string> addresses_of(const std::string& wanted);

// Returns the address of the first interface that other hosts can reach, or that of loopback if there is no other;
// IPv4 before IPv6.
[[nodiscard]] std::string default_address();

// Returns "one, other".
[[nodiscard]] std::string joined(const std::vector<std::string>& items);

}  // namespace bufenlarge
