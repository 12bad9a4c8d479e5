// SPDX-License-Identifier: MIT
#include "protocol/digest.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("the digest of no bytes is the value that XXH3 publishes", "[digest]") {
  CHECK(digest32("", 0) == 0x38d394c2u);  // low half of 0x2d06800538d394c2
}

const SlotTrailer kTrailer{0, 5, 100, 1, 3, 2, 42};

TEST_CASE("the slot check is XXH3 with the trailer mixed into a seed", "[digest]") {
  const Bytes payload = pattern(100);
  CHECK(slot_check(payload.data(), kTrailer) == 0xed09d94eu);  // computed by another program
}

TEST_CASE("the slot check depends on every bit of the payload and of the trailer but its own", "[digest]") {
  const Bytes payload = pattern(100);
  std::set<std::uint32_t> checks{slot_check(payload.data(), kTrailer)};
  for (std::size_t bit = 0; bit < 8 * payload.size(); ++bit) {
    Bytes flipped = payload;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    checks.insert(slot_check(flipped.data(), kTrailer));
  }
  const Bytes wide = pattern(200);
  for (std::size_t bit = 32; bit < 8 * sizeof kTrailer; ++bit) {
    SlotTrailer flipped = kTrailer;
    reinterpret_cast<unsigned char*>(&flipped)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    if (flipped.bytes <= wide.size()) checks.insert(slot_check(wide.data(), flipped));
  }
  // Every variant has a value of its own: the check leaves no bit out, and no two collide.
  std::size_t sizes_out = 0;
  for (int bit = 0; bit < 32; ++bit) sizes_out += (kTrailer.bytes ^ (1u << bit)) > wide.size();
  CHECK(checks.size() == 1 + 800 + (192 - 32 - sizes_out));
}

TEST_CASE("the slot check does not depend on the field that holds it", "[digest]") {
  const Bytes payload = pattern(100);
  SlotTrailer sealed = kTrailer;
  sealed.check = 0xdeadbeef;
  CHECK(slot_check(payload.data(), sealed) == slot_check(payload.data(), kTrailer));
}

TEST_CASE("the acknowledgement's check covers everything between head and check", "[digest][E8]") {
  EnlargeAck ack{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 12};
  const std::uint64_t whole = ack_check(ack);
  for (std::size_t bit = 0; bit < 8 * sizeof ack; ++bit) {
    EnlargeAck flipped = ack;
    reinterpret_cast<unsigned char*>(&flipped)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    const bool covered = bit / 8 >= offsetof(EnlargeAck, ring_address) && bit / 8 < offsetof(EnlargeAck, check);
    INFO("bit " << bit);
    CHECK((ack_check(flipped) != whole) == covered);
  }
}

}  // namespace
}  // namespace bufenlarge::test
