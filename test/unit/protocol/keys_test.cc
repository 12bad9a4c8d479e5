// SPDX-License-Identifier: MIT
#include "protocol/keys.h"

#include <catch2/catch.hpp>

#include <set>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kKey = 0x0123456789abcdefu;

// As another implementation of SipHash-2-4 makes them.
TEST_CASE("the key of a name and a job id are keyed hashes of the job's key", "[keys][F4]") {
  CHECK(name_key_of(kKey, 3) == 0x341eb131fbcf2d49u);
  CHECK(job_id_of(kKey) == 0x2a36a75a);
}

TEST_CASE("no two processes or jobs have one key, and none has the job's", "[keys][F4]") {
  std::set<std::uint64_t> seen{kKey, kKey + 1};
  for (std::uint32_t rank = 0; rank < 1000; ++rank) {
    CHECK(seen.insert(name_key_of(kKey, rank)).second);
    CHECK(seen.insert(name_key_of(kKey + 1, rank)).second);
  }
}

TEST_CASE("a seal depends on the key, on who gets the hello, on the way, and not on the seal that is there",
          "[keys][F4]") {
  Bytes hello = pattern(kHelloBytes, 1);
  const auto seal = [&](const HelloSeal& between) { return seal_of(std::span(hello).first<kHelloBytes>(), between); };
  const std::uint64_t made = seal({kKey, 1});
  CHECK(seal({kKey + 1, 1}) != made);
  CHECK(seal({kKey, 2}) != made);
  CHECK(seal({kKey, 1, true}) != made);
  for (std::size_t i = 0; i < kHelloBytes; ++i) {
    hello[i] ^= std::byte{1};
    const bool of_the_seal = i >= offsetof(Hello, seal) && i < offsetof(Hello, seal) + sizeof(Hello::seal);
    CHECK((seal({kKey, 1}) == made) == of_the_seal);
    hello[i] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace bufenlarge::test
