// SPDX-License-Identifier: MIT
// How a FabricPort asks whether the host of a peer still responds, and whether it has what was written.
//
// On tcp the kernel has the response: in what it knows of the connection (tcp_sockets.h). On verbs it is the end of an
// RDMA read, which the peer's device, or the kernel that is one, responds to; a write would not do on iWARP, where it
// ends when the own kernel has it. On RoCE the read is of no bytes. On iWARP it is of some, since Linux's siw may
// respond with the wrong length to one of none (docs/fabric-assumptions.md).
#include "fabric/fabric_port.h"

namespace bufenlarge {

bool FabricPort::ask(Link& link, const HostQuestion<Region>& question) {
  if (!verbs_) return ask_tcp(*link.endpoint());
  return question.connected && ask_verbs(*link.endpoint(), question);
}

bool FabricPort::responded(Link& link) {
  Endpoint& endpoint = *link.endpoint();
  if (verbs_) return endpoint.question.posted ? endpoint.question.done : endpoint.completed != endpoint.question.mark;
  const bool responded = host_responded(endpoint.question.socket, (now_us() - endpoint.question.asked_us) / 1000);
  if (responded) end_probes(endpoint.question.socket);
  return responded;
}

// On verbs the device takes a queue pair away without a word that had to be acknowledged.
void FabricPort::give_up(Link& link) {
  const int socket = link.endpoint()->question.socket;
  if (!verbs_ && socket >= 0) end_by_reset(socket);
}

// What fills the send queue is a question, too: each completion of it is a response.
bool FabricPort::ask_verbs(Endpoint& endpoint, const HostQuestion<Region>& question) const {
  Endpoint::Question& asked = endpoint.question;
  if (asked.posted && !asked.done) return true;  // of an earlier question, and still on its way
  asked = {.mark = endpoint.completed};
  if (endpoint.posted == info_->tx_attr->size) return true;
  const ssize_t code =
      fi_read(endpoint.fid.get(), question.to, question_bytes(), question.region.descriptor(), 0, question.address,
              question.key, endpoint.context(Endpoint::Operation::kQuestion));
  asked.posted = code == 0;
  endpoint.posted += asked.posted;
  return asked.posted;
}

bool FabricPort::ask_tcp(Endpoint& endpoint) {
  constexpr std::uint64_t kProbesInTime = 16;  // so that some may be lost
  const int socket = socket_of(endpoint).value_or(-1);
  endpoint.question = {.socket = socket, .asked_us = now_us()};
  return socket >= 0 && begin_probes(socket, peer_timeout_us_ / kProbesInTime / 1'000'000);
}

std::optional<int> FabricPort::socket_of(const Endpoint& endpoint) {
  SocketAddress own;
  SocketAddress peer;
  std::size_t own_bytes = SocketAddress::kBytesMax;
  std::size_t peer_bytes = SocketAddress::kBytesMax;
  const bool stands = fi_getname(&endpoint.fid->fid, own.data(), &own_bytes) == 0 &&
                      fi_getpeer(endpoint.fid.get(), peer.data(), &peer_bytes) == 0;
  if (!stands) return std::nullopt;
  return sockets_.find(own, peer);
}

// An end is told by an event, so nobody has to wait for one here; nor for a socket that is not among the descriptors.
bool FabricPort::sent_is_there(const Endpoint& endpoint) {
  const std::optional<int> socket = socket_of(endpoint);
  if (!socket) return true;
  return *socket < 0 ? sockets_.saw_all() : all_acknowledged(*socket);
}

// On RoCE a write ends when the peer's device has it.
bool FabricPort::settled(Link& link, const HostQuestion<Region>& question) {
  using Written = Endpoint::Written;
  Endpoint& endpoint = *link.endpoint();
  if (verbs_ && !write_ends_here(*info_)) return true;
  if (endpoint.written == Written::kMore && !endpoint.fence && endpoint.held_count == 0 &&
      post_fence(endpoint, question)) {
    endpoint.written = Written::kFenced;
    endpoint.fence = true;
  }
  if (endpoint.written == Written::kSent && (verbs_ || sent_is_there(endpoint))) endpoint.written = Written::kAll;
  return endpoint.written == Written::kAll;
}

// A question on iWARP, which the peer's device responds to after it has placed what came before. On tcp a write of no
// bytes: it ends when the kernel has what came before, and the kernel knows what the peer's has acknowledged.
bool FabricPort::post_fence(Endpoint& endpoint, const HostQuestion<Region>& question) const {
  const fi_rma_iov there{question.address, question_bytes(), question.key};
  const iovec here{question.to, question_bytes()};
  void* descriptor = question.region.descriptor();
  const fi_msg_rma message{&here, &descriptor, 1, 0, &there, 1, endpoint.context(Endpoint::Operation::kFence), 0};
  if (!verbs_) return fi_writemsg(endpoint.fid.get(), &message, FI_COMPLETION) == 0;
  if (endpoint.posted == info_->tx_attr->size || fi_readmsg(endpoint.fid.get(), &message, FI_COMPLETION) != 0)
    return false;
  ++endpoint.posted;
  return true;
}

}  // namespace bufenlarge
