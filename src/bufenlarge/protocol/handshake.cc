// SPDX-License-Identifier: MIT
#include "protocol/handshake.h"

#include <cstring>

namespace bufenlarge {

namespace {

std::string phases_text(std::uint32_t slots, std::uint32_t slot_bytes, std::uint32_t geometry) {
  char text[96];
  std::snprintf(text, sizeof text, "%u slots of %u bytes (all phases: %08x)", slots, slot_bytes, geometry);
  return text;
}

std::string phases_text(std::uint32_t geometry) {
  char text[32];
  std::snprintf(text, sizeof text, "phases %08x", geometry);
  return text;
}

std::string version_text(unsigned theirs) {
  return "wire version differs: the peer speaks " + std::to_string(theirs) + ", this side " +
         std::to_string(kWireVersion);
}

std::string geometry_text(const std::string& theirs, const HelloExpectation& own) {
  return "ring geometry differs: the peer has " + theirs + ", this side " +
         phases_text(own.slots, own.slot_bytes, own.geometry) +
         "; PHASES and SLOTS must be equal in all processes";
}

}  // namespace

// The finalizer of MurmurHash3, one half.
std::uint32_t job_id_of(std::uint64_t job_key) {
  std::uint64_t z = job_key;
  z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
  z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
  return static_cast<std::uint32_t>(z >> 32);
}

HelloBytes encode_hello(const Hello& hello) {
  HelloBytes bytes;
  std::memcpy(bytes.data(), &hello, kHelloBytes);
  return bytes;
}

HelloVerdict check_hello(std::span<const std::byte> data, const HelloExpectation& own) {
  HelloVerdict verdict;
  Hello hello{};
  if (!data.empty()) std::memcpy(&hello, data.data(), std::min(data.size(), kHelloBytes));
  const bool other_job = (hello.flags & kHelloOtherJob) != 0;
  // magic, version and job_key stay where they are in every version to come
  if (data.size() < kHelloBytes || hello.magic != kHelloMagic || hello.job_key != own.job_key) {
    verdict.text = "no Hello of this job";
  } else if (hello.version != kWireVersion) {
    verdict.reason = RejectReason::kVersion;
    verdict.text = version_text(hello.version);
  } else if (!other_job && hello.rank >= own.size) {
    verdict.text = "rank " + std::to_string(hello.rank) + " is not of this job";
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

Reject make_reject(RejectReason reason, const HelloExpectation& own, std::uint16_t attempt) {
  Reject reject{};
  if (reason == RejectReason::kUnauthorized) return reject;  // all zero: tells nothing
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
                     reject.reason <= static_cast<std::uint8_t>(RejectReason::kStale);
  if (reject.magic != kHelloMagic || !known) return std::nullopt;
  return reject;
}

std::string describe_reject(const Reject& reject, const HelloExpectation& own) {
  switch (static_cast<RejectReason>(reject.reason)) {
    case RejectReason::kCrossing: return "crossing connection attempts";
    case RejectReason::kVersion: return version_text(reject.version);
    case RejectReason::kGeometry:
      return geometry_text(phases_text(reject.slots, reject.slot_bytes, reject.geometry), own);
    case RejectReason::kUnauthorized: return "the peer does not know this job";
    case RejectReason::kStale: return "the peer knows a newer connection";
  }
  return "unknown reason";
}

}  // namespace bufenlarge
