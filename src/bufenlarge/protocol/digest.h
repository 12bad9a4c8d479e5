// SPDX-License-Identifier: MIT
// Checks over what is written into memory the receiver polls. XXH3 (libxxhash) was chosen in
// docs/decisions/0003-slot-check.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/wire.h"

namespace bufenlarge {

// Over payload and every trailer field but `check` itself, with the 64-bit position in `commit`.
std::uint32_t slot_check(const void* payload, const SlotTrailer& trailer);

// Over the acknowledgement from ring_address up to check.
std::uint64_t ack_check(const EnlargeAck& ack);

std::uint32_t digest32(const void* data, std::size_t bytes);

}  // namespace bufenlarge
