// SPDX-License-Identifier: MIT
#include "fabric/provider.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "fabric/fabric_error.h"
#include "fabric/fabric_port.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

std::string refusal(const ProviderRequest& request) {
  try {
    choose_provider(request);
  } catch (const FabricError& error) {
    return error.what();
  }
  FAIL("nothing was refused");
  return "";
}

TEST_CASE("the loopback interface is found by its name and by its address", "[provider]") {
  for (const char* name : {"lo", "127.0.0.1"}) {
    const InfoPtr info = choose_provider({ProviderChoice::kTcp, name});
    REQUIRE(info);
    CHECK(provider_name(*info) == "tcp");
    CHECK(protocol_name(*info) == "FI_PROTO_SOCK_TCP");
    CHECK(domain_name(*info) == "lo");
    CHECK(SocketAddress(info->src_addr).text() == "127.0.0.1:0");
    CHECK(info->ep_attr->type == FI_EP_MSG);
    CHECK(places_in_order(*info));
  }
}

TEST_CASE("auto takes tcp where there is no RDMA device", "[provider]") {
  CHECK(provider_name(*choose_provider({ProviderChoice::kAuto, "lo"})) == "tcp");  // verbs never has loopback
}

TEST_CASE("without a value for the interface one is chosen", "[provider]") {
  CHECK(choose_provider({ProviderChoice::kTcp, ""}) != nullptr);
}

TEST_CASE("an interface that does not exist is refused with its name and a list of those that do", "[provider]") {
  for (const char* name : {"nosuch0", "10.255.255.254", "lo0"}) {
    const std::string why = refusal({ProviderChoice::kTcp, name});
    CHECK_THAT(why, Contains("INTERFACE") && Contains(name) && Contains("lo (127.0.0.1"));
  }
}

TEST_CASE("verbs without a device is refused with a setting that works", "[provider]") {
  CHECK_THAT(refusal({ProviderChoice::kVerbs, "lo"}),
             Contains("PROVIDER='verbs'") && Contains("127.0.0.1") && Contains("PROVIDER=tcp"));
}

// ---- arrival

std::string arrival_refusal(const fi_info& info, ArrivalChoice choice) {
  try {
    (void)choose_arrival(info, choice);
  } catch (const FabricError& error) {
    return error.what();
  }
  return "";
}

// An offer as verbs makes it, as far as choose_arrival() looks at it.
InfoPtr verbs_offer(std::uint32_t protocol, std::size_t immediate_data) {
  InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  info->ep_attr->protocol = protocol;
  info->domain_attr->cq_data_size = immediate_data;
  return info;
}

TEST_CASE("on tcp the receiver polls, with auto and with polled", "[provider][arrival]") {
  const InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  for (const ArrivalChoice choice : {ArrivalChoice::kAuto, ArrivalChoice::kPolled}) {
    const ArrivalVerdict verdict = choose_arrival(*info, choice);
    CHECK(verdict.arrival == Arrival::kInOrder);
    CHECK_THAT(verdict.why, Contains("in order"));
  }
}

TEST_CASE("notifications on tcp are refused with the values that are allowed", "[provider][arrival]") {
  const InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  for (const auto& [choice, name] :
       {std::pair(ArrivalChoice::kNotified, "notified"), std::pair(ArrivalChoice::kMixed, "mixed")}) {
    CHECK_THAT(arrival_refusal(*info, choice),
               StartsWith("MPIR_CVAR_BUFENLARGE_ARRIVAL='" + std::string(name) + "':") && Contains("tcp") &&
                   Contains("auto or polled"));
  }
}

TEST_CASE("a port on tcp with notifications is not opened", "[provider][arrival]") {
  for (const ArrivalChoice choice : {ArrivalChoice::kNotified, ArrivalChoice::kMixed}) {
    ProviderRequest request{ProviderChoice::kTcp, "lo"};
    request.arrival = choice;
    CHECK_THROWS_AS(FabricPort(request), FabricError);
  }
}

TEST_CASE("auto is mixed where writes carry immediate data, and polled where they do not",
          "[provider][arrival]") {
  for (const std::uint32_t protocol : {FI_PROTO_RDMA_CM_IB_RC, FI_PROTO_IWARP}) {
    const InfoPtr info = verbs_offer(protocol, protocol == FI_PROTO_IWARP ? 0 : 4);
    CHECK(choose_arrival(*info, ArrivalChoice::kAuto).arrival ==
          (protocol == FI_PROTO_IWARP ? Arrival::kChecked : Arrival::kMixed));
    CHECK(choose_arrival(*info, ArrivalChoice::kMixed).arrival == Arrival::kMixed);
    CHECK(choose_arrival(*info, ArrivalChoice::kPolled).arrival == Arrival::kChecked);
    CHECK(choose_arrival(*info, ArrivalChoice::kNotified).arrival == Arrival::kNotified);
  }
}

TEST_CASE("an arrival has the name that the knob uses", "[provider][arrival]") {
  CHECK(std::string(arrival_name(Arrival::kInOrder)) == "polled");
  CHECK(std::string(arrival_name(Arrival::kChecked)) == "polled");
  CHECK(std::string(arrival_name(Arrival::kNotified)) == "notified");
  CHECK(std::string(arrival_name(Arrival::kMixed)) == "mixed");
}

TEST_CASE("the reason says what a notification is: immediate data or a message", "[provider][arrival]") {
  const InfoPtr with_data = verbs_offer(FI_PROTO_RDMA_CM_IB_RC, 4);
  const InfoPtr without = verbs_offer(FI_PROTO_IWARP, 0);
  CHECK(has_immediate_data(*with_data));
  CHECK_FALSE(has_immediate_data(*without));
  for (const ArrivalChoice choice : {ArrivalChoice::kAuto, ArrivalChoice::kMixed, ArrivalChoice::kNotified}) {
    CHECK_THAT(choose_arrival(*with_data, choice).why, Contains("immediate data") && !Contains("a message after"));
    CHECK_THAT(choose_arrival(*without, choice).why,
               Contains(choice == ArrivalChoice::kAuto ? "a check in each slot" : "a message after the write"));
  }
}

TEST_CASE("libfabric's registration cache is off, unless the user has set it", "[provider][E7]") {
  (void)choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(std::string(getenv("FI_MR_CACHE_MAX_COUNT")) == "0");
  setenv("FI_MR_CACHE_MAX_COUNT", "7", 1);
  (void)choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(std::string(getenv("FI_MR_CACHE_MAX_COUNT")) == "7");
  setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
}

TEST_CASE("window memory is bounded where its pages are locked: half of the machine's memory, shared", "[provider]") {
  const InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(window_bytes_max(*info, 4) == ~std::uint64_t{0});
  info->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto half = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
  CHECK(window_bytes_max(*info, 1) == half);
  CHECK(window_bytes_max(*info, 0) == half);
  CHECK(window_bytes_max(*info, 4) == half / 4);
  info->ep_attr->protocol = FI_PROTO_IWARP;
  CHECK(window_bytes_max(*info, 2) == half / 2);
}

TEST_CASE("what stays registered is a share of the machine's memory, and 256 MiB of a process at most", "[provider]") {
  const InfoPtr info = choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(registration_cache_bytes(*info, 1, 1) == 0);
  info->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const std::uint64_t all = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 16;
  CHECK(registration_cache_bytes(*info, 1, 1) == std::min(all, std::uint64_t{256} << 20));
  CHECK(registration_cache_bytes(*info, 10'000, 1) == all / 10'000);
  CHECK(registration_cache_bytes(*info, 10'000, 4) == all / 10'000 / 4);
}

}  // namespace
}  // namespace bufenlarge::test
