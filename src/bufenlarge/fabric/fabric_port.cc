// SPDX-License-Identifier: MIT
#include "fabric/fabric_port.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/fabric_error.h"

namespace bufenlarge {

namespace {

// The first completion queue has room for at most this many endpoints.
constexpr std::size_t kFirstEndpointsMax = 64;
// rdma_rxe allows 32,767 entries; larger queues would gain nothing.
constexpr std::size_t kQueueEntriesMax = 16384;
// tcp: entries of a queue's first list.
constexpr std::size_t kGroupEntries = 112;
// From this version on a read of any queue of a domain makes progress for all its endpoints (xnet_cq_progress).
constexpr std::uint32_t kPortWideProgress = FI_VERSION(1, 18);

}  // namespace

FabricPort::FabricPort(const ProviderRequest& request)
    : info_(choose_provider(request)),
      arrival_choice_(request.arrival),
      peers_(request.peers),
      peer_timeout_us_(request.peer_timeout_us) {
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

  verbs_ = !places_in_order(*info_);
  must("fi_control", fi_control(&event_queue->fid, FI_GETWAIT, &events_descriptor_));
  immediate_data_ = has_immediate_data(*info_);
  arrival_ = choose_arrival(*info_, request.arrival);
  const bool shared = verbs_ && info_->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
  if (verbs_ && !shared) receives_ = kReadsPerLinkMax + (has_notifications(arrival_.arrival) ? request.slots_max : 0);
  completions_.emplace(domain, plan_queues(FI_WAIT_NONE));
  inline_bytes_ = info_->tx_attr->inject_size;
  queues_ = queue_memory(find_driver(*info_), info_->tx_attr->size, inline_bytes_, receives_);
  inline_words_ = inline_bytes_ >= kWordBytes;
  parts_max_ = std::clamp<std::size_t>(std::min(info_->tx_attr->iov_limit, info_->tx_attr->rma_iov_limit), 1,
                                       kWritePartsMax);
  regions_.fid = domain;
  regions_.virtual_addresses = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  if (shared) post_shared_receives();
  listen();
}

QueuePlan FabricPort::plan_queues(fi_wait_obj verbs_wait) const {
  if (verbs_)
    return {verbs_wait, info_->tx_attr->size + receives_, std::clamp<std::size_t>(peers_, 1, kFirstEndpointsMax),
            kQueueEntriesMax, receives_ == 0 ? kReadsPerPortMax : std::size_t{0}};
  // With FI_WAIT_FD the provider reads an idle queue by one epoll.
  if (FI_VERSION_GE(fi_version(), kPortWideProgress)) return {FI_WAIT_FD};
  return {FI_WAIT_FD, 1, kGroupEndpoints, kGroupEndpointsMax, kGroupEntries};
}

// Returns nullptr if no queue could be opened or watched. A queue that is the only one is not watched: it would cost
// each arrival some 150 ns to wake the epoll set for nothing. Where descriptors are short, they are for connections:
// then a queue has more endpoints than it should.
CompletionQueue* FabricPort::reserve_queue() {
  const bool crowded = !verbs_ && completions_->full() && !spare_descriptors(kGroupDescriptors + kGroupEndpoints);
  CompletionQueue* queue = crowded ? &completions_->crowd() : completions_->reserve();
  if (!succeeded("fi_cq_open", queue == nullptr ? -FI_ENOMEM : 0)) return nullptr;
  if (verbs_ || completions_->size() == 1) return queue;
  const bool watched = ready_.watch((*completions_)[0]) && ready_.watch(*queue);
  if (succeeded("epoll_ctl", watched ? 0 : -errno)) return queue;
  queue->give_back();
  return nullptr;
}

void FabricPort::post_shared_receives() {
  fid_ep* shared = nullptr;
  must("fi_srx_context", fi_srx_context(domain_.get(), info_->rx_attr, &shared, nullptr));
  shared_receive_.reset(shared);
  shared_places_ = allocate(shared_tags_.size() * kWordBytes);
  if (shared_places_.bytes() == 0) throw FabricError("no memory for receives: " + memory_error());
  for (std::size_t i = 0; i < shared_tags_.size(); ++i) {
    shared_tags_[i] = {nullptr, Endpoint::Operation::kReceive, shared_places_.data() + i * kWordBytes};
    must("fi_recv", post_shared_receive(shared_tags_[i]) ? 0 : -FI_EAGAIN);
  }
}

// The kernel's connection manager draws a port without a look at the sockets of TCP, and one of them may have it: siw
// listens by such a socket.
void FabricPort::listen() {
  constexpr int kPortsTried = 32;
  int code = -FI_EADDRINUSE;
  for (int i = 0; code == -FI_EADDRINUSE && i < kPortsTried; ++i) code = open_listener();
  must("fi_listen", code);
  std::size_t bytes = SocketAddress::kBytesMax;
  must("fi_getname", fi_getname(&listener_->fid, address_.data(), &bytes));
}

int FabricPort::open_listener() {
  const InfoPtr info(fi_dupinfo(info_.get()));
  if (!info) throw FabricError("fi_dupinfo", -FI_ENOMEM);
  SocketAddress::clear_port(info->src_addr);
  fid_pep* listener = nullptr;
  must("fi_passive_ep", fi_passive_ep(fabric_.get(), info.get(), &listener, nullptr));
  listener_.reset(listener);
  must("fi_pep_bind", fi_pep_bind(listener, &events_->fid, 0));
  return fi_listen(listener);
}

FabricPort::Endpoint* FabricPort::make_endpoint(fi_info* info, void* user) {
  Endpoint& endpoint = spare_endpoint();
  fid_ep* fid = nullptr;
  if (!succeeded("fi_endpoint", fi_endpoint(domain_.get(), info, &fid, &endpoint))) {
    closed_.push_front(&endpoint);
    return nullptr;
  }
  endpoint.fid.reset(fid);
  endpoint.user = user;
  return bind(endpoint) ? &endpoint : nullptr;
}

FabricPort::Endpoint& FabricPort::spare_endpoint() {
  Endpoint* const oldest = closed_.empty() ? nullptr : closed_.front();
  const bool drained = oldest != nullptr && (oldest->closed_queue == nullptr ||
                                             (oldest->closed_queue->read_to(oldest->closed_mark) &&
                                              oldest->events_empty < events_empty_));
  if (!drained) return *endpoints_.emplace_back(std::make_unique<Endpoint>());
  closed_.pop_front();
  oldest->renew();
  return *oldest;
}

// Gives an endpoint everything that it needs before it connects: queues, places for words, receives. Closes it
// and returns false if that fails.
bool FabricPort::bind(Endpoint& endpoint) {
  CompletionQueue* queue = reserve_queue();
  if (queue == nullptr) {
    endpoint.user = nullptr;
    endpoint.fid.reset();
    closed_.push_front(&endpoint);
    return false;
  }
  fid_ep* fid = endpoint.fid.get();
  if (needs_words())
    endpoint.words = words_.take(info_->tx_attr->size, immediate_data_ ? 1 : receives_,
                                 [this](std::size_t bytes) { return allocate(bytes); });
  const bool has_words = !needs_words() || endpoint.words.places != nullptr;
  if (!has_words) last_error_ = "no memory for control words: " + memory_error();
  const std::uint64_t flags = FI_TRANSMIT | FI_RECV | (verbs_ ? 0 : FI_SELECTIVE_COMPLETION);
  bool ready =
      has_words && succeeded("fi_ep_bind of the event queue", fi_ep_bind(fid, &events_->fid, 0)) &&
      succeeded("fi_ep_bind of the completion queue", fi_ep_bind(fid, &queue->fid->fid, flags)) &&
      (!shared_receive_ ||
       succeeded("fi_ep_bind of the receive context", fi_ep_bind(fid, &shared_receive_->fid, 0))) &&
      succeeded("fi_enable", fi_enable(fid));
  for (std::uint32_t i = 0; ready && i < receives_; ++i)
    ready = succeeded("fi_recv", post_receive(endpoint, i) ? 0 : -FI_EAGAIN);
  endpoint.queue = queue;
  endpoint.port = this;
  if (!ready) close(endpoint);
  return ready;
}

bool FabricPort::succeeded(const char* call, ssize_t code) {
  if (code != 0) last_error_ = std::string(call) + ": " + fi_strerror(static_cast<int>(-code));
  if (code == -FI_ENOMEM) last_error_ += locked_memory();
  return code == 0;
}

std::string FabricPort::memory_error() const {
  return std::to_string(regions_.refused_bytes) + " bytes were refused (" + regions_.refused_why + ")" +
         locked_memory();
}

std::string FabricPort::limit_error(std::uint64_t bytes) const {
  return std::to_string(bytes) + " bytes were refused (they are beyond the limit on pinned memory)" + locked_memory();
}

// On verbs the device's driver locks the pages of registered memory, and RLIMIT_MEMLOCK limits what a process may
// lock (getrlimit(2)).
std::string FabricPort::locked_memory() const {
  std::string text = "; " + std::to_string(registrations_.bytes + user_registrations_.bytes) + " bytes are registered";
  rlimit limit{};
  if (!verbs_ || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return text;
  return text + ", and this process may lock " + std::to_string(limit.rlim_cur) + " (ulimit -l " +
         std::to_string(limit.rlim_cur / 1024) + "): raise memlock in /etc/security/limits.conf, or LimitMEMLOCK of" +
         " the service that starts the job, to unlimited if possible";
}

void FabricPort::close(Endpoint& endpoint) {
  endpoint.user = nullptr;
  if (!endpoint.attempt) release(endpoint);
}

void FabricPort::release(Endpoint& endpoint) {
  endpoint.fid.reset();
  endpoint.closed_queue = endpoint.queue;
  endpoint.closed_mark = endpoint.queue->mark();
  if (!verbs_) ready_.heat(*endpoint.queue);  // the endpoint is used again when the queue's end was found
  endpoint.events_empty = events_empty_;
  closed_.push_back(&endpoint);
  std::exchange(endpoint.queue, nullptr)->give_back();
  words_.give_back(std::exchange(endpoint.words, {}));
}

// Immediate data needs no buffer. The receives name a word all the same: siw takes no receive without one
// (rdma-core 44, push_recv_wqe).
bool FabricPort::post_receive(Endpoint& endpoint, std::size_t place) const {
  return fi_recv(endpoint.fid.get(), endpoint.words.receive_place(immediate_data_ ? 0 : place), kWordBytes,
                 endpoint.words.region->descriptor(), 0, endpoint.context(Endpoint::Operation::kReceive)) == 0;
}

bool FabricPort::post_shared_receive(Endpoint::Tag& tag) const {
  return fi_recv(shared_receive_.get(), tag.received, kWordBytes, shared_places_.descriptor(), 0, &tag) == 0;
}

void EndpointLink::close() {
  if (endpoint_ != nullptr) endpoint_->port->close(*endpoint_);
  endpoint_ = nullptr;
}

bool FabricPort::has_room(RoomFor what) {
  if (verbs_ || descriptors_.hold(what == RoomFor::kAttempt ? 1 : 0)) return true;
  constexpr std::uint64_t kSilentMs = 3000;
  if (now_us() - strangers_ended_us_ > kSilentMs * 1000 / 4) {
    strangers_ended_us_ = now_us();
    (void)TcpSockets::end_silent(address_.port(), kSilentMs);
  }
  if (on_no_descriptor_) std::exchange(on_no_descriptor_, nullptr)();
  return false;
}

ConnectionLimits FabricPort::connection_limits() const {
  ConnectionLimits limits;
  if (verbs_) {
    if (info_->domain_attr->ep_cnt != 0) limits.queue_pairs = info_->domain_attr->ep_cnt;
    return limits;
  }
  limits.descriptors = free_descriptors();
  if (completions_->per_endpoint() == 0) return limits;  // one queue for all
  limits.group_descriptors = kGroupDescriptors - 1;
  return limits;
}

std::uint64_t FabricPort::link_bytes() const {
  if (!verbs_) return 0;
  const std::size_t places = info_->tx_attr->size + (immediate_data_ ? 1 : receives_);
  const std::uint64_t words = needs_words() ? places * kWordBytes : 0;
  return queues_.send_queue + queues_.receive_queue + queues_.completion_queue + words;
}

// The rest of the process may take the last descriptor at any time; then callers come only when the reserve is free.
void FabricPort::look_after_descriptors() {
  constexpr std::uint32_t kPolls = 256;
  if (++idle_polls_ % kPolls == 0) (void)has_room(RoomFor::kAttempt);
}

FabricPort::Link FabricPort::open(const void* address, std::span<const std::byte> data, void* user) {
  const InfoPtr info(fi_dupinfo(info_.get()));
  if (!info) return {};
  SocketAddress::clear_port(info->src_addr);
  std::free(info->dest_addr);
  const SocketAddress peer(address);
  info->dest_addr = std::malloc(peer.bytes());
  if (info->dest_addr == nullptr) return {};
  info->dest_addrlen = peer.bytes();
  std::memcpy(info->dest_addr, peer.data(), peer.bytes());
  Link link(make_endpoint(info.get(), user));
  if (!link || !succeeded("fi_connect", fi_connect(link.fid(), info->dest_addr, data.data(), data.size()))) return {};
  link.endpoint()->attempt = close_waits_for_answer(*info_);
  return link;
}

// An endpoint takes the connection over from the handle, and its close refuses the caller. What is left of the handle
// fi_accept() frees when it succeeds, and otherwise fi_reject(), which also refuses a caller for whom no endpoint was
// opened (libfabric 1.17 and 2.1: vrb_msg_ep_reject, tcpx_pep_reject, xnet_pep_reject).
FabricPort::Link FabricPort::accept(Request& request, std::span<const std::byte> data, void* user) {
  const InfoPtr info = std::move(request.info);
  Link link(make_endpoint(info.get(), user));
  if (link && succeeded("fi_accept", fi_accept(link.fid(), data.data(), data.size()))) return link;
  link = {};
  fi_reject(listener_.get(), info->handle, nullptr, 0);
  return {};
}

void FabricPort::reject(Request& request, std::span<const std::byte> data) {
  const InfoPtr info = std::move(request.info);
  fi_reject(listener_.get(), info->handle, data.data(), data.size());
}

bool FabricPort::reached(const Link& link) const {
  if (!link) return false;
  SocketAddress peer;
  std::size_t bytes = SocketAddress::kBytesMax;
  return verbs_ || fi_getpeer(link.fid(), peer.data(), &bytes) != -FI_ENOTCONN;
}

}  // namespace bufenlarge
