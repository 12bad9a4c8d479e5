// SPDX-License-Identifier: MIT
// Everything that crosses the wire. Static assertions pin the sizes. The section numbers are those of
// docs/wire-protocol.md: who changes something here raises kWireVersion and edits that document.
//
// All integers are little endian (checked below). There is no pointer, no enum of unknown width and no
// size_t: addresses are 64-bit remote addresses as libfabric's fi_write(3) takes them. Fields called
// `reserved` are 0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace bufenlarge {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

inline constexpr std::uint8_t kWireVersion = 13;

// Section 2: slots. Kinds 0 and 7 to 255 are not used.
enum class SlotKind : std::uint8_t {
  kPayload = 1,         // a fragment of a message
  kEnlargeRequest = 2,  // EnlargeRequest; the last slot of its ring
  kHello = 3,           // no payload; the active side's first slot
  kReadRequest = 4,     // ReadRequest and its segments
  kReadFragment = 5,    // ReadFragment and data: a part of a response that comes through the ring
  kClose = 6,           // CloseMessage
};

inline constexpr std::uint8_t kMarkFirst = 1;
inline constexpr std::uint8_t kMarkLast = 2;
inline constexpr std::uint8_t kMarksOfMessage = kMarkFirst | kMarkLast;
inline constexpr std::uint8_t kMarkNotified = 4;  // the last slot of a notified write

// The last bytes of every slot. The payload lies right before it, padded to 8 bytes, so the commit word is
// always at the same place, and nobody writes anything behind it.
struct SlotTrailer {
  std::uint32_t check;   // slot_check() if the receiver asks for it in its Hello, otherwise 0
  std::uint32_t grant;   // low half of the position up to which the sender has consumed the other direction
  std::uint32_t bytes;   // payload bytes, without padding
  std::uint8_t kind;     // SlotKind
  std::uint8_t marks;    // kMarkFirst | kMarkLast | kMarkNotified
  std::uint16_t epoch;   // low half of the number of the ring in use, from 0
  std::uint64_t commit;  // commit_word(): unique per channel and direction, never 0
};
static_assert(sizeof(SlotTrailer) == 24 && offsetof(SlotTrailer, commit) == 16);

// The low 56 bits are position + 1. The top byte, which is placed last, counts the laps of the ring from 1 to
// 255 and begins again at 1, so it differs from what the lap before left there. Where bytes are placed in order
// the receiver therefore sees the expected word only when all of it is there. (Without the lap, the word of a
// position below 256 would look complete with its lowest byte: its other bytes are 0 in every lap.)
constexpr std::uint64_t commit_word(std::uint64_t position, std::uint64_t lap) {
  return ((position + 1) & 0x00ff'ffff'ffff'ffffu) | (lap % 255 + 1) << 56;
}

// Counts the laps of a ring as it is filled or read, which saves a division for each slot.
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
// Return the memory that one slot takes and the payload that it holds, in bytes.
constexpr std::uint32_t slot_stride(std::uint32_t slot_bytes) { return align_up(slot_bytes); }
constexpr std::uint32_t slot_capacity(std::uint32_t slot_bytes) {
  return slot_stride(slot_bytes) - kTrailerBytes;
}

// Section 3: the payload of SlotKind::kEnlargeRequest.
struct EnlargeRequest {
  std::uint32_t number;  // 1, 2, ... per channel and direction
  std::uint32_t phase;   // index into the phase table, which both sides compared when they connected
};
static_assert(sizeof(EnlargeRequest) == 8);

// Section 12: the payload of SlotKind::kClose.
enum class CloseStep : std::uint8_t {
  kRequest = 1,  // the sender wants to close the connection; any slot that it sends after this takes that back
  kAgree = 2,    // answers a request: the sender writes nothing more, unless the other side goes on
  kRefuse = 3,   // answers a request: the connection stays
  kGoOn = 4,     // after an agreement: the connection stays, although the side that asked has no other slot to send
};

struct CloseMessage {
  std::uint32_t number;  // of the request: 1, 2, ... per connection and direction
  std::uint8_t step;     // CloseStep
  std::uint8_t for_room;  // of a request: 1 when the sender needs room for another connection
  std::uint16_t reserved;
};
static_assert(sizeof(CloseMessage) == 8);

// Section 10: reading the peer's memory. A request lists segments of sources that the peer has advertised and
// segments of the reader's own memory. The response is RDMA writes; the last carries `sequence` as immediate data.
inline constexpr std::uint8_t kReadLast = 1;         // flag: the peer releases the sources after its response
inline constexpr std::uint8_t kReadThroughRing = 2;  // flag: the response comes through the ring

// Begins the payload of SlotKind::kReadRequest; the sources and then the destinations follow.
struct ReadRequest {
  std::uint32_t sequence;     // different in all requests of a context that are under way; 0: a release only
  std::uint8_t sources;       // number of ReadSource
  std::uint8_t destinations;  // number of ReadDestination
  std::uint8_t flags;         // kReadLast | kReadThroughRing
  std::uint8_t reserved;
};
static_assert(sizeof(ReadRequest) == 8);

struct ReadSource {
  std::uint64_t offset;  // in the source
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
  std::uint32_t sequence;  // of the request
  std::uint32_t reserved;
};
static_assert(sizeof(ReadFragment) == 8);

// Section 4: the acknowledgement, which the receiver writes into the sender's control block. The flags head and
// tail depend on `number`, so the sender never takes an old acknowledgement for a new one.
enum class AckStatus : std::uint8_t {
  kProvisioned = 1,     // the ring described has the requested phase
  kRefused = 2,         // the receiver had no memory for it; the ring described has the old phase
  kRefusedByLimit = 3,  // the same, by a limit of the receiver's own (MEMORY_MAX): memory may come back soon
};

struct EnlargeAck {
  std::uint64_t head;
  std::uint64_t ring_address;  // remote address of slot 0
  std::uint64_t base;          // position of the first slot written to the new ring
  std::uint32_t number;        // of the request
  std::uint32_t ring_key;      // remote key
  std::uint32_t slot_bytes;
  std::uint32_t slots;
  std::uint8_t phase;
  std::uint8_t status;  // AckStatus
  std::uint16_t epoch;
  std::uint32_t reserved;
  std::uint64_t check;  // ack_check() over ring_address to reserved
  std::uint64_t tail;
};
static_assert(sizeof(EnlargeAck) == 64 && offsetof(EnlargeAck, check) == 48);

// Section 5: words that the peer writes when no slot goes in the same direction. By the check of a word, word_check(),
// the reader sees when a device has placed only a part of it.
struct GrantWord {
  std::uint64_t consumed;  // position: the receiver has read every earlier slot
  std::uint64_t check;
};
static_assert(sizeof(GrantWord) == 16);

struct RepeatWord {
  std::uint32_t number;  // of the request whose acknowledgement did not arrive whole
  std::uint32_t phase;
  std::uint64_t check;  // word_check() of the first eight bytes
};
static_assert(sizeof(RepeatWord) == 16);

// Section 2.3: whether the peer looks at its ring in each round. Its first byte counts, so it needs no check.
struct HotWord {
  std::uint64_t hot;  // 0 or 1
  std::uint64_t unused;
};

// Section 6: one control block per channel and side. The peer writes `inbox` only.
struct ControlInbox {
  GrantWord grant;
  RepeatWord repeat;
  HotWord hot;
  std::uint64_t hint;  // in the outbox: 1, what a hint is written from
  std::uint64_t reserved;  // what a question to the peer's host reads, into that of the outbox (iWARP)
  EnlargeAck ack;
};
static_assert(sizeof(ControlInbox) == 128 && offsetof(ControlInbox, reserved) == 56 &&
              offsetof(ControlInbox, ack) == 64);
static_assert(sizeof(HotWord) == sizeof(GrantWord));

struct ControlBlock {
  ControlInbox inbox;   // written by the peer
  ControlInbox outbox;  // where the own writes into the peer's inbox take their bytes from
};
static_assert(sizeof(ControlBlock) == 256);

// Section 7: private data of connect, accept and reject. verbs allows 55 bytes
// (libfabric 1.17 fi_verbs.h, VERBS_CM_DATA_SIZE less its length byte).
inline constexpr std::uint16_t kHelloMagic = 0x4542;  // "BE"
inline constexpr std::uint8_t kHelloVerifiesSlots = 1;       // flag: the peer has to fill SlotTrailer::check
inline constexpr std::uint8_t kHelloWantsNotifications = 2;  // flag: the peer's writes of slots have to be notified
inline constexpr std::uint8_t kHelloOtherJob = 4;            // flag: of another job; job_id in place of slot_bytes
// With the first two flags a slot of up to this many bytes of payload has a check, and a write with a larger slot
// is notified: the cost of a check grows with the bytes, a notification costs the same for every write
// (docs/decisions/0007-arrival.md).
inline constexpr std::uint32_t kCheckedBytesMax = 512;

struct Hello {
  std::uint16_t magic;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint32_t rank;
  std::uint64_t seal;             // shows that the sender has the key of the passive side's job or name (keys.h)
  std::uint64_t ring_address;     // own receive ring, phase 0
  std::uint64_t control_address;  // own ControlBlock::inbox
  std::uint32_t ring_key;
  std::uint32_t control_key;
  std::uint32_t slot_bytes;  // phase 0; with kHelloOtherJob the own job_id
  std::uint16_t slots;       // phase 0; with kHelloOtherJob 0
  std::uint16_t attempt;     // number of the active side's attempt; the passive side echoes it
  std::uint32_t geometry;    // geometry_hash() of all phases
  std::uint8_t block;        // number of the control block in its memory; 0: no hints are wanted
};
inline constexpr std::size_t kHelloBytes = 53;  // sizeof rounds up to 56; the wire does not
static_assert(offsetof(Hello, block) == 52 && offsetof(Hello, block) + 1 == kHelloBytes);
static_assert(kHelloBytes <= 55, "verbs private data");

enum class RejectReason : std::uint8_t {
  kCrossing = 1,      // the rejecting side's own attempt wins; the rejected side waits for it
  kVersion = 2,       // the wire versions differ
  kGeometry = 3,      // the phases differ
  kUnauthorized = 4,  // no Hello, a wrong seal, or no rank of this job; the rejection carries no data
  kStale = 5,         // the rejecting side has a newer attempt or connection of the rejected one
  kNoRoom = 6,        // the rejecting side has as many connections as it may; it is making room
};

struct Reject {
  std::uint16_t magic;
  std::uint8_t version;  // of the rejecting side
  std::uint8_t reason;   // RejectReason
  std::uint32_t slot_bytes;
  std::uint16_t slots;
  std::uint16_t attempt;  // of the rejected Hello
  std::uint32_t geometry;
};
static_assert(sizeof(Reject) == 16);

}  // namespace bufenlarge
