// SPDX-License-Identifier: MIT
#include "fabric/fabric_port.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "fabric/fabric_error.h"

namespace bufenlarge {

namespace {

// Completions that may be unread at once on tcp, where the provider keeps what does not fit in a list
// of its own. (verbs sizes its queues by the number of peers: see docs/fabric-assumptions.md.)
constexpr std::size_t kCompletionQueueEntries = 1024;

std::span<const std::byte> trailing(const std::array<std::byte, 512>& bytes, ssize_t read) {
  const auto total = static_cast<std::size_t>(read);
  const std::size_t head = sizeof(fi_eq_cm_entry);
  return std::span(bytes).subspan(head, total > head ? total - head : 0);
}

}  // namespace

FabricPort::FabricPort(const ProviderRequest& request) : info_(choose_provider(request)) {
  fid_fabric* fabric = nullptr;
  must("fi_fabric", fi_fabric(info_->fabric_attr, &fabric, nullptr));
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  must("fi_domain", fi_domain(fabric, info_.get(), &domain, nullptr));
  domain_.reset(domain);

  fi_eq_attr events{};
  events.wait_obj = FI_WAIT_FD;  // libfabric 2.x starts a thread for any other kind
  fid_eq* event_queue = nullptr;
  must("fi_eq_open", fi_eq_open(fabric, &events, &event_queue, nullptr));
  events_.reset(event_queue);

  ordered_ = places_in_order(*info_);
  fi_cq_attr completions{};
  completions.format = FI_CQ_FORMAT_CONTEXT;
  completions.size = kCompletionQueueEntries;
  // tcp: with FI_WAIT_FD an idle read is an epoll whatever the number of endpoints (libfabric.md, 5)
  completions.wait_obj = ordered_ ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  must("fi_cq_open", fi_cq_open(domain, &completions, &queue, nullptr));
  completions_.reset(queue);

  inline_bytes_ = std::max(info_->tx_attr->inject_size, std::size_t{0});
  if (inline_bytes_ < kInlineBytes)
    throw FabricError("provider " + provider_name(*info_) + " can inject " + std::to_string(inline_bytes_) +
                      " bytes, " + std::to_string(kInlineBytes) + " are needed");
  virtual_addresses_ = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  listen();
}

void FabricPort::listen() {
  const InfoPtr info(fi_dupinfo(info_.get()));
  if (!info) throw FabricError("fi_dupinfo", -FI_ENOMEM);
  static_cast<sockaddr_in*>(info->src_addr)->sin_port = 0;
  fid_pep* listener = nullptr;
  must("fi_passive_ep", fi_passive_ep(fabric_.get(), info.get(), &listener, nullptr));
  listener_.reset(listener);
  must("fi_pep_bind", fi_pep_bind(listener, &events_->fid, 0));
  must("fi_listen", fi_listen(listener));
  std::size_t bytes = sizeof address_;
  must("fi_getname", fi_getname(&listener->fid, &address_, &bytes));
}

FabricPort::Region FabricPort::allocate(std::size_t bytes) {
  return Region(domain_.get(), bytes, next_key_++, virtual_addresses_, registrations_);
}

FabricPort::Endpoint* FabricPort::make_endpoint(fi_info* info, void* user) {
  auto owner = std::make_unique<Endpoint>();
  fid_ep* fid = nullptr;
  if (fi_endpoint(domain_.get(), info, &fid, owner.get()) != 0) return nullptr;
  owner->fid.reset(fid);
  owner->user = user;
  const bool bound = fi_ep_bind(fid, &events_->fid, 0) == 0 &&
                     fi_ep_bind(fid, &completions_->fid, FI_TRANSMIT | FI_RECV) == 0 &&
                     fi_enable(fid) == 0;
  if (!bound) return nullptr;
  endpoints_.push_back(std::move(owner));
  return endpoints_.back().get();
}

FabricPort::Link FabricPort::open(const void* card, std::span<const std::byte> data, void* user) {
  const InfoPtr info(fi_dupinfo(info_.get()));
  if (!info) return {};
  static_cast<sockaddr_in*>(info->src_addr)->sin_port = 0;
  std::free(info->dest_addr);
  info->dest_addr = std::malloc(sizeof(sockaddr_in));
  if (info->dest_addr == nullptr) return {};
  info->dest_addrlen = sizeof(sockaddr_in);
  std::memcpy(info->dest_addr, card, sizeof(sockaddr_in));
  Link link(make_endpoint(info.get(), user));
  if (!link || fi_connect(link.fid(), info->dest_addr, data.data(), data.size()) != 0) return {};
  return link;
}

FabricPort::Link FabricPort::accept(Request& request, std::span<const std::byte> data, void* user) {
  const InfoPtr info = std::move(request.info);
  Link link(make_endpoint(info.get(), user));
  if (!link) {
    fi_reject(listener_.get(), info->handle, nullptr, 0);
    return {};
  }
  if (fi_accept(link.fid(), data.data(), data.size()) != 0) return {};
  return link;
}

void FabricPort::reject(Request& request, std::span<const std::byte> data) {
  const InfoPtr info = std::move(request.info);
  fi_reject(listener_.get(), info->handle, data.data(), data.size());
}

std::uint64_t FabricPort::now_us() const {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

FabricPort::Event FabricPort::next_event() {
  std::uint32_t kind = 0;
  const ssize_t read = fi_eq_read(events_.get(), &kind, event_bytes_.data(), event_bytes_.size(), 0);
  if (read == -FI_EAVAIL) return decode_error();
  if (read < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return {};
  fi_eq_cm_entry entry;
  std::memcpy(&entry, event_bytes_.data(), sizeof entry);
  Event event;
  event.data = trailing(event_bytes_, read);
  if (kind == FI_CONNREQ) {
    event.kind = Event::Kind::kRequest;
    event.request.info.reset(entry.info);
    return event;
  }
  event.endpoint = static_cast<Endpoint*>(entry.fid->context);
  event.kind = kind == FI_CONNECTED ? Event::Kind::kConnected : Event::Kind::kLost;
  event.why = "the peer closed the connection";
  return event;
}

FabricPort::Event FabricPort::decode_error() {
  fi_eq_err_entry error{};
  Event event;
  if (fi_eq_readerr(events_.get(), &error, 0) < 0 || error.fid == nullptr) return event;
  event.endpoint = static_cast<Endpoint*>(error.fid->context);
  event.why = fi_strerror(error.err);
  event.kind = Event::Kind::kLost;
  if (error.err == FI_ECONNREFUSED && error.err_data != nullptr && error.err_data_size != 0) {
    const std::size_t bytes = std::min(error.err_data_size, event_bytes_.size());
    std::memcpy(event_bytes_.data(), error.err_data, bytes);
    event.data = std::span(event_bytes_).first(bytes);
    event.kind = Event::Kind::kRejected;
  }
  return event;
}

FabricPort::Endpoint* FabricPort::failed_completion(std::string& why) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_.get(), &error, 0) < 0) return nullptr;
  why = fi_strerror(error.err);
  return static_cast<Endpoint*>(error.op_context);
}

}  // namespace bufenlarge
