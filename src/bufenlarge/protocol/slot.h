// SPDX-License-Identifier: MIT
// One slot of a ring: where its parts lie, how it is filled and how its arrival is seen
// (docs/wire-protocol.md, section 2).
//
//   |<------------------------- stride ------------------------->|
//   | not written | payload, padded to 8 | trailer (24 bytes)     |
//                                                        commit ^ last eight bytes
//
// Arrival. On a fabric that places the bytes of a write in order (libfabric's tcp provider, looked at
// by the thread that made progress) the commit word is the last to appear. On one that may not, the
// receiver asks for `check` in its Hello and takes the slot only when the check holds; before that
// the slot counts as not arrived.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "protocol/digest.h"
#include "protocol/wire.h"

namespace bufenlarge {

struct SlotFill {
  std::uint64_t commit;
  std::uint32_t bytes;
  std::uint32_t grant;
  std::uint16_t epoch;
  SlotKind kind;
  std::uint8_t marks;
  bool checked;
};

// Where the payload of `bytes` begins in a slot of `stride`.
constexpr std::uint32_t payload_offset(std::uint32_t stride, std::uint32_t bytes) {
  return stride - kTrailerBytes - align_up(bytes);
}

inline SlotTrailer* trailer_of(std::byte* slot, std::uint32_t stride) {
  return reinterpret_cast<SlotTrailer*>(slot + stride - kTrailerBytes);
}

// Completes a slot of the staging ring whose payload is already in place.
inline void seal_slot(std::byte* slot, std::uint32_t stride, const SlotFill& fill) {
  SlotTrailer trailer{0,          fill.grant, fill.bytes,       static_cast<std::uint8_t>(fill.kind),
                      fill.marks, fill.epoch, fill.commit};
  if (fill.checked) trailer.check = slot_check(slot + payload_offset(stride, fill.bytes), trailer);
  std::memcpy(trailer_of(slot, stride), &trailer, sizeof trailer);
}

enum class SlotState : std::uint8_t {
  kEmpty,    // not arrived, or not whole yet
  kReady,    // whole; trailer is filled in
  kInvalid,  // whole, and not what the wire document allows
};

inline bool commit_seen(const std::byte* slot, std::uint32_t stride, std::uint64_t expected) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(slot + stride - sizeof(std::uint64_t));
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) == expected;
}

// Looks at a slot of the receive ring. `epoch` is the ring's. When `checked`, a slot of more than
// `checked_max` bytes counts as not arrived.
inline SlotState inspect_slot(const std::byte* slot, std::uint32_t stride, std::uint64_t expected,
                              std::uint16_t epoch, bool checked, SlotTrailer& trailer,
                              std::uint32_t checked_max = ~std::uint32_t{0}) {
  if (!commit_seen(slot, stride, expected)) return SlotState::kEmpty;
  std::memcpy(&trailer, slot + stride - kTrailerBytes, sizeof trailer);
  const bool sized = trailer.bytes <= stride - kTrailerBytes;
  if (checked) {
    if (!sized || trailer.bytes > checked_max || trailer.check != slot_check(slot + payload_offset(stride, trailer.bytes), trailer))
      return SlotState::kEmpty;
  }
  const bool known = trailer.kind >= static_cast<std::uint8_t>(SlotKind::kPayload) &&
                     trailer.kind <= static_cast<std::uint8_t>(SlotKind::kReadFragment);
  return sized && known && trailer.epoch == epoch ? SlotState::kReady : SlotState::kInvalid;
}

}  // namespace bufenlarge
