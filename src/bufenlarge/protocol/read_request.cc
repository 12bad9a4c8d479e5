// SPDX-License-Identifier: MIT
#include "protocol/read_request.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "check.h"

namespace bufenlarge {

namespace {

constexpr std::size_t kSegmentsMax = std::numeric_limits<std::uint8_t>::max();

template <class T>
void put(std::span<std::byte> payload, std::size_t at, const T& value) {
  std::memcpy(payload.data() + at, &value, sizeof value);
}

// Returns the sum of the segments' bytes, or nothing if one of them is empty or too long.
template <class Segment>
std::optional<std::uint64_t> total(const std::vector<Segment>& segments) {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments) {
    if (segment.bytes == 0 || segment.bytes > kReadSegmentBytesMax) return std::nullopt;
    sum += segment.bytes;
  }
  return sum;
}

std::size_t encoded_bytes(const ReadRequestParts& parts) {
  return sizeof(ReadRequest) + parts.sources.size() * sizeof(ReadSource) +
         parts.destinations.size() * sizeof(ReadDestination);
}

bool is_release(const ReadRequestParts& parts) {
  return parts.head.flags == kReadLast && parts.head.sources == 1 && parts.head.destinations == 0 &&
         parts.sources[0].bytes == 0 && parts.sources[0].offset == 0;
}

}  // namespace

std::optional<ReadRequestParts> parse_read_request(std::span<const std::byte> payload) {
  ReadRequestParts parts;
  if (payload.size() < sizeof parts.head) return std::nullopt;
  std::memcpy(&parts.head, payload.data(), sizeof parts.head);
  const std::size_t source_bytes = parts.head.sources * sizeof(ReadSource);
  const std::size_t destination_bytes = parts.head.destinations * sizeof(ReadDestination);
  if (payload.size() != sizeof parts.head + source_bytes + destination_bytes || parts.head.sources == 0 ||
      parts.head.reserved != 0 || (parts.head.flags & ~(kReadLast | kReadThroughRing)) != 0)
    return std::nullopt;
  parts.sources.resize(parts.head.sources);
  parts.destinations.resize(parts.head.destinations);
  std::memcpy(parts.sources.data(), payload.data() + sizeof parts.head, source_bytes);
  if (destination_bytes != 0)
    std::memcpy(parts.destinations.data(), payload.data() + sizeof parts.head + source_bytes, destination_bytes);
  for (const ReadSource& source : parts.sources)
    if (source.handle == 0) return std::nullopt;
  if (parts.head.sequence == 0) return is_release(parts) ? std::optional(std::move(parts)) : std::nullopt;

  const auto asked = total(parts.sources);
  const auto placed = total(parts.destinations);
  const bool through_ring = (parts.head.flags & kReadThroughRing) != 0;
  if (!asked || !placed || *placed != (through_ring ? 0 : *asked)) return std::nullopt;
  parts.bytes = *asked;
  return parts;
}

ReadPlan::ReadPlan(std::uint32_t source, std::uint64_t offset, std::uint64_t bytes,
                   std::span<const ReadDestination> to)
    : to_(to.begin(), to.end()), offset_(offset), bytes_(bytes), source_(source) {}

bool ReadPlan::fits(const ReadRequestParts& parts, std::size_t capacity) const {
  const std::size_t left = to_.size() - next_;
  return bytes_ - asked_ <= kReadSegmentBytesMax - parts.bytes && parts.sources.size() < kSegmentsMax &&
         parts.destinations.size() + left <= kSegmentsMax &&
         encoded_bytes(parts) + sizeof(ReadSource) + left * sizeof(ReadDestination) <= capacity;
}

void ReadPlan::take(ReadRequestParts& parts, std::size_t capacity) {
  BUFENLARGE_CHECK(!asked());
  std::size_t at = encoded_bytes(parts) + sizeof(ReadSource);
  std::uint32_t bytes = 0;
  while (next_ < to_.size() && at + sizeof(ReadDestination) <= capacity && parts.destinations.size() < kSegmentsMax &&
         to_[next_].bytes <= kReadSegmentBytesMax - parts.bytes - bytes) {
    parts.destinations.push_back(to_[next_]);
    bytes += to_[next_++].bytes;
    at += sizeof(ReadDestination);
  }
  BUFENLARGE_CHECK(bytes != 0);
  parts.sources.push_back({offset_, source_, bytes});
  parts.bytes += bytes;
  asked_ += bytes;
  offset_ += bytes;
}

std::uint32_t encode_request(const ReadRequestParts& parts, std::span<std::byte> payload) {
  ReadRequest head = parts.head;
  head.sources = static_cast<std::uint8_t>(parts.sources.size());
  head.destinations = static_cast<std::uint8_t>(parts.destinations.size());
  put(payload, 0, head);
  std::size_t at = sizeof head;
  for (const ReadSource& source : parts.sources) put(payload, std::exchange(at, at + sizeof source), source);
  for (const ReadDestination& to : parts.destinations) put(payload, std::exchange(at, at + sizeof to), to);
  return static_cast<std::uint32_t>(at);
}

std::uint32_t encode_ring_request(std::uint32_t sequence, const ReadSource& source, bool last,
                                  std::span<std::byte> payload) {
  ReadRequest head{};
  head.sequence = sequence;
  head.sources = 1;
  head.flags = static_cast<std::uint8_t>(kReadThroughRing | (last ? kReadLast : 0));
  put(payload, 0, head);
  put(payload, sizeof head, source);
  return sizeof head + sizeof source;
}

std::uint32_t encode_release(std::uint32_t source, std::span<std::byte> payload) {
  ReadRequest head{};
  head.sources = 1;
  head.flags = kReadLast;
  put(payload, 0, head);
  put(payload, sizeof head, ReadSource{0, source, 0});
  return sizeof head + sizeof(ReadSource);
}

ReadResponse::Range ReadResponse::next(std::uint32_t bytes_max) const {
  BUFENLARGE_CHECK(!done());
  Range range{};
  const ReadSource& from = parts_.sources[source_];
  std::uint32_t bytes = std::min(bytes_max, from.bytes - source_done_);
  if (!through_ring()) {
    const ReadDestination& to = parts_.destinations[destination_];
    bytes = std::min(bytes, to.bytes - destination_done_);
    range.destination = {to.address + destination_done_, to.key, bytes};
  }
  range.source = {from.offset + source_done_, from.handle, bytes};
  range.source_index = source_;
  range.last = done_ + bytes == parts_.bytes;
  return range;
}

void ReadResponse::taken(std::uint32_t bytes) {
  done_ += bytes;
  source_done_ += bytes;
  if (source_done_ == parts_.sources[source_].bytes) ++source_, source_done_ = 0;
  if (through_ring()) return;
  destination_done_ += bytes;
  if (destination_done_ == parts_.destinations[destination_].bytes) ++destination_, destination_done_ = 0;
}

}  // namespace bufenlarge
