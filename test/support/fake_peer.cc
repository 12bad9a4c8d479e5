// SPDX-License-Identifier: MIT
#include "support/fake_peer.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "protocol/enlarge_receiver.h"
#include "protocol/words.h"

namespace bufenlarge::test {

FakePeer::FakePeer(FakeFabric& fabric, std::uint32_t rank, std::uint32_t size, const PhaseTable& phases)
    : fabric_(fabric),
      phases_(phases),
      rank_(rank),
      size_(size),
      ring_(&fabric.add(phases.at(0).ring_bytes())),
      control_(&fabric.add(2 * sizeof(ControlBlock), PeerAccess::kWriteAndQuestions)) {}

HelloExpectation FakePeer::expectation(std::uint32_t rank) const {
  const Phase& first = phases_.at(0);
  return {kJobKey, size_, first.slot_bytes, static_cast<std::uint16_t>(first.slots), geometry_hash(phases_), rank};
}

Hello FakePeer::hello(std::uint16_t attempt) const {
  const HelloExpectation own = expectation(rank_);
  Hello hello{};
  hello.magic = kHelloMagic;
  hello.version = kWireVersion;
  hello.flags = flags;
  hello.rank = rank_;
  hello.ring_address = ring_->address;
  hello.ring_key = ring_->key;
  hello.control_address = control_->address + sizeof(ControlBlock);
  hello.control_key = control_->key;
  hello.slot_bytes = own.slot_bytes;
  hello.slots = own.slots;
  hello.attempt = attempt;
  hello.geometry = own.geometry;
  hello.block = hinted ? 1 : 0;
  return hello;
}

Bytes FakePeer::sealed(const Hello& hello, bool answer, std::uint64_t key) const {
  const HelloBytes bytes = encode_hello(hello, {key, called, answer});
  return Bytes(bytes.begin(), bytes.end());
}

void FakePeer::meet(std::span<const std::byte> hello) {
  HelloVerdict verdict = check_request(hello, expectation(rank_));
  if (!verdict.hello) verdict = check_answer(hello, expectation(rank_), kJobKey);
  if (!verdict.hello) throw std::runtime_error("the channel's Hello was not accepted: " + verdict.text);
  theirs_ = *verdict.hello;
  ring_address_ = theirs_.ring_address;
  ring_key_ = theirs_.ring_key;
  their_phase_ = phases_.at(0);
  position_ = write_lap_ = 0;
  write_index_ = their_epoch_ = 0;
  set_hot(hot);
}

void FakePeer::set_hot(bool value) const {
  const HotWord word{value, 0};
  write_control(offsetof(ControlInbox, hot), std::as_bytes(std::span(&word, 1)));
}

void FakePeer::hint() const {
  static constexpr std::byte kHint{1};
  const std::uint64_t first = theirs_.control_address - std::uint64_t{theirs_.block} * sizeof(ControlBlock);
  if (theirs_.block == 0 || !fabric_.place(theirs_.control_key, first + theirs_.block, std::span(&kHint, 1)))
    throw std::runtime_error("the channel wants no hints");
}

bool FakePeer::take_hint() const {
  return std::exchange(control_->data()[1], std::byte{0}) == std::byte{1};
}

std::optional<FakePeer::Arrival> FakePeer::next() {
  const std::uint32_t stride = own_phase().stride();
  const std::byte* slot = ring_->data() + std::size_t{read_index_} * stride;
  Arrival arrival{};
  const std::uint64_t expected = commit_word(consumed_, read_lap_);
  const SlotState state = inspect_slot(slot, stride, expected, own_epoch_, false, arrival.trailer);
  if (state == SlotState::kEmpty) return std::nullopt;
  if (state == SlotState::kInvalid) throw std::runtime_error("the channel wrote a slot that is not valid");
  const std::byte* payload = slot + payload_offset(stride, arrival.trailer.bytes);
  arrival.payload.assign(payload, payload + arrival.trailer.bytes);
  ++consumed_;
  if (++read_index_ == own_phase().slots) read_index_ = 0, ++read_lap_;
  return arrival;
}

void FakePeer::ask(EnlargeRequest request) {
  write_slot(SlotKind::kEnlargeRequest, std::as_bytes(std::span(&request, 1)), 0);
}

bool FakePeer::checks(std::size_t bytes) const {
  const bool mixed = (theirs_.flags & kHelloWantsNotifications) != 0;
  return (theirs_.flags & kHelloVerifiesSlots) != 0 && (!mixed || bytes <= kCheckedBytesMax);
}

Bytes FakePeer::seal(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks) const {
  const std::uint32_t stride = their_phase_.stride();
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  const std::uint32_t said = claimed.value_or(bytes);
  if (bytes > capacity()) throw std::runtime_error("the channel's slots are smaller");
  Bytes slot(stride);
  if (bytes != 0) std::memcpy(slot.data() + payload_offset(stride, bytes), payload.data(), bytes);
  const SlotFill fill{commit_word(position_, write_lap_), said,
                      granted_low.value_or(static_cast<std::uint32_t>(consumed_)),
                      epoch.value_or(their_epoch_), kind, marks,
                      checks(bytes) && said <= capacity() && (marks & kMarkNotified) == 0};
  seal_slot(slot.data(), stride, fill);
  return slot;
}

void FakePeer::place(std::span<const std::byte> slot, std::size_t offset, std::size_t bytes) const {
  const std::uint64_t address = ring_address_ + std::uint64_t{write_index_} * their_phase_.stride() + offset;
  if (!fabric_.place(ring_key_, address, slot.subspan(offset, bytes)))
    throw std::runtime_error("the channel has no such ring memory");
}

void FakePeer::advance() {
  ++position_;
  if (++write_index_ == their_phase_.slots) write_index_ = 0, ++write_lap_;
}

void FakePeer::write_slot(SlotKind kind, std::span<const std::byte> payload, std::uint8_t marks) {
  const bool notified = on_notified && (theirs_.flags & kHelloWantsNotifications) != 0 && !checks(payload.size());
  const Bytes slot = seal(kind, payload, static_cast<std::uint8_t>(notified ? marks | kMarkNotified : marks));
  const std::size_t begin = payload_offset(their_phase_.stride(), static_cast<std::uint32_t>(payload.size()));
  place(slot, begin, slot.size() - begin);
  advance();
  if (notified) on_notified();
}

void FakePeer::write_control(std::size_t offset, std::span<const std::byte> bytes) const {
  if (!fabric_.place(theirs_.control_key, theirs_.control_address + offset, bytes))
    throw std::runtime_error("the channel has no such control block");
}

void FakePeer::grant(std::uint64_t consumed) const {
  const GrantWord word = make_grant(consumed);
  write_control(offsetof(ControlInbox, grant), std::as_bytes(std::span(&word, 1)));
}

void FakePeer::repeat(EnlargeRequest request) const {
  const RepeatWord word = make_repeat(request);
  write_control(offsetof(ControlInbox, repeat), std::as_bytes(std::span(&word, 1)));
}

EnlargeAck FakePeer::provision(std::uint8_t phase, std::uint32_t number, AckStatus status) {
  fabric_.remove(ring_->key);
  phase_ = phase;
  ring_ = &fabric_.add(own_phase().ring_bytes());
  read_index_ = 0;
  read_lap_ = 0;
  ++own_epoch_;
  EnlargeAck ack{};
  ack.ring_address = ring_->address;
  ack.ring_key = ring_->key;
  ack.base = consumed_;
  ack.slot_bytes = own_phase().slot_bytes;
  ack.slots = own_phase().slots;
  ack.phase = phase;
  ack.status = static_cast<std::uint8_t>(status);
  ack.epoch = own_epoch_;
  return seal_ack(ack, number);
}

void FakePeer::place_ack(const EnlargeAck& ack, std::size_t offset, std::size_t bytes) const {
  write_control(offsetof(ControlInbox, ack) + offset, std::as_bytes(std::span(&ack, 1)).subspan(offset, bytes));
}

void FakePeer::follow_ack() {
  const EnlargeAck& ack = inbox().ack;
  ring_address_ = ack.ring_address;
  ring_key_ = ack.ring_key;
  their_phase_ = phases_.at(ack.phase);
  their_epoch_ = ack.epoch;
  position_ = ack.base;
  write_index_ = 0;
  write_lap_ = 0;
}

}  // namespace bufenlarge::test
