// SPDX-License-Identifier: MIT
// Everything that crosses the wire, with pinned sizes. The section numbers are those of
// docs/wire-protocol.md; a change here bumps kWireVersion and edits that document.
//
// All integers are little endian (checked below). No pointer, enum of unknown width or size_t
// appears: addresses are 64-bit remote addresses as libfabric's fi_write(3) takes them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace bufenlarge {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

inline constexpr std::uint8_t kWireVersion = 4;

// Section 2: slots. Kinds 0 and 6..255 are not used.
enum class SlotKind : std::uint8_t {
  kPayload = 1,         // a fragment of a message
  kEnlargeRequest = 2,  // EnlargeRequest; the last slot of its ring (002 fig 3, block 344)
  kHello = 3,           // empty; the active side's first message
  kReadRequest = 4,     // ReadRequest and its segments (004 c1)
  kReadFragment = 5,       // ReadFragment and data: the response to a request that asks for fragments
};

inline constexpr std::uint8_t kMarkFirst = 1;
inline constexpr std::uint8_t kMarkLast = 2;
inline constexpr std::uint8_t kMarksOfMessage = kMarkFirst | kMarkLast;
inline constexpr std::uint8_t kMarkNotified = 4;  // the last slot of a write that has a notification behind it

// The last bytes of every slot. Payload lies right before it, padded to 8 bytes, so the commit word
// is always at the same place and nothing behind it is ever written.
struct SlotTrailer {
  std::uint32_t check;   // slot_check() when the receiver asked for it in its Hello, else 0
  std::uint32_t grant;   // low half of the sender's consumed position in the other direction
  std::uint32_t bytes;   // payload bytes, without padding
  std::uint8_t kind;     // SlotKind
  std::uint8_t marks;    // kMarkFirst | kMarkLast | kMarkNotified
  std::uint16_t epoch;   // low half of the number of the ring in use, from 0
  std::uint64_t commit;  // commit_word(): unique per channel and direction, never 0
};
static_assert(sizeof(SlotTrailer) == 24 && offsetof(SlotTrailer, commit) == 16);

// The low 56 bits are position + 1. The top byte, the last to be placed, counts laps of the ring from 1
// to 255 and round again, so it differs from what the lap before left there: on a fabric that places
// bytes in order the word is there only when all of it is. (A low byte alone would do for
// positions below 256, whose other bytes are 0 in every lap.)
constexpr std::uint64_t commit_word(std::uint64_t position, std::uint64_t lap) {
  return ((position + 1) & 0x00ff'ffff'ffff'ffffu) | (lap % 255 + 1) << 56;
}

// The same where laps are counted as they are written: a division less for each slot.
class Lap {
 public:
  void next() { byte_ = byte_ == 255 ? 1 : byte_ + 1; }
  [[nodiscard]] std::uint64_t commit_word(std::uint64_t position) const {
    return ((position + 1) & 0x00ff'ffff'ffff'ffffu) | byte_ << 56;
  }

 private:
  std::uint64_t byte_ = 1;
};

inline constexpr std::uint32_t kSlotAlign = 8;
inline constexpr std::uint32_t kTrailerBytes = sizeof(SlotTrailer);

constexpr std::uint32_t align_up(std::uint32_t bytes) {
  return (bytes + kSlotAlign - 1) & ~(kSlotAlign - 1);
}
// Memory one slot takes, and payload it holds.
constexpr std::uint32_t slot_stride(std::uint32_t slot_bytes) { return align_up(slot_bytes); }
constexpr std::uint32_t slot_capacity(std::uint32_t slot_bytes) {
  return slot_stride(slot_bytes) - kTrailerBytes;
}

// Section 3: the payload of SlotKind::kEnlargeRequest.
struct EnlargeRequest {
  std::uint32_t number;  // 1, 2, ... per channel and direction
  std::uint32_t phase;   // index into the phase table both sides checked at connect
};
static_assert(sizeof(EnlargeRequest) == 8);

// Section 10: reading the peer's memory. A request names segments of what the peer has advertised and segments
// of the own memory; the response is RDMA writes, the last with `sequence` as immediate data (004 c1 to c8).
inline constexpr std::uint8_t kReadLast = 1;      // flag: what is advertised is of no more use when it is answered
inline constexpr std::uint8_t kReadThroughRing = 2;  // flag: the response comes through the ring

struct ReadRequest {
  std::uint32_t sequence;  // never the same in two requests under way; 0: no response, only kReadLast
  std::uint8_t sources;
  std::uint8_t destinations;
  std::uint8_t flags;
  std::uint8_t spare;  // 0
};
static_assert(sizeof(ReadRequest) == 8);

struct ReadSource {
  std::uint64_t offset;    // within what was advertised
  std::uint32_t handle;  // of the source, as the peer advertised it; never 0
  std::uint32_t bytes;
};
static_assert(sizeof(ReadSource) == 16);

struct ReadDestination {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t bytes;
};
static_assert(sizeof(ReadDestination) == 16);

// Begins the payload of SlotKind::kReadFragment; kMarkLast is set in the response's last fragment.
struct ReadFragment {
  std::uint32_t sequence;
  std::uint32_t spare;  // 0
};
static_assert(sizeof(ReadFragment) == 8);

// Section 4: the acknowledgement, RDMA-written into the sender's control block. head and tail are
// the flags of 002 fig 3 block 348; both depend on `number`, so an old one is never taken for new.
enum class AckStatus : std::uint8_t {
  kProvisioned = 1,  // the ring described has the phase asked for
  kRefused = 2,      // it could not be had; the ring described has the old phase
};

struct EnlargeAck {
  std::uint64_t head;
  std::uint64_t ring_address;  // remote address of slot 0
  std::uint64_t base;          // position of the first slot written to the new ring
  std::uint32_t number;        // of the request answered
  std::uint32_t ring_key;      // remote key
  std::uint32_t slot_bytes;
  std::uint32_t slots;
  std::uint8_t phase;
  std::uint8_t status;  // AckStatus
  std::uint16_t epoch;
  std::uint32_t spare;   // 0
  std::uint64_t check;   // ack_check() over ring_address .. spare
  std::uint64_t tail;
};
static_assert(sizeof(EnlargeAck) == 64 && offsetof(EnlargeAck, check) == 48);

// Section 5: words the peer writes when there is nothing to ride on. Each carries a check, word_check(),
// so that a word torn by the device is seen as torn.
struct GrantWord {
  std::uint64_t consumed;  // monotonic position: every earlier slot has been read
  std::uint64_t check;
};
static_assert(sizeof(GrantWord) == 16);

struct RepeatWord {
  std::uint32_t number;  // of the request whose acknowledgement did not come whole
  std::uint32_t phase;
  std::uint64_t check;  // of the first eight bytes
};
static_assert(sizeof(RepeatWord) == 16);

// Section 6: one control block per channel and side. The peer writes `inbox` only.
struct ControlInbox {
  GrantWord grant;
  RepeatWord repeat;
  std::uint64_t spare[4];
  EnlargeAck ack;
};
static_assert(sizeof(ControlInbox) == 128 && offsetof(ControlInbox, ack) == 64);

struct ControlBlock {
  ControlInbox inbox;   // written by the peer
  ControlInbox outbox;  // source of the own writes into the peer's inbox
};
static_assert(sizeof(ControlBlock) == 256);

// Section 7: private data of connect, accept and reject. verbs allows 55 bytes
// (libfabric 1.17 fi_verbs.h, VERBS_CM_DATA_SIZE less its length byte).
inline constexpr std::uint16_t kHelloMagic = 0x4542;  // "BE"
inline constexpr std::uint8_t kHelloVerifiesSlots = 1;  // flag: fill SlotTrailer::check for me
inline constexpr std::uint8_t kHelloWantsNotifications = 2;  // flag: ring after each write of slots
inline constexpr std::uint8_t kHelloOtherJob = 4;  // flag: of another job, whose job_id takes the place of slot_bytes
// With both flags slots of up to so many bytes of payload are checked, and writes with a larger one are
// notified for: a check costs by the byte, a notification by the write (docs/decisions/0007-arrival.md).
inline constexpr std::uint32_t kCheckedBytesMax = 512;

struct Hello {
  std::uint16_t magic;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint32_t rank;
  std::uint64_t job_key;          // of the passive side's job
  std::uint64_t ring_address;     // own receive ring, phase 0
  std::uint64_t control_address;  // own ControlBlock::inbox
  std::uint32_t ring_key;
  std::uint32_t control_key;
  std::uint32_t slot_bytes;  // phase 0; with kHelloOtherJob the own job_id
  std::uint16_t slots;       // phase 0; with kHelloOtherJob 0
  std::uint16_t attempt;     // of the active side, echoed by the passive side
  std::uint32_t geometry;    // geometry_hash() of all phases
};
inline constexpr std::size_t kHelloBytes = 52;  // sizeof rounds up to 56; the wire does not
static_assert(offsetof(Hello, geometry) == 48 && offsetof(Hello, geometry) + 4 == kHelloBytes);
static_assert(kHelloBytes <= 55, "verbs private data");

enum class RejectReason : std::uint8_t {
  kCrossing = 1,  // my own attempt to you wins: wait for it
  kVersion = 2,   // wire version differs
  kGeometry = 3,  // phases differ
  kUnauthorized = 4,  // no Hello, or not the job's key: nothing is told
  kStale = 5,     // a newer attempt or connection of yours is known
};

struct Reject {
  std::uint16_t magic;
  std::uint8_t version;  // of the rejecting side
  std::uint8_t reason;   // RejectReason
  std::uint32_t slot_bytes;
  std::uint16_t slots;
  std::uint16_t attempt;  // echoed
  std::uint32_t geometry;
};
static_assert(sizeof(Reject) == 16);

}  // namespace bufenlarge
