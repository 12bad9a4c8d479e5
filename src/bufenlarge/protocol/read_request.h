// SPDX-License-Identifier: MIT
// Read requests: how they travel, how a read becomes requests, and how a request becomes writes
// (docs/wire-protocol.md, section 10). Nothing here does I/O or looks at memory of the upper layer: the channel
// knows which sources are advertised and what is registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/wire.h"

namespace bufenlarge {

// The longest segment, in bytes. A segment's length travels in 32 bits; the response splits long segments into
// several writes, see data_write_bytes().
inline constexpr std::uint32_t kReadSegmentBytesMax = 1u << 30;

struct ReadRequestParts {
  ReadRequest head{};
  std::vector<ReadSource> sources;
  std::vector<ReadDestination> destinations;
  std::uint64_t bytes = 0;  // the sum of the sources' bytes
};

// Returns the request in a slot's payload, or nothing if section 10 does not allow such a payload.
[[nodiscard]] std::optional<ReadRequestParts> parse_read_request(std::span<const std::byte> payload);

// The destinations of one read, and how much of it was put into requests so far.
class ReadPlan {
 public:
  // The destinations `to` are in order, have `bytes` bytes together, and none is longer than
  // kReadSegmentBytesMax. `offset` is that of the first byte in the source.
  ReadPlan(std::uint32_t source, std::uint64_t offset, std::uint64_t bytes, std::span<const ReadDestination> to);

  // Returns true if requests for all bytes were made.
  [[nodiscard]] bool asked() const { return asked_ == bytes_; }
  [[nodiscard]] std::uint64_t asked_bytes() const { return asked_; }

  // Returns true if the whole rest fits into the request `parts` behind the segments it has, within
  // `capacity` bytes.
  [[nodiscard]] bool fits(const ReadRequestParts& parts, std::size_t capacity) const;
  // Adds as much of the rest as `parts` has room for within `capacity` bytes: one source, and one destination
  // or more. An empty request has room when the capacity is 40 bytes or more. Not called when asked().
  void take(ReadRequestParts& parts, std::size_t capacity);

 private:
  std::vector<ReadDestination> to_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
  std::uint64_t asked_ = 0;
  std::size_t next_ = 0;  // index in to_
  std::uint32_t source_;
};

// Writes a request into `payload`, which is long enough, and returns its length in bytes. The numbers of
// segments in its head are filled in here.
[[nodiscard]] std::uint32_t encode_request(const ReadRequestParts& parts, std::span<std::byte> payload);

// The same for a request whose response comes through the ring; `last` releases the source with it.
[[nodiscard]] std::uint32_t encode_ring_request(std::uint32_t sequence, const ReadSource& source, bool last,
                                                std::span<std::byte> payload);
// The same for the release of a source; the peer sends no response.
[[nodiscard]] std::uint32_t encode_release(std::uint32_t source, std::span<std::byte> payload);

// Returns how many of `bytes`, which are contiguous on both sides, go in the next write: all of them up to
// kDataWriteBytesMax, otherwise one of the fewest equal parts, rounded up to pages of 4,096 bytes
// (docs/decisions/0013-writes-on-tcp.md).
inline constexpr std::uint32_t kDataWriteBytesMax = 252 * 4096;
[[nodiscard]] constexpr std::uint32_t data_write_bytes(std::uint64_t bytes) {
  if (bytes <= kDataWriteBytesMax) return static_cast<std::uint32_t>(bytes);
  const std::uint64_t parts = (bytes + kDataWriteBytesMax - 1) / kDataWriteBytesMax;
  return static_cast<std::uint32_t>((bytes + parts * 4096 - 1) / (parts * 4096) * 4096);
}

// The response to one request, range by range: each is contiguous in one source and in one destination.
class ReadResponse {
 public:
  explicit ReadResponse(ReadRequestParts parts) : parts_(std::move(parts)) {}

  struct Range {
    ReadSource source;            // where its bytes are
    ReadDestination destination;  // where they go; all zero when the response goes through the ring
    std::size_t source_index;     // in sources()
    bool last;                    // the response ends with it
  };
  // Returns the next range, of at most `bytes_max` bytes. Not called when done().
  [[nodiscard]] Range next(std::uint32_t bytes_max) const;
  // Called when the first `bytes` of the next range are on their way.
  void taken(std::uint32_t bytes);

  [[nodiscard]] bool done() const { return done_ == parts_.bytes; }
  // Called when a source could not be registered: the response goes through the ring although the request
  // names destinations.
  void use_ring() { parts_.head.flags |= kReadThroughRing; }
  [[nodiscard]] bool through_ring() const { return (parts_.head.flags & kReadThroughRing) != 0; }
  // Returns true if the reader needs the sources no more once it has the response.
  [[nodiscard]] bool releases() const { return (parts_.head.flags & kReadLast) != 0; }
  [[nodiscard]] std::uint32_t sequence() const { return parts_.head.sequence; }
  [[nodiscard]] const std::vector<ReadSource>& sources() const { return parts_.sources; }

 private:
  ReadRequestParts parts_;
  std::uint64_t done_ = 0;
  std::size_t source_ = 0;
  std::size_t destination_ = 0;
  std::uint32_t source_done_ = 0;       // bytes of the present source
  std::uint32_t destination_done_ = 0;  // bytes of the present destination
};

}  // namespace bufenlarge
