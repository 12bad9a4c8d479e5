// SPDX-License-Identifier: MIT
// Which provider, device and address a context uses.
#pragma once

#include <netinet/in.h>

#include <string>

#include "fabric/fid.h"
#include "fabric/provider_choice.h"

namespace bufenlarge {

struct ProviderRequest {
  ProviderChoice provider = ProviderChoice::kAuto;
  std::string interface_name;  // network interface or IPv4 address; empty: choose
};

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

}  // namespace bufenlarge
