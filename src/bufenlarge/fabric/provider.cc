// SPDX-License-Identifier: MIT
#include "fabric/provider.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "channel/port.h"
#include "fabric/fabric_error.h"
#include "fabric/interfaces.h"
#include "fabric/socket_address.h"
#include "protocol/wire.h"

namespace bufenlarge {

namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 17);

// Where a provider listens: an address of this host, or any that an RDMA device has.
struct Place {
  std::string address;  // empty: any
  std::uint32_t format;

  static Place at(const std::string& address) {
    return {address, address.find(':') == std::string::npos ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6};
  }
};

InfoPtr make_hints(const char* provider, std::size_t inline_bytes, std::size_t queue_entries) {
  InfoPtr hints(fi_allocinfo());
  if (!hints) throw FabricError("fi_allocinfo", -FI_ENOMEM);
  hints->fabric_attr->prov_name = strdup(provider);
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_RX_CQ_DATA | FI_CONTEXT;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW;
  hints->tx_attr->size = queue_entries;
  hints->tx_attr->inject_size = inline_bytes;
  return hints;
}

// Returns the first offer for connections over TCP, RoCE, InfiniBand or iWARP that has a source address.
InfoPtr first_offer(const Place& place, fi_info& hints) {
  fi_info* offers = nullptr;
  const bool bound = !place.address.empty();
  hints.addr_format = place.format;
  const int code = fi_getinfo(kApi, bound ? place.address.c_str() : nullptr, nullptr, bound ? FI_SOURCE : 0, &hints,
                              &offers);
  const InfoPtr all(code == 0 ? offers : nullptr);
  for (const fi_info* offer = all.get(); offer != nullptr; offer = offer->next) {
    const std::uint32_t protocol = offer->ep_attr->protocol;
    const bool fits = protocol == FI_PROTO_SOCK_TCP || protocol == FI_PROTO_RDMA_CM_IB_RC ||
                      protocol == FI_PROTO_IWARP;
    if (fits && offer->src_addr != nullptr && SocketAddress(offer->src_addr).bytes() == offer->src_addrlen)
      return InfoPtr(fi_dupinfo(offer));
  }
  return nullptr;
}

// The queue has room for the slot writes in flight and, beside them, for grant, acknowledgement and repeat words.
InfoPtr ask_tcp(const std::string& address) {
  return first_offer(Place::at(address), *make_hints("tcp", 2 * sizeof(EnlargeAck), kWritesInFlightMax + 8));
}

// Returns the first offer that the device can fulfil. With notifications each endpoint has a receive for every
// notification that can be on its way. Without them only the ends of responses take receives: where the device
// has shared receive contexts, one for all endpoints saves each its own queue. A device that cannot send inline is
// taken, too (word_copies.h).
InfoPtr ask_verbs(const Place& place, bool notifications, std::uint32_t slots_max) {
  for (const std::size_t inline_bytes : {kInlineBytes, std::size_t{0}}) {
    for (const bool shared : {true, false}) {
      if (shared && notifications) continue;
      const InfoPtr hints = make_hints("verbs", inline_bytes, kSendQueueEntries);
      hints->rx_attr->size = shared ? kReadsPerPortMax : kReadsPerLinkMax + (notifications ? slots_max : 0);
      hints->tx_attr->iov_limit = hints->rx_attr->iov_limit = 1;
      hints->ep_attr->rx_ctx_cnt = shared ? FI_SHARED_CONTEXT : 0;
      if (InfoPtr info = first_offer(place, *hints)) return info;
    }
  }
  return nullptr;
}

// With kAuto a device without immediate data gets no notifications: see choose_arrival().
InfoPtr ask_verbs(const Place& place, const ProviderRequest& request) {
  InfoPtr info = ask_verbs(place, request.arrival != ArrivalChoice::kPolled, request.slots_max);
  if (info && request.arrival == ArrivalChoice::kAuto && !has_immediate_data(*info))
    return ask_verbs(place, false, request.slots_max);
  return info;
}

// All devices, by their addresses of IPv4 first, unless addresses are given.
std::vector<Place> places_of(const std::vector<std::string>& addresses) {
  if (addresses.empty()) return {{"", FI_SOCKADDR_IN}, {"", FI_SOCKADDR_IN6}};
  std::vector<Place> places;
  for (const std::string& address : addresses) places.push_back(Place::at(address));
  return places;
}

// libfabric keeps closed registrations in a cache, where they stay locked and writable by peers (libfabric 1.17
// prov/verbs/src/verbs_mr.c), but a ring that was freed must not be reachable any more. The variable is set only
// once, since another thread's fi_getinfo(3) may be reading the environment.
void turn_off_registration_cache() {
  static std::once_flag done;
  std::call_once(done, [] { setenv("FI_MR_CACHE_MAX_COUNT", "0", 0); });
}

}  // namespace

InfoPtr choose_provider(const ProviderRequest& request) {
  turn_off_registration_cache();
  std::vector<std::string> given;
  if (!request.interface_name.empty()) given = addresses_of(request.interface_name);
  if (request.provider != ProviderChoice::kTcp) {
    for (const Place& place : places_of(given))
      if (InfoPtr info = ask_verbs(place, request)) return info;
    if (request.provider == ProviderChoice::kVerbs) {
      throw FabricError("MPIR_CVAR_BUFENLARGE_PROVIDER='verbs': libfabric offers no verbs endpoint" +
                        (given.empty() ? " (no RDMA device has an IPv4 or IPv6 address)" : " on " + joined(given)) +
                        "; set MPIR_CVAR_BUFENLARGE_PROVIDER=tcp or auto where there is no RDMA device");
    }
  }
  const std::string address = given.empty() ? default_address() : given.front();
  if (InfoPtr info = ask_tcp(address)) return info;
  throw FabricError("libfabric offers no tcp endpoint (FI_EP_MSG) on " + address +
                    "; check with 'fi_info -p tcp' that it is installed and FI_PROVIDER does not exclude it");
}

std::string provider_name(const fi_info& info) { return info.fabric_attr->prov_name; }

std::string protocol_name(const fi_info& info) {
  std::uint32_t protocol = info.ep_attr->protocol;
  char text[64];  // fi_tostr(3) has one buffer for all threads
  return fi_tostr_r(text, sizeof text, &protocol, FI_TYPE_PROTOCOL);
}

std::string domain_name(const fi_info& info) { return info.domain_attr->name; }

bool places_in_order(const fi_info& info) { return info.ep_attr->protocol == FI_PROTO_SOCK_TCP; }

bool has_immediate_data(const fi_info& info) { return info.domain_attr->cq_data_size >= 4; }

bool close_waits_for_answer(const fi_info& info) { return info.ep_attr->protocol == FI_PROTO_IWARP; }

bool write_ends_here(const fi_info& info) { return info.ep_attr->protocol == FI_PROTO_IWARP; }

bool first_write_may_stall(const fi_info& info) { return info.ep_attr->protocol == FI_PROTO_IWARP; }

// A window needs no message that advertises a source first, so these bounds may be lower than kRendezvousMin
// (docs/decisions/0016-one-sided-writes.md).
std::size_t window_read_min(const fi_info& info) {
  return info.ep_attr->protocol == FI_PROTO_SOCK_TCP ? 6144 : kRendezvousMin;
}

std::size_t window_write_min(const fi_info& info) {
  return info.ep_attr->protocol == FI_PROTO_SOCK_TCP ? 12'288 : 16'384;
}

std::uint64_t window_bytes_max(const fi_info& info, std::uint32_t contexts) {
  if (info.ep_attr->protocol == FI_PROTO_SOCK_TCP) return ~std::uint64_t{0};  // tcp locks no pages
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2 / std::max(1u, contexts);
}

std::uint64_t registration_cache_bytes(const fi_info& info, std::uint32_t processes, std::uint32_t contexts) {
  if (info.ep_attr->protocol == FI_PROTO_SOCK_TCP) return 0;  // an entry in a table
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const std::uint64_t share = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 16 / processes;
  return std::min(std::uint64_t{256} << 20, share) / contexts;
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
          "': libfabric's tcp provider needs no notifications, since it places data in order and only in the "
          "receiver's own progress; set auto or polled");
    return {Arrival::kInOrder, "this provider places the bytes of a write in order"};
  }
  const std::string notification =
      has_immediate_data(info) ? "immediate data" : "a message after the write, since there is no immediate data";
  switch (choice) {
    case ArrivalChoice::kPolled: return {Arrival::kChecked, "set by the user; a check in each slot"};
    case ArrivalChoice::kNotified: return {Arrival::kNotified, "set by the user; " + notification};
    case ArrivalChoice::kMixed:
      return {Arrival::kMixed, "set by the user; small slots by check, others by " + notification};
    case ArrivalChoice::kAuto: break;
  }
  if (!has_immediate_data(info))
    return {Arrival::kChecked,
            "a check in each slot is right in any order of placement, and on siw up to 4 KiB faster than a message "
            "after each write"};
  return {Arrival::kMixed,
          "small slots by check, others by " + notification +
              "; right in any order of placement, and on rxe the fastest at all sizes"};
}

}  // namespace bufenlarge
