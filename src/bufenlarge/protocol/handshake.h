// SPDX-License-Identifier: MIT
// What is told and checked when a connection opens (docs/wire-protocol.md, section 7).
//
// Presenting the job's key is what makes a process a peer: an address and a remote key are the right
// to write into a process, so they are told to nobody else, and a unauthorized learns no reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/wire.h"

namespace bufenlarge {

using HelloBytes = std::array<std::byte, kHelloBytes>;

HelloBytes encode_hello(const Hello& hello);

// A job as it is known to other jobs: nobody gets the key from it.
std::uint32_t job_id_of(std::uint64_t job_key);

// What the own side expects of a peer; rank is checked against `size` by the passive side, against
// the peer called by the active side.
struct HelloExpectation {
  std::uint64_t job_key;
  std::uint32_t size;
  std::uint32_t slot_bytes;
  std::uint16_t slots;
  std::uint32_t geometry;
};

struct HelloVerdict {
  std::optional<Hello> hello;  // set when the peer may connect
  RejectReason reason = RejectReason::kUnauthorized;
  std::string text;  // for the own side's error message; names both values
};

HelloVerdict check_hello(std::span<const std::byte> data, const HelloExpectation& own);

Reject make_reject(RejectReason reason, const HelloExpectation& own, std::uint16_t attempt);

// nullopt when the data is no Reject of this protocol.
std::optional<Reject> decode_reject(std::span<const std::byte> data);

// One line that names both sides' values.
std::string describe_reject(const Reject& reject, const HelloExpectation& own);

}  // namespace bufenlarge
