// SPDX-License-Identifier: MIT
// One slot of a ring: where its parts lie, how the sender fills it and how the receiver sees that it has
// arrived (docs/wire-protocol.md, section 2).
//
//   |<------------------------- stride ------------------------->|
//   | not written | payload, padded to 8 | trailer (24 bytes)     |
//                                                        commit ^ last eight bytes
//
// Arrival. Some fabrics place the bytes of a write in order; libfabric's tcp provider does, as seen by the thread
// that made progress. There the commit word is the last to appear. Elsewhere the receiver asks in its Hello for
// `check` and takes a slot only when the check holds; before that the slot counts as not arrived.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "protocol/digest.h"
#include "protocol/wire.h"

namespace bufenlarge {

// What seal_slot() writes; the fields mean what they mean in SlotTrailer.
struct SlotFill {
  std::uint64_t commit;
  std::uint32_t bytes;
  std::uint32_t grant;
  std::uint16_t epoch;
  SlotKind kind;
  std::uint8_t marks;
  bool checked;  // fill in `check`, too
};

// Returns the offset at which a payload of `bytes` bytes begins in a slot of `stride` bytes.
constexpr std::uint32_t payload_offset(std::uint32_t stride, std::uint32_t bytes) {
  return stride - kTrailerBytes - align_up(bytes);
}

inline SlotTrailer* trailer_of(std::byte* slot, std::uint32_t stride) {
  return reinterpret_cast<SlotTrailer*>(slot + stride - kTrailerBytes);
}

// Writes the trailer of a slot of the staging ring; the payload is in its place already.
inline void seal_slot(std::byte* slot, std::uint32_t stride, const SlotFill& fill) {
  SlotTrailer trailer{0,          fill.grant, fill.bytes,       static_cast<std::uint8_t>(fill.kind),
                      fill.marks, fill.epoch, fill.commit};
  if (fill.checked) trailer.check = slot_check(slot + payload_offset(stride, fill.bytes), trailer);
  std::memcpy(trailer_of(slot, stride), &trailer, sizeof trailer);
}

enum class SlotState : std::uint8_t {
  kEmpty,    // it has not arrived, or is not whole yet
  kReady,    // it is whole, and the caller has its trailer
  kInvalid,  // it is whole, and docs/wire-protocol.md does not allow it
};

// Returns true if the slot has the commit word `expected`. What the peer has placed before it can be read then.
inline bool commit_seen(const std::byte* slot, std::uint32_t stride, std::uint64_t expected) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(slot + stride - sizeof(std::uint64_t));
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) == expected;
}

// Looks at a slot of the receive ring, whose epoch is `epoch`. If `checked`, a slot counts as not arrived while
// its check does not hold, or when its payload has more than `checked_max` bytes. Copies the trailer out, unless
// the commit word is missing.
inline SlotState inspect_slot(const std::byte* slot, std::uint32_t stride, std::uint64_t expected,
                              std::uint16_t epoch, bool checked, SlotTrailer& trailer,
                              std::uint32_t checked_max = ~std::uint32_t{0}) {
  if (!commit_seen(slot, stride, expected)) return SlotState::kEmpty;
  std::memcpy(&trailer, slot + stride - kTrailerBytes, sizeof trailer);
  const bool sized = trailer.bytes <= stride - kTrailerBytes;
  if (checked) {
    if (!sized || trailer.bytes > checked_max ||
        trailer.check != slot_check(slot + payload_offset(stride, trailer.bytes), trailer))
      return SlotState::kEmpty;
  }
  const bool known = trailer.kind >= static_cast<std::uint8_t>(SlotKind::kPayload) &&
                     trailer.kind <= static_cast<std::uint8_t>(SlotKind::kClose);
  return sized && known && trailer.epoch == epoch ? SlotState::kReady : SlotState::kInvalid;
}

}  // namespace bufenlarge
