// SPDX-License-Identifier: MIT
// The private data of connect, accept and reject: how it is encoded and checked (docs/wire-protocol.md,
// section 7).
//
// A process that presents the job's key is a peer. An address with its remote key is the right to write into
// this process, so only a peer gets one; an unauthorized process is rejected without a reason.
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

// Returns the id by which other jobs know this job. It is half of a hash, so the key does not follow from it.
std::uint32_t job_id_of(std::uint64_t job_key);

// What the own side expects of a peer's Hello.
struct HelloExpectation {
  std::uint64_t job_key;
  std::uint32_t size;        // of the job: its ranks are smaller
  std::uint32_t slot_bytes;  // phase 0
  std::uint16_t slots;       // phase 0
  std::uint32_t geometry;    // geometry_hash() of all phases
};

struct HelloVerdict {
  std::optional<Hello> hello;  // set when the peer may connect
  RejectReason reason = RejectReason::kUnauthorized;
  std::string text;  // why it may not, for the own side's error message: both sides' values and what to do
};

// Checks the private data of a peer. It checks the rank only against the job's size: the active side has to
// compare it with the rank it has called.
HelloVerdict check_hello(std::span<const std::byte> data, const HelloExpectation& own);

// Returns the private data of a rejection: all zero for kUnauthorized.
Reject make_reject(RejectReason reason, const HelloExpectation& own, std::uint16_t attempt);

// Returns nothing if the data is no Reject of this protocol.
std::optional<Reject> decode_reject(std::span<const std::byte> data);

// Returns why the peer has rejected this process, in one line: both sides' values and what to do.
std::string describe_reject(const Reject& reject, const HelloExpectation& own);

}  // namespace bufenlarge
