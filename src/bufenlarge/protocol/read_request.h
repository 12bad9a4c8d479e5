// SPDX-License-Identifier: MIT
// A request to read the peer's memory, as it travels and as it is answered (docs/wire-protocol.md, section
// 10; seed 004, claims 1 to 8). Pure: what is advertised and what is registered is the channel's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/wire.h"

namespace bufenlarge {

// One segment is no longer than this, so that lengths travel in 32 bits and devices can do it in one write.
inline constexpr std::uint32_t kReadSegmentBytesMax = 1u << 30;

struct ReadRequestParts {
  ReadRequest head{};
  std::vector<ReadSource> sources;
  std::vector<ReadDestination> destinations;
  std::uint64_t bytes = 0;  // asked for
};

// What a slot's payload says; nothing when it is not allowed.
[[nodiscard]] std::optional<ReadRequestParts> parse_read_request(std::span<const std::byte> payload);

// Where the data of one read goes, and how much of it has been asked for.
class ReadPlan {
 public:
  // `to` in order, `bytes` in all, none longer than kReadSegmentBytesMax.
  ReadPlan(std::uint32_t source, std::uint64_t offset, std::uint64_t bytes, std::span<const ReadDestination> to);

  [[nodiscard]] bool asked() const { return asked_ == bytes_; }
  [[nodiscard]] std::uint64_t asked_bytes() const { return asked_; }

  // Whether all that is left goes into a request of at most `capacity` bytes, behind what it asks for already.
  [[nodiscard]] bool fits(const ReadRequestParts& parts, std::size_t capacity) const;
  // Adds what there is room for to a request that is to be encoded: one source, and one destination at least. Not when
  // asked(); an empty request has room from a capacity of 40 bytes on.
  void take(ReadRequestParts& parts, std::size_t capacity);

 private:
  std::vector<ReadDestination> to_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
  std::uint64_t asked_ = 0;
  std::size_t next_ = 0;  // of to_
  std::uint32_t source_;
};

// Writes a request into `payload`, which is long enough, and returns its length. The counts of segments in its head are
// made here.
[[nodiscard]] std::uint32_t encode_request(const ReadRequestParts& parts, std::span<std::byte> payload);

// A request whose response does not come as writes: all of it in fragments, or nothing but the release.
[[nodiscard]] std::uint32_t encode_ring_request(std::uint32_t sequence, const ReadSource& source, bool last,
                                                  std::span<std::byte> payload);
[[nodiscard]] std::uint32_t encode_release(std::uint32_t source, std::span<std::byte> payload);

// How many of `bytes` that are one range on both sides go as one write: all of them up to kDataWriteBytesMax, else an
// equal part in whole pages (docs/decisions/0013-writes-on-tcp.md).
inline constexpr std::uint32_t kDataWriteBytesMax = 252 * 4096;
[[nodiscard]] constexpr std::uint32_t data_write_bytes(std::uint64_t bytes) {
  if (bytes <= kDataWriteBytesMax) return static_cast<std::uint32_t>(bytes);
  const std::uint64_t parts = (bytes + kDataWriteBytesMax - 1) / kDataWriteBytesMax;
  return static_cast<std::uint32_t>((bytes + parts * 4096 - 1) / (parts * 4096) * 4096);
}

// The response to one request: the next range that is one in the source and one in the destination.
class ReadResponse {
 public:
  explicit ReadResponse(ReadRequestParts parts) : parts_(std::move(parts)) {}

  struct Range {
    ReadSource source;            // `bytes` of it
    ReadDestination destination;  // as many; empty when the response goes in fragments
    std::size_t source_index;     // in sources()
    bool last;                    // nothing of the response comes after it
  };
  // At most `bytes_max`. Not when done().
  [[nodiscard]] Range next(std::uint32_t bytes_max) const;
  void taken(std::uint32_t bytes);

  [[nodiscard]] bool done() const { return done_ == parts_.bytes; }
  // The response goes in fragments although writes were asked for: what is advertised could not be registered.
  void use_ring() { parts_.head.flags |= kReadThroughRing; }
  [[nodiscard]] bool through_ring() const { return (parts_.head.flags & kReadThroughRing) != 0; }
  [[nodiscard]] bool releases() const { return (parts_.head.flags & kReadLast) != 0; }
  [[nodiscard]] std::uint32_t sequence() const { return parts_.head.sequence; }
  [[nodiscard]] const std::vector<ReadSource>& sources() const { return parts_.sources; }

 private:
  ReadRequestParts parts_;
  std::uint64_t done_ = 0;
  std::size_t source_ = 0;
  std::size_t destination_ = 0;
  std::uint32_t source_done_ = 0;       // of the present segment
  std::uint32_t destination_done_ = 0;
};

}  // namespace bufenlarge
