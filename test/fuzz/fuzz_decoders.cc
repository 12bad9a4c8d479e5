// SPDX-License-Identifier: MIT
// What a decoder of protocol/ does with any bytes: it reads no others, and what it accepts keeps its promises.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/promise.h"
#include "protocol/handshake.h"
#include "protocol/read_request.h"
#include "protocol/slot.h"
#include "protocol/words.h"
#include "support/builders.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kKey = 0x6b6579;
constexpr std::uint32_t kSize = 5;

std::vector<std::byte> rest(FuzzedDataProvider& input) { return input.ConsumeRemainingBytes<std::byte>(); }

// Without the key none is accepted, but by chance one of 2^64.
void hello(FuzzedDataProvider& input) {
  const PhaseTable phases = two_phases();
  const Phase& first = phases.at(0);
  const HelloExpectation own{kKey,   kSize, first.slot_bytes, static_cast<std::uint16_t>(first.slots),
                             geometry_hash(phases), 0};
  const bool has_key = input.ConsumeBool();
  const bool other_job = input.ConsumeBool();
  const bool answer = input.ConsumeBool();
  std::vector<std::byte> bytes = rest(input);
  const std::uint64_t key = key_for_callers(own, other_job);
  if (has_key && bytes.size() >= kHelloBytes) {
    const std::uint64_t seal = seal_of(std::span(bytes).first<kHelloBytes>(), {key, 0, answer});
    std::memcpy(bytes.data() + offsetof(Hello, seal), &seal, sizeof seal);
  }
  const HelloVerdict verdict = answer ? check_answer(bytes, own, key) : check_request(bytes, own);
  PROMISE(verdict.hello.has_value() == verdict.text.empty());
  if (!verdict.hello) return;
  PROMISE(has_key);
  PROMISE(verdict.hello->magic == kHelloMagic && verdict.hello->version == kWireVersion);
  PROMISE((verdict.hello->flags & kHelloOtherJob) != 0 || verdict.hello->rank < kSize);
}

void reject(FuzzedDataProvider& input) {
  const std::vector<std::byte> bytes = rest(input);
  const auto decoded = decode_reject(bytes);
  PROMISE(!decoded || decoded->magic == kHelloMagic);
}

void read_request(FuzzedDataProvider& input) {
  const std::vector<std::byte> bytes = rest(input);
  const auto parts = parse_read_request(bytes);
  if (!parts) return;
  std::uint64_t sum = 0;
  for (const ReadSource& source : parts->sources) sum += source.bytes;
  PROMISE(sum == parts->bytes);
  std::vector<std::byte> again(bytes.size());
  PROMISE(encode_request(*parts, again) <= bytes.size());
}

// A slot as it lies in a ring. With any of them a receiver may go on to read `bytes` of payload before the trailer.
void slot(FuzzedDataProvider& input) {
  const auto stride = input.ConsumeIntegralInRange<std::uint32_t>(64, 1024) / 8 * 8;
  const auto expected = input.ConsumeIntegral<std::uint64_t>();
  const auto epoch = input.ConsumeIntegral<std::uint16_t>();
  const bool checks = input.ConsumeBool();
  const bool sealed = input.ConsumeBool();
  std::vector<std::uint64_t> words(stride / 8);
  const std::vector<std::byte> bytes = rest(input);
  std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), stride), reinterpret_cast<std::byte*>(words.data()));
  auto* const at = reinterpret_cast<std::byte*>(words.data());
  if (sealed) words.back() = expected;
  SlotTrailer trailer{};
  if (inspect_slot(at, stride, expected, epoch, checks, trailer) != SlotState::kReady) return;
  PROMISE(trailer.bytes <= stride - sizeof(SlotTrailer));
  PROMISE(trailer.epoch == epoch && trailer.commit == expected);
  PROMISE(payload_offset(stride, trailer.bytes) + trailer.bytes <= stride - sizeof(SlotTrailer));
}

void words(FuzzedDataProvider& input) {
  GrantWord grant{input.ConsumeIntegral<std::uint64_t>(), input.ConsumeIntegral<std::uint64_t>()};
  const auto granted = read_grant(grant);
  PROMISE(!granted || *granted == grant.consumed);
  const RepeatWord repeat{input.ConsumeIntegral<std::uint32_t>(), input.ConsumeIntegral<std::uint32_t>(),
                          input.ConsumeIntegral<std::uint64_t>()};
  const auto request = read_repeat(repeat);
  PROMISE(!request || (request->number == repeat.number && request->phase == repeat.phase));
}

using Decoder = void (*)(FuzzedDataProvider&);
constexpr Decoder kDecoders[] = {hello, reject, read_request, slot, words};

}  // namespace
}  // namespace bufenlarge::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace bufenlarge::test;
  FuzzedDataProvider input(data, bytes);
  const auto which = input.ConsumeIntegralInRange<std::size_t>(0, std::size(kDecoders) - 1);
  kDecoders[which](input);
  return 0;
}
