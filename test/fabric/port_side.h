// SPDX-License-Identifier: MIT
// A FabricPort on the loopback interface that records its events. The test owns the links and responds to requests.
#pragma once

#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "fabric/fabric_port.h"
#include "fabric/patience.h"
#include "support/builders.h"

namespace bufenlarge::test {

class PortSide {
 public:
  explicit PortSide(const ProviderRequest& request = {ProviderChoice::kTcp, "lo"}) : port(request) {}
  PortSide(const PortSide&) = delete;
  PortSide& operator=(const PortSide&) = delete;

  struct Incoming {
    FabricPort::Request request;
    Bytes data;
  };

  // ---- callbacks of FabricPort; they ignore `user`, since there is one link at a time
  void on_written(void*) { ++written; }
  void on_notification(void*) { ++notifications; }
  unsigned on_placed(std::uint32_t group) {
    groups.insert(group);
    return 0;
  }
  void on_data_written(void*) { ++data_written; }
  void on_read_done(void*, std::uint32_t sequence) { ends.push_back(sequence); }
  void on_lost(void*, std::string_view why) { lost.emplace_back(why); }
  void on_unreachable(void*, std::string_view why) { unreachable.emplace_back(why); }
  void on_unnamed_failure(std::string_view why) { unnamed.emplace_back(why); }
  void on_connected(void*, std::span<const std::byte> data) { connected.emplace_back(data.begin(), data.end()); }
  void on_rejected(void*, std::span<const std::byte> data) { rejected.emplace_back(data.begin(), data.end()); }
  void on_request(FabricPort::Request& request, std::span<const std::byte> data) {
    requests.push_back({std::move(request), Bytes(data.begin(), data.end())});
  }

  void poll() {
    port.poll(*this);
    port.poll_events(*this);
  }
  [[nodiscard]] FabricPort::Link open(const PortSide& to, const Bytes& data) {
    return port.open(to.port.address().data(), data, this);
  }
  [[nodiscard]] FabricPort::Link accept(const Bytes& data) {
    Incoming incoming = std::move(requests.front());
    requests.pop_front();
    return port.accept(incoming.request, data, this);
  }

  FabricPort port;
  unsigned written = 0;
  unsigned notifications = 0;
  unsigned data_written = 0;
  std::vector<std::uint32_t> ends;
  std::set<std::uint32_t> groups;  // reported as placed
  std::vector<std::string> lost;
  std::vector<std::string> unreachable;
  std::vector<std::string> unnamed;
  std::vector<Bytes> connected;
  std::vector<Bytes> rejected;
  std::deque<Incoming> requests;
};

// Polls both sides until `done` returns true. Returns false if that takes too long.
template <class Done>
bool both_poll(PortSide& one, PortSide& two, Done done) {
  return comes_true(done, [&] {
    one.poll();
    two.poll();
  });
}

// Two sides with one connection between them.
struct Connected {
  PortSide active, passive;
  FabricPort::Link from, to;
  explicit Connected(const Bytes& request = pattern(52, 1), const Bytes& response = pattern(52, 2)) {
    from = active.open(passive, request);
    REQUIRE(from);
    REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
    CHECK(passive.requests.front().data == request);
    to = passive.accept(response);
    REQUIRE(to);
    REQUIRE(both_poll(active, passive, [&] { return !active.connected.empty() && !passive.connected.empty(); }));
  }
};

}  // namespace bufenlarge::test
