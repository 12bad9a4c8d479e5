// SPDX-License-Identifier: MIT
#include "protocol/keys.h"

#include <sodium.h>

#include <array>
#include <cstring>

namespace bufenlarge {

namespace {

// The second half of the key of the hash.
enum class Purpose : std::uint64_t { kSeal = 1, kName = 2, kJobId = 3, kRemoteKey = 4 };

// crypto_shorthash() needs no sodium_init(): it chooses no implementation and draws no random numbers.
std::uint64_t hash(std::uint64_t key, Purpose purpose, std::span<const std::byte> message) {
  const std::array<std::uint64_t, 2> keys{key, static_cast<std::uint64_t>(purpose)};
  static_assert(sizeof keys == crypto_shorthash_KEYBYTES && crypto_shorthash_BYTES == sizeof(std::uint64_t));
  std::uint64_t made = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&made), reinterpret_cast<const unsigned char*>(message.data()),
                   message.size(), reinterpret_cast<const unsigned char*>(keys.data()));
  return made;
}

}  // namespace

std::uint64_t seal_of(std::span<const std::byte, kHelloBytes> hello, const HelloSeal& seal) {
  static constexpr std::uint64_t kNoSeal = 0;
  const std::uint32_t way[] = {seal.to, seal.answer ? 1u : 0u};
  std::array<std::byte, kHelloBytes + sizeof way> message;
  std::memcpy(message.data(), hello.data(), kHelloBytes);
  std::memcpy(message.data() + offsetof(Hello, seal), &kNoSeal, sizeof kNoSeal);
  std::memcpy(message.data() + kHelloBytes, way, sizeof way);
  return hash(seal.key, Purpose::kSeal, message);
}

std::uint64_t name_key_of(std::uint64_t job_key, std::uint32_t rank) {
  return hash(job_key, Purpose::kName, std::as_bytes(std::span(&rank, 1)));
}

std::uint32_t job_id_of(std::uint64_t job_key) {
  return static_cast<std::uint32_t>(hash(job_key, Purpose::kJobId, {}));
}

std::uint32_t remote_key_of(std::uint64_t secret, std::uint64_t n) {
  return static_cast<std::uint32_t>(hash(secret, Purpose::kRemoteKey, std::as_bytes(std::span(&n, 1))));
}

}  // namespace bufenlarge
