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
  switch (read.memory.register_all(core.port, MemoryUse::kDestination, core.destination_registrations)) {
    case RegisterResult::kDone: {
      const ReadOrder& order = read.order;
      read.way = Way::kWrites;
      read.plan.emplace(order.source, order.offset, order.bytes, read.memory.destinations());
      return true;
    }
    case RegisterResult::kWait:
      return false;
    case RegisterResult::kRefused:
      read.way = Way::kThroughRing;
      ++core.rendezvous.refused;
      return true;
  }
  return false;
}

// How many requests may go now: when no more than half of those there can be are under way, the others, and none
// before. A request for each end of a read would be a write for each; these share one, and the peer still has some to
// response (docs/decisions/0013-writes-on-tcp.md).
template <class ChannelT>
std::uint32_t Rendezvous<ChannelT>::requests_due() const {
  return under_way_ <= kReadsPerLinkMax / 2 ? kReadsPerLinkMax - under_way_ : 0;
}

// Fragments are put together in order, so there is one request of such a read at a time.
template <class ChannelT>
bool Rendezvous<ChannelT>::may_ask(const Read& read, std::uint32_t due) const {
  if (read.order.bytes == 0) return true;
  return due > 0 && !channel_.core_.reads.full() &&
         (read.way == Way::kWrites || read.way == Way::kNotStarted || read.requests == 0);
}

// Sends the next request of a read, which is one of those that are due. False when it has to wait.
template <class ChannelT>
bool Rendezvous<ChannelT>::ask(typename Reads::iterator at, std::uint32_t& due) {
  Read& read = *at;
  if (!channel_.may_stage() || !may_ask(read, due)) return false;
  if (read.order.bytes == 0) {
    std::byte room[sizeof(ReadRequest) + sizeof(ReadSource)];
    const std::uint32_t length = encode_release(read.order.source, room);
    channel_.stage_control(SlotKind::kReadRequest, std::span(room, length));
    return true;
  }
  if (read.way == Way::kNotStarted && !start(read)) return false;
  const std::uint32_t sequence = channel_.core_.reads.add(&channel_, &read);
  auto& entry = *channel_.core_.reads.find(sequence);
  entry.offset = read.asked;
  if (read.way == Way::kWrites) {
    entry.bytes = request_writes(at, sequence);
  } else {
    entry.bytes = request_through_ring(read, sequence);
    read.asked += entry.bytes;
    ++read.requests;
  }
  ++under_way_;
  --due;
  return true;
}

// A part of the read, or all of it and of those behind it that join.
template <class ChannelT>
std::uint32_t Rendezvous<ChannelT>::request_writes(typename Reads::iterator at, std::uint32_t sequence) {
  const Read& first = *at;
  const std::size_t capacity = std::min<std::size_t>(channel_.slot_capacity(), kRequestBytesMax);
  const bool whole = first.asked == 0;
  ReadRequestParts parts;
  parts.head.sequence = sequence;
  for (Read* before = nullptr;;) {
    Read& read = *at;
    read.plan->take(parts, capacity);
    read.asked = read.plan->asked_bytes();
    ++read.requests;
    if (before != nullptr) before->with = &read;
    before = &read;
    if (!whole || !read.plan->asked() || ++at == reads_.end() || !joins(*at, first, parts, capacity)) break;
  }
  if (first.order.last && first.plan->asked()) parts.head.flags = kReadLast;
  std::byte request[kRequestBytesMax];
  const std::uint32_t length = encode_request(parts, request);
  channel_.stage_control(SlotKind::kReadRequest, std::span(request, length));
  return static_cast<std::uint32_t>(parts.bytes);
}

// Whether all of the read can be asked for together with the first one: the two have one end, which is told once, and
// on tcp their data goes in fewer writes (docs/decisions/0013-writes-on-tcp.md).
template <class ChannelT>
bool Rendezvous<ChannelT>::joins(Read& read, const Read& first, const ReadRequestParts& parts, std::size_t capacity) {
  if (read.order.bytes == 0 || read.order.last != first.order.last || parts.bytes >= kJoinedBytesMax ||
      read.order.bytes > kJoinedBytesMax - parts.bytes)
    return false;
  if (read.way == Way::kNotStarted && !start(read)) return false;
  return read.way == Way::kWrites && read.plan->fits(parts, capacity);
}

template <class ChannelT>
std::uint32_t Rendezvous<ChannelT>::request_through_ring(const Read& read, std::uint32_t sequence) {
  const ReadOrder& order = read.order;
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(order.bytes - read.asked, kReadSegmentBytesMax));
  const bool last = order.last && read.asked + bytes == order.bytes;
  std::byte room[sizeof(ReadRequest) + sizeof(ReadSource)];
  const ReadSource source{order.offset + read.asked, order.source, bytes};
  const std::uint32_t length = encode_ring_request(sequence, source, last, room);
  channel_.stage_control(SlotKind::kReadRequest, std::span(room, length));
  return bytes;
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
bool Rendezvous<ChannelT>::on_fragment(std::span<const std::byte> payload, bool last) {
  ReadFragment head;
  if (payload.size() <= sizeof head) return false;
  std::memcpy(&head, payload.data(), sizeof head);
  const std::span<const std::byte> data = payload.subspan(sizeof head);
  auto* entry = channel_.core_.reads.find(head.sequence);
  if (head.spare != 0 || entry == nullptr || entry->owner != &channel_) return false;
  const bool ends = data.size() == entry->bytes - entry->arrived;
  if (data.size() > entry->bytes - entry->arrived || ends != last) return false;
  auto& first = *static_cast<Read*>(entry->read);
  auto& core = channel_.core_;
  std::uint64_t at = entry->offset + entry->arrived;
  Read& read = reaches(first, at);
  if (data.size() > read.order.bytes - at) return false;
  entry->arrived += static_cast<std::uint32_t>(data.size());
  core.rendezvous.fragment_bytes += data.size();
  if (read.way == Way::kHandedUp)
    core.upper.fragment(core.upper.user, channel_.peer_, read.order.cookie, data.data(), data.size());
  else
    read.memory.copy_in(at, data);
  if (!last) return true;
  core.reads.remove(*entry);
  end_request(first);
  return true;
}

// The read of a request that its byte `at` belongs to, which becomes the read's.
template <class ChannelT>
typename Rendezvous<ChannelT>::Read& Rendezvous<ChannelT>::reaches(Read& first, std::uint64_t& at) {
  Read* read = &first;
  for (; at >= read->order.bytes; read = read->with) at -= read->order.bytes;
  return *read;
}

// A request is answered: a part of one read, or several reads.
template <class ChannelT>
void Rendezvous<ChannelT>::end_request(Read& first) {
  --under_way_;
  Reads over;
  for (Read* read = &first; read != nullptr;) {
    Read* with = std::exchange(read->with, nullptr);
    --read->requests;
    if (read->done())
      over.splice(over.end(), reads_, std::ranges::find_if(reads_, [read](const Read& one) { return &one == read; }));
    read = with;
  }
  if (over.empty()) channel_.want_service();
  auto& core = channel_.core_;
  while (!over.empty()) {
    void* cookie = over.front().order.cookie;
    over.pop_front();  // its registrations too
    ++core.rendezvous.reads;
    core.upper.read_done(core.upper.user, channel_.peer_, cookie, Status::kOk);
  }
}

}  // namespace bufenlarge
