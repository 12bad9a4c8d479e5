// SPDX-License-Identifier: MIT
#include "protocol/handshake.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

constexpr HelloExpectation kOwn{0x0123456789abcdefu, 4, 512, 16, 0xaabbccdd, 1};

Hello right_hello() {
  Hello hello{};
  hello.magic = kHelloMagic;
  hello.version = kWireVersion;
  hello.rank = 3;
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

constexpr HelloSeal kRight{kOwn.job_key, kOwn.rank};

HelloVerdict verdict_on(const Hello& hello, const HelloSeal& seal = kRight) {
  return check_request(encode_hello(hello, seal), kOwn);
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
  const HelloBytes bytes = encode_hello(right_hello(), kRight);
  Bytes padded(bytes.begin(), bytes.end());
  for (std::size_t more = 0; more < 12; ++more) {
    CHECK(check_request(padded, kOwn).hello);
    padded.push_back(std::byte{0x55});
  }
}

TEST_CASE("a hello that is too short is unauthorized", "[handshake]") {
  const HelloBytes bytes = encode_hello(right_hello(), kRight);
  for (std::size_t size = 0; size < kHelloBytes; ++size) {
    const HelloVerdict verdict = check_request(std::span(bytes).first(size), kOwn);
    INFO(size << " bytes");
    CHECK_FALSE(verdict.hello);
    CHECK(verdict.reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("random bytes are unauthorized", "[handshake]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    const HelloVerdict verdict = check_request(pattern(seed % 100, seed), kOwn);
    CHECK_FALSE(verdict.hello);
    CHECK(verdict.reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("a hello with any wrong bit is unauthorized", "[handshake][F4]") {
  HelloBytes bytes = encode_hello(right_hello(), kRight);
  for (std::size_t bit = 0; bit < 8 * kHelloBytes; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << bit % 8)};
    bytes[bit / 8] ^= mask;
    INFO("bit " << bit);
    CHECK(check_request(bytes, kOwn).reason == RejectReason::kUnauthorized);
    bytes[bit / 8] ^= mask;
  }
  CHECK(check_request(bytes, kOwn).hello);
}

TEST_CASE("a hello with any wrong bit in the key, for another rank, or of the other way is unauthorized",
          "[handshake][F4]") {
  const auto refused = [](const HelloSeal& seal) {
    return verdict_on(right_hello(), seal).reason == RejectReason::kUnauthorized;
  };
  for (int bit = 0; bit < 64; ++bit) CHECK(refused({kOwn.job_key ^ std::uint64_t{1} << bit, kOwn.rank}));
  CHECK(refused({kOwn.job_key, kOwn.rank + 1}));
  CHECK(refused({kOwn.job_key, kOwn.rank, true}));
  CHECK(verdict_on(right_hello()).hello);
}

TEST_CASE("who has the name of a process calls it as one of another job, and never as a rank", "[handshake][F4]") {
  const std::uint64_t name_key = name_key_of(kOwn.job_key, kOwn.rank);
  Hello other_job = right_hello();
  other_job.flags = kHelloOtherJob;
  other_job.rank = 1000;
  CHECK(verdict_on(other_job, {name_key, kOwn.rank}).hello);
  CHECK(verdict_on(right_hello(), {name_key, kOwn.rank}).reason == RejectReason::kUnauthorized);
  // neither the job's own key nor the name of another process serves for it
  CHECK(verdict_on(other_job, {kOwn.job_key, kOwn.rank}).reason == RejectReason::kUnauthorized);
  CHECK(verdict_on(other_job, {name_key_of(kOwn.job_key, 0), kOwn.rank}).reason == RejectReason::kUnauthorized);
}

TEST_CASE("an answer has the seal of the key that was called with, and is no call", "[handshake][F4]") {
  constexpr std::uint64_t kCalled = 77;
  const HelloBytes bytes = encode_hello(right_hello(), {kCalled, kOwn.rank, true});
  CHECK(check_answer(bytes, kOwn, kCalled).hello);
  CHECK(check_answer(bytes, kOwn, kCalled + 1).reason == RejectReason::kUnauthorized);
  CHECK(check_answer(encode_hello(right_hello(), {kCalled, kOwn.rank}), kOwn, kCalled).reason ==
        RejectReason::kUnauthorized);
}

TEST_CASE("a hello with a wrong bit in the magic is unauthorized", "[handshake]") {
  for (int bit = 0; bit < 16; ++bit) {
    Hello hello = right_hello();
    hello.magic = static_cast<std::uint16_t>(hello.magic ^ (1u << bit));
    CHECK_FALSE(verdict_on(hello).hello);
    CHECK(verdict_on(hello).reason == RejectReason::kUnauthorized);
  }
}

TEST_CASE("a hello with a wrong key is unauthorized even if the version differs, too", "[handshake]") {
  Hello hello = right_hello();
  hello.version = kOtherWireVersion;
  hello.geometry = 0;
  CHECK(verdict_on(hello, {1, kOwn.rank}).reason == RejectReason::kUnauthorized);
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
