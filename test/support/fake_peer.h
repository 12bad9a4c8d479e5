// SPDX-License-Identifier: MIT
// The other side of one channel, played by the test: it has a receive ring and a control inbox in the
// FakeFabric, reads what the channel under test writes there, and writes what it is told to, right or
// wrong, into the channel's ring and control block.
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

  // ---- meeting
  [[nodiscard]] Hello hello(std::uint16_t attempt) const;
  [[nodiscard]] Bytes hello_bytes(std::uint16_t attempt) const;
  // Takes what the channel under test told about itself.
  void meet(std::span<const std::byte> hello);
  [[nodiscard]] const Hello& theirs() const { return theirs_; }
  [[nodiscard]] HelloExpectation expectation() const;

  // ---- what arrived here
  struct Arrival {
    SlotTrailer trailer;
    Bytes payload;
    [[nodiscard]] SlotKind kind() const { return static_cast<SlotKind>(trailer.kind); }
  };
  std::optional<Arrival> next();
  [[nodiscard]] ControlInbox& inbox() const { return *reinterpret_cast<ControlInbox*>(inbox_->data()); }
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  [[nodiscard]] const FakeFabric::Memory& ring() const { return *ring_; }

  // ---- what is written there
  void greet() { write_slot(SlotKind::kHello, {}, 0); }
  void send(std::span<const std::byte> payload, std::uint8_t marks = kMarkFirst | kMarkLast) {
    write_slot(SlotKind::kPayload, payload, marks);
  }
  void ask(EnlargeRequest request);
  void write_slot(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks);
  // The slot that would be written next, and its place; for those that write it fragment by fragment.
  [[nodiscard]] Bytes seal(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks) const;
  void place(std::span<const std::byte> slot, std::size_t offset, std::size_t bytes) const;
  void advance();
  void grant(std::uint64_t consumed) const;
  void grant_all() { grant(consumed_); }
  void repeat(EnlargeRequest request) const;

  // ---- enlarging what arrives here: the ring is changed, the acknowledgement comes back to be written
  [[nodiscard]] EnlargeAck provision(std::uint8_t phase, std::uint32_t number,
                                     AckStatus status = AckStatus::kProvisioned);
  void acknowledge(const EnlargeAck& ack) const { place_ack(ack, 0, sizeof ack); }
  void place_ack(const EnlargeAck& ack, std::size_t offset, std::size_t bytes) const;
  // ---- enlarging what goes there: writes into the ring that the acknowledgement in inbox() describes
  void follow_ack();

  std::uint8_t flags = 0;         // of the hello: what this side asks for
  std::function<void()> on_notified;  // after each slot that the channel is to be notified for
  std::optional<std::uint32_t> granted_low;  // rides on slots instead of consumed(), to break the rules
  std::optional<std::uint16_t> epoch;        // the same for the ring's epoch

 private:
  [[nodiscard]] const Phase& own_phase() const { return phases_.at(phase_); }
  // Whether a slot of so many bytes goes with a check, for a channel that takes slots as it told.
  [[nodiscard]] bool checks(std::size_t bytes) const;
  void write_control(std::size_t offset, std::span<const std::byte> bytes) const;

  FakeFabric& fabric_;
  const PhaseTable phases_;
  std::uint32_t rank_;
  std::uint32_t size_;
  // in
  FakeFabric::Memory* ring_;
  FakeFabric::Memory* inbox_;
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
