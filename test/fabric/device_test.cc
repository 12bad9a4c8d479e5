// SPDX-License-Identifier: MIT
// Two ports on an RDMA device, in one process. Hidden: they run in a virtual machine (tools/suite rxe and siw).
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <vector>

#include "fabric/job.h"
#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

struct DeviceSide : PortSide {
  DeviceSide() : PortSide({ProviderChoice::kVerbs, ""}) {}
};

// An attempt of `active` that has arrived at `passive` and has no answer.
FabricPort::Link unanswered(DeviceSide& active, DeviceSide& passive) {
  FabricPort::Link link = active.open(passive, pattern(52));
  REQUIRE(link);
  REQUIRE(both_poll(active, passive, [&] { return !passive.requests.empty(); }));
  return link;
}

template <class Step>
std::chrono::milliseconds time_of(Step step) {
  const auto begin = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

std::chrono::milliseconds time_to_close(FabricPort::Link link) {
  return time_of([&] { link = {}; });
}

void connect(DeviceSide& active, DeviceSide& passive) {
  const std::size_t before = active.connected.size();
  const FabricPort::Link from = unanswered(active, passive);
  const FabricPort::Link to = passive.accept(pattern(52));
  REQUIRE(to);
  REQUIRE(both_poll(active, passive, [&] { return active.connected.size() > before; }));
}

TEST_CASE("a device says that a host is there whose process does nothing", "[.device][fabric_port][F5]") {
  DeviceSide active, passive;
  FabricPort::Link from = unanswered(active, passive);
  const FabricPort::Link to = passive.accept(pattern(52));
  REQUIRE(both_poll(active, passive, [&] { return !active.connected.empty(); }));
  const FabricPort::Region region = active.port.allocate(64);
  const FabricPort::Region there = passive.port.allocate(64, PeerAccess::kWriteAndQuestions);
  const auto responds = [&] {
    REQUIRE(active.port.ask(from, {region, region.data() + 56, there.remote_address(), there.remote_key()}));
    return comes_true([&] { return active.port.responded(from); }, [&] { active.poll(); });
  };
  CHECK(responds());
  CHECK(responds());
  SECTION("the send queue is full") {
    while (active.port.write(from, {region, region.data(), 8, there.remote_address(), there.remote_key(),
                                    WriteUse::kWord}) != WriteResult::kAgain)
      continue;
    CHECK(responds());
    CHECK(responds());
  }
  CHECK(active.lost.empty());
}

constexpr std::chrono::seconds kAtOnce{3};  // siw gives up after 10 s

TEST_CASE("an attempt is closed on a device without waiting for the peer's answer", "[.device][fabric_port][S3]") {
  DeviceSide active, passive;
  CHECK(time_to_close(unanswered(active, passive)) < kAtOnce);
  passive.port.reject(passive.requests.front().request, {});
  passive.requests.clear();
  connect(active, passive);
  CHECK(active.rejected.empty());
  CHECK(active.lost.empty());
}

TEST_CASE("an attempt that was closed on a device may still be accepted", "[.device][fabric_port][S3]") {
  DeviceSide active, passive;
  CHECK(time_to_close(unanswered(active, passive)) < kAtOnce);
  const FabricPort::Link accepted = passive.accept(pattern(52));
  CHECK(both_poll(active, passive, [&] { return !accepted || !passive.lost.empty(); }));
  CHECK(active.connected.empty());
  connect(active, passive);
}

TEST_CASE("two ports on a device that close their attempts to each other both go on", "[.device][fabric_port][S3]") {
  DeviceSide one, two;
  FabricPort::Link there = unanswered(one, two);
  FabricPort::Link back = unanswered(two, one);
  CHECK(time_to_close(std::move(there)) < kAtOnce);
  CHECK(time_to_close(std::move(back)) < kAtOnce);
  one.port.reject(one.requests.front().request, {});
  two.port.reject(two.requests.front().request, {});
  one.requests.clear(), two.requests.clear();
  connect(one, two);
  connect(two, one);
}

// The ports that the guest draws from, while this lives: kPorts, of which sockets of TCP have every other one.
class ScarcePorts {
 public:
  static constexpr int kFirst = 40'000;
  static constexpr int kPorts = 32;

  ScarcePorts() {
    std::getline(std::ifstream(kRange), before_);
    std::ofstream(kRange) << kFirst << ' ' << kFirst + kPorts - 1;
    for (int port = kFirst; port < kFirst + kPorts; port += 2) sockets_.push_back(taken(port));
  }
  ~ScarcePorts() {
    for (const int socket : sockets_) ::close(socket);
    std::ofstream(kRange) << before_;
  }
  ScarcePorts(const ScarcePorts&) = delete;
  ScarcePorts& operator=(const ScarcePorts&) = delete;

 private:
  static constexpr const char* kRange = "/proc/sys/net/ipv4/ip_local_port_range";

  static int taken(int port) {
    const int made = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    REQUIRE(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(made, 1) == 0);
    return made;
  }

  std::string before_;
  std::vector<int> sockets_;
};

TEST_CASE("a port on a device listens though sockets of TCP have half of the ports", "[.device][fabric_port]") {
  const ScarcePorts scarce;
  std::vector<std::unique_ptr<DeviceSide>> sides;
  for (int i = 0; i < 8; ++i) CHECK_NOTHROW(sides.push_back(std::make_unique<DeviceSide>()));
  for (const auto& side : sides) CHECK(side->port.address().port() >= ScarcePorts::kFirst);
}

TEST_CASE("where data wakes nobody a sleep on a device is short, and connection events end it",
          "[.device][fabric_port][S2]") {
  constexpr std::uint32_t kMinuteUs = 60'000'000;
  DeviceSide active, passive;
  CHECK(time_of([&] { CHECK(passive.port.sleep(kMinuteUs) == SleepEnd::kWoken); }) < kAtOnce);
  const FabricPort::Link link = active.open(passive, pattern(52));
  CHECK(comes_true([&] { return passive.port.sleep(kMinuteUs) == SleepEnd::kEvents; }, [&] { active.poll(); }));
}

TEST_CASE("on a device a context that is idle can be closed, and its peer gets all", "[.device][F7]") {
  constexpr std::uint32_t kSent = 50;
  for (const std::uint32_t bytes : {8u, 8'000u}) {
    INFO(bytes << " bytes");
    Job job(2, {{"PROVIDER", "verbs"}, {"INTERFACE", ""}, {"PHASES", "8256"}, {"SLOTS", "64"}});
    job.send(0, 1, Vector({bytes}, kSent));
    job.send(1, 0, Vector({bytes}, kSent));
    for (std::uint32_t i = 0; i < kSent; ++i) REQUIRE(job[0].send(1, Vector({bytes}, i).rest(0)) == bytes);
    REQUIRE(comes_true([&] { return job[0].idle(); }, [&] { job[0].progress(); }));
    job[0].close();
    REQUIRE(job.until([&] { return !job[1].failures.empty(); }));
    REQUIRE(job[1].messages[0].size() == 1 + kSent);
    for (std::uint32_t i = 0; i < kSent; ++i) CHECK(job[1].messages[0][1 + i] == Vector({bytes}, i).bytes());
  }
}

}  // namespace
}  // namespace bufenlarge::test
