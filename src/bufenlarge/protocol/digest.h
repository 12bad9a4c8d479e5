// SPDX-License-Identifier: MIT
// Checks over what a peer writes into memory that the receiver polls. docs/decisions/0003-slot-check.md
// says why they are XXH3 (libxxhash).
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/wire.h"

namespace bufenlarge {

// Returns the check of a slot. It covers the payload and every field of the trailer but `check` itself, and
// so, by `commit`, the slot's position. `payload` has trailer.bytes bytes.
std::uint32_t slot_check(const void* payload, const SlotTrailer& trailer);

// Returns the check of an acknowledgement. It covers the fields from ring_address to reserved.
std::uint64_t ack_check(const EnlargeAck& ack);

// Returns the low half of XXH3-64 of the data.
std::uint32_t digest32(const void* data, std::size_t bytes);

}  // namespace bufenlarge
