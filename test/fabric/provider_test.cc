// SPDX-License-Identifier: MIT
#include "fabric/provider.h"

#include <catch2/catch.hpp>

#include "fabric/fabric_error.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

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
    CHECK(address_text(*static_cast<const sockaddr_in*>(info->src_addr)) == "127.0.0.1:0");
    CHECK(info->ep_attr->type == FI_EP_MSG);
    CHECK(places_in_order(*info));
  }
}

TEST_CASE("auto takes tcp where there is no RDMA device", "[provider]") {
  CHECK(provider_name(*choose_provider({ProviderChoice::kAuto, "lo"})) == "tcp");  // verbs never has loopback
}

TEST_CASE("without an interface there is one all the same", "[provider]") {
  CHECK(choose_provider({ProviderChoice::kTcp, ""}) != nullptr);
}

TEST_CASE("an interface there is not is refused by its name, with those there are", "[provider]") {
  for (const char* name : {"nosuch0", "10.255.255.254", "lo0"}) {
    const std::string why = refusal({ProviderChoice::kTcp, name});
    CHECK_THAT(why, Contains("INTERFACE") && Contains(name) && Contains("lo (127.0.0.1)"));
  }
}

TEST_CASE("verbs without a device is refused with what works", "[provider]") {
  CHECK_THAT(refusal({ProviderChoice::kVerbs, "lo"}),
             Contains("PROVIDER='verbs'") && Contains("127.0.0.1") && Contains("PROVIDER=tcp"));
}

TEST_CASE("libfabric's registration cache is off, unless the user has set it", "[provider][E7]") {
  (void)choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(std::string(getenv("FI_MR_CACHE_MAX_COUNT")) == "0");
  setenv("FI_MR_CACHE_MAX_COUNT", "7", 1);
  (void)choose_provider({ProviderChoice::kTcp, "lo"});
  CHECK(std::string(getenv("FI_MR_CACHE_MAX_COUNT")) == "7");
  setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
}

}  // namespace
}  // namespace bufenlarge::test
