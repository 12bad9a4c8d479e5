// SPDX-License-Identifier: MIT
#include "channel/send_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/vector_plan.h"
#include "protocol/words.h"

namespace bufenlarge {

// Slots that follow each other in the ring go out as one write when the unused bytes between them cost less than
// another write would: on tcp a write costs about as much as copying a few kilobytes
// (docs/decisions/0006-neighbouring-slots-in-one-write.md).
inline constexpr std::uint32_t kGapBytesMax = 4096;
// A write is no longer than this, half of a large ring at the defaults, so that the receiver starts reading while the
// sender fills the rest.
inline constexpr std::uint32_t kRunBytesMax = 64 * 1024;

// ---- life

template <class PortT>
void SendRing<PortT>::start(std::uint64_t base, std::uint32_t slots, std::uint8_t phase, std::uint16_t epoch) {
  producer_.start(base, slots);
  in_flight_.clear();
  set_phase(phase);
  epoch_ = epoch;
}

// What fits the largest phase that is known to be needed tells nothing new, so it may take the path of one slot.
template <class PortT>
void SendRing<PortT>::set_phase(std::uint8_t phase) {
  phase_ = phase;
  threshold_bytes_ = phases().at(phase_).threshold_bytes;
  single_slot_bytes_ = watches_use_ ? phases().at(std::min(used_phase_, phase_)).threshold_bytes : threshold_bytes_;
}

template <class PortT>
void SendRing<PortT>::aim_at(std::uint64_t ring_address, std::uint32_t ring_key, std::uint32_t stride) {
  target_.stride = stride;
  target_.address = ring_address + (stride - ring_.stride());
  target_.key = ring_key;
}

template <class PortT>
void SendRing<PortT>::set_peer_wants(bool checks, bool notifications) {
  target_.wants_checks = checks;
  target_.wants_notifications = notifications;
  hint_due_ = false;  // of the connection before
}

template <class PortT>
void SendRing<PortT>::end() {
  drop();
  used_phase_ = 0;
  start(0, phases().at(0).slots, 0, 0);
  notify_before_ = 0;
  hint_due_ = false;
}

// ---- messages

template <class PortT>
inline bool SendRing<PortT>::send_single_slot(std::span<const iovec> vector, std::size_t& sent) {
  std::size_t bytes = 0;
  for (const iovec& element : vector) bytes += element.iov_len;
  if (bytes == 0 || bytes > single_slot_bytes_ || message_open_ || !producer_.all_posted() || in_flight_.full() ||
      room() == 0)
    return false;
  sent = bytes;
  const auto slot_bytes = static_cast<std::uint32_t>(bytes);
  const std::uint32_t index = producer_.stage_index();
  const std::uint32_t begin = payload_offset(ring_.stride(), slot_bytes);
  std::byte* to = ring_.slot(index) + begin;
  for (const iovec& element : vector) {
    std::memcpy(to, element.iov_base, element.iov_len);
    to += element.iov_len;
  }
  counters_.count(phase_, slot_bytes, true, true);
  stage_slot(SlotKind::kPayload, slot_bytes, kMarksOfMessage);
  if (!write_run(index, begin, 1)) link_.want_service();
  return true;
}

template <class PortT>
std::uint32_t SendRing<PortT>::room_by_grant() {
  const auto consumed = read_grant(link_.inbox().grant);
  if (consumed && !producer_.grant(*consumed))
    link_.fail(Status::kProtocolError, "the peer granted slots that were never written");
  return link_.failed() ? 0 : producer_.room();
}

// The first slot takes what full ones leave over: payload ends where the slot does, so the slots of one write then have
// no unused bytes between them.
template <class PortT>
void SendRing<PortT>::stage(std::span<const iovec> elements, bool ends, std::size_t& sent) {
  std::size_t left = 0;
  for (const iovec& element : elements) left += element.iov_len;
  const iovec* element = elements.data();
  std::size_t offset = 0;
  const std::uint32_t stride = ring_.stride();
  std::uint32_t unposted = 0;
  while (left != 0 && room() != 0) {
    const std::size_t over = left % ring_.capacity();
    const auto bytes = static_cast<std::uint32_t>(over != 0 ? over : ring_.capacity());
    std::byte* to = ring_.slot(producer_.stage_index()) + payload_offset(stride, bytes);
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
    counters_.count(phase_, bytes, !message_open_, last);
    message_open_ = !last;
    stage_slot(SlotKind::kPayload, bytes, marks);
    unposted += stride;
    if (unposted >= kRunBytesMax) flush(), unposted = 0;
  }
}

// ---- use

template <class PortT>
void SendRing<PortT>::note_use(std::uint8_t phase) {
  if (!watches_use_ || phase <= used_phase_) return;
  used_phase_ = phase;
  set_phase(phase_);
}

template <class PortT>
void SendRing<PortT>::note_use(std::span<const iovec> elements) {
  if (watches_use_) note_use(phases().phase_for(size_of(elements).largest, 0));
}

template <class PortT>
std::uint8_t SendRing<PortT>::take_used_phase() {
  const std::uint8_t used = std::exchange(used_phase_, std::uint8_t{0});
  set_phase(phase_);
  return used;
}

template <class PortT>
std::uint64_t SendRing<PortT>::notify_all() {
  return std::exchange(notify_before_, ~std::uint64_t{0});
}

template <class PortT>
void SendRing<PortT>::restore_notify(std::uint64_t before, bool sent) {
  notify_before_ = sent ? producer_.staged() : before;
}

// ---- slots

template <class PortT>
inline void SendRing<PortT>::stage_slot(SlotKind kind, std::uint32_t bytes, std::uint8_t marks) {
  const SlotFill fill{producer_.stage_commit(),
                      bytes,
                      static_cast<std::uint32_t>(consumer_.consumed()),
                      epoch_,
                      kind,
                      marks,
                      target_.wants_checks && (!target_.wants_notifications || bytes <= kCheckedBytesMax)};
  seal_slot(ring_.slot(producer_.stage_index()), ring_.stride(), fill);
  producer_.stage_one();
  consumer_.report();
}

template <class PortT>
std::byte* SendRing<PortT>::begin_control(std::uint32_t bytes) {
  return ring_.slot(producer_.stage_index()) + payload_offset(ring_.stride(), bytes);
}

template <class PortT>
void SendRing<PortT>::stage_control(SlotKind kind, std::span<const std::byte> payload) {
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  std::ranges::copy(payload, begin_control(bytes));  // may be empty, and then has no address
  stage_slot(kind, bytes, 0);
}

// ---- writes

template <class PortT>
void SendRing<PortT>::flush() {
  while (!producer_.all_posted() && !link_.failed()) {
    if (!post_run()) {
      link_.want_service();
      return;
    }
  }
}

// How many of the staged slots, which lie next to each other, go in the next write.
template <class PortT>
std::uint32_t SendRing<PortT>::run_length() const {
  const std::uint32_t stride = ring_.stride();
  const std::uint32_t first = producer_.post_index();
  const auto used_from = [&](std::uint32_t index) {
    return payload_offset(stride, trailer_of(ring_.slot(index), stride)->bytes);
  };
  if (stride != target_.stride) return 1;  // next to each other here, but not there
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

// In mixed mode, everything is notified while the peer does not look at its ring, slots that carry no check always, and
// slots that come after writes of data: those for closing are the last that the connection carries. A slot marked for a
// write that could not be posted has no check any more.
template <class PortT>
bool SendRing<PortT>::needs_notification(std::uint32_t first, std::uint32_t count) const {
  bool large = !target_.wants_checks || producer_.posted() < notify_before_ || !link_.peer_is_hot();
  for (std::uint32_t i = 0; !large && i < count; ++i) {
    const SlotTrailer* slot = trailer_of(ring_.slot(first + i), ring_.stride());
    large = slot->bytes > kCheckedBytesMax || (slot->marks & kMarkNotified) != 0 ||
            slot->kind == static_cast<std::uint8_t>(SlotKind::kClose);
  }
  return large;
}

// The receiver counts one notification less when it reads the marked slot, whose check does not hold any more. A run
// that could not be posted before may be longer now, so the marks before its last slot are taken back.
template <class PortT>
void SendRing<PortT>::mark_notified(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i + 1 < count; ++i)
    trailer_of(ring_.slot(first + i), ring_.stride())->marks &= kMarksOfMessage;
  SlotTrailer* last = trailer_of(ring_.slot(first + count - 1), ring_.stride());
  last->marks |= kMarkNotified;
  last->check = 0;
}

template <class PortT>
void SendRing<PortT>::tell_peer() {
  hint_due_ = !link_.post_hint();
  if (hint_due_) link_.want_service();
}

// Posts one write of the next slots. Returns false when it has to be tried again.
template <class PortT>
bool SendRing<PortT>::post_run() {
  if (in_flight_.full()) return false;
  const std::uint32_t stride = ring_.stride();
  const std::uint32_t first = producer_.post_index();
  const std::uint32_t begin = payload_offset(stride, trailer_of(ring_.slot(first), stride)->bytes);
  return write_run(first, begin, run_length());
}

// Writes `count` slots from `first` on, of which the first is used from `begin` on.
template <class PortT>
inline bool SendRing<PortT>::write_run(std::uint32_t first, std::uint32_t begin, std::uint32_t count) {
  const std::uint32_t stride = ring_.stride();
  const bool notified = target_.wants_notifications && needs_notification(first, count);
  if (notified) mark_notified(first, count);
  const bool last = producer_.staged() - producer_.posted() == count;
  const WriteUse use = notified ? WriteUse::kNotifiedSlots : last ? WriteUse::kSlots : WriteUse::kMoreSlots;
  const std::uint64_t to = target_.address + std::uint64_t{first} * target_.stride + begin;
  switch (link_.write(
      {ring_.region(), ring_.slot(first) + begin, std::size_t{count} * stride - begin, to, target_.key, use})) {
    case WriteResult::kCopied:
      producer_.post(count);
      if (in_flight_.copied(producer_.posted())) producer_.complete(producer_.posted());
      on_posted();
      return true;
    case WriteResult::kPosted:
      producer_.post(count);
      in_flight_.posted(producer_.posted());
      on_posted();
      return true;
    case WriteResult::kHeld:  // ports hold data only
    case WriteResult::kAgain:
    case WriteResult::kFailed:
      return false;
  }
  return false;
}

}  // namespace bufenlarge
