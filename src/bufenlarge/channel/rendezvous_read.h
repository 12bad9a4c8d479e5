// SPDX-License-Identifier: MIT
// The reading side of a rendezvous.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "channel/rendezvous.h"

namespace bufenlarge {

template <class ChannelT>
void Rendezvous<ChannelT>::read(const ReadOrder& order) {
  Read& read = reads_.emplace_back();
  read.order = order;
  read.memory = UserMemory<Port>(order.to);
  read.order.to = {};
  asks_ = true;
}

// Decides how the data is to come. False when the destination cannot be registered yet.
template <class ChannelT>
bool Rendezvous<ChannelT>::start(Read& read) {
  auto& core = channel_.core_;
  if (read.memory.bytes() == 0) {
    read.way = Way::kHandedUp;
    return true;
  }
  switch (read.memory.register_all(core.port, MemoryUse::kDestination, core.destinations)) {
    case Pinning::kDone: {
      const ReadOrder& order = read.order;
      read.way = Way::kWrites;
      read.plan.emplace(order.exposure, order.offset, order.bytes, order.last, read.memory.destinations());
      return true;
    }
    case Pinning::kWait:
      return false;
    case Pinning::kRefused:
      read.way = Way::kPieces;
      ++core.rendezvous.refused;
      return true;
  }
  return false;
}

// How many requests may go now: when no more than half of those there can be are under way, the others, and none
// before. A request for each end of a read would be a write for each; these share one, and the peer still has some to
// answer (docs/decisions/0013-writes-on-tcp.md).
template <class ChannelT>
std::uint32_t Rendezvous<ChannelT>::requests_due() const {
  return under_way_ <= kReadsPerLinkMax / 2 ? kReadsPerLinkMax - under_way_ : 0;
}

// Pieces are put together in order, so there is one request of such a read at a time.
template <class ChannelT>
bool Rendezvous<ChannelT>::may_ask(const Read& read, std::uint32_t due) const {
  if (read.order.bytes == 0) return true;
  return due > 0 && !channel_.core_.reads.full() &&
         (read.way == Way::kWrites || read.way == Way::kNotStarted || read.requests == 0);
}

// Sends the next request of a read, which is one of those that are due. False when it has to wait.
template <class ChannelT>
bool Rendezvous<ChannelT>::ask(Read& read, std::uint32_t& due) {
  if (!channel_.may_stage() || !may_ask(read, due)) return false;
  std::byte room[sizeof(ReadRequest) + sizeof(ReadSource)];
  const ReadOrder& order = read.order;
  if (order.bytes == 0) {
    const std::uint32_t length = encode_release(order.exposure, room);
    channel_.stage_control(SlotKind::kReadRequest, std::span(room, length));
    return true;
  }
  if (read.way == Way::kNotStarted && !start(read)) return false;
  const std::uint32_t sequence = channel_.core_.reads.add(&channel_, &read);
  auto& entry = *channel_.core_.reads.find(sequence);
  entry.offset = read.asked;
  if (read.way == Way::kWrites) {
    const std::uint32_t most = std::min<std::uint32_t>(channel_.slot_capacity(), kRequestBytesMax);
    std::byte request[kRequestBytesMax];
    const std::uint32_t length = read.plan->next(sequence, std::span(request, most));
    entry.bytes = static_cast<std::uint32_t>(read.plan->asked_bytes() - read.asked);
    channel_.stage_control(SlotKind::kReadRequest, std::span(request, length));
  } else {
    entry.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(order.bytes - read.asked, kReadSegmentBytesMax));
    const bool last = order.last && read.asked + entry.bytes == order.bytes;
    const ReadSource source{order.offset + read.asked, order.exposure, entry.bytes};
    const std::uint32_t length = encode_pieces_request(sequence, source, last, room);
    channel_.stage_control(SlotKind::kReadRequest, std::span(room, length));
  }
  read.asked += entry.bytes;
  ++read.requests;
  ++under_way_;
  --due;
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::on_read_done(std::uint32_t sequence) {
  auto* entry = channel_.core_.reads.find(sequence);
  auto& read = *static_cast<Read*>(entry->read);
  if (read.way != Way::kWrites || entry->arrived != 0) return false;
  channel_.core_.rendezvous.read_bytes += entry->bytes;
  channel_.core_.reads.remove(*entry);
  end_request(read);
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::on_piece(std::span<const std::byte> payload, bool last) {
  ReadPiece head;
  if (payload.size() <= sizeof head) return false;
  std::memcpy(&head, payload.data(), sizeof head);
  const std::span<const std::byte> data = payload.subspan(sizeof head);
  auto* entry = channel_.core_.reads.find(head.sequence);
  if (head.spare != 0 || entry == nullptr || entry->owner != &channel_) return false;
  const bool ends = data.size() == entry->bytes - entry->arrived;
  if (data.size() > entry->bytes - entry->arrived || ends != last) return false;
  auto& read = *static_cast<Read*>(entry->read);
  auto& core = channel_.core_;
  const std::uint64_t at = entry->offset + entry->arrived;
  entry->arrived += static_cast<std::uint32_t>(data.size());
  core.rendezvous.piece_bytes += data.size();
  if (read.way == Way::kHandedUp)
    core.upper.piece(core.upper.user, channel_.peer_, read.order.cookie, data.data(), data.size());
  else
    read.memory.copy_in(at, data);
  if (!last) return true;
  core.reads.remove(*entry);
  end_request(read);
  return true;
}

// One request of the read is answered.
template <class ChannelT>
void Rendezvous<ChannelT>::end_request(Read& read) {
  --read.requests;
  --under_way_;
  if (!read.done()) {
    channel_.want_attention();
    return;
  }
  void* cookie = read.order.cookie;
  auto& core = channel_.core_;
  ++core.rendezvous.reads;
  const auto at = std::ranges::find_if(reads_, [&read](const Read& one) { return &one == &read; });
  reads_.erase(at);  // its registrations too
  core.upper.read_done(core.upper.user, channel_.peer_, cookie, Status::kOk);
}

}  // namespace bufenlarge
