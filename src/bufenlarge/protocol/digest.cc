// SPDX-License-Identifier: MIT
#include "protocol/digest.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bufenlarge {

namespace {

// Two odd constants of xxHash.
constexpr std::uint64_t kFirstPrime = 0x9E3779B185EBCA87u;
constexpr std::uint64_t kSecondPrime = 0xC2B2AE3D27D4EB4Fu;

// Mixes the trailer's fields into one word by a step that XXH3 itself uses: the two halves of a 128-bit
// product, XORed. A change of one bit in either factor changes about half of the result's bits.
std::uint64_t mix(const SlotTrailer& trailer) {
  std::uint64_t words[3];
  std::memcpy(words, &trailer, sizeof words);
  __extension__ using Product = unsigned __int128;
  const std::uint64_t grant = words[0] >> 32;  // the low half of this word is `check`
  const Product product = Product{words[1] ^ kFirstPrime} * (words[2] ^ grant * kSecondPrime);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint32_t slot_check(const void* payload, const SlotTrailer& trailer) {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(payload, trailer.bytes, mix(trailer)));
}

std::uint64_t ack_check(const EnlargeAck& ack) {
  const auto* from = reinterpret_cast<const unsigned char*>(&ack) + offsetof(EnlargeAck, ring_address);
  return XXH3_64bits(from, offsetof(EnlargeAck, check) - offsetof(EnlargeAck, ring_address));
}

std::uint32_t digest32(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(data, bytes));
}

}  // namespace bufenlarge
