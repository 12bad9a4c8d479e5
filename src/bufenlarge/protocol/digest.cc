// SPDX-License-Identifier: MIT
#include "protocol/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bufenlarge {

std::uint32_t slot_check(const void* payload, const SlotTrailer& trailer) {
  SlotTrailer keyed = trailer;
  keyed.check = 0;
  const XXH64_hash_t seed = XXH3_64bits(&keyed, sizeof keyed);
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(payload, trailer.bytes, seed));
}

std::uint64_t ack_check(const EnlargeAck& ack) {
  const auto* from = reinterpret_cast<const unsigned char*>(&ack) + offsetof(EnlargeAck, ring_address);
  return XXH3_64bits(from, offsetof(EnlargeAck, check) - offsetof(EnlargeAck, ring_address));
}

std::uint32_t digest32(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(data, bytes));
}

}  // namespace bufenlarge
