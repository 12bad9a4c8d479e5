// SPDX-License-Identifier: MIT
// The responding side of a rendezvous, and what both sides do in a round.
#pragma once

#include <algorithm>
#include <utility>

#include "channel/rendezvous.h"
#include "channel/rendezvous_read.h"

namespace bufenlarge {

template <class ChannelT>
bool Rendezvous<ChannelT>::advertised(const ReadRequestParts& parts) const {
  for (const ReadSource& source : parts.sources) {
    const auto* entry = channel_.core_.sources.find(source.handle, channel_.peer_);
    const bool releases = (parts.head.flags & kReadLast) != 0;
    if (entry == nullptr || entry->released || (releases && entry->peer == kAnyPeer)) return false;
    if (!entry->memory.contains(source.offset, source.bytes)) return false;
  }
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::on_request(std::span<const std::byte> payload) {
  auto parts = parse_read_request(payload);
  if (!parts || !advertised(*parts)) return false;
  if (parts->head.sequence == 0) {
    release(parts->sources[0].handle);
    return true;
  }
  if (responses_.size() == kReadsPerLinkMax) return false;
  for (const ReadSource& source : parts->sources)
    ++channel_.core_.sources.find(source.handle, channel_.peer_)->responses;
  if ((parts->head.flags & kReadLast) != 0)
    for (const ReadSource& source : parts->sources) release(source.handle);
  responses_.emplace_back(std::move(*parts));
  channel_.want_service();
  return true;
}

// The peer will not ask for it again.
template <class ChannelT>
void Rendezvous<ChannelT>::release(std::uint32_t handle) {
  channel_.core_.sources.find(handle, channel_.peer_)->released = true;
  drop_if_done(handle);
}

template <class ChannelT>
void Rendezvous<ChannelT>::drop_if_done(std::uint32_t name) {
  auto& core = channel_.core_;
  auto* entry = core.sources.find(name, channel_.peer_);
  if (entry == nullptr || !entry->done()) return;
  void* cookie = entry->cookie;
  const bool shared = entry->peer == kAnyPeer;
  core.sources.remove(name);  // its registrations too
  if (shared) return;
  core.upper.source_released(core.upper.user, channel_.peer_, cookie, Status::kOk);
}

template <class ChannelT>
bool Rendezvous<ChannelT>::service() {
  asks_ = false;
  std::uint32_t due = requests_due();
  for (auto read = reads_.begin(); read != reads_.end();) {
    if (read->asked == read->order.bytes && read->order.bytes != 0) {
      ++read;
      continue;
    }
    asks_ = !ask(read, due);
    if (asks_) break;
    if (read->order.bytes == 0) read = reads_.erase(read);
  }
  while (!responses_.empty() && response(responses_.front())) {
    const std::vector<ReadSource> sources = responses_.front().sources();
    responses_.pop_front();
    for (const ReadSource& source : sources) {
      --channel_.core_.sources.find(source.handle, channel_.peer_)->responses;
      drop_if_done(source.handle);
    }
  }
  const bool writes = !post_writes();
  writes_.finish();
  channel_.flush();
  return asks_ || writes || !responses_.empty();  // some may have been ordered just now, from `released`
}

// Registers what is to be read, as late as it is asked for. False when that has to wait.
template <class ChannelT>
bool Rendezvous<ChannelT>::pin_sources(ReadResponse& response) {
  auto& core = channel_.core_;
  for (const ReadSource& source : response.sources()) {
    auto& entry = *core.sources.find(source.handle, channel_.peer_);
    if (!response.through_ring() && !entry.through_ring && !entry.memory.registered()) {
      const RegisterResult result = entry.memory.register_all(core.port, MemoryUse::kSource, core.source_registrations);
      if (result == RegisterResult::kWait) return give_back_sources(response);
      entry.through_ring = result == RegisterResult::kRefused;
      if (entry.through_ring) ++core.rendezvous.refused;
    }
    if (entry.through_ring) response.use_ring();
  }
  return true;
}

// One of the sources cannot be registered now: the others are given back, since two responses that hold some and wait for
// more would wait forever. True when nobody else holds any: then the response goes in fragments.
template <class ChannelT>
bool Rendezvous<ChannelT>::give_back_sources(ReadResponse& response) {
  auto& core = channel_.core_;
  for (const ReadSource& source : response.sources()) {
    auto& entry = *core.sources.find(source.handle, channel_.peer_);
    if (entry.peer != kAnyPeer && entry.writes == 0) entry.memory.unregister();
  }
  if (core.source_registrations.bytes() != 0) return false;
  response.use_ring();
  ++core.rendezvous.refused;
  return true;
}

// Sends what can go of the response; true when that was all.
template <class ChannelT>
bool Rendezvous<ChannelT>::response(ReadResponse& response) {
  if (!pin_sources(response)) return false;
  while (!response.done()) {
    if (!(response.through_ring() ? stage_fragment(response) : write_next(response))) return false;
  }
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::write_next(ReadResponse& response) {
  if (writes_full()) return false;
  auto& core = channel_.core_;
  ReadResponse::Range range = response.next(kReadSegmentBytesMax);
  auto& entry = *core.sources.find(range.source.handle, channel_.peer_);
  const auto place = entry.memory.find(range.source.offset);
  range = response.next(data_write_bytes(std::min<std::uint64_t>(range.source.bytes, place.bytes)));
  const std::uint32_t bytes = range.source.bytes;
  const WriteUse use = range.last ? WriteUse::kLastData : may_hold(bytes) ? WriteUse::kMoreData : WriteUse::kData;
  const WriteResult result = core.port.write(channel_.link_, {*place.region, place.at, bytes, range.destination.address,
                                             range.destination.key, use, range.last ? response.sequence() : 0});
  switch (result) {
    case WriteResult::kPosted:
    case WriteResult::kHeld:
      wrote(range.source.handle, result, bytes);
      ++entry.writes;
      [[fallthrough]];
    case WriteResult::kCopied:
      response.taken(bytes);
      core.rendezvous.response_bytes += bytes;
      return true;
    case WriteResult::kAgain:
      return false;
    case WriteResult::kFailed:
      channel_.on_lost("a write failed");
      return false;
  }
  return false;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::stage_fragment(ReadResponse& response) {
  const auto& source = *channel_.core_.sources.find(response.sources().front().handle, channel_.peer_);
  // Where user memory is not to be had a larger ring will not be either.
  if ((!source.through_ring && channel_.grows()) || !channel_.may_stage()) return false;
  const auto bytes_max = static_cast<std::uint32_t>(channel_.slot_capacity() - sizeof(ReadFragment));
  const ReadResponse::Range range = response.next(bytes_max);
  const ReadFragment head{response.sequence(), 0};
  const std::uint32_t bytes = range.source.bytes;
  std::byte* to = channel_.begin_control(sizeof head + bytes);
  std::memcpy(to, &head, sizeof head);
  channel_.core_.sources.find(range.source.handle, channel_.peer_)
      ->memory.copy_out(range.source.offset, {to + sizeof head, bytes});
  channel_.stage_slot(SlotKind::kReadFragment, sizeof head + bytes, range.last ? kMarkLast : std::uint8_t{0});
  response.taken(bytes);
  channel_.core_.rendezvous.fragment_bytes += bytes;
  return true;
}

// ---- writes of this side

template <class ChannelT>
bool Rendezvous<ChannelT>::write(const WriteOrder& order) {
  if (!writes_.order(order)) return false;
  if (!post_writes() || writes_.over()) channel_.want_service();
  return true;
}

// Posts what can go; true when that was all.
template <class ChannelT>
bool Rendezvous<ChannelT>::post_writes() {
  while (!writes_.all_posted()) {
    if (!channel_.connected() || !channel_.connect_.ready() || writes_full()) return false;
    const auto part = writes_.next();
    const WriteUse use = writes_.more_follows(part) && may_hold(part.bytes) ? WriteUse::kMoreData : WriteUse::kData;
    const WriteResult result = channel_.core_.port.write(channel_.link_, {part.region, part.from, part.bytes,
                                                         part.address, part.key, use, 0});
    if (result == WriteResult::kAgain) return false;
    if (result == WriteResult::kFailed) {
      channel_.on_lost("a write failed");
      return false;
    }
    const bool completes = result != WriteResult::kCopied;
    if (completes) wrote(kOwnWrite, result, part.bytes);
    writes_.posted(part.bytes, completes);
  }
  return true;
}

// A write was posted, or is held.
template <class ChannelT>
void Rendezvous<ChannelT>::wrote(std::uint32_t name, WriteResult result, std::uint32_t bytes) {
  const bool told = result == WriteResult::kPosted;
  writing_.push_back({name, told});
  held_bytes_ = told ? 0 : held_bytes_ + bytes;
  writes_posted_ += told;
}

// The oldest write that is told of is complete, and those before it.
template <class ChannelT>
void Rendezvous<ChannelT>::on_data_written() {
  --writes_posted_;
  for (bool told = false; !told && !writing_.empty();) {
    const Writing done = writing_.front();
    writing_.pop_front();
    told = done.told;
    if (done.name == kOwnWrite) {
      writes_.on_written();
    } else {
      --channel_.core_.sources.find(done.name, channel_.peer_)->writes;
      drop_if_done(done.name);
    }
  }
  writes_.finish();
  if (!responses_.empty() || !writes_.all_posted()) channel_.want_service();
}

// What others may still read must not wait for the end of these.
template <class ChannelT>
void Rendezvous<ChannelT>::forget_responses() {
  auto& sources = channel_.core_.sources;
  const auto forget = [&](std::uint32_t name, std::uint32_t Source<Port>::*count) {
    auto* entry = sources.find(name, channel_.peer_);
    --(entry->*count);
    if (entry->peer == kAnyPeer && entry->done()) sources.remove(name);
  };
  for (const Writing& one : writing_)
    if (one.name != kOwnWrite) forget(one.name, &Source<Port>::writes);
  for (const ReadResponse& response : responses_)
    for (const ReadSource& source : response.sources()) forget(source.handle, &Source<Port>::responses);
  responses_.clear();
  writing_.clear();
  writes_posted_ = 0;
  held_bytes_ = 0;
}

template <class ChannelT>
void Rendezvous<ChannelT>::lost(Status status) {
  auto& core = channel_.core_;
  core.reads.remove_all(&channel_);
  forget_responses();
  std::list<Read> reads = std::exchange(reads_, {});
  under_way_ = 0;
  for (const std::uint32_t name : core.sources.of_peer(channel_.peer_)) {
    void* cookie = core.sources.find(name, channel_.peer_)->cookie;
    core.sources.remove(name);
    core.upper.source_released(core.upper.user, channel_.peer_, cookie, status);
  }
  for (Read& read : reads) {
    read.memory.unregister();
    if (read.order.bytes != 0) core.upper.read_done(core.upper.user, channel_.peer_, read.order.cookie, status);
  }
  writes_.lost(status);
}

}  // namespace bufenlarge
