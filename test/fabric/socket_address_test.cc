// SPDX-License-Identifier: MIT
#include "fabric/socket_address.h"

#include <arpa/inet.h>
#include <sched.h>

#include <catch2/catch.hpp>

#include "fabric/interfaces.h"
#include "fabric/job.h"
#include "fabric/nearness.h"
#include "support/test_folder.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::StartsWith;
using Addresses = std::vector<std::string>;

SocketAddress address(const char* host, std::uint16_t port) {
  sockaddr_in6 made{};
  made.sin6_port = htons(port);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&made);
  if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
    made.sin6_family = AF_INET;
  } else {
    REQUIRE(inet_pton(AF_INET6, host, &made.sin6_addr) == 1);
    made.sin6_family = AF_INET6;
  }
  return SocketAddress(&made);
}

TEST_CASE("an address is written as a user would write it", "[socket_address]") {
  CHECK(address("10.0.0.1", 80).text() == "10.0.0.1:80");
  CHECK(address("10.0.0.1", 80).host_text() == "10.0.0.1");
  CHECK(address("fd00:0:0::1", 80).text() == "[fd00::1]:80");
  CHECK(address("fd00:0:0::1", 80).host_text() == "fd00::1");
  CHECK(SocketAddress().text() == "no address:0");
}

TEST_CASE("an address has as many bytes as its family says, and one of another family none", "[socket_address]") {
  CHECK(address("10.0.0.1", 80).bytes() == sizeof(sockaddr_in));
  CHECK(address("::1", 80).bytes() == sizeof(sockaddr_in6));
  const sockaddr_in6 other{.sin6_family = AF_UNIX, .sin6_port = 1, .sin6_flowinfo = 2, .sin6_addr = {},
                           .sin6_scope_id = 3};
  CHECK(SocketAddress(&other).bytes() == 0);
  CHECK(SocketAddress(&other).port() == 0);
}

TEST_CASE("addresses are of one host whatever their ports, and equal with the same port", "[socket_address]") {
  for (const auto& [one, another] : {std::pair("10.0.0.1", "10.0.0.2"), std::pair("fd00::1", "fd00::2")}) {
    CHECK(address(one, 1).same_host(address(one, 2)));
    CHECK_FALSE(address(one, 1).same_host(address(another, 1)));
    CHECK(address(one, 1) == address(one, 1));
    CHECK_FALSE(address(one, 1) == address(one, 2));
    CHECK_FALSE(address(one, 1) == address(another, 1));
    CHECK(address(one, 1).hash() == address(one, 1).hash());
    CHECK(address(one, 1).hash() != address(one, 2).hash());
    CHECK(address(one, 1).hash() != address(another, 1).hash());
  }
  CHECK_FALSE(address("0.0.0.0", 1).same_host(address("::", 1)));
}

TEST_CASE("interfaces are named by name or address, and the first one that is there counts first", "[interfaces]") {
  CHECK(addresses_of("lo") == Addresses{"127.0.0.1"});
  CHECK(addresses_of("::1") == Addresses{"::1"});
  CHECK(addresses_of("0:0:0:0:0:0:0:1") == Addresses{"::1"});
  CHECK(addresses_of("nosuch0,::1,lo") == Addresses{"::1", "127.0.0.1"});
}

// A device that is near the processors of `list`, among the interfaces of `folder`.
void put_device(const Folder& folder, const std::string& name, const std::string& list) {
  std::filesystem::create_directories(folder.path / name / "device");
  std::ofstream(folder.path / name / "device" / "local_cpulist") << list << "\n";
}

TEST_CASE("an interface is near if its device is near a processor of the thread", "[interfaces]") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int own = 0;
  while (!CPU_ISSET(own, &before)) ++own;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(own, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const Folder folder;
  const std::string here = std::to_string(own);
  const std::string after = std::to_string(own + 1);
  put_device(folder, "same", here);
  put_device(folder, "all", "0-4095");
  put_device(folder, "second", after + "-" + std::to_string(own + 3) + "," + here);
  put_device(folder, "other", after);
  put_device(folder, "others", after + "-" + std::to_string(own + 3) + "," + std::to_string(own + 9) + "-5000");
  put_device(folder, "silent", "");
  for (const char* const name : {"same", "all", "second", "silent", "bridge"}) {
    INFO(name);
    CHECK(is_near(name, folder.path));
  }
  for (const char* const name : {"other", "others"}) {
    INFO(name);
    CHECK_FALSE(is_near(name, folder.path));
  }
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("processes talk over IPv6, and know which of them are on their host", "[c_api][interfaces]") {
  Job job(3, {{"INTERFACE", "::1"}});
  CHECK_THAT(job[0].stats().address, StartsWith("[::1]:"));
  CHECK(bufenlarge_context_address_bytes(job[0].context()) == sizeof(sockaddr_in6));
  CHECK(bufenlarge_context_local_processes(job[0].context()) == 3);
  for (const std::uint32_t rank : {1u, 2u}) {
    job.send(0, rank, Vector({40}, rank));
    job.send(rank, 0, Vector({60'000}, rank));
  }
  CHECK(job[0].failures.empty());
}

TEST_CASE("a process of IPv4 and one of IPv6 do not agree", "[c_api][interfaces]") {
  const auto agreement_of = [](const char* interface) {
    const Process process({{"INTERFACE", interface}}, 0, 2, 7);
    char text[BUFENLARGE_MESSAGE_BYTES];
    bufenlarge_context_agreement(process.context(), text, sizeof text);
    return std::string(text);
  };
  CHECK(agreement_of("127.0.0.1") == agreement_of("lo"));
  CHECK(agreement_of("::1") != agreement_of("lo"));
  CHECK_THAT(agreement_of("::1"), Catch::Matchers::Contains("\naddresses IPv6\n"));
}

}  // namespace
}  // namespace bufenlarge::test
