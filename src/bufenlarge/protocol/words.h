// SPDX-License-Identifier: MIT
// Grant and repeat words in the control block (docs/wire-protocol.md, section 5). A word that does
// not match its complement is still on its way and reads as "nothing new".
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "protocol/wire.h"

namespace bufenlarge {

inline GrantWord make_grant(std::uint64_t consumed) { return {consumed, ~consumed}; }

inline std::optional<std::uint64_t> read_grant(const GrantWord& word) {
  const std::uint64_t consumed = __atomic_load_n(&word.consumed, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&word.complement, __ATOMIC_ACQUIRE) != ~consumed) return std::nullopt;
  return consumed;
}

inline RepeatWord make_repeat(EnlargeRequest request) {
  std::uint64_t both = 0;
  std::memcpy(&both, &request, sizeof both);
  return {request.number, request.phase, ~both};
}

inline std::optional<EnlargeRequest> read_repeat(const RepeatWord& word) {
  RepeatWord seen;
  std::memcpy(&seen, &word, sizeof seen);
  const EnlargeRequest request{seen.number, seen.phase};
  return make_repeat(request).complement == seen.complement ? std::optional(request) : std::nullopt;
}

}  // namespace bufenlarge
