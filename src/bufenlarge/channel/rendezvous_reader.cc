// SPDX-License-Identifier: MIT
#include "channel/rendezvous_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bufenlarge {

template <class PortT>
void RendezvousReader<PortT>::order(const ReadOrder& order) {
  Read& read = reads_.emplace_back();
  read.order = order;
  read.memory = UserMemory<Port>(order.to, order.persistent);
  read.order.to = {};
  asks_ = true;
}

template <class PortT>
void RendezvousReader<PortT>::service() {
  asks_ = false;
  std::uint32_t due = requests_due();
  for (auto read = reads_.begin(); read != reads_.end();) {
    const bool release = read->order.is_release();
    if (!release && read->asked == read->order.bytes) {
      ++read;
      continue;
    }
    asks_ = !ask(read, due);
    if (asks_) return;
    if (release) read = reads_.erase(read);
  }
}

// Decides how the data is to come. False when the destination cannot be registered yet.
template <class PortT>
bool RendezvousReader<PortT>::choose_path(Read& read) {
  if (read.path != DataPath::kUndecided) return true;
  auto& core = link_.core();
  if (read.memory.bytes() == 0) {
    read.path = DataPath::kHandedUp;
    return true;
  }
  auto& registrations = core.destination_registrations;
  const RegisterResult result = read.memory.register_all(core.port, MemoryUse::kDestination, registrations, &turn_);
  if (result != RegisterResult::kWait) turn_.leave();
  switch (result) {
    case RegisterResult::kDone: {
      const ReadOrder& order = read.order;
      read.path = DataPath::kDirect;
      read.plan.emplace(order.source, order.offset, order.bytes, read.memory.destinations());
      return true;
    }
    case RegisterResult::kWait:
      return false;
    case RegisterResult::kRefused:
      read.path = DataPath::kThroughRing;
      ++core.rendezvous.refused;
      return true;
  }
  return false;
}

// ---- requests

// While more than half of the requests there can be are under way none may go; then all others may. One request for
// each read that ends would be one write for each; these share a write, and the peer still has some to respond to
// (docs/decisions/0013-writes-on-tcp.md).
template <class PortT>
std::uint32_t RendezvousReader<PortT>::requests_due() const {
  return under_way_ <= kReadsPerLinkMax / 2 ? kReadsPerLinkMax - under_way_ : 0;
}

// Fragments are put together in order, so a read through the ring has one request at a time.
template <class PortT>
bool RendezvousReader<PortT>::may_ask(const Read& read, std::uint32_t due) const {
  if (read.order.is_release()) return true;
  const bool several = read.path == DataPath::kDirect || read.path == DataPath::kUndecided;
  return due > 0 && !link_.core().reads.full() && (several || read.requests == 0);
}

// Sends the next request of a read, which is one of those that are due. False when it has to wait.
template <class PortT>
bool RendezvousReader<PortT>::ask(typename Reads::iterator at, std::uint32_t& due) {
  Read& read = *at;
  if (!send_ring_.may_stage() || !may_ask(read, due)) {
    turn_.pause();
    return false;
  }
  if (read.order.is_release()) {
    ask_release(read);
    return true;
  }
  if (!choose_path(read)) return false;
  auto& table = link_.core().reads;
  const std::uint32_t sequence = table.add(this, &read, read.asked);
  Request& request = *table.find(sequence);
  if (read.path == DataPath::kDirect) {
    request.bytes = request_writes(at, sequence);
  } else {
    request.bytes = request_through_ring(read, sequence);
    read.asked += request.bytes;
    ++read.requests;
  }
  link_.trace("read request ", sequence, ": ", request.bytes, " bytes of source ", read.order.source,
              read.path == DataPath::kDirect ? ", by writes" : ", through the ring");
  ++under_way_;
  --due;
  return true;
}

template <class PortT>
void RendezvousReader<PortT>::ask_release(const Read& read) {
  std::byte payload[sizeof(ReadRequest) + sizeof(ReadSource)];
  const std::uint32_t length = encode_release(read.order.source, payload);
  send_ring_.stage_control(SlotKind::kReadRequest, std::span(payload, length));
}

// Asks for a part of the read; or for all of it, and of those behind it that join.
template <class PortT>
std::uint32_t RendezvousReader<PortT>::request_writes(typename Reads::iterator at, std::uint32_t sequence) {
  const Read& first = *at;
  const std::size_t capacity = std::min<std::size_t>(send_ring_.capacity(), kRequestBytesMax);
  const bool whole = first.asked == 0;
  ReadRequestParts parts;
  parts.head.sequence = sequence;
  for (Read* before = nullptr;;) {
    Read& read = *at;
    read.plan->take(parts, capacity);
    read.asked = read.plan->asked_bytes();
    ++read.requests;
    if (before != nullptr) before->joined = &read;
    before = &read;
    if (!whole || !read.plan->asked() || ++at == reads_.end() || !joins(*at, first, parts, capacity)) break;
  }
  if (first.order.last && first.plan->asked()) parts.head.flags = kReadLast;
  std::byte payload[kRequestBytesMax];
  const std::uint32_t length = encode_request(parts, payload);
  send_ring_.stage_control(SlotKind::kReadRequest, std::span(payload, length));
  return static_cast<std::uint32_t>(parts.bytes);
}

// Whether all of the read can share the request of the first one: the peer signals the end of both once, and on tcp
// their data goes in fewer writes (docs/decisions/0013-writes-on-tcp.md).
template <class PortT>
bool RendezvousReader<PortT>::joins(Read& read, const Read& first, const ReadRequestParts& parts,
                                    std::size_t capacity) {
  if (read.order.is_release() || read.order.last != first.order.last || parts.bytes >= kJoinedBytesMax ||
      read.order.bytes > kJoinedBytesMax - parts.bytes)
    return false;
  return choose_path(read) && read.path == DataPath::kDirect && read.plan->fits(parts, capacity);
}

template <class PortT>
std::uint32_t RendezvousReader<PortT>::request_through_ring(const Read& read, std::uint32_t sequence) {
  const ReadOrder& order = read.order;
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(order.bytes - read.asked, kReadSegmentBytesMax));
  const bool last = order.last && read.asked + bytes == order.bytes;
  std::byte payload[sizeof(ReadRequest) + sizeof(ReadSource)];
  const ReadSource source{order.offset + read.asked, order.source, bytes};
  const std::uint32_t length = encode_ring_request(sequence, source, last, payload);
  send_ring_.stage_control(SlotKind::kReadRequest, std::span(payload, length));
  return bytes;
}

// ---- responses

template <class PortT>
void RendezvousReader<PortT>::protocol_error() {
  link_.fail(Status::kProtocolError, "the peer answered a read request in a way that was not asked for");
}

template <class PortT>
void RendezvousReader<PortT>::on_read_done(Request& request) {
  if (link_.failed()) return;
  Read& read = *request.read;
  if (read.path != DataPath::kDirect || request.arrived != 0) {
    protocol_error();
    return;
  }
  link_.core().rendezvous.read_bytes += request.bytes;
  link_.core().reads.remove(request);
  end_request(read);
}

template <class PortT>
void RendezvousReader<PortT>::on_fragment(std::span<const std::byte> payload, bool last) {
  ReadFragment head{};
  Request* request = nullptr;
  if (payload.size() > sizeof head) {
    std::memcpy(&head, payload.data(), sizeof head);
    request = link_.core().reads.find(head.sequence);
  }
  const bool known = request != nullptr && request->reader == this && head.reserved == 0;
  if (!known || !take_fragment(*request, payload.subspan(sizeof head), last)) protocol_error();
}

// False when the fragment does not fit what was asked for.
template <class PortT>
bool RendezvousReader<PortT>::take_fragment(Request& request, std::span<const std::byte> data, bool last) {
  const std::uint32_t missing = request.bytes - request.arrived;
  if (data.size() > missing || (data.size() == missing) != last) return false;
  Read& first = *request.read;
  std::uint64_t at = request.offset + request.arrived;
  Read& read = read_at(first, at);
  if (data.size() > read.order.bytes - at) return false;
  request.arrived += static_cast<std::uint32_t>(data.size());
  link_.core().rendezvous.fragment_bytes += data.size();
  const UpperLayer& upper = link_.upper();
  if (read.path == DataPath::kHandedUp)
    upper.fragment(upper.user, link_.peer(), read.order.cookie, data.data(), data.size());
  else
    read.memory.copy_in(at, data);
  if (!last) return true;
  link_.core().reads.remove(request);
  end_request(first);
  return true;
}

// The read of a request that its byte `at` belongs to; `at` becomes the place within that read.
template <class PortT>
typename RendezvousReader<PortT>::Read& RendezvousReader<PortT>::read_at(Read& first, std::uint64_t& at) {
  Read* read = &first;
  for (; at >= read->order.bytes; read = read->joined) at -= read->order.bytes;
  return *read;
}

// A request has its response: a part of one read, or several reads.
template <class PortT>
void RendezvousReader<PortT>::end_request(Read& first) {
  --under_way_;
  link_.trace("a read request has its response");
  Reads over;
  for (Read* read = &first; read != nullptr;) {
    Read* joined = std::exchange(read->joined, nullptr);
    --read->requests;
    if (read->done())
      over.splice(over.end(), reads_, std::ranges::find_if(reads_, [read](const Read& one) { return &one == read; }));
    read = joined;
  }
  if (over.empty()) link_.want_service();
  const UpperLayer& upper = link_.upper();
  while (!over.empty()) {
    void* cookie = over.front().order.cookie;
    over.pop_front();  // its registrations too
    ++link_.core().rendezvous.reads;
    upper.read_done(upper.user, link_.peer(), cookie, Status::kOk);
  }
}

template <class PortT>
std::list<PendingRead<PortT>> RendezvousReader<PortT>::take_all() {
  link_.core().reads.remove_all(this);
  turn_.leave();
  under_way_ = 0;
  return std::exchange(reads_, {});
}

template <class PortT>
void RendezvousReader<PortT>::end(std::list<Read>& reads, Status status) {
  const UpperLayer& upper = link_.upper();
  for (Read& read : reads) {
    read.memory.unregister();
    if (!read.order.is_release()) upper.read_done(upper.user, link_.peer(), read.order.cookie, status);
  }
}

}  // namespace bufenlarge
