// SPDX-License-Identifier: MIT
#include "fabric/provider.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "channel/port.h"
#include "fabric/fabric_error.h"
#include "protocol/wire.h"

namespace bufenlarge {

namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 17);

struct Interface {
  std::string name;
  std::string address;
  bool loopback;
};

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw FabricError("getifaddrs", -errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    found.push_back({entry->ifa_name, text, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

// The address asked for by interface name or by itself; every interface is named when there is none.
std::string resolve(const std::string& wanted) {
  std::string there;
  for (const Interface& one : interfaces()) {
    if (one.name == wanted || one.address == wanted) return one.address;
    there += (there.empty() ? "" : ", ") + one.name + " (" + one.address + ")";
  }
  throw FabricError("MPIR_CVAR_BUFENLARGE_INTERFACE='" + wanted + "' is no network interface or IPv4 address of this host that is up; there are: " +
                    there);
}

// The first interface that other hosts can reach; loopback on a host that has no other.
std::string default_address() {
  const std::vector<Interface> all = interfaces();
  for (const Interface& one : all)
    if (!one.loopback) return one.address;
  return all.empty() ? "127.0.0.1" : all.front().address;
}

InfoPtr make_hints(const char* provider, std::size_t inline_bytes, std::size_t queue_entries) {
  InfoPtr hints(fi_allocinfo());
  if (!hints) throw FabricError("fi_allocinfo", -FI_ENOMEM);
  hints->fabric_attr->prov_name = strdup(provider);
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_RX_CQ_DATA | FI_CONTEXT;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW;
  hints->tx_attr->size = queue_entries;
  hints->tx_attr->inject_size = inline_bytes;
  return hints;
}

// The first offer that is an ordinary connection with a source address.
InfoPtr first_offer(const std::string& address, const fi_info& hints) {
  fi_info* offers = nullptr;
  const bool bound = !address.empty();
  const int code = fi_getinfo(kApi, bound ? address.c_str() : nullptr, nullptr, bound ? FI_SOURCE : 0,
                              &hints, &offers);
  const InfoPtr all(code == 0 ? offers : nullptr);
  for (const fi_info* offer = all.get(); offer != nullptr; offer = offer->next) {
    const std::uint32_t protocol = offer->ep_attr->protocol;
    const bool fits = protocol == FI_PROTO_SOCK_TCP || protocol == FI_PROTO_RDMA_CM_IB_RC ||
                      protocol == FI_PROTO_IWARP;
    if (fits && offer->src_addr != nullptr && offer->src_addrlen == sizeof(sockaddr_in))
      return InfoPtr(fi_dupinfo(offer));
  }
  return nullptr;
}

// Slot writes in flight, plus the grant, acknowledgement and repeat words beside them.
InfoPtr ask_tcp(const std::string& address) {
  return first_offer(address, *make_hints("tcp", 2 * sizeof(EnlargeAck), kWritesInFlightMax + 8));
}

// With notifications each endpoint has a receive for each that can be on its way. Without them only responses to reads
// take any: a receive context shared by all, where the device has such, saves each its own queue. The first that
// the device can do; one that cannot send inline is not refused (word_copies.h).
InfoPtr ask_verbs(const std::string& address, bool notifications, std::uint32_t slots_max) {
  for (const std::size_t inline_bytes : {kInlineBytes, std::size_t{0}}) {
    for (const bool shared : {true, false}) {
      if (shared && notifications) continue;
      const InfoPtr hints = make_hints("verbs", inline_bytes, kSendQueueEntries);
      hints->rx_attr->size = shared ? kReadsPerPortMax : kReadsPerLinkMax + (notifications ? slots_max : 0);
      hints->tx_attr->iov_limit = hints->rx_attr->iov_limit = 1;
      hints->ep_attr->rx_ctx_cnt = shared ? FI_SHARED_CONTEXT : 0;
      if (InfoPtr info = first_offer(address, *hints)) return info;
    }
  }
  return nullptr;
}

// What `auto` comes to needs no notifications where there is no immediate data: see choose_arrival().
InfoPtr ask_verbs(const std::string& address, const ProviderRequest& request) {
  InfoPtr info = ask_verbs(address, request.arrival != ArrivalChoice::kPolled, request.slots_max);
  if (info && request.arrival == ArrivalChoice::kAuto && !has_immediate_data(*info))
    return ask_verbs(address, false, request.slots_max);
  return info;
}

// libfabric keeps closed registrations in a cache of its own, pinned and writable (libfabric 1.17
// prov/verbs/src/verbs_mr.c). Rings that are freed have to be gone. Once, since another thread's
// fi_getinfo(3) may be reading the environment.
void turn_off_registration_cache() {
  static std::once_flag done;
  std::call_once(done, [] { setenv("FI_MR_CACHE_MAX_COUNT", "0", 0); });
}

}  // namespace

InfoPtr choose_provider(const ProviderRequest& request) {
  turn_off_registration_cache();
  const std::string given = request.interface_name.empty() ? "" : resolve(request.interface_name);
  if (request.provider != ProviderChoice::kTcp) {
    if (InfoPtr info = ask_verbs(given, request)) return info;
    if (request.provider == ProviderChoice::kVerbs) {
      throw FabricError("MPIR_CVAR_BUFENLARGE_PROVIDER='verbs': libfabric offers no verbs endpoint" +
                        (given.empty() ? std::string(" (no RDMA device with an IPv4 address)")
                                       : " on " + given) +
                        "; PROVIDER=tcp or auto works without an RDMA device");
    }
  }
  const std::string address = given.empty() ? default_address() : given;
  if (InfoPtr info = ask_tcp(address)) return info;
  throw FabricError("libfabric offers no tcp endpoint (FI_EP_MSG) on " + address +
                    "; is its tcp provider installed, and not excluded by FI_PROVIDER?");
}

std::string provider_name(const fi_info& info) { return info.fabric_attr->prov_name; }

std::string protocol_name(const fi_info& info) {
  std::uint32_t protocol = info.ep_attr->protocol;
  char text[64];  // fi_tostr(3) has one buffer for all threads
  return fi_tostr_r(text, sizeof text, &protocol, FI_TYPE_PROTOCOL);
}

std::string domain_name(const fi_info& info) { return info.domain_attr->name; }

std::string address_text(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

bool places_in_order(const fi_info& info) { return info.ep_attr->protocol == FI_PROTO_SOCK_TCP; }

bool has_immediate_data(const fi_info& info) { return info.domain_attr->cq_data_size >= 4; }

// There is no announcement to wait for, so these may lie lower (docs/decisions/0016-one-sided-writes.md).
std::size_t window_read_min(const fi_info& info) {
  return info.ep_attr->protocol == FI_PROTO_SOCK_TCP ? 6144 : kRendezvousMin;
}

std::size_t window_write_min(const fi_info& info) {
  return info.ep_attr->protocol == FI_PROTO_SOCK_TCP ? 12'288 : 16'384;
}

std::uint64_t window_bytes_max(const fi_info& info, std::uint32_t contexts) {
  if (info.ep_attr->protocol == FI_PROTO_SOCK_TCP) return ~std::uint64_t{0};  // a list entry, nothing is pinned
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2 / std::max(1u, contexts);
}

const char* arrival_name(Arrival arrival) {
  switch (arrival) {
    case Arrival::kInOrder:
    case Arrival::kChecked: return "polled";
    case Arrival::kNotified: return "notified";
    case Arrival::kMixed: return "mixed";
  }
  return "";
}

ArrivalVerdict choose_arrival(const fi_info& info, ArrivalChoice choice) {
  if (places_in_order(info)) {
    if (choice == ArrivalChoice::kNotified || choice == ArrivalChoice::kMixed)
      throw FabricError(
          std::string("MPIR_CVAR_BUFENLARGE_ARRIVAL='") +
          (choice == ArrivalChoice::kMixed ? "mixed" : "notified") +
          "': libfabric's tcp provider places data only inside the receiver's own progress, and in order; "
          "allowed there is auto or polled");
    return {Arrival::kInOrder, "this provider places the bytes of a write in order"};
  }
  const std::string bell = has_immediate_data(info) ? "immediate data" : "a message after the write, there is no immediate data";
  switch (choice) {
    case ArrivalChoice::kPolled: return {Arrival::kChecked, "set; a check in each slot"};
    case ArrivalChoice::kNotified: return {Arrival::kNotified, "set; " + bell};
    case ArrivalChoice::kMixed: return {Arrival::kMixed, "set; small slots by check, others by " + bell};
    case ArrivalChoice::kAuto: break;
  }
  if (!has_immediate_data(info))
    return {Arrival::kChecked,
            "a check in each slot is right in any order of placement, and up to 4 KiB faster than a message after "
            "each write where measured (siw)"};
  return {Arrival::kMixed,
          "small slots by check, others by " + bell +
              "; right in any order of placement, and fastest at all sizes where measured (rxe)"};
}

}  // namespace bufenlarge
