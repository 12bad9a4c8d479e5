// SPDX-License-Identifier: MIT
#include "protocol/handshake.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr HelloExpectation kOwn{0x0123456789abcdefu, 4, 512, 16, 0xaabbccdd};

Hello right_hello() {
  Hello hello{};
  hello.magic = kHelloMagic;
  hello.version = kWireVersion;
  hello.rank = 3;
  hello.job_key = kOwn.job_key;
  hello.ring_address = 0x1000;
  hello.control_address = 0x2000;
  hello.ring_key = 11;
  hello.control_key = 12;
  hello.slot_bytes = kOwn.slot_bytes;
  hello.slots = kOwn.slots;
  hello.attempt = 5;
  hello.geometry = kOwn.geometry;
  return hello;
}

HelloVerdict verdict_on(const Hello& hello) {
  return check_hello(std::span<const std::byte>(encode_hello(hello)), kOwn);
}

TEST_CASE("a right hello is accepted, and its fields are handed out", "[handshake]") {
  const HelloVerdict verdict = verdict_on(right_hello());
  REQUIRE(verdict.hello);
  CHECK(verdict.hello->rank == 3);
  CHECK(verdict.hello->ring_address == 0x1000);
  CHECK(verdict.hello->control_address == 0x2000);
  CHECK(verdict.hello->ring_key == 11);
  CHECK(verdict.hello->control_key == 12);
  CHECK(verdict.hello->attempt == 5);
  CHECK(verdict.text.empty());
}

TEST_CASE("bytes behind a hello are ignored: verbs pads private data", "[handshake]") {
  const HelloBytes bytes = encode_hello(right_hello());
  Bytes padded(bytes.begin(), bytes.end());
  for (std::size_t more = 0; more < 12; ++more) {
    CHECK(check_hello(padded, kOwn).hello);
    padded.push_back(std::byte{0x55});
  }
}

TEST_CASE("a hello that is too short is unauthorized", "[handshake]") {
  const HelloBytes bytes = encode_hello(right_hello());
  for (std::size_t size = 0; size < kHelloBytes; ++size) {
    const HelloVerdict verdict = check_hello(std::span(bytes).first(size), kOwn);
    INFO(size << " bytes");
    CHECK_FALSE(verdict.hello);
    CHECK(verdict.reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("random bytes are unauthorized", "[handshake]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    const HelloVerdict verdict = check_hello(pattern(seed % 100, seed), kOwn);
    CHECK_FALSE(verdict.hello);
    CHECK(verdict.reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("a hello with any wrong bit in the job's key or the magic is unauthorized", "[handshake]") {
  for (int bit = 0; bit < 64; ++bit) {
    Hello hello = right_hello();
    hello.job_key ^= std::uint64_t{1} << bit;
    CHECK_FALSE(verdict_on(hello).hello);
    CHECK(verdict_on(hello).reason == RejectReason::kUnauthorized);
  }
  for (int bit = 0; bit < 16; ++bit) {
    Hello hello = right_hello();
    hello.magic = static_cast<std::uint16_t>(hello.magic ^ (1u << bit));
    CHECK_FALSE(verdict_on(hello).hello);
    CHECK(verdict_on(hello).reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("a hello with a wrong key is unauthorized even if the version differs, too", "[handshake]") {
  Hello hello = right_hello();
  hello.job_key = 1;
  hello.version = kOtherWireVersion;
  hello.geometry = 0;
  CHECK(verdict_on(hello).reason == RejectReason::kUnauthorized);
}

TEST_CASE("another wire version is refused with a text that has both versions", "[handshake]") {
  Hello hello = right_hello();
  hello.version = kOtherWireVersion;
  hello.rank = 1000;  // of another version only magic, version and key are read
  const HelloVerdict verdict = verdict_on(hello);
  CHECK_FALSE(verdict.hello);
  CHECK(verdict.reason == RejectReason::kVersion);
  CHECK_THAT(verdict.text, Contains("version") && Contains("200") && Contains(std::to_string(kWireVersion)));
}

TEST_CASE("a hello with a rank beyond the job's size is unauthorized", "[handshake]") {
  Hello hello = right_hello();
  for (const std::uint32_t rank : {4u, 5u, UINT32_MAX}) {
    hello.rank = rank;
    CHECK_FALSE(verdict_on(hello).hello);
    CHECK(verdict_on(hello).reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("another geometry is refused with a text that has both sides' values", "[handshake]") {
  const auto refused = [](auto change) {
    Hello hello = right_hello();
    change(hello);
    const HelloVerdict verdict = verdict_on(hello);
    CHECK_FALSE(verdict.hello);
    CHECK(verdict.reason == RejectReason::kGeometry);
    return verdict.text;
  };
  CHECK_THAT(refused([](Hello& hello) { hello.slot_bytes = 640; }),
             Contains("640 bytes") && Contains("512 bytes") && Contains("PHASES") && Contains("SLOTS"));
  CHECK_THAT(refused([](Hello& hello) { hello.slots = 24; }), Contains("24 slots") && Contains("16 slots"));
  CHECK_THAT(refused([](Hello& hello) { hello.geometry = 0x11223344; }), Contains("11223344") && Contains("aabbccdd"));
}

TEST_CASE("the reject of an unauthorized process is all zero: it reveals nothing", "[handshake]") {
  const Reject reject = make_reject(RejectReason::kUnauthorized, kOwn, 5);
  const auto bytes = std::as_bytes(std::span(&reject, 1));
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](std::byte one) { return one == std::byte{0}; }));
  CHECK_FALSE(decode_reject(bytes));
}

TEST_CASE("a reject carries its reason, the attempt and the own values", "[handshake]") {
  for (const RejectReason reason :
       {RejectReason::kCrossing, RejectReason::kVersion, RejectReason::kGeometry, RejectReason::kStale,
        RejectReason::kNoRoom}) {
    const Reject made = make_reject(reason, kOwn, 5);
    const auto read = decode_reject(std::as_bytes(std::span(&made, 1)));
    REQUIRE(read);
    CHECK(read->reason == static_cast<std::uint8_t>(reason));
    CHECK(read->version == kWireVersion);
    CHECK(read->attempt == 5);
    CHECK(read->slot_bytes == 512);
    CHECK(read->slots == 16);
    CHECK(read->geometry == 0xaabbccdd);
  }
}

TEST_CASE("data that is no reject of this protocol is not decoded", "[handshake]") {
  const Reject right = make_reject(RejectReason::kStale, kOwn, 5);
  const auto bytes = std::as_bytes(std::span(&right, 1));
  for (std::size_t size = 0; size < sizeof right; ++size) CHECK_FALSE(decode_reject(bytes.first(size)));
  Reject wrong = right;
  wrong.magic = 0x4245;
  CHECK_FALSE(decode_reject(std::as_bytes(std::span(&wrong, 1))));
  for (const unsigned reason : {0u, 7u, 255u}) {
    wrong = right;
    wrong.reason = static_cast<std::uint8_t>(reason);
    CHECK_FALSE(decode_reject(std::as_bytes(std::span(&wrong, 1))));
  }
}

TEST_CASE("the text of the rejected side has both sides' values, too", "[handshake]") {
  Reject reject = make_reject(RejectReason::kVersion, kOwn, 5);
  reject.version = kOtherWireVersion;
  CHECK_THAT(describe_reject(reject, kOwn),
             Contains("version") && Contains("200") && Contains(std::to_string(kWireVersion)));
  reject = make_reject(RejectReason::kGeometry, {0, 4, 640, 24, 0x11223344}, 5);
  CHECK_THAT(describe_reject(reject, kOwn), Contains("24 slots of 640 bytes") && Contains("16 slots of 512 bytes") &&
                                                Contains("11223344") && Contains("aabbccdd"));
  CHECK_THAT(describe_reject(make_reject(RejectReason::kStale, kOwn, 5), kOwn), Contains("newer connection"));
  CHECK_THAT(describe_reject(make_reject(RejectReason::kCrossing, kOwn, 5), kOwn), Contains("crossing"));
}

}  // namespace
}  // namespace bufenlarge::test
