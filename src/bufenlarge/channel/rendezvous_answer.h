// SPDX-License-Identifier: MIT
// The answering side of a rendezvous, and what both sides do in a round.
#pragma once

#include <algorithm>
#include <utility>

#include "channel/rendezvous.h"
#include "channel/rendezvous_read.h"

namespace bufenlarge {

template <class ChannelT>
bool Rendezvous<ChannelT>::exposed(const ReadRequestParts& parts) const {
  for (const ReadSource& source : parts.sources) {
    const auto* exposure = channel_.core_.exposures.find(source.exposure, channel_.peer_);
    const bool releases = (parts.head.flags & kReadLast) != 0;
    if (exposure == nullptr || exposure->released || (releases && exposure->peer == kAnyPeer)) return false;
    if (!exposure->memory.contains(source.offset, source.bytes)) return false;
  }
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::on_request(std::span<const std::byte> payload) {
  auto parts = parse_read_request(payload);
  if (!parts || !exposed(*parts)) return false;
  if (parts->head.sequence == 0) {
    release(parts->sources[0].exposure);
    return true;
  }
  if (answers_.size() == kReadsPerLinkMax) return false;
  for (const ReadSource& source : parts->sources)
    ++channel_.core_.exposures.find(source.exposure, channel_.peer_)->answers;
  if ((parts->head.flags & kReadLast) != 0)
    for (const ReadSource& source : parts->sources) release(source.exposure);
  answers_.emplace_back(std::move(*parts));
  channel_.want_attention();
  return true;
}

// The peer will not ask for it again.
template <class ChannelT>
void Rendezvous<ChannelT>::release(std::uint32_t exposure) {
  channel_.core_.exposures.find(exposure, channel_.peer_)->released = true;
  drop_if_done(exposure);
}

template <class ChannelT>
void Rendezvous<ChannelT>::drop_if_done(std::uint32_t name) {
  auto& core = channel_.core_;
  auto* exposure = core.exposures.find(name, channel_.peer_);
  if (exposure == nullptr || !exposure->done()) return;
  void* cookie = exposure->cookie;
  const bool shared = exposure->peer == kAnyPeer;
  core.exposures.remove(name);  // its registrations too
  if (shared) return;
  core.upper.released(core.upper.user, channel_.peer_, cookie, Status::kOk);
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
  while (!answers_.empty() && answer(answers_.front())) {
    const std::vector<ReadSource> sources = answers_.front().sources();
    answers_.pop_front();
    for (const ReadSource& source : sources) {
      --channel_.core_.exposures.find(source.exposure, channel_.peer_)->answers;
      drop_if_done(source.exposure);
    }
  }
  const bool writes = !post_writes();
  writes_.finish();
  channel_.flush();
  return asks_ || writes || !answers_.empty();  // some may have been ordered just now, from `released`
}

// Registers what is to be read, as late as it is asked for. False when that has to wait.
template <class ChannelT>
bool Rendezvous<ChannelT>::pin_sources(ReadAnswer& answer) {
  auto& core = channel_.core_;
  for (const ReadSource& source : answer.sources()) {
    auto& exposure = *core.exposures.find(source.exposure, channel_.peer_);
    if (!answer.in_pieces() && !exposure.in_pieces && !exposure.memory.registered()) {
      const Pinning pinning = exposure.memory.register_all(core.port, MemoryUse::kSource, core.sources);
      if (pinning == Pinning::kWait) return none_pinned_without(answer);
      exposure.in_pieces = pinning == Pinning::kRefused;
      if (exposure.in_pieces) ++core.rendezvous.refused;
    }
    if (exposure.in_pieces) answer.use_pieces();
  }
  return true;
}

// One of the sources cannot be registered now: the others are given back, since two answers that hold some and wait for
// more would wait forever. True when nobody else holds any: then the answer goes in pieces.
template <class ChannelT>
bool Rendezvous<ChannelT>::none_pinned_without(ReadAnswer& answer) {
  auto& core = channel_.core_;
  for (const ReadSource& source : answer.sources()) {
    auto& exposure = *core.exposures.find(source.exposure, channel_.peer_);
    if (exposure.peer != kAnyPeer && exposure.writes == 0) exposure.memory.unregister();
  }
  if (core.sources.bytes() != 0) return false;
  answer.use_pieces();
  ++core.rendezvous.refused;
  return true;
}

// Sends what can go of the answer; true when that was all.
template <class ChannelT>
bool Rendezvous<ChannelT>::answer(ReadAnswer& answer) {
  if (!pin_sources(answer)) return false;
  while (!answer.done()) {
    if (!(answer.in_pieces() ? stage_piece(answer) : write_next(answer))) return false;
  }
  return true;
}

template <class ChannelT>
bool Rendezvous<ChannelT>::write_next(ReadAnswer& answer) {
  if (writes_full()) return false;
  auto& core = channel_.core_;
  ReadAnswer::Stretch stretch = answer.next(kReadSegmentBytesMax);
  auto& exposure = *core.exposures.find(stretch.source.exposure, channel_.peer_);
  const auto place = exposure.memory.find(stretch.source.offset);
  stretch = answer.next(data_write_bytes(std::min<std::uint64_t>(stretch.source.bytes, place.bytes)));
  const std::uint32_t bytes = stretch.source.bytes;
  const WriteUse use = stretch.last ? WriteUse::kLastData : may_hold(bytes) ? WriteUse::kMoreData : WriteUse::kData;
  const WriteResult result = core.port.write(channel_.link_, *place.region, place.at, bytes, stretch.destination.address,
                                             stretch.destination.key, use, stretch.last ? answer.sequence() : 0);
  switch (result) {
    case WriteResult::kPosted:
    case WriteResult::kHeld:
      wrote(stretch.source.exposure, result, bytes);
      ++exposure.writes;
      [[fallthrough]];
    case WriteResult::kCopied:
      answer.taken(bytes);
      core.rendezvous.answered_bytes += bytes;
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
bool Rendezvous<ChannelT>::stage_piece(ReadAnswer& answer) {
  const auto& source = *channel_.core_.exposures.find(answer.sources().front().exposure, channel_.peer_);
  // Where user memory is not to be had a larger ring will not be either.
  if ((!source.in_pieces && channel_.grows()) || !channel_.may_stage()) return false;
  const auto bytes_max = static_cast<std::uint32_t>(channel_.slot_capacity() - sizeof(ReadPiece));
  const ReadAnswer::Stretch stretch = answer.next(bytes_max);
  const ReadPiece head{answer.sequence(), 0};
  const std::uint32_t bytes = stretch.source.bytes;
  std::byte* to = channel_.begin_control(sizeof head + bytes);
  std::memcpy(to, &head, sizeof head);
  channel_.core_.exposures.find(stretch.source.exposure, channel_.peer_)
      ->memory.copy_out(stretch.source.offset, {to + sizeof head, bytes});
  channel_.stage_slot(SlotKind::kReadPiece, sizeof head + bytes, stretch.last ? kMarkLast : std::uint8_t{0});
  answer.taken(bytes);
  channel_.core_.rendezvous.piece_bytes += bytes;
  return true;
}

// ---- writes of this side

template <class ChannelT>
bool Rendezvous<ChannelT>::write(const WriteOrder& order) {
  if (!writes_.order(order)) return false;
  if (!post_writes() || writes_.over()) channel_.want_attention();
  return true;
}

// Posts what can go; true when that was all.
template <class ChannelT>
bool Rendezvous<ChannelT>::post_writes() {
  while (!writes_.all_posted()) {
    if (!channel_.connected() || !channel_.connect_.ready() || writes_full()) return false;
    const auto part = writes_.next();
    const WriteUse use = writes_.more_follows(part) && may_hold(part.bytes) ? WriteUse::kMoreData : WriteUse::kData;
    const WriteResult result = channel_.core_.port.write(channel_.link_, part.region, part.from, part.bytes,
                                                         part.address, part.key, use, 0);
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
      --channel_.core_.exposures.find(done.name, channel_.peer_)->writes;
      drop_if_done(done.name);
    }
  }
  writes_.finish();
  if (!answers_.empty() || !writes_.all_posted()) channel_.want_attention();
}

// What others may still read must not wait for the end of these.
template <class ChannelT>
void Rendezvous<ChannelT>::forget_answers() {
  auto& exposures = channel_.core_.exposures;
  const auto forget = [&](std::uint32_t name, std::uint32_t Exposure<Port>::*count) {
    auto* exposure = exposures.find(name, channel_.peer_);
    --(exposure->*count);
    if (exposure->peer == kAnyPeer && exposure->done()) exposures.remove(name);
  };
  for (const Writing& one : writing_)
    if (one.name != kOwnWrite) forget(one.name, &Exposure<Port>::writes);
  for (const ReadAnswer& answer : answers_)
    for (const ReadSource& source : answer.sources()) forget(source.exposure, &Exposure<Port>::answers);
  answers_.clear();
  writing_.clear();
  writes_posted_ = 0;
  held_bytes_ = 0;
}

template <class ChannelT>
void Rendezvous<ChannelT>::lost(Status status) {
  auto& core = channel_.core_;
  core.reads.remove_all(&channel_);
  forget_answers();
  std::list<Read> reads = std::exchange(reads_, {});
  under_way_ = 0;
  for (const std::uint32_t name : core.exposures.of_peer(channel_.peer_)) {
    void* cookie = core.exposures.find(name, channel_.peer_)->cookie;
    core.exposures.remove(name);
    core.upper.released(core.upper.user, channel_.peer_, cookie, status);
  }
  for (Read& read : reads) {
    read.memory.unregister();
    if (read.order.bytes != 0) core.upper.read_done(core.upper.user, channel_.peer_, read.order.cookie, status);
  }
  writes_.lost(status);
}

}  // namespace bufenlarge
