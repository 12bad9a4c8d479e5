// SPDX-License-Identifier: MIT
#include "fabric/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "fabric/fabric_error.h"
#include "fabric/nearness.h"
#include "fabric/socket_address.h"

namespace bufenlarge {

namespace {

// One address of an interface.
struct Interface {
  std::string name;
  std::string address;
  bool loopback;
};

// A link-local address names no host without the interface of the one that asks, so it cannot be told to others.
bool is_link_local(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// Those that are up, all of IPv4 before all of IPv6.
std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw FabricError("getifaddrs", -errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<Interface> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      const sockaddr* address = entry->ifa_addr;
      if (address == nullptr || address->sa_family != family || is_link_local(address)) continue;
      if ((entry->ifa_flags & IFF_UP) == 0) continue;
      found.push_back({entry->ifa_name, SocketAddress(address).host_text(), (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
  }
  return found;
}

// "lo (127.0.0.1, ::1), eth0 (10.0.0.1)".
std::string list_text(const std::vector<Interface>& all) {
  std::vector<std::string> names;
  for (const Interface& one : all)
    if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
  for (std::string& name : names) {
    std::vector<std::string> addresses;
    for (const Interface& one : all)
      if (one.name == name) addresses.push_back(one.address);
    name += " (" + joined(addresses) + ")";
  }
  return joined(names);
}

// IPv6 has many ways to write an address.
std::string canonical(const std::string& item) {
  in6_addr address;
  char text[INET6_ADDRSTRLEN];
  if (inet_pton(AF_INET6, item.c_str(), &address) != 1) return item;
  return inet_ntop(AF_INET6, &address, text, sizeof text);
}

}  // namespace

std::vector<std::string> addresses_of(const std::string& wanted) {
  const std::vector<Interface> all = interfaces();
  std::vector<Interface> found;
  for (std::size_t begin = 0; begin <= wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string item = canonical(wanted.substr(begin, end - begin));
    const auto there = std::find_if(all.begin(), all.end(), [&](const Interface& one) {
      return one.name == item || one.address == item;
    });
    if (there != all.end()) found.push_back(*there);
    begin = end + 1;
  }
  std::stable_partition(found.begin(), found.end(), [](const Interface& one) { return is_near(one.name); });
  std::vector<std::string> addresses;
  for (const Interface& one : found) addresses.push_back(one.address);
  if (!addresses.empty()) return addresses;
  throw FabricError("MPIR_CVAR_BUFENLARGE_INTERFACE='" + wanted +
                    "' names no network interface of this host that is up, neither by name nor by address; set one or "
                    "several of: " +
                    list_text(all));
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string default_address() {
  const std::vector<Interface> all = interfaces();
  for (const Interface& one : all)
    if (!one.loopback) return one.address;
  return all.empty() ? "127.0.0.1" : all.front().address;
}

}  // namespace bufenlarge
