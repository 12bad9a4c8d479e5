// SPDX-License-Identifier: MIT
// Grant and repeat words in the control block (docs/wire-protocol.md, section 5). A word that does not
// match its check has not arrived whole, and the read functions return nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "protocol/wire.h"

namespace bufenlarge {

// Returns the check of a word: the 64-bit finalizer of MurmurHash3, all bits inverted. Every byte of the value
// affects every byte of the check; with a plain complement a value and a check torn at the same byte would
// agree. The check of 0 is not 0, so zeroed memory holds no word.
constexpr std::uint64_t word_check(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdu;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53u;
  return ~(value ^ (value >> 33));
}

inline GrantWord make_grant(std::uint64_t consumed) { return {consumed, word_check(consumed)}; }

inline std::optional<std::uint64_t> read_grant(const GrantWord& word) {
  const std::uint64_t consumed = __atomic_load_n(&word.consumed, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&word.check, __ATOMIC_ACQUIRE) != word_check(consumed)) return std::nullopt;
  return consumed;
}

inline RepeatWord make_repeat(EnlargeRequest request) {
  std::uint64_t both = 0;
  std::memcpy(&both, &request, sizeof both);
  return {request.number, request.phase, word_check(both)};
}

inline std::optional<EnlargeRequest> read_repeat(const RepeatWord& word) {
  RepeatWord seen;
  std::memcpy(&seen, &word, sizeof seen);
  const EnlargeRequest request{seen.number, seen.phase};
  return make_repeat(request).check == seen.check ? std::optional(request) : std::nullopt;
}

}  // namespace bufenlarge
