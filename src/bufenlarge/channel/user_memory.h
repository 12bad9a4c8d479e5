// SPDX-License-Identifier: MIT
// Memory of the user, registered for as long as one transfer needs it: segments in order, which together
// are one stretch of bytes. Neighbours within a page share a registration.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "channel/port.h"
#include "protocol/read_request.h"

namespace bufenlarge {

template <class Port>
class UserMemory {
 public:
  using Region = typename Port::Region;

  // More separate regions than this are not worth their registrations.
  static constexpr std::size_t kRegionsMax = 64;

  UserMemory() = default;
  // Takes note of the segments; nothing is registered. Empty ones are left out.
  explicit UserMemory(std::span<const iovec> segments) {
    for (const iovec& one : segments) {
      if (one.iov_len == 0) continue;
      segments_.push_back({static_cast<std::byte*>(one.iov_base), bytes_, one.iov_len, 0});
      bytes_ += one.iov_len;
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool registered() const { return !regions_.empty(); }

  // False, and nothing is registered, when it is refused or not worth it.
  [[nodiscard]] bool register_all(Port& port, MemoryUse use) {
    std::vector<Run> runs = find_runs();
    bool worked = runs.size() <= kRegionsMax;
    for (std::size_t i = 0; worked && i < runs.size(); ++i) {
      Region region = port.register_memory(runs[i].begin, static_cast<std::size_t>(runs[i].end - runs[i].begin), use);
      worked = region.bytes() != 0;
      if (worked) regions_.push_back(std::move(region));
    }
    if (!worked) regions_.clear();
    return worked;
  }
  void unregister() { regions_.clear(); }

  struct Place {
    std::byte* at;
    std::size_t bytes;     // to the end of its segment
    const Region* region;  // nullptr when nothing is registered
  };
  // `offset` is less than bytes().
  [[nodiscard]] Place find(std::uint64_t offset) const {
    const auto after = std::ranges::upper_bound(segments_, offset, {}, &Segment::offset);
    const Segment& segment = *std::prev(after);
    const std::uint64_t skip = offset - segment.offset;
    return {segment.at + skip, static_cast<std::size_t>(segment.bytes - skip),
            registered() ? &regions_[segment.region] : nullptr};
  }

  void copy_in(std::uint64_t offset, std::span<const std::byte> data) const {
    while (!data.empty()) {
      const Place place = find(offset);
      const std::size_t part = std::min(place.bytes, data.size());
      std::memcpy(place.at, data.data(), part);
      data = data.subspan(part);
      offset += part;
    }
  }
  void copy_out(std::uint64_t offset, std::span<std::byte> data) const {
    while (!data.empty()) {
      const Place place = find(offset);
      const std::size_t part = std::min(place.bytes, data.size());
      std::memcpy(data.data(), place.at, part);
      data = data.subspan(part);
      offset += part;
    }
  }

  // As the peer's writes name it; registered.
  [[nodiscard]] std::vector<ReadDestination> destinations() const {
    std::vector<ReadDestination> to;
    for (const Segment& segment : segments_) {
      const Region& region = regions_[segment.region];
      const std::uint64_t address = region.remote_address() + static_cast<std::uint64_t>(segment.at - region.data());
      for (std::size_t done = 0; done < segment.bytes;) {
        const auto bytes = static_cast<std::uint32_t>(
            std::min<std::size_t>(segment.bytes - done, kReadSegmentBytesMax));
        to.push_back({address + done, region.remote_key(), bytes});
        done += bytes;
      }
    }
    return to;
  }

 private:
  struct Segment {
    std::byte* at;
    std::uint64_t offset;  // within the whole
    std::size_t bytes;
    std::size_t region;    // its registration's index
  };
  struct Run {
    std::byte* begin;
    std::byte* end;
  };

  std::vector<Run> find_runs() {
    constexpr std::ptrdiff_t kGapMax = 4096;
    std::vector<Run> runs;
    for (Segment& segment : segments_) {
      std::byte* end = segment.at + segment.bytes;
      if (!runs.empty() && segment.at >= runs.back().end && segment.at - runs.back().end < kGapMax)
        runs.back().end = end;
      else
        runs.push_back({segment.at, end});
      segment.region = runs.size() - 1;
    }
    return runs;
  }

  std::vector<Segment> segments_;
  std::vector<Region> regions_;
  std::uint64_t bytes_ = 0;
};

}  // namespace bufenlarge
