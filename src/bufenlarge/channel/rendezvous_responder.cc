// SPDX-License-Identifier: MIT
#include "channel/rendezvous_responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bufenlarge {

// ---- requests

template <class PortT>
void RendezvousResponder<PortT>::on_request(std::span<const std::byte> payload) {
  if (!take_request(payload)) link_.fail(Status::kProtocolError, "the peer asked to read what it may not");
}

template <class PortT>
bool RendezvousResponder<PortT>::take_request(std::span<const std::byte> payload) {
  auto parts = parse_read_request(payload);
  if (!parts) return false;
  auto sources = check_sources(*parts);
  if (!sources) return false;
  const bool only_release = parts->head.sequence == 0;
  if (!only_release && responses_.size() == kReadsPerLinkMax) return false;
  if (only_release || (parts->head.flags & kReadLast) != 0)
    for (SourceRef<Port>& source : *sources) source->released = true;
  if (only_release) {
    end_use(std::move(sources->front()));
    return true;
  }
  link_.trace("read request ", parts->head.sequence, " of the peer: ", parts->bytes, " bytes");
  responses_.push_back({ReadResponse(std::move(*parts)), std::move(*sources)});
  link_.want_service();
  return true;
}

// The sources that a request names, in use; nothing when the peer may not read one of them.
template <class PortT>
std::optional<std::vector<SourceRef<PortT>>> RendezvousResponder<PortT>::check_sources(
    const ReadRequestParts& parts) const {
  const bool releases = (parts.head.flags & kReadLast) != 0;
  std::vector<SourceRef<Port>> found;
  for (const ReadSource& range : parts.sources) {
    Source<Port>* source = link_.core().sources.find(range.handle, link_.peer());
    if (source == nullptr || source->released || (releases && source->is_window())) return std::nullopt;
    if (!source->memory.contains(range.offset, range.bytes)) return std::nullopt;
    found.emplace_back(*source);
  }
  return found;
}

template <class PortT>
void RendezvousResponder<PortT>::end_use(SourceRef<Port> use) {
  Source<Port>& source = use.end();
  if (!source.done()) return;
  link_.trace("source ", source.handle, " is released");
  void* cookie = source.cookie;
  const bool window = source.is_window();
  link_.core().sources.remove(source.handle);  // its registrations too
  if (window) return;
  const UpperLayer& upper = link_.upper();
  upper.source_released(upper.user, link_.peer(), cookie, Status::kOk);
}

// ---- responses

template <class PortT>
void RendezvousResponder<PortT>::service() {
  while (!responses_.empty() && respond(responses_.front())) {
    link_.trace("response ", responses_.front().plan.sequence(), " is posted");
    std::vector<SourceRef<Port>> sources = std::move(responses_.front().sources);
    responses_.pop_front();
    for (SourceRef<Port>& source : sources) end_use(std::move(source));
  }
}

// Sends what can go of the response; true when that was all.
template <class PortT>
bool RendezvousResponder<PortT>::respond(Response& response) {
  if (!register_sources(response)) return false;
  turn_.leave();
  while (!response.plan.done()) {
    if (!(response.plan.through_ring() ? stage_fragment(response) : write_next(response))) return false;
  }
  return true;
}

// Registers the sources, only now that they are needed. False when that has to wait: for the own device, which still
// reads other sources, and for nobody else.
template <class PortT>
bool RendezvousResponder<PortT>::register_sources(Response& response) {
  auto& core = link_.core();
  for (const SourceRef<Port>& source : response.sources) {
    if (!response.plan.through_ring() && !source->through_ring && !source->memory.registered()) {
      const RegisterResult result = register_source(*source);
      if (result == RegisterResult::kWait) return give_back_sources(response);
      source->through_ring = result == RegisterResult::kRefused;
      if (source->through_ring) ++core.rendezvous.refused;
    }
    if (source->through_ring) response.plan.use_ring();
  }
  return true;
}

template <class PortT>
RegisterResult RendezvousResponder<PortT>::register_source(Source<Port>& source) {
  auto& core = link_.core();
  auto& registrations = core.source_registrations;
  const RegisterResult result = source.memory.register_all(core.port, MemoryUse::kSource, registrations, &turn_);
  if (result != RegisterResult::kWait || !registrations.line().is_first(&turn_) || !core.sources.give_way())
    return result;
  return source.memory.register_all(core.port, MemoryUse::kSource, registrations, &turn_);
}

// One of the sources cannot be registered now. Two responses that hold some registrations and wait for more would wait
// for each other, so this one gives its own back. True when nobody holds any then: the response goes through the ring.
template <class PortT>
bool RendezvousResponder<PortT>::give_back_sources(Response& response) {
  auto& core = link_.core();
  for (const SourceRef<Port>& source : response.sources)
    if (!source->is_window() && source->writes == 0) source->memory.unregister();
  auto& registrations = core.source_registrations;
  if (registrations.bytes() != 0 || !registrations.line().is_first(&turn_)) return false;
  response.plan.use_ring();
  ++core.rendezvous.refused;
  return true;
}

template <class PortT>
bool RendezvousResponder<PortT>::write_next(Response& response) {
  if (data_.full()) return false;
  ReadResponse::Range range = response.plan.next(kReadSegmentBytesMax);
  Source<Port>& source = *response.sources[range.source_index];
  const auto place = source.memory.find(range.source.offset);
  range = response.plan.next(data_write_bytes(std::min<std::uint64_t>(range.source.bytes, place.bytes)));
  const std::uint32_t bytes = range.source.bytes;
  const WriteUse use = range.last ? WriteUse::kLastData : data_.use_of(bytes, true);
  const WriteResult result = data_.post({*place.region, place.at, bytes, range.destination.address,
                                         range.destination.key, use, range.last ? response.plan.sequence() : 0},
                                        source);
  if (result == WriteResult::kAgain || result == WriteResult::kFailed) return false;
  response.plan.taken(bytes);
  link_.core().rendezvous.response_bytes += bytes;
  return true;
}

template <class PortT>
bool RendezvousResponder<PortT>::stage_fragment(Response& response) {
  // Where user memory cannot be registered a larger ring cannot either.
  if (!response.sources.front()->through_ring && enlargement_.grow_to_limit()) return false;
  if (!send_ring_.may_stage()) return false;
  ReadResponse& plan = response.plan;
  const auto bytes_max = static_cast<std::uint32_t>(send_ring_.capacity() - sizeof(ReadFragment));
  const ReadResponse::Range range = plan.next(bytes_max);
  const ReadFragment head{plan.sequence(), 0};
  const std::uint32_t bytes = range.source.bytes;
  std::byte* to = send_ring_.begin_control(sizeof head + bytes);
  std::memcpy(to, &head, sizeof head);
  response.sources[range.source_index]->memory.copy_out(range.source.offset, {to + sizeof head, bytes});
  send_ring_.stage_slot(SlotKind::kReadFragment, sizeof head + bytes, range.last ? kMarkLast : std::uint8_t{0});
  plan.taken(bytes);
  link_.core().rendezvous.fragment_bytes += bytes;
  return true;
}

// ---- loss

template <class PortT>
void RendezvousResponder<PortT>::forget_use(SourceTable<Port>& table, SourceRef<Port> use) {
  Source<Port>& source = use.end();
  if (source.is_window() && source.done()) table.remove(source.handle);
}

template <class PortT>
void RendezvousResponder<PortT>::forget() {
  auto& table = link_.core().sources;
  turn_.leave();
  data_.forget([&table](SourceRef<Port> use) { forget_use(table, std::move(use)); });
  for (Response& response : std::exchange(responses_, {}))
    for (SourceRef<Port>& source : response.sources) forget_use(table, std::move(source));
}

template <class PortT>
void RendezvousResponder<PortT>::end_sources(Status status) {
  auto& table = link_.core().sources;
  const UpperLayer& upper = link_.upper();
  for (const std::uint32_t handle : table.of_peer(link_.peer())) {
    void* cookie = table.find(handle, link_.peer())->cookie;
    table.remove(handle);
    upper.source_released(upper.user, link_.peer(), cookie, status);
  }
}

}  // namespace bufenlarge
