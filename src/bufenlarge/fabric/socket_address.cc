// SPDX-License-Identifier: MIT
#include "fabric/socket_address.h"

#include <arpa/inet.h>

#include <string_view>

namespace bufenlarge {

SocketAddress::SocketAddress(const void* address) {
  sa_family_t family;
  std::memcpy(&family, address, sizeof family);
  std::memcpy(&address_, address, bytes_of(family));
}

std::string SocketAddress::host_text() const {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(address_.sin6_family, host(), text, sizeof text) != nullptr ? text : "no address";
}

std::string SocketAddress::text() const {
  return (ipv6() ? "[" + host_text() + "]" : host_text()) + ":" + std::to_string(port());
}

std::size_t SocketAddress::hash() const {
  const std::string_view host_part(static_cast<const char*>(host()), host_bytes());
  return std::hash<std::string_view>()(host_part) ^ std::size_t{address_.sin6_port} << 32;
}

}  // namespace bufenlarge
