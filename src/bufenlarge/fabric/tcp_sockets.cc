// SPDX-License-Identifier: MIT
#include "fabric/tcp_sockets.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <linux/tcp.h>  // glibc's struct tcp_info ends before tcpi_notsent_bytes
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace bufenlarge {

namespace {

bool set_option(int socket, int level, int option, std::uint64_t value) {
  const auto number = static_cast<int>(value);
  return setsockopt(socket, level, option, &number, sizeof number) == 0;
}

// How many numbers descriptors may have that are opened now; of a limit beyond that no process makes use.
std::uint64_t descriptor_numbers() {
  constexpr rlim_t kMost = 1u << 20;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur, kMost) : 0;
}

}  // namespace

TcpSockets::TcpSockets() : numbers_(descriptor_numbers()) {}

bool TcpSockets::read(int socket, Connection& connection) {
  socklen_t own_bytes = SocketAddress::kBytesMax;
  socklen_t peer_bytes = SocketAddress::kBytesMax;
  connection = {};
  return getsockname(socket, connection.own.data(), &own_bytes) == 0 && connection.own.bytes() != 0 &&
         getpeername(socket, connection.peer.data(), &peer_bytes) == 0 && connection.peer.bytes() != 0;
}

int TcpSockets::find(const SocketAddress& own, const SocketAddress& peer) {
  const Connection wanted{own, peer};
  const auto stands = [&](const auto& found) {
    Connection there;
    return found != known_.end() && read(found->second, there) && there == wanted;
  };
  auto found = known_.find(wanted);
  if (!stands(found)) {
    look_through_descriptors();
    found = known_.find(wanted);
  }
  return found == known_.end() ? -1 : found->second;
}

// The folder takes a free descriptor. Without one all numbers are looked at, which costs some 0.1 us each: those above
// the limit, too, as sockets stay open when it is lowered.
void TcpSockets::look_through_descriptors() {
  known_.clear();
  numbers_ = std::max(numbers_, descriptor_numbers());
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc/self/fd"), closedir);
  saw_all_ = all != nullptr;
  if (!all) {
    for (std::uint64_t socket = 0; socket < numbers_; ++socket) look_at(static_cast<int>(socket));
    return;
  }
  while (const dirent* entry = readdir(all.get())) {
    char* end = nullptr;
    const long socket = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name) look_at(static_cast<int>(socket));
  }
}

void TcpSockets::look_at(int socket) {
  Connection connection;
  if (read(socket, connection)) known_[connection] = socket;
}

unsigned TcpSockets::end_silent(std::uint16_t port, std::uint64_t ms) {
  unsigned ended = 0;
  const auto numbers = static_cast<int>(descriptor_numbers());
  for (int socket = 0; socket < numbers; ++socket) {
    Connection connection;
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (!read(socket, connection) || connection.own.port() != port) continue;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_bytes_received != 0) continue;
    if (info.tcpi_last_data_recv >= ms) ended += shutdown(socket, SHUT_RDWR) == 0 ? 1 : 0;
  }
  return ended;
}

bool begin_probes(int socket, std::uint64_t interval_s) {
  constexpr std::uint64_t kProbesMax = 127;  // Linux, MAX_TCP_KEEPCNT and MAX_TCP_KEEPINTVL
  constexpr std::uint64_t kIntervalMaxS = 32'767;
  return set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1) &&
         set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::clamp<std::uint64_t>(interval_s, 1, kIntervalMaxS)) &&
         set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbesMax) && set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void end_probes(int socket) { (void)set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 0); }

void end_by_reset(int socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool all_acknowledged(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes == 0;
}

// Bytes that are not sent while none is on its way wait for the peer's window. One probe of that may be lost; two that
// have no response tell of the host.
bool host_responded(int socket, std::uint64_t ms) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return true;  // its end is told elsewhere
  const bool window_is_closed = bytes >= offsetof(tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes &&
                                info.tcpi_unacked == 0 && info.tcpi_notsent_bytes != 0;
  return info.tcpi_last_ack_recv < ms || (window_is_closed && info.tcpi_probes < 2);
}

}  // namespace bufenlarge
