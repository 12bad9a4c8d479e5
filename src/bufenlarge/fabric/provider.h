// SPDX-License-Identifier: MIT
// Which provider, device and address a context uses.
#pragma once

#include <string>

#include "channel/port.h"
#include "fabric/fid.h"
#include "fabric/provider_choice.h"

namespace bufenlarge {

struct ProviderRequest {
  ProviderChoice provider = ProviderChoice::kAuto;
  std::string interface_name;  // names or addresses of network interfaces (interfaces.h); empty: choose one
  ArrivalChoice arrival = ArrivalChoice::kAuto;
  std::uint32_t slots_max = 16;  // most slots of a ring, and so most notifications on their way from one peer
  std::uint32_t peers = 64;      // expected number; it determines the size of the first completion queue
  std::uint64_t peer_timeout_us = 60'000'000;  // after this long without a response a peer is given up
};

// Entries of a verbs send queue. A write that finds none free returns kAgain; the channel posts such writes
// together later (docs/decisions/0009-queue-sizes.md).
inline constexpr std::size_t kSendQueueEntries = 7;

// Returns one offer of libfabric with a source address (port 0). kAuto takes verbs if there is an RDMA device
// with an address, otherwise tcp. Throws a FabricError that names what was requested and what there is.
InfoPtr choose_provider(const ProviderRequest& request);

// Return the names that libfabric uses: "tcp", "FI_PROTO_SOCK_TCP", "lo".
std::string provider_name(const fi_info& info);
std::string protocol_name(const fi_info& info);
std::string domain_name(const fi_info& info);

// Returns true if the thread that makes progress sees the bytes of a write in order
// (docs/fabric-assumptions.md), so that slots need no check.
bool places_in_order(const fi_info& info);

// Returns true if a write can carry immediate data. An iWARP write cannot (RFC 5040).
bool has_immediate_data(const fi_info& info);

// Returns true if closing an endpoint whose attempt is under way waits until the peer has answered, or the attempt has
// timed out (10 s on siw). On iWARP the kernel does (destroy_cm_id of Linux's iw_cm); two processes that close their
// attempts to each other would both wait.
bool close_waits_for_answer(const fi_info& info);

// Returns true if a write may end before the peer's device has it: on iWARP when the own kernel has it.
bool write_ends_here(const fi_info& info);

// Returns true if what the active side writes first may stay unseen at the passive side until another write comes. siw
// accepts a connection before it listens for data on it (siw_accept), and no offer of libfabric tells siw from another
// iWARP device.
bool first_write_may_stall(const fi_info& info);

// The smallest message, in bytes, that is faster by rendezvous than through the ring. It is the same on tcp over
// loopback, on rdma_rxe and on siw (docs/results.md). Where processes share processors each message of the handshake
// waits for a turn of its reader, so that it takes more to pay (decision 0024).
inline constexpr std::size_t kRendezvousMin = 65'536;
inline constexpr std::size_t kRendezvousMinShared = 131'072;

// Return the same for reads and writes of a peer's window memory.
std::size_t window_read_min(const fi_info& info);
std::size_t window_write_min(const fi_info& info);

// Returns how many bytes of window memory each of `contexts` contexts on this machine may register.
std::uint64_t window_bytes_max(const fi_info& info, std::uint32_t contexts);

// Returns how many bytes of user memory each of `contexts` contexts of a process may leave registered while no transfer
// uses them, where so many processes share the machine.
std::uint64_t registration_cache_bytes(const fi_info& info, std::uint32_t processes, std::uint32_t contexts);

struct ArrivalVerdict {
  Arrival arrival;
  std::string why;  // one phrase for the summary
};
// Returns "polled", "notified" or "mixed", as the knob ARRIVAL has them.
const char* arrival_name(Arrival arrival);
// Returns how slots arrive on this provider. Throws a FabricError if the choice is not possible there.
ArrivalVerdict choose_arrival(const fi_info& info, ArrivalChoice choice);

}  // namespace bufenlarge
