// SPDX-License-Identifier: MIT
// The private data of connect, accept and reject: how it is encoded and checked (docs/wire-protocol.md,
// section 7).
//
// A process that seals its Hello with the job's key is a rank of it; one that has the key of a process's name may call
// that process as one of another job. An address with its remote key is the right to write into this process, so only
// they get one; an unauthorized process is rejected without a reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/keys.h"
#include "protocol/wire.h"

namespace bufenlarge {

using HelloBytes = std::array<std::byte, kHelloBytes>;

// Sets the seal of the Hello, too.
HelloBytes encode_hello(const Hello& hello, const HelloSeal& seal);

// What the own side expects of a peer's Hello.
struct HelloExpectation {
  std::uint64_t job_key;
  std::uint32_t size;        // of the job: its ranks are smaller
  std::uint32_t slot_bytes;  // phase 0
  std::uint16_t slots;       // phase 0
  std::uint32_t geometry;    // geometry_hash() of all phases
  std::uint32_t rank;
};

struct HelloVerdict {
  std::optional<Hello> hello;  // set when the peer may connect
  RejectReason reason = RejectReason::kUnauthorized;
  std::string text;  // why it may not, for the own side's error message: both sides' values and what to do
};

// Returns the key that seals what a process sends that calls this one, as a rank of the same job or of another.
std::uint64_t key_for_callers(const HelloExpectation& own, bool other_job);

// Checks what a peer sends that asks for a connection.
HelloVerdict check_request(std::span<const std::byte> data, const HelloExpectation& own);
// Checks what comes from the peer that this process has called with `key`. It checks the rank only against the job's
// size: the caller has to compare it with the rank it has called.
HelloVerdict check_answer(std::span<const std::byte> data, const HelloExpectation& own, std::uint64_t key);

// Returns the private data of a rejection: all zero for kUnauthorized.
Reject make_reject(RejectReason reason, const HelloExpectation& own, std::uint16_t attempt);

// Returns nothing if the data is no Reject of this protocol.
std::optional<Reject> decode_reject(std::span<const std::byte> data);

// Returns why the peer has rejected this process, in one line: both sides' values and what to do.
std::string describe_reject(const Reject& reject, const HelloExpectation& own);

}  // namespace bufenlarge
