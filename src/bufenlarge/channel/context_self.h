// SPDX-License-Identifier: MIT
// The context's own process as a peer: messages are copied and delivered by a later round, and large data too.
// Included by context.h, at its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bufenlarge {

template <class PortT>
std::size_t Context<PortT>::send_to_self(std::span<const iovec> vector, bool more) {
  SelfFragment fragment;
  for (const iovec& element : vector) {
    const auto* from = static_cast<const std::byte*>(element.iov_base);
    fragment.bytes.insert(fragment.bytes.end(), from, from + element.iov_len);
  }
  fragment.marks = static_cast<std::uint8_t>((self_open_ ? 0 : kMarkFirst) | (more ? 0 : kMarkLast));
  self_open_ = more;
  const std::size_t bytes = fragment.bytes.size();
  to_self_.push_back(std::move(fragment));
  return bytes;
}

template <class PortT>
unsigned Context<PortT>::deliver_to_self() {
  const SelfFragment fragment = std::move(to_self_.front());
  to_self_.pop_front();
  core_.upper.deliver(core_.upper.user, core_.rank, fragment.bytes.data(), fragment.bytes.size(), fragment.marks);
  return 1;
}

// Where nothing but a check tells of a slot, nothing would tell that data written before it is there.
template <class PortT>
bool Context<PortT>::register_window(void* memory, std::size_t bytes, Window& window) {
  if (shared_.beyond(bytes)) return false;
  const iovec whole{memory, bytes};
  const bool writable = core_.port.arrival() != Arrival::kChecked;
  Source<Port> source;
  source.memory = UserMemory<Port>(std::span(&whole, 1));
  source.peer = kAnyPeer;
  if (source.memory.register_all(core_.port, writable ? MemoryUse::kWindow : MemoryUse::kSource, shared_) !=
      RegisterResult::kDone)
    return false;
  if (writable) {
    const ReadDestination to = source.memory.destinations().front();
    window.address = to.address;
    window.key = to.key;
  }
  window.writable = writable;
  window.source = core_.sources.add(std::move(source));
  return window.source != 0;
}

template <class PortT>
void Context<PortT>::deregister_window(std::uint32_t name) {
  Source<Port>* source = core_.sources.find(name, kAnyPeer);
  if (source == nullptr) return;
  source->released = true;
  if (source->done()) core_.sources.remove(name);
}

template <class PortT>
Status Context<PortT>::advertise_to_self(std::span<const iovec> segments, void* cookie, std::uint32_t& name) {
  name = core_.sources.add(segments, cookie, core_.rank);
  return name != 0 ? Status::kOk : Status::kMemoryError;
}

template <class PortT>
unsigned Context<PortT>::serve_self_read() {
  const SelfRead read = std::move(self_reads_.front());
  self_reads_.pop_front();
  const ReadOrder& order = read.order;
  const UpperLayer& upper = core_.upper;
  const Source<Port>* source = core_.sources.find(order.source, core_.rank);
  const bool fits = source != nullptr && source->memory.contains(order.offset, order.bytes);
  for (std::uint64_t done = 0; fits && done < order.bytes;) {
    const auto place = source->memory.find(order.offset + done);
    const std::size_t bytes = std::min<std::uint64_t>(place.bytes, order.bytes - done);
    if (read.to.bytes() == 0)
      upper.fragment(upper.user, core_.rank, order.cookie, place.at, bytes);
    else
      read.to.copy_in(done, {place.at, bytes});
    done += bytes;
  }
  if (order.bytes != 0)
    upper.read_done(upper.user, core_.rank, order.cookie, fits ? Status::kOk : Status::kProtocolError);
  if (fits && (order.last || order.bytes == 0)) {
    void* cookie = source->cookie;
    core_.sources.remove(order.source);
    upper.source_released(upper.user, core_.rank, cookie, Status::kOk);
  }
  return 1;
}

}  // namespace bufenlarge
