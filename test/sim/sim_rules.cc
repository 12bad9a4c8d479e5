// SPDX-License-Identifier: MIT
#include "sim/sim_rules.h"

#include <cstring>

#include "protocol/slot.h"

namespace bufenlarge::sim {

void SimRules::announce(const Hello& hello) {
  ring_ = {hello.ring_address, 0, hello.ring_key, slot_stride(hello.slot_bytes), hello.slots, 0};
  inbox_address_ = hello.control_address;
  inbox_key_ = hello.control_key;
  const std::uint64_t first = hello.control_address - std::uint64_t{hello.block} * sizeof(ControlBlock);
  hint_address_ = hello.block == 0 ? 0 : first + hello.block;
}

void SimRules::promise(const EnlargeAck& ack) {
  const bool known = promised_ && promised_->ack.number == ack.number;
  if (!known && ack.number > used_ack_) promised_ = Promise{ack, false};
}

void SimRules::landed(const EnlargeAck& ack) {
  if (promised_ && std::memcmp(&promised_->ack, &ack, sizeof ack) == 0) promised_->landed = true;
}

WriteKind SimRules::kind_of(std::uint32_t key, std::uint64_t address, std::size_t bytes) const {
  if (key != inbox_key_) return WriteKind::kSlots;
  if (address == hint_address_ && bytes == 1) return WriteKind::kHint;
  const std::uint64_t offset = address - inbox_address_;
  if (offset == offsetof(ControlInbox, grant) && bytes == sizeof(GrantWord)) return WriteKind::kGrant;
  if (offset == offsetof(ControlInbox, repeat) && bytes == sizeof(RepeatWord)) return WriteKind::kRepeat;
  if (offset == offsetof(ControlInbox, hot) && bytes == sizeof(HotWord)) return WriteKind::kHot;
  if (offset == offsetof(ControlInbox, ack) && bytes == sizeof(EnlargeAck)) return WriteKind::kAck;
  return WriteKind::kUnknown;
}

std::string SimRules::check_slot(const std::byte* end, std::uint64_t index, bool marked,
                                 const RingConsumer* reader) {
  SlotTrailer trailer;
  std::memcpy(&trailer, end - sizeof trailer, sizeof trailer);
  const auto broken = [&](const std::string& how) {
    return "the slot of position " + std::to_string(next_) + how;
  };
  if (asked_) return broken(" follows the enlargement request of its ring");
  if (trailer.commit != commit_word(next_, (next_ - ring_.base) / ring_.slots))
    return broken(" has the commit word " + std::to_string(trailer.commit));
  if ((next_ - ring_.base) % ring_.slots != index)
    return broken(" goes to slot " + std::to_string(index) + " of the ring");
  if (trailer.epoch != ring_.epoch)
    return broken(" has epoch " + std::to_string(trailer.epoch) + ", the ring " +
                  std::to_string(ring_.epoch));
  if (((trailer.marks & kMarkNotified) != 0) != marked)
    return broken(marked ? " is the last before a notification, and not marked"
                         : " is marked, and no notification follows");
  if (reader != nullptr && next_ >= reader->consumed() + ring_.slots)
    return broken(" exceeds the credit: " + std::to_string(reader->consumed()) +
                  " have been read of a ring of " + std::to_string(ring_.slots));
  asked_ = trailer.kind == static_cast<std::uint8_t>(SlotKind::kEnlargeRequest);
  ++next_;
  return "";
}

namespace {

SlotTrailer trailer_before(std::span<const std::byte> slot) {
  SlotTrailer trailer;
  std::memcpy(&trailer, slot.data() + slot.size() - sizeof trailer, sizeof trailer);
  return trailer;
}

// Of a slot that ends where `slot` does and has all of its payload in it.
bool check_holds(std::span<const std::byte> slot) {
  const SlotTrailer trailer = trailer_before(slot);
  const std::size_t used = sizeof trailer + align_up(trailer.bytes);
  return used <= slot.size() && trailer.check == slot_check(slot.data() + slot.size() - used, trailer);
}

}  // namespace

std::string SimRules::check_slots(std::uint32_t key, std::uint64_t address, std::span<const std::byte> data,
                                  bool notified, Arrival asked, bool hot, const RingConsumer* reader,
                                  bool may_notify) {
  if (promised_ && promised_->landed && promised_->ack.ring_key == key) {
    const EnlargeAck ack = promised_->ack;
    ring_ = {ack.ring_address, ack.base, ack.ring_key, slot_stride(ack.slot_bytes), ack.slots, ack.epoch};
    used_ack_ = ack.number;
    promised_.reset();
    asked_ = false;
    if (next_ != ack.base) return "the new ring begins at another position than the old one ended";
  }
  if (key != ring_.key) return "write into memory that is not confirmed (key " + std::to_string(key) + ")";
  const std::uint64_t begin = address - ring_.address;
  const std::uint64_t end = begin + data.size();
  if (address < ring_.address || end > std::uint64_t{ring_.stride} * ring_.slots || end % ring_.stride != 0)
    return "write of slots that does not end with a slot of the ring";
  first_ = next_;
  requests_.clear();
  fragments_ = 0;
  bool large = false;
  for (std::uint64_t index = begin / ring_.stride; index < end / ring_.stride; ++index) {
    const std::byte* slot_end = data.data() + ((index + 1) * ring_.stride - begin);
    const bool marked = notified && (index + 1) * ring_.stride == end;
    const std::string broken = check_slot(slot_end, index, marked, reader);
    if (!broken.empty()) return broken;
    const auto slot = data.first(static_cast<std::size_t>(slot_end - data.data()));
    std::string broken_kind = check_read_slot(trailer_before(slot), slot_end);
    if (broken_kind.empty()) broken_kind = check_close_slot(trailer_before(slot), slot_end);
    if (!broken_kind.empty()) return broken_kind;
    large |= trailer_before(slot).bytes > kCheckedBytesMax ||
             trailer_before(slot).kind == static_cast<std::uint8_t>(SlotKind::kClose);
    const bool needs_check = asked == Arrival::kChecked || (asked == Arrival::kMixed && !notified);
    if (needs_check && !check_holds(slot))
      return "the check of position " + std::to_string(next_ - 1) + " does not hold";
  }
  if (asked == Arrival::kMixed && notified != (large || !hot) && !(notified && may_notify))
    return notified ? "a write of small slots alone was notified for, and the reader looks at its ring"
                    : "a write was not notified for: it has a larger slot, or the reader does not look at its ring";
  return "";
}

}  // namespace bufenlarge::sim
