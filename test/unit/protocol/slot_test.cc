// SPDX-License-Identifier: MIT
#include "protocol/slot.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "protocol/phase_table.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kSlots = 16;
constexpr std::uint64_t kPosition = 41;
constexpr std::uint16_t kEpoch = 3;

// The commit word of a position in a ring of kSlots that began at 0.
constexpr std::uint64_t commit(std::uint64_t position) { return commit_word(position, position / kSlots); }

SlotFill fill(std::uint32_t bytes, bool checked, std::uint64_t position = kPosition) {
  return {commit(position), bytes, 17, kEpoch, SlotKind::kPayload, kMarkFirst | kMarkLast, checked};
}

// A slot as the sender makes it.
Bytes sealed(std::uint32_t stride, const Bytes& payload, const SlotFill& how) {
  Bytes slot(stride);
  std::copy(payload.begin(), payload.end(), slot.begin() + payload_offset(stride, how.bytes));
  seal_slot(slot.data(), stride, how);
  return slot;
}

SlotState look(const Bytes& slot, bool checked, std::uint64_t position = kPosition, std::uint16_t epoch = kEpoch) {
  SlotTrailer trailer;
  return inspect_slot(slot.data(), static_cast<std::uint32_t>(slot.size()), commit(position), epoch, checked, trailer);
}

TEST_CASE("a payload of any size lies 8-byte aligned right before the trailer, inside of its slot", "[slot]") {
  for (std::uint32_t stride = kSlotBytesMin; stride <= 600; stride += kSlotAlign) {
    const std::uint32_t capacity = slot_capacity(stride);
    REQUIRE(capacity == stride - 24);
    for (std::uint32_t bytes = 0; bytes <= capacity; ++bytes) {
      const std::uint32_t offset = payload_offset(stride, bytes);
      const bool right = offset % 8 == 0 && offset + bytes <= capacity && capacity - (offset + bytes) < 8;
      if (!right) FAIL("stride " << stride << ", payload of " << bytes << " at " << offset);
    }
    CHECK(payload_offset(stride, capacity) == 0);
    CHECK(payload_offset(stride, 0) == capacity);
  }
}

TEST_CASE("a slot size that is no multiple of 8 is rounded up, never down", "[slot]") {
  CHECK(slot_stride(64) == 64);
  CHECK(slot_stride(65) == 72);
  CHECK(slot_stride(100) == 104);
  CHECK(slot_capacity(100) == 80);
  CHECK(slot_stride(512) == 512);
  CHECK(slot_stride(kSlotBytesMax) == kSlotBytesMax);
}

TEST_CASE("a whole slot is taken, and its trailer has what it was sealed with", "[slot]") {
  for (const bool checked : {false, true}) {
    for (std::uint32_t stride = kSlotBytesMin; stride <= 600; stride += 8) {
      for (const std::uint32_t bytes : {0u, 1u, 7u, 8u, 9u, slot_capacity(stride) - 1, slot_capacity(stride)}) {
        const Bytes payload = pattern(bytes, stride);
        const Bytes slot = sealed(stride, payload, fill(bytes, checked));
        SlotTrailer trailer{};
        INFO("stride " << stride << ", " << bytes << " bytes, checked " << checked);
        REQUIRE(inspect_slot(slot.data(), stride, commit(kPosition), kEpoch, checked, trailer) == SlotState::kReady);
        CHECK(trailer.bytes == bytes);
        CHECK(trailer.grant == 17);
        CHECK(trailer.marks == (kMarkFirst | kMarkLast));
        CHECK(trailer.kind == static_cast<std::uint8_t>(SlotKind::kPayload));
        CHECK((trailer.check != 0) == checked);
        CHECK(std::equal(payload.begin(), payload.end(), slot.begin() + payload_offset(stride, bytes)));
      }
    }
  }
}

TEST_CASE("an empty slot has not arrived", "[slot]") {
  for (const bool checked : {false, true}) CHECK(look(Bytes(128), checked) == SlotState::kEmpty);
}

// What the receive ring may hold before: zeros, the lap before with the same bytes or others, and random bytes.
std::vector<Bytes> earlier_contents(std::uint32_t stride, const Bytes& payload, bool checked) {
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  return {Bytes(stride), sealed(stride, payload, fill(bytes, checked, kPosition - kSlots)),
          sealed(stride, pattern(bytes, 99), fill(bytes, checked, kPosition - kSlots)), pattern(stride, 7)};
}

// A slot may only be taken when each of its bytes that are read is what was sealed.
bool takes_only_whole(const Bytes& memory, const Bytes& slot, std::uint32_t bytes) {
  const std::uint32_t stride = static_cast<std::uint32_t>(slot.size());
  const auto from = static_cast<std::ptrdiff_t>(payload_offset(stride, bytes));
  const auto pad_from = from + static_cast<std::ptrdiff_t>(bytes);
  const auto trailer_from = static_cast<std::ptrdiff_t>(stride - kTrailerBytes);
  const bool same = std::equal(memory.begin() + from, memory.begin() + pad_from, slot.begin() + from) &&
                    std::equal(memory.begin() + trailer_from, memory.end(), slot.begin() + trailer_from);
  return look(memory, true) == (same ? SlotState::kReady : SlotState::kEmpty);
}

TEST_CASE("with a check, a write torn at any byte from the front or the back is never taken", "[slot][E12]") {
  const std::uint32_t stride = 160;
  for (const std::uint32_t bytes : {0u, 5u, 64u, slot_capacity(stride)}) {
    const Bytes payload = pattern(bytes, 3);
    const Bytes slot = sealed(stride, payload, fill(bytes, true));
    for (const Bytes& before : earlier_contents(stride, payload, true)) {
      for (std::ptrdiff_t cut = 0; cut <= static_cast<std::ptrdiff_t>(stride); ++cut) {
        Bytes front = before;
        std::copy(slot.begin(), slot.begin() + cut, front.begin());
        Bytes back = before;
        std::copy(slot.begin() + cut, slot.end(), back.begin() + cut);
        INFO(bytes << " bytes, cut at " << cut);
        CHECK(takes_only_whole(front, slot, bytes));
        CHECK(takes_only_whole(back, slot, bytes));
      }
    }
  }
}

TEST_CASE("with a check, bytes that land in any order are taken when the last one has", "[slot][E12]") {
  std::mt19937 random(20240607);
  const std::uint32_t stride = 128;
  std::vector<std::size_t> order(stride);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < 200; ++round) {
    const auto bytes = static_cast<std::uint32_t>(random() % (slot_capacity(stride) + 1));
    const Bytes payload = pattern(bytes, static_cast<std::uint32_t>(round));
    const Bytes slot = sealed(stride, payload, fill(bytes, true));
    const auto before = earlier_contents(stride, payload, true);
    Bytes memory = before[static_cast<std::size_t>(round) % before.size()];
    std::shuffle(order.begin(), order.end(), random);
    bool right = true;
    for (const std::size_t place : order) {
      memory[place] = slot[place];
      right = right && takes_only_whole(memory, slot, bytes);
    }
    INFO("round " << round << ", " << bytes << " bytes");
    CHECK(right);
    CHECK(look(memory, true) == SlotState::kReady);
  }
}

TEST_CASE("with a check, any flipped bit of payload or trailer keeps the slot from being taken", "[slot][E12]") {
  const std::uint32_t stride = 128;
  const std::uint32_t bytes = 50;
  const Bytes slot = sealed(stride, pattern(bytes), fill(bytes, true));
  const std::uint32_t from = payload_offset(stride, bytes);
  for (std::uint32_t place = from; place < stride; ++place) {
    const bool padding = place >= from + bytes && place < stride - kTrailerBytes;
    for (int bit = 0; bit < 8; ++bit) {
      Bytes flipped = slot;
      flipped[place] ^= static_cast<std::byte>(1 << bit);
      INFO("byte " << place << ", bit " << bit);
      CHECK(look(flipped, true) == (padding ? SlotState::kReady : SlotState::kEmpty));
    }
  }
}

TEST_CASE("in order, a slot is taken with its last byte and not before, in every lap", "[slot][E12]") {
  const std::uint32_t stride = 128;
  for (const std::uint64_t position :
       {0u, 1u, 15u, 16u, 41u, 255u, 256u, 16u * 254, 16u * 255, 16u * 256 + 3, 65535u}) {
    const Bytes slot = sealed(stride, pattern(40), fill(40, false, position));
    std::vector<Bytes> before{Bytes(stride)};
    if (position >= kSlots) before.push_back(sealed(stride, pattern(40), fill(40, false, position - kSlots)));
    for (Bytes& memory : before) {
      for (std::size_t place = 0; place < stride; ++place) {
        if (look(memory, false, position) != SlotState::kEmpty)
          FAIL("position " << position << " was taken with " << stride - place << " bytes missing");
        memory[place] = slot[place];
      }
      CHECK(look(memory, false, position) == SlotState::kReady);
    }
  }
}

TEST_CASE("a commit word's top byte differs from that of the lap before, and is never 0", "[slot]") {
  for (std::uint64_t lap = 0; lap < 1000; ++lap) {
    CHECK(commit_word(lap * 16, lap) >> 56 != commit_word(lap * 16 + 16, lap + 1) >> 56);
    CHECK(commit_word(lap * 16, lap) >> 56 != 0);
  }
  CHECK(commit_word(0x0102030405060707u, 0) == 0x0102030405060708u);
}

TEST_CASE("a slot of an earlier or a later lap is not taken", "[slot]") {
  const Bytes slot = sealed(128, pattern(40), fill(40, false));
  for (const bool checked : {false, true}) {
    for (const std::uint64_t slots : {1u, 2u, 16u, 4096u}) {
      CHECK(look(slot, checked, kPosition + slots) == SlotState::kEmpty);
      CHECK(look(slot, checked, kPosition - std::min(slots, kPosition)) == SlotState::kEmpty);
      CHECK(look(slot, checked, kPosition + (slots << 32)) == SlotState::kEmpty);
    }
  }
}

void set_trailer(Bytes& slot, const SlotTrailer& trailer) {
  std::memcpy(slot.data() + slot.size() - sizeof trailer, &trailer, sizeof trailer);
}

TEST_CASE("a whole slot of a wrong epoch, kind or size is invalid", "[slot]") {
  const std::uint32_t stride = 128;
  for (const bool checked : {false, true}) {
    const auto state = [&](auto change) {
      Bytes slot = sealed(stride, pattern(40), fill(40, checked));
      SlotTrailer trailer;
      std::memcpy(&trailer, trailer_of(slot.data(), stride), sizeof trailer);
      change(trailer);
      if (checked && trailer.bytes <= slot_capacity(stride))
        trailer.check = slot_check(slot.data() + payload_offset(stride, trailer.bytes), trailer);
      set_trailer(slot, trailer);
      return look(slot, checked);
    };
    INFO("checked " << checked);
    CHECK(state([](SlotTrailer&) {}) == SlotState::kReady);
    CHECK(state([](SlotTrailer& t) { t.epoch = kEpoch - 1; }) == SlotState::kInvalid);
    CHECK(state([](SlotTrailer& t) { t.epoch = kEpoch + 1; }) == SlotState::kInvalid);
    CHECK(state([](SlotTrailer& t) { t.kind = 0; }) == SlotState::kInvalid);
    for (unsigned kind = 7; kind <= 255; ++kind)
      CHECK(state([&](SlotTrailer& t) { t.kind = static_cast<std::uint8_t>(kind); }) == SlotState::kInvalid);
    for (const SlotKind kind :
         {SlotKind::kEnlargeRequest, SlotKind::kHello, SlotKind::kReadRequest, SlotKind::kReadFragment,
          SlotKind::kClose})
      CHECK(state([&](SlotTrailer& t) { t.kind = static_cast<std::uint8_t>(kind); }) == SlotState::kReady);
    // A size beyond the slot was never sealed. Where slots are checked such a slot counts as not arrived.
    const SlotState beyond = checked ? SlotState::kEmpty : SlotState::kInvalid;
    CHECK(state([&](SlotTrailer& t) { t.bytes = slot_capacity(stride) + 1; }) == beyond);
    CHECK(state([](SlotTrailer& t) { t.bytes = UINT32_MAX; }) == beyond);
    CHECK(state([&](SlotTrailer& t) { t.bytes = slot_capacity(stride); }) == SlotState::kReady);
  }
}

TEST_CASE("a slot that is too large to be checked counts as not arrived, even if its check holds", "[slot]") {
  constexpr std::uint32_t kStride = 1024;
  for (const std::uint32_t bytes : {0u, 1u, 511u, 512u, 513u, 1000u}) {
    const Bytes slot = sealed(kStride, pattern(bytes), fill(bytes, true));
    SlotTrailer trailer{};
    INFO(bytes << " bytes");
    CHECK(inspect_slot(slot.data(), kStride, commit(kPosition), kEpoch, true, trailer, kCheckedBytesMax) ==
          (bytes <= 512 ? SlotState::kReady : SlotState::kEmpty));
  }
}

}  // namespace
}  // namespace bufenlarge::test
