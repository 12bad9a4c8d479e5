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
  SelfPiece piece;
  for (const iovec& element : vector) {
    const auto* from = static_cast<const std::byte*>(element.iov_base);
    piece.bytes.insert(piece.bytes.end(), from, from + element.iov_len);
  }
  piece.marks = static_cast<std::uint8_t>((self_open_ ? 0 : kMarkFirst) | (more ? 0 : kMarkLast));
  self_open_ = more;
  const std::size_t bytes = piece.bytes.size();
  to_self_.push_back(std::move(piece));
  return bytes;
}

template <class PortT>
unsigned Context<PortT>::deliver_to_self() {
  const SelfPiece piece = std::move(to_self_.front());
  to_self_.pop_front();
  core_.upper.deliver(core_.upper.user, core_.rank, piece.bytes.data(), piece.bytes.size(), piece.marks);
  return 1;
}

// Where nothing but a check tells of a slot, nothing would tell that data written before it is there.
template <class PortT>
bool Context<PortT>::share(void* memory, std::size_t bytes, Shared& shared) {
  if (shared_.beyond(bytes)) return false;
  const iovec whole{memory, bytes};
  const bool writable = core_.port.arrival() != Arrival::kChecked;
  Exposure<Port> exposure;
  exposure.memory = UserMemory<Port>(std::span(&whole, 1));
  exposure.peer = kAnyPeer;
  if (exposure.memory.register_all(core_.port, writable ? MemoryUse::kShared : MemoryUse::kSource, shared_) !=
      Pinning::kDone)
    return false;
  if (writable) {
    const ReadDestination to = exposure.memory.destinations().front();
    shared.address = to.address;
    shared.key = to.key;
  }
  shared.writable = writable;
  shared.name = core_.exposures.add(std::move(exposure));
  return shared.name != 0;
}

template <class PortT>
void Context<PortT>::unshare(std::uint32_t name) {
  Exposure<Port>* exposure = core_.exposures.find(name, kAnyPeer);
  if (exposure == nullptr) return;
  exposure->released = true;
  if (exposure->done()) core_.exposures.remove(name);
}

template <class PortT>
Status Context<PortT>::expose_to_self(std::span<const iovec> segments, void* cookie, std::uint32_t& name) {
  name = core_.exposures.add(segments, cookie, core_.rank);
  return name != 0 ? Status::kOk : Status::kMemoryError;
}

template <class PortT>
unsigned Context<PortT>::serve_self_read() {
  const SelfRead read = std::move(self_reads_.front());
  self_reads_.pop_front();
  const ReadOrder& order = read.order;
  const UpperLayer& upper = core_.upper;
  const Exposure<Port>* exposure = core_.exposures.find(order.exposure, core_.rank);
  const bool fits = exposure != nullptr && exposure->memory.contains(order.offset, order.bytes);
  for (std::uint64_t done = 0; fits && done < order.bytes;) {
    const auto place = exposure->memory.find(order.offset + done);
    const std::size_t bytes = std::min<std::uint64_t>(place.bytes, order.bytes - done);
    if (read.to.bytes() == 0)
      upper.piece(upper.user, core_.rank, order.cookie, place.at, bytes);
    else
      read.to.copy_in(done, {place.at, bytes});
    done += bytes;
  }
  if (order.bytes != 0)
    upper.read_done(upper.user, core_.rank, order.cookie, fits ? Status::kOk : Status::kProtocolError);
  if (fits && (order.last || order.bytes == 0)) {
    void* cookie = exposure->cookie;
    core_.exposures.remove(order.exposure);
    upper.released(upper.user, core_.rank, cookie, Status::kOk);
  }
  return 1;
}

}  // namespace bufenlarge
