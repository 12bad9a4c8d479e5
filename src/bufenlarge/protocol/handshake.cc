// SPDX-License-Identifier: MIT
#include "protocol/handshake.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace bufenlarge {

namespace {

std::string phases_text(std::uint32_t slots, std::uint32_t slot_bytes, std::uint32_t geometry) {
  char text[96];
  std::snprintf(text, sizeof text, "%u slots of %u bytes in phase 0 (hash of all phases: %08x)", slots, slot_bytes,
                geometry);
  return text;
}

std::string phases_text(std::uint32_t geometry) {
  char text[32];
  std::snprintf(text, sizeof text, "phases with the hash %08x", geometry);
  return text;
}

std::string version_text(unsigned theirs) {
  return "wire version differs: the peer has " + std::to_string(theirs) + ", this process " +
         std::to_string(kWireVersion) + "; all processes need the same version of bufenlarge";
}

std::string geometry_text(const std::string& theirs, const HelloExpectation& own) {
  return "ring geometry differs: the peer has " + theirs + ", this process " +
         phases_text(own.slots, own.slot_bytes, own.geometry) +
         "; set MPIR_CVAR_BUFENLARGE_PHASES and _SLOTS to the same values in all processes";
}

// Magic, version, flags and seal keep their places in every later version, and the seal stays that of these bytes.
bool is_sealed(std::span<const std::byte> data, const HelloSeal& seal) {
  std::uint64_t found;
  std::memcpy(&found, data.data() + offsetof(Hello, seal), sizeof found);
  return found == seal_of(data.first<kHelloBytes>(), seal);
}

// `seal`: what the data must be sealed with.
HelloVerdict check(std::span<const std::byte> data, const HelloExpectation& own, const HelloSeal& seal) {
  HelloVerdict verdict;
  Hello hello{};
  if (!data.empty()) std::memcpy(&hello, data.data(), std::min(data.size(), kHelloBytes));
  const bool other_job = (hello.flags & kHelloOtherJob) != 0;
  if (data.size() < kHelloBytes || hello.magic != kHelloMagic || !is_sealed(data, seal)) {
    verdict.text = "no Hello of this job: the private data has another size, magic or seal";
  } else if (hello.version != kWireVersion) {
    verdict.reason = RejectReason::kVersion;
    verdict.text = version_text(hello.version);
  } else if (!other_job && hello.rank >= own.size) {
    verdict.text = "the Hello has rank " + std::to_string(hello.rank) + ", and this job has " +
                   std::to_string(own.size) + " ranks";
  } else if (other_job && hello.geometry != own.geometry) {
    verdict.reason = RejectReason::kGeometry;
    verdict.text = geometry_text(phases_text(hello.geometry), own);
  } else if (!other_job && (hello.geometry != own.geometry || hello.slot_bytes != own.slot_bytes ||
                            hello.slots != own.slots)) {
    verdict.reason = RejectReason::kGeometry;
    verdict.text = geometry_text(phases_text(hello.slots, hello.slot_bytes, hello.geometry), own);
  } else {
    verdict.hello = hello;
  }
  return verdict;
}

}  // namespace

HelloBytes encode_hello(const Hello& hello, const HelloSeal& seal) {
  HelloBytes bytes;
  std::memcpy(bytes.data(), &hello, kHelloBytes);
  const std::uint64_t made = seal_of(bytes, seal);
  std::memcpy(bytes.data() + offsetof(Hello, seal), &made, sizeof made);
  return bytes;
}

std::uint64_t key_for_callers(const HelloExpectation& own, bool other_job) {
  return other_job ? name_key_of(own.job_key, own.rank) : own.job_key;
}

HelloVerdict check_request(std::span<const std::byte> data, const HelloExpectation& own) {
  std::byte flags{};
  if (data.size() > offsetof(Hello, flags)) flags = data[offsetof(Hello, flags)];
  const bool other_job = (static_cast<std::uint8_t>(flags) & kHelloOtherJob) != 0;
  return check(data, own, {key_for_callers(own, other_job), own.rank, false});
}

HelloVerdict check_answer(std::span<const std::byte> data, const HelloExpectation& own, std::uint64_t key) {
  return check(data, own, {key, own.rank, true});
}

Reject make_reject(RejectReason reason, const HelloExpectation& own, std::uint16_t attempt) {
  Reject reject{};
  if (reason == RejectReason::kUnauthorized) return reject;  // all zero: it reveals nothing
  reject.magic = kHelloMagic;
  reject.version = kWireVersion;
  reject.reason = static_cast<std::uint8_t>(reason);
  reject.slot_bytes = own.slot_bytes;
  reject.slots = own.slots;
  reject.attempt = attempt;
  reject.geometry = own.geometry;
  return reject;
}

std::optional<Reject> decode_reject(std::span<const std::byte> data) {
  Reject reject;
  if (data.size() < sizeof reject) return std::nullopt;
  std::memcpy(&reject, data.data(), sizeof reject);
  const bool known = reject.reason >= static_cast<std::uint8_t>(RejectReason::kCrossing) &&
                     reject.reason <= static_cast<std::uint8_t>(RejectReason::kNoRoom);
  if (reject.magic != kHelloMagic || !known) return std::nullopt;
  return reject;
}

std::string describe_reject(const Reject& reject, const HelloExpectation& own) {
  switch (static_cast<RejectReason>(reject.reason)) {
    case RejectReason::kCrossing: return "the peer's own attempt wins (crossing attempts)";
    case RejectReason::kVersion: return version_text(reject.version);
    case RejectReason::kGeometry:
      return geometry_text(phases_text(reject.slots, reject.slot_bytes, reject.geometry), own);
    case RejectReason::kUnauthorized: return "the peer does not accept the job key or rank of this process";
    case RejectReason::kStale: return "the peer has a newer connection of this process";
    case RejectReason::kNoRoom: return "the peer has as many connections as it may";
  }
  return "the peer gives an unknown reason (" + std::to_string(reject.reason) + ")";
}

}  // namespace bufenlarge
