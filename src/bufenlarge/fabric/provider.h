// SPDX-License-Identifier: MIT
// Which provider, device and address a context uses.
#pragma once

#include <netinet/in.h>

#include <string>

#include "channel/port.h"
#include "fabric/fid.h"
#include "fabric/provider_choice.h"

namespace bufenlarge {

struct ProviderRequest {
  ProviderChoice provider = ProviderChoice::kAuto;
  std::string interface_name;  // network interface or IPv4 address; empty: choose
  ArrivalChoice arrival = ArrivalChoice::kAuto;
  std::uint32_t slots_max = 16;  // of a ring: as many notifications can be on their way
  std::uint32_t peers = 64;      // expected; sizes the first completion queue
};

// Entries of a verbs send queue. Writes that find none response kAgain and go out together later
// (docs/decisions/0009-queue-sizes.md).
inline constexpr std::size_t kSendQueueEntries = 15;

// One concrete offer with a source address (port 0). `auto` takes verbs where there is a device with
// an address, else tcp. Throws FabricError that says what was asked for and what is there.
InfoPtr choose_provider(const ProviderRequest& request);

// Names as libfabric has them: "tcp", "FI_PROTO_SOCK_TCP", "lo", "127.0.0.1:0".
std::string provider_name(const fi_info& info);
std::string protocol_name(const fi_info& info);
std::string domain_name(const fi_info& info);
std::string address_text(const sockaddr_in& address);

// On a fabric that places the bytes of a write in order for the thread that makes progress
// (docs/fabric-assumptions.md), slots need no check.
bool places_in_order(const fi_info& info);

// Whether a write can carry immediate data; iWARP's cannot (RFC 5040).
bool has_immediate_data(const fi_info& info);

// The smallest message that is faster as a rendezvous than through a ring, in bytes: on tcp's loopback, rdma_rxe and
// siw alike (docs/results.md).
inline constexpr std::size_t kRendezvousMin = 65'536;

// The same for reading and writing what a peer shares.
std::size_t window_read_min(const fi_info& info);
std::size_t window_write_min(const fi_info& info);

// The most memory, in bytes, that one of `contexts` on this machine registers for its peers to read and write at any time.
std::uint64_t window_bytes_max(const fi_info& info, std::uint32_t contexts);

struct ArrivalVerdict {
  Arrival arrival;
  std::string why;  // for the summary
};
// "polled", "notified" or "mixed".
const char* arrival_name(Arrival arrival);
// Throws FabricError when the choice is not possible on this provider.
ArrivalVerdict choose_arrival(const fi_info& info, ArrivalChoice choice);

}  // namespace bufenlarge
