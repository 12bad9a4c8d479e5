// SPDX-License-Identifier: MIT
// What is made from the key of a job, which itself never goes over a wire: the seal of a Hello, the key that the name
// of a process holds, and the id of the job; and from a secret of a process its remote keys. Each is a SipHash-2-4
// (libsodium, crypto_shorthash) with the key or secret and a purpose of its own: from one of them follow neither the
// key nor the others.
#pragma once

#include <cstdint>
#include <span>

#include "protocol/wire.h"

namespace bufenlarge {

// Between whom a Hello goes.
struct HelloSeal {
  std::uint64_t key;    // the job's, or that of the passive side's name where it is of another job
  std::uint32_t to;     // rank of the side that gets it
  bool answer = false;  // the passive side sends it
};

// Returns the seal of these bytes of a Hello, whose field `seal` counts as zero.
[[nodiscard]] std::uint64_t seal_of(std::span<const std::byte, kHelloBytes> hello, const HelloSeal& seal);

// Returns the key in the name of process `rank` of the job. Who has it may call that process, as one of another job.
[[nodiscard]] std::uint64_t name_key_of(std::uint64_t job_key, std::uint32_t rank);

// Returns the id by which other jobs know the job.
[[nodiscard]] std::uint32_t job_id_of(std::uint64_t job_key);

// Returns the n-th remote key where this side chooses them. Who has some of them cannot guess the others. The same may
// come twice.
[[nodiscard]] std::uint32_t remote_key_of(std::uint64_t secret, std::uint64_t n);

}  // namespace bufenlarge
