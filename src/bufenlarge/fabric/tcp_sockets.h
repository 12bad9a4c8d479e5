// SPDX-License-Identifier: MIT
// The kernel's view of the connections of libfabric's tcp provider: whether the host at the other end responds.
//
// libfabric hands out no descriptor of an endpoint, so it is found by the addresses of the connection. The sockets stay
// libfabric's: nothing is read, written or closed here, but a stranger's connection is shut down. One thread at a time
// may call an object.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "fabric/socket_address.h"

namespace bufenlarge {

class TcpSockets {
 public:
  TcpSockets();
  // Returns the descriptor of this process's socket between the two addresses, or -1 where there is none. Looks through
  // all descriptors of the process when it does not know the socket. Needs none itself.
  [[nodiscard]] int find(const SocketAddress& own, const SocketAddress& peer);
  // Whether the last look was at all descriptors there are, and not only at numbers that they may have.
  [[nodiscard]] bool saw_all() const { return saw_all_; }
  // Ends the connections to this port that have stood for `ms` milliseconds and over which nothing has come: whoever
  // calls a process of the job says at once who it is. Returns how many there were. Opens no descriptor.
  static unsigned end_silent(std::uint16_t port, std::uint64_t ms);

 private:
  // No two connections of a process have the same own port and the same peer.
  struct Connection {
    SocketAddress own;
    SocketAddress peer;
    bool operator==(const Connection&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Connection& one) const { return one.own.hash() * 31 + one.peer.hash(); }
  };

  static bool read(int socket, Connection& connection);
  void look_through_descriptors();
  void look_at(int socket);

  std::unordered_map<Connection, int, Hash> known_;  // may be out of date
  bool saw_all_ = true;
  std::uint64_t numbers_;  // the highest limit that was seen: no socket of the port is above it
};

// Lets the kernel probe the peer's host after a second, and then every `interval_s` seconds, at least one, while
// nothing is on its way there (tcp(7), TCP_KEEPINTVL), until end_probes(). What is on its way TCP itself sends again.
// Returns false when the kernel refuses. The kernel ends the connection after 127 probes without a response.
[[nodiscard]] bool begin_probes(int socket, std::uint64_t interval_s);
void end_probes(int socket);

// The close of the socket resets the connection (socket(7), SO_LINGER of no time). By itself it would wait for the
// peer's host to acknowledge what was sent before, and the end would come behind that.
void end_by_reset(int socket);

// Returns whether the peer's kernel is known to have acknowledged all that was sent (SIOCOUTQ, tcp(7)).
[[nodiscard]] bool all_acknowledged(int socket);

// Returns whether a segment of the peer's host has come within the last `ms` milliseconds, or none is to be expected:
// a peer that takes nothing, since it is stopped, is probed in intervals that grow to two minutes (TCP's zero window).
[[nodiscard]] bool host_responded(int socket, std::uint64_t ms);

}  // namespace bufenlarge
