// SPDX-License-Identifier: MIT
// The address of an endpoint: an IPv4 or IPv6 address with a port (ip(7), ipv6(7)).
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace bufenlarge {

class SocketAddress {
 public:
  static constexpr std::size_t kBytesMax = sizeof(sockaddr_in6);

  // Of no family: room for a call that writes an address to data().
  SocketAddress() = default;
  // Copies as many bytes as the family says, which stands first. Another family gives an address of no family.
  explicit SocketAddress(const void* address);

  // 16 for IPv4, 28 for IPv6, 0 otherwise.
  [[nodiscard]] std::size_t bytes() const { return bytes_of(address_.sin6_family); }
  [[nodiscard]] const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] sockaddr* data() { return reinterpret_cast<sockaddr*>(&address_); }
  [[nodiscard]] bool ipv6() const { return address_.sin6_family == AF_INET6; }

  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin6_port); }

  // "127.0.0.1" and "127.0.0.1:80"; "::1" and "[::1]:80".
  [[nodiscard]] std::string host_text() const;
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool same_host(const SocketAddress& other) const {
    return address_.sin6_family == other.address_.sin6_family && std::memcmp(host(), other.host(), host_bytes()) == 0;
  }
  bool operator==(const SocketAddress& other) const { return same_host(other) && port() == other.port(); }

  // For tables: different for most addresses that differ.
  [[nodiscard]] std::size_t hash() const;

  // The port of an address that libfabric keeps, in the same place for both families.
  static void clear_port(void* address) { static_cast<sockaddr_in6*>(address)->sin6_port = 0; }

 private:
  static std::size_t bytes_of(sa_family_t family) {
    return family == AF_INET ? sizeof(sockaddr_in) : family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
  }
  [[nodiscard]] const void* host() const {
    return ipv6() ? static_cast<const void*>(&address_.sin6_addr)
                  : &reinterpret_cast<const sockaddr_in*>(&address_)->sin_addr;
  }
  [[nodiscard]] std::size_t host_bytes() const { return ipv6() ? sizeof(in6_addr) : sizeof(in_addr); }

  sockaddr_in6 address_{};
};

static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

}  // namespace bufenlarge
