// SPDX-License-Identifier: MIT
// Sending: which part of the vector may go, into which slots, as which writes (000 c7; 002 fig 3, 5).
#pragma once

#include <algorithm>
#include <cstring>

#include "channel/channel.h"

namespace bufenlarge {

// Slots that follow each other in the ring go out as one write when the unused bytes between them
// cost less than another write would: on tcp a write costs about as much as copying a few kilobytes
// (docs/decisions/0006-neighbouring-slots-in-one-write.md).
inline constexpr std::uint32_t kGapBytesMax = 4096;
// A write no longer than this, half of a large ring at the defaults, so that the receiver starts
// reading while the rest is being filled.
inline constexpr std::uint32_t kRunBytesMax = 64 * 1024;

template <class PortT>
Status Channel<PortT>::send(std::span<const iovec> vector, bool more, std::size_t& sent, bool corked) {
  sent = 0;
  if (!connect_.ready() || failed()) [[unlikely]] return not_ready();
  if (!enlarge_sender_.steady()) [[unlikely]] return Status::kAgain;
  if (!more && !corked && send_single_slot(vector, sent)) [[likely]] return failed() ? failure_ : Status::kOk;
  const VectorPlan plan = plan_vector(vector, core_.settings.phases, send_phase_, send_limit_,
                                      core_.settings.vector_mode);
  if (plan.phase != send_phase_) [[unlikely]] {
    begin_enlargement(plan.phase);
    return failed() ? failure_ : Status::kAgain;
  }
  stage(vector.first(plan.elements), !more && plan.elements == vector.size(), sent);
  if (!corked)
    flush();
  else if (!producer_.all_posted())
    want_service();
  if (failed()) [[unlikely]] return failure_;
  return sent != 0 ? Status::kOk : Status::kAgain;
}

// The common case: a whole message that fits one slot, with nothing staged before it. What it writes is what the
// steps for any message write. False, with nothing done, when it is not that case.
template <class PortT>
bool Channel<PortT>::send_single_slot(std::span<const iovec> vector, std::size_t& sent) {
  std::size_t bytes = 0;
  for (const iovec& element : vector) bytes += element.iov_len;
  if (bytes - 1 >= send_geometry().threshold_bytes || message_open_ || !producer_.all_posted() ||
      in_flight_.full() || room() == 0)
    return false;
  sent = bytes;
  const auto slot_bytes = static_cast<std::uint32_t>(bytes);
  const std::uint32_t index = producer_.stage_index();
  const std::uint32_t begin = payload_offset(send_ring_.stride(), slot_bytes);
  std::byte* to = send_ring_.slot(index) + begin;
  for (const iovec& element : vector) {
    std::memcpy(to, element.iov_base, element.iov_len);
    to += element.iov_len;
  }
  sent_.count(send_phase_, slot_bytes, true, true);
  stage_slot(SlotKind::kPayload, slot_bytes, kMarksOfMessage);
  if (!write_run(index, begin, 1)) want_service();
  return true;
}

template <class PortT>
void Channel<PortT>::post_staged() {
  if (connected()) flush();
}

template <class PortT>
Status Channel<PortT>::not_ready() {
  if (failed()) return failure_;
  connect_.want(core_.port.now_us());
  if (connect_.timed()) want_time();
  return Status::kAgain;
}

template <class PortT>
std::uint32_t Channel<PortT>::room() {
  if (producer_.room() == 0) {
    const auto consumed = read_grant(control_.block->inbox.grant);
    if (consumed && !producer_.grant(*consumed))
      fail(Status::kProtocolError, "the peer granted slots that were never written");
  }
  return failed() ? 0 : producer_.room();
}

// Copies the elements, one after the other, into as many slots as there is room for. The first slot takes what full
// ones leave over: payload ends where the slot does, so the slots of one write then have no unused bytes between them.
template <class PortT>
void Channel<PortT>::stage(std::span<const iovec> elements, bool ends, std::size_t& sent) {
  std::size_t left = 0;
  for (const iovec& element : elements) left += element.iov_len;
  const iovec* element = elements.data();
  std::size_t offset = 0;
  const std::uint32_t stride = send_ring_.stride();
  std::uint32_t unposted = 0;
  while (left != 0 && room() != 0) {
    const std::size_t over = left % send_ring_.capacity();
    const auto bytes = static_cast<std::uint32_t>(over != 0 ? over : send_ring_.capacity());
    std::byte* to = send_ring_.slot(producer_.stage_index()) + payload_offset(stride, bytes);
    for (std::uint32_t filled = 0; filled < bytes;) {
      const std::size_t part = std::min<std::size_t>(element->iov_len - offset, bytes - filled);
      std::memcpy(to + filled, static_cast<const std::byte*>(element->iov_base) + offset, part);
      filled += static_cast<std::uint32_t>(part);
      offset += part;
      if (offset == element->iov_len) ++element, offset = 0;
    }
    left -= bytes;
    sent += bytes;
    const bool last = ends && left == 0;
    const auto marks = static_cast<std::uint8_t>((message_open_ ? 0 : kMarkFirst) | (last ? kMarkLast : 0));
    sent_.count(send_phase_, bytes, !message_open_, last);
    message_open_ = !last;
    stage_slot(SlotKind::kPayload, bytes, marks);
    unposted += stride;
    if (unposted >= kRunBytesMax) flush(), unposted = 0;
  }
}

// Seals the next slot, whose payload is in place.
template <class PortT>
void Channel<PortT>::stage_slot(SlotKind kind, std::uint32_t bytes, std::uint8_t marks) {
  const SlotFill fill{producer_.stage_commit(), bytes, static_cast<std::uint32_t>(consumer_.consumed()),
                      send_epoch_,        kind,  marks,
                      remote_.wants_checks && (!remote_.wants_notifications || bytes <= kCheckedBytesMax)};
  seal_slot(send_ring_.slot(producer_.stage_index()), send_ring_.stride(), fill);
  producer_.stage_one();
  consumer_.report();
}

// Whether a slot that is no part of a message may go now.
template <class PortT>
bool Channel<PortT>::may_stage() {
  return connected() && connect_.ready() && enlarge_sender_.steady() && room() != 0;
}

// Begins to grow as far as it may; false when it need not.
template <class PortT>
bool Channel<PortT>::grows() {
  if (!connected() || !enlarge_sender_.steady() || send_phase_ >= send_limit_) return false;
  begin_enlargement(send_limit_);
  return true;
}

// Where the payload of the next slot belongs.
template <class PortT>
std::byte* Channel<PortT>::begin_control(std::uint32_t bytes) {
  return send_ring_.slot(producer_.stage_index()) + payload_offset(send_ring_.stride(), bytes);
}

template <class PortT>
void Channel<PortT>::stage_control(SlotKind kind, std::span<const std::byte> payload) {
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  std::memcpy(begin_control(bytes), payload.data(), bytes);
  stage_slot(kind, bytes, 0);
}

template <class PortT>
void Channel<PortT>::flush() {
  while (!producer_.all_posted() && !failed()) {
    if (!post_run()) {
      want_service();
      return;
    }
  }
}

// How many of the staged slots, which lie next to each other, go in the next write.
template <class PortT>
std::uint32_t Channel<PortT>::run_length() const {
  const std::uint32_t stride = send_ring_.stride();
  const std::uint32_t first = producer_.post_index();
  const auto used_from = [&](std::uint32_t index) {
    return payload_offset(stride, trailer_of(send_ring_.slot(index), stride)->bytes);
  };
  if (stride != remote_.stride) return 1;  // next to each other here, but not there
  const auto staged = static_cast<std::uint32_t>(producer_.staged() - producer_.posted());
  const std::uint32_t most = std::min(staged, producer_.slots() - first);
  const std::uint32_t begin = used_from(first);
  std::uint32_t count = 1;
  while (count < most && (count + 1) * stride - begin <= std::max(kRunBytesMax, stride) &&
         used_from(first + count) <= kGapBytesMax) {
    ++count;
  }
  return count;
}

// A side that wants checks too is notified for what has none, and for what comes after writes of data.
template <class PortT>
bool Channel<PortT>::needs_notification(std::uint32_t first, std::uint32_t count) const {
  bool large = !remote_.wants_checks || producer_.posted() < notify_before_;
  for (std::uint32_t i = 0; !large && i < count; ++i)
    large = trailer_of(send_ring_.slot(first + i), send_ring_.stride())->bytes > kCheckedBytesMax;
  return large;
}

// The receiver counts one notification less when it reads the marked slot, whose check does not hold any more. A
// run that could not be posted before may be longer now.
template <class PortT>
void Channel<PortT>::mark_notified(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i + 1 < count; ++i)
    trailer_of(send_ring_.slot(first + i), send_ring_.stride())->marks &= kMarksOfMessage;
  SlotTrailer* last = trailer_of(send_ring_.slot(first + count - 1), send_ring_.stride());
  last->marks |= kMarkNotified;
  last->check = 0;
}

// Posts one write of the next slots. False when it has to be tried again.
template <class PortT>
bool Channel<PortT>::post_run() {
  if (in_flight_.full()) return false;
  const std::uint32_t stride = send_ring_.stride();
  const std::uint32_t first = producer_.post_index();
  const std::uint32_t begin = payload_offset(stride, trailer_of(send_ring_.slot(first), stride)->bytes);
  return write_run(first, begin, run_length());
}

// The write of `count` slots from `first` on, of which the first is used from `begin` on.
template <class PortT>
bool Channel<PortT>::write_run(std::uint32_t first, std::uint32_t begin, std::uint32_t count) {
  const std::uint32_t stride = send_ring_.stride();
  const bool notified = remote_.wants_notifications && needs_notification(first, count);
  if (notified) mark_notified(first, count);
  const bool last = producer_.staged() - producer_.posted() == count;
  const WriteUse use = notified ? WriteUse::kNotifiedSlots : last ? WriteUse::kSlots : WriteUse::kMoreSlots;
  const std::byte* from = send_ring_.slot(first) + begin;
  const std::uint64_t to = remote_.ring_address + std::uint64_t{first} * remote_.stride + begin;
  switch (core_.port.write(link_, {send_ring_.region(), from, std::size_t{count} * stride - begin, to,
                           remote_.ring_key, use})) {
    case WriteResult::kCopied:
      producer_.post(count);
      if (in_flight_.copied(producer_.posted())) producer_.complete(producer_.posted());
      return true;
    case WriteResult::kPosted:
      producer_.post(count);
      in_flight_.posted(producer_.posted());
      return true;
    case WriteResult::kHeld:  // data alone is
    case WriteResult::kAgain:
      return false;
    case WriteResult::kFailed:
      on_lost("a write failed");
      return false;
  }
  return false;
}

// Writes a part of the outbox into the same place of the peer's inbox. Words are copied by the port, so
// that they may change at once; an acknowledgement stays as it is until the peer has used it.
template <class PortT>
bool Channel<PortT>::post_word(std::uint64_t inbox_offset, std::size_t bytes) {
  const auto* from = reinterpret_cast<const std::byte*>(&control_.block->outbox) + inbox_offset;
  const WriteResult result =
      core_.port.write(link_, {*control_.region, from, bytes, remote_.control_address + inbox_offset,
                       remote_.control_key, WriteUse::kWord});
  BUFENLARGE_CHECK(result != WriteResult::kPosted || inbox_offset == offsetof(ControlInbox, ack));
  if (result == WriteResult::kFailed) on_lost("a write failed");
  return result != WriteResult::kAgain;
}

template <class PortT>
void Channel<PortT>::on_written() {
  producer_.complete(in_flight_.completed());
}

// ---- large data

template <class PortT>
Rendezvous<Channel<PortT>>& Channel<PortT>::rendezvous() {
  if (!rendezvous_) rendezvous_ = std::make_unique<Rendezvous<Channel>>(*this);
  return *rendezvous_;
}

template <class PortT>
Status Channel<PortT>::advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& name) {
  if (failed()) return failure_;
  (void)rendezvous();  // which ends it when the channel fails
  name = core_.sources.add(segments, cookie, peer_);
  return name != 0 ? Status::kOk : Status::kMemoryError;
}

template <class PortT>
Status Channel<PortT>::read(const ReadOrder& order) {
  if (failed()) return failure_;
  rendezvous().read(order);
  want_service();
  if (!connect_.ready()) (void)not_ready();
  return Status::kOk;
}

template <class PortT>
Status Channel<PortT>::write(const WriteOrder& order) {
  if (failed()) return failure_;
  if (!rendezvous().write(order)) return Status::kAgain;
  if (!connect_.ready()) (void)not_ready();
  return Status::kOk;
}

// On a fabric that reorders only a completion at the peer shows that data written before is there: a notification.
template <class PortT>
Status Channel<PortT>::send_fenced(std::span<const iovec> vector, std::size_t& sent) {
  sent = 0;
  if (!connect_.ready() || failed()) return not_ready();
  if ((rendezvous_ && !rendezvous_->all_written()) || room() == 0) return failed() ? failure_ : Status::kAgain;
  const std::uint64_t before = std::exchange(notify_before_, ~std::uint64_t{0});
  const Status status = send(vector, false, sent);
  notify_before_ = sent != 0 ? producer_.staged() : before;
  return status;
}

template <class PortT>
void Channel<PortT>::on_data_written() {
  if (!failed()) rendezvous_->on_data_written();
}

template <class PortT>
void Channel<PortT>::on_read_done(std::uint32_t sequence) {
  if (!failed() && !rendezvous_->on_read_done(sequence))
    fail(Status::kProtocolError, "the peer answered a read request in a way that was not asked for");
}

}  // namespace bufenlarge
