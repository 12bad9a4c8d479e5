// SPDX-License-Identifier: MIT
// An address on the loopback interface that no packet comes back from: Linux drops the SYN of a connect(2) to a
// listener whose queue of connections is full.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <vector>

#include "fabric/socket_address.h"

namespace bufenlarge::test {

class DeafListener {
 public:
  DeafListener() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = add_socket();
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    REQUIRE(bind(listener, address, sizeof address_) == 0);
    REQUIRE(listen(listener, 0) == 0);
    socklen_t bytes = sizeof address_;
    REQUIRE(getsockname(listener, address, &bytes) == 0);
    for (int i = 0; i < 4; ++i) (void)connect(add_socket(), address, sizeof address_);
  }
  DeafListener(const DeafListener&) = delete;
  DeafListener& operator=(const DeafListener&) = delete;
  ~DeafListener() {
    for (const int one : sockets_) close(one);
  }
  [[nodiscard]] SocketAddress address() const { return SocketAddress(&address_); }

 private:
  int add_socket() {
    sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    REQUIRE(sockets_.back() >= 0);
    return sockets_.back();
  }

  sockaddr_in address_{};
  std::vector<int> sockets_;
};

}  // namespace bufenlarge::test
