// SPDX-License-Identifier: MIT
#include "fabric/tcp_sockets.h"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fabric/port_side.h"
#include "fabric/soft_limit.h"

namespace bufenlarge::test {
namespace {

struct Socket {
  explicit Socket(int descriptor_in) : descriptor(descriptor_in) { REQUIRE(descriptor >= 0); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(descriptor); }
  const int descriptor;
};

using Name = int (*)(int, sockaddr*, socklen_t*);

SocketAddress address_of(int socket, Name name) {
  SocketAddress made;
  socklen_t bytes = SocketAddress::kBytesMax;
  REQUIRE(name(socket, made.data(), &bytes) == 0);
  return made;
}

// Any port on the loopback interface.
SocketAddress loopback(int family) {
  sockaddr_in6 any{};
  any.sin6_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6)
    any.sin6_addr = in6addr_loopback;
  else
    reinterpret_cast<sockaddr_in*>(&any)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return SocketAddress(&any);
}

// A connection over loopback, with both ends in this process.
struct TcpPair {
  explicit TcpPair(int family_ = AF_INET) : family(family_) {
    const SocketAddress any = loopback(family);
    REQUIRE(bind(listener.descriptor, any.data(), static_cast<socklen_t>(any.bytes())) == 0);
    REQUIRE(listen(listener.descriptor, 1) == 0);
    const SocketAddress there = address_of(listener.descriptor, getsockname);
    REQUIRE(connect(from.descriptor, there.data(), static_cast<socklen_t>(there.bytes())) == 0);
    to = accept(listener.descriptor, nullptr, nullptr);
    REQUIRE(to >= 0);
  }
  ~TcpPair() { ::close(to); }
  const int family;
  Socket listener{socket(family, SOCK_STREAM, 0)};
  Socket from{socket(family, SOCK_STREAM, 0)};
  int to = -1;
};

int found(TcpSockets& sockets, int socket) {
  return sockets.find(address_of(socket, getsockname), address_of(socket, getpeername));
}

int keeps_alive(int socket) {
  int on = 0;
  socklen_t bytes = sizeof on;
  REQUIRE(getsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, &bytes) == 0);
  return on;
}

TEST_CASE("a socket is found by the addresses of its connection", "[tcp_sockets][F5]") {
  const int family = GENERATE(AF_INET, AF_INET6);
  TcpSockets sockets;
  const TcpPair first(family);
  const TcpPair second(family);
  CHECK(found(sockets, first.from.descriptor) == first.from.descriptor);
  CHECK(found(sockets, first.to) == first.to);
  CHECK(found(sockets, second.from.descriptor) == second.from.descriptor);
  const TcpPair later(family);
  CHECK(found(sockets, later.to) == later.to);
  SECTION("one that is none of this process") {
    SocketAddress peer = address_of(later.to, getpeername);
    SocketAddress::clear_port(peer.data());
    CHECK(sockets.find(address_of(later.to, getsockname), peer) == -1);
  }
}

// Soft limits with which nothing can be opened: all numbers below it are in use, or all sockets are above it.
rlim_t no_free_descriptor() { return GENERATE(false, true) ? limit_with_spare(1) - 1 : 0; }

TEST_CASE("a socket is found by a process that has no free descriptor", "[tcp_sockets][F5]") {
  TcpSockets sockets;
  const TcpPair first;
  const TcpPair second;
  SocketAddress nobody = address_of(first.to, getpeername);
  SocketAddress::clear_port(nobody.data());
  const SoftLimit none(no_free_descriptor());
  REQUIRE(open("/dev/null", O_RDONLY | O_CLOEXEC) == -1);
  CHECK(found(sockets, first.from.descriptor) == first.from.descriptor);
  CHECK(found(sockets, first.to) == first.to);
  CHECK(found(sockets, second.to) == second.to);
  CHECK(sockets.find(address_of(first.to, getsockname), nobody) == -1);
}

TEST_CASE("a socket is found that was opened while the limit was higher than before and after", "[tcp_sockets][F5]") {
  TcpSockets sockets = [] {
    const SoftLimit none(0);
    return TcpSockets();
  }();
  const TcpPair first;
  REQUIRE(found(sockets, first.to) == first.to);
  const TcpPair second;
  const SoftLimit none(0);
  CHECK(found(sockets, second.to) == second.to);
}

TEST_CASE("a descriptor that has gone to another connection is not taken for the old one", "[tcp_sockets][F5]") {
  TcpSockets sockets;
  SocketAddress own;
  SocketAddress peer;
  {
    const TcpPair gone;
    own = address_of(gone.from.descriptor, getsockname);
    peer = address_of(gone.from.descriptor, getpeername);
    REQUIRE(sockets.find(own, peer) == gone.from.descriptor);
  }
  const TcpPair later;  // has its numbers
  CHECK(sockets.find(own, peer) == -1);
  CHECK(found(sockets, later.from.descriptor) == later.from.descriptor);
}

TEST_CASE("the host of a peer that does nothing responds to probes", "[tcp_sockets][F5]") {
  const TcpPair pair;
  (void)comes_true([] { return false; }, [] {}, std::chrono::milliseconds(500));
  CHECK_FALSE(host_responded(pair.from.descriptor, 400));
  REQUIRE(begin_probes(pair.from.descriptor, 0));
  CHECK(keeps_alive(pair.from.descriptor) == 1);
  CHECK(comes_true([&] { return host_responded(pair.from.descriptor, 400); }, [] {}));
  end_probes(pair.from.descriptor);
  CHECK(keeps_alive(pair.from.descriptor) == 0);
}

TEST_CASE("the host of a peer that takes nothing counts as one that responds", "[tcp_sockets][F5]") {
  const TcpPair pair;
  const Bytes data(64 * 1024);
  while (send(pair.from.descriptor, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) continue;
  (void)comes_true([] { return false; }, [] {}, std::chrono::seconds(3));  // probes come in ever longer intervals
  CHECK(host_responded(pair.from.descriptor, 1));
}

TEST_CASE("what an unknown socket has sent does not count as acknowledged", "[tcp_sockets][F7]") {
  const TcpPair pair;
  CHECK(all_acknowledged(pair.from.descriptor));
  CHECK_FALSE(all_acknowledged(-1));
}

TEST_CASE("a connection that was given up ends at once at a peer that takes nothing", "[tcp_sockets][F5]") {
  TcpPair pair;
  const Bytes data(64 * 1024);
  while (send(pair.to, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) continue;
  end_by_reset(pair.to);
  ::close(std::exchange(pair.to, -1));
  int error = 0;
  socklen_t bytes = sizeof error;
  CHECK(getsockopt(pair.from.descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0);
  CHECK(error == ECONNRESET);
}

TEST_CASE("a port's question to a host is answered, whatever its process does", "[fabric_port][F5]") {
  Connected both;
  const FabricPort::Region region = both.active.port.allocate(64);
  const FabricPort::Region there = both.passive.port.allocate(64);
  const auto ask = [&] {
    return both.active.port.ask(both.from, {region, region.data(), there.remote_address(), there.remote_key()});
  };
  REQUIRE(ask());
  CHECK(comes_true([&] { return both.active.port.responded(both.from); }, [&] { both.active.poll(); }));
  (void)comes_true([] { return false; }, [&] { both.active.poll(); }, std::chrono::milliseconds(300));
  REQUIRE(ask());
  CHECK_FALSE(both.active.port.responded(both.from));  // probes begin after a second
  CHECK(comes_true([&] { return both.active.port.responded(both.from); }, [&] { both.active.poll(); }));
  CHECK(both.active.lost.empty());
}

TEST_CASE("a port asks a host, though its process has no free descriptor", "[fabric_port][F5]") {
  Connected both;
  const FabricPort::Region region = both.active.port.allocate(64);
  const FabricPort::Region there = both.passive.port.allocate(64);
  const SoftLimit none(no_free_descriptor());
  REQUIRE(both.active.port.ask(both.from, {region, region.data(), there.remote_address(), there.remote_key()}));
  CHECK(comes_true([&] { return both.active.port.responded(both.from); }, [&] { both.active.poll(); }));
}

int socket_of(const FabricPort::Link& link) {
  SocketAddress own, peer;
  std::size_t own_bytes = SocketAddress::kBytesMax;
  std::size_t peer_bytes = SocketAddress::kBytesMax;
  REQUIRE(fi_getname(&link.fid()->fid, own.data(), &own_bytes) == 0);
  REQUIRE(fi_getpeer(link.fid(), peer.data(), &peer_bytes) == 0);
  return TcpSockets().find(own, peer);
}

// A write that the kernel has taken from libfabric and the peer's has not acknowledged, as the peer takes nothing.
struct Unacknowledged : Connected {
  static constexpr std::size_t kBytes = 200'000;
  static constexpr int kMuch = 1 << 20;
  static constexpr int kLittle = 1 << 16;
  Unacknowledged() {
    REQUIRE(setsockopt(socket_of(from), SOL_SOCKET, SO_SNDBUF, &kMuch, sizeof kMuch) == 0);
    REQUIRE(setsockopt(taker, SOL_SOCKET, SO_RCVBUF, &kLittle, sizeof kLittle) == 0);
    REQUIRE(active.port.write(from, {region, region.data(), kBytes, there.remote_address(), there.remote_key(),
                                     WriteUse::kData}) == WriteResult::kPosted);
    REQUIRE(comes_true([&] { return active.data_written == 1; }, [&] { active.poll(); }));
  }
  bool settled() {
    return active.port.settled(from, {region, region.data(), there.remote_address(), there.remote_key()});
  }
  bool settles_alone() {
    return comes_true([&] { return settled(); }, [&] { active.poll(); }, std::chrono::milliseconds(300));
  }
  const FabricPort::Region region = active.port.allocate(kBytes);
  const FabricPort::Region there = passive.port.allocate(kBytes);
  const int taker = socket_of(to);
};

TEST_CASE("a write that a kernel has not acknowledged is not settled, though there is no free descriptor",
          "[fabric_port][F7]") {
  Unacknowledged both;
  const SoftLimit none(no_free_descriptor());
  CHECK_FALSE(both.settles_alone());
  CHECK(both_poll(both.active, both.passive, [&] { return both.settled(); }));
}

TEST_CASE("nothing waits for what a connection that has ended had sent", "[fabric_port][F7]") {
  Unacknowledged both;
  end_by_reset(both.taker);
  const SoftLimit none(no_free_descriptor());
  REQUIRE_FALSE(both.settles_alone());
  both.to = {};
  CHECK(comes_true([&] { return both.settled(); }, [&] { both.active.poll(); }));
}

}  // namespace
}  // namespace bufenlarge::test
