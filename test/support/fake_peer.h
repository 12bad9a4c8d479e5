// SPDX-License-Identifier: MIT
// The other side of one channel, played by the test. It has a receive ring and a control inbox in the FakeFabric and
// reads what the channel under test writes there. Into the channel's ring and control block it writes what the test
// wants, allowed by the protocol or not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "protocol/handshake.h"
#include "protocol/slot.h"
#include "support/builders.h"
#include "support/fake_port.h"

namespace bufenlarge::test {

inline constexpr std::uint64_t kJobKey = 0x5eed5eed5eed5eedu;

class FakePeer {
 public:
  FakePeer(FakeFabric& fabric, std::uint32_t rank, std::uint32_t size, const PhaseTable& phases);

  // ---- connecting
  [[nodiscard]] Hello hello(std::uint16_t attempt) const;
  // As private data for the side under test: to call it, or to answer its call.
  [[nodiscard]] Bytes sealed(const Hello& hello, bool answer, std::uint64_t key = kJobKey) const;
  [[nodiscard]] Bytes hello_bytes(std::uint16_t attempt) const { return sealed(hello(attempt), false); }
  [[nodiscard]] Bytes answer_bytes(std::uint16_t attempt) const { return sealed(hello(attempt), true); }
  // Takes the Hello of the channel under test: where its ring and control block are. Throws if it is not right.
  void meet(std::span<const std::byte> hello);
  [[nodiscard]] const Hello& theirs() const { return theirs_; }
  // What the process of that rank expects.
  [[nodiscard]] HelloExpectation expectation(std::uint32_t rank) const;

  // ---- what arrives here
  struct Arrival {
    SlotTrailer trailer;
    Bytes payload;
    [[nodiscard]] SlotKind kind() const { return static_cast<SlotKind>(trailer.kind); }
  };
  // Returns the next slot that the channel has written, or nothing. Throws if it is not valid.
  std::optional<Arrival> next();
  [[nodiscard]] ControlInbox& inbox() const { return block().inbox; }
  // Whether a hint has come; it is cleared.
  [[nodiscard]] bool take_hint() const;
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  [[nodiscard]] const FakeFabric::Memory& ring() const { return *ring_; }

  // ---- what this side writes
  void send_hello() { write_slot(SlotKind::kHello, {}, 0); }
  void send(std::span<const std::byte> payload, std::uint8_t marks = kMarkFirst | kMarkLast) {
    write_slot(SlotKind::kPayload, payload, marks);
  }
  void ask(EnlargeRequest request);
  void write_slot(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks);
  [[nodiscard]] std::uint32_t capacity() const { return their_phase_.capacity(); }
  // Three steps of write_slot(), for tests that write a slot in parts: makes the slot, writes some of its bytes to its
  // place, and goes on to the next place. The first throws if the payload is more than capacity().
  [[nodiscard]] Bytes seal(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks) const;
  void place(std::span<const std::byte> slot, std::size_t offset, std::size_t bytes) const;
  void advance();
  void grant(std::uint64_t consumed) const;
  void grant_all() { grant(consumed_); }
  void repeat(EnlargeRequest request) const;
  // Says whether this side looks at its ring.
  void set_hot(bool value) const;
  void hint() const;

  // ---- enlarging the ring here: exchanges it and returns the acknowledgement, which the test writes
  [[nodiscard]] EnlargeAck provision(std::uint8_t phase, std::uint32_t number,
                                     AckStatus status = AckStatus::kProvisioned);
  void acknowledge(const EnlargeAck& ack) const { place_ack(ack, 0, sizeof ack); }
  void place_ack(const EnlargeAck& ack, std::size_t offset, std::size_t bytes) const;
  // ---- enlarging the ring there: from now on writes go to the ring that the acknowledgement in inbox() describes
  void follow_ack();

  std::uint32_t called = 0;           // rank of the side under test
  std::uint8_t flags = 0;             // of the Hello: what this side wants
  bool hot = true;                    // what meet() says
  bool hinted = false;                // of the Hello: this side takes hints
  std::function<void()> on_notified;  // called after each slot that needs a notification
  std::optional<std::uint32_t> granted_low;  // in slots instead of consumed(), to break the protocol
  std::optional<std::uint16_t> epoch;        // in slots instead of the ring's epoch, to break the protocol
  std::optional<std::uint32_t> claimed;      // in slots instead of the payload's bytes, to break the protocol

 private:
  [[nodiscard]] ControlBlock& block() const { return reinterpret_cast<ControlBlock*>(control_->data())[1]; }
  [[nodiscard]] const Phase& own_phase() const { return phases_.at(phase_); }
  // Returns true if the channel's Hello wants a check in a slot of so many bytes.
  [[nodiscard]] bool checks(std::size_t bytes) const;
  void write_control(std::size_t offset, std::span<const std::byte> bytes) const;

  FakeFabric& fabric_;
  const PhaseTable phases_;
  std::uint32_t rank_;
  std::uint32_t size_;
  // in
  FakeFabric::Memory* ring_;
  FakeFabric::Memory* control_;  // a hint table, and a control block
  std::uint64_t consumed_ = 0;
  std::uint32_t read_index_ = 0;
  std::uint64_t read_lap_ = 0;
  std::uint16_t own_epoch_ = 0;
  std::uint8_t phase_ = 0;
  // out
  Hello theirs_{};
  std::uint64_t ring_address_ = 0;
  std::uint32_t ring_key_ = 0;
  Phase their_phase_{};
  std::uint64_t position_ = 0;
  std::uint32_t write_index_ = 0;
  std::uint64_t write_lap_ = 0;
  std::uint16_t their_epoch_ = 0;
};

}  // namespace bufenlarge::test
