// SPDX-License-Identifier: MIT
// Memory of the user, registered for as long as one transfer needs it: segments that together are one range of bytes.
// Segments that lie less than a page apart share a registration.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "channel/port.h"
#include "channel/user_registrations.h"
#include "protocol/read_request.h"

namespace bufenlarge {

enum class RegisterResult : std::uint8_t {
  kDone,
  kWait,     // other transfers have to give some back first
  kRefused,  // by the device, or it would not pay
};

template <class Port>
class UserMemory {
 public:
  using Region = typename Port::Region;

  // More separate regions than this do not pay.
  static constexpr std::size_t kRegionsMax = 64;

  UserMemory() = default;
  // Takes note of the segments that are not empty; registers nothing. `persistent`: for a persistent request.
  explicit UserMemory(std::span<const iovec> segments, bool persistent = false) : persistent_(persistent) {
    for (const iovec& one : segments) {
      if (one.iov_len == 0) continue;
      segments_.push_back({static_cast<std::byte*>(one.iov_base), bytes_, one.iov_len, 0});
      bytes_ += one.iov_len;
    }
  }

  UserMemory(UserMemory&& other) noexcept { swap(other); }
  UserMemory& operator=(UserMemory&& other) noexcept {
    UserMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~UserMemory() { unregister(); }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset;
  }
  [[nodiscard]] bool registered() const { return !regions_.empty(); }

  // Registers all of it or nothing. `registrations` outlives the registration. With kWait the one with this turn waits
  // in the line from now on, until it leaves; without a turn it only has to let those pass that wait.
  [[nodiscard]] RegisterResult register_all(Port& port, MemoryUse use, UserRegistrations<Port>& registrations,
                                            RegistrationLine::Turn* turn = nullptr) {
    const std::vector<Run> runs = find_runs();
    if (runs.size() > kRegionsMax) return RegisterResult::kRefused;
    if (turn != nullptr) turn->resume();
    const bool may = registrations.line().is_first(turn);
    const RegisterResult result = may ? register_runs(port, use, registrations, runs) : RegisterResult::kWait;
    if (result == RegisterResult::kWait && turn != nullptr) turn->wait_in(registrations.line());
    return result;
  }
  void unregister() {
    for (const Handle held : regions_) registrations_->release(held);
    regions_.clear();
  }

  struct Place {
    std::byte* at;
    std::size_t bytes;     // to the end of its segment
    const Region* region;  // nullptr when nothing is registered
  };
  // Where the byte at `offset`, which is less than bytes(), lies.
  [[nodiscard]] Place find(std::uint64_t offset) const {
    const auto after = std::ranges::upper_bound(segments_, offset, {}, &Segment::offset);
    const Segment& segment = *std::prev(after);
    const std::uint64_t skip = offset - segment.offset;
    return {segment.at + skip, static_cast<std::size_t>(segment.bytes - skip),
            registered() ? &region_of(segment) : nullptr};
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

  // The segments as the peer's writes name them; only while registered.
  [[nodiscard]] std::vector<ReadDestination> destinations() const {
    std::vector<ReadDestination> to;
    for (const Segment& segment : segments_) {
      const Region& region = region_of(segment);
      const std::uint64_t address = region.remote_address() + static_cast<std::uint64_t>(segment.at - region.data());
      for (std::size_t done = 0; done < segment.bytes;) {
        const auto bytes =
            static_cast<std::uint32_t>(std::min<std::size_t>(segment.bytes - done, kReadSegmentBytesMax));
        to.push_back({address + done, region.remote_key(), bytes});
        done += bytes;
      }
    }
    return to;
  }

 private:
  using Handle = typename UserRegistrations<Port>::Handle;

  void swap(UserMemory& other) noexcept {
    std::swap(segments_, other.segments_);
    std::swap(regions_, other.regions_);
    std::swap(bytes_, other.bytes_);
    std::swap(registrations_, other.registrations_);
    std::swap(persistent_, other.persistent_);
  }

  struct Segment {
    std::byte* at;
    std::uint64_t offset;  // within the whole
    std::size_t bytes;
    std::size_t region;  // its registration's index
  };
  struct Run {
    std::byte* begin;
    std::byte* end;
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  };

  // It may begin before the segment's run: whoever held it first had more.
  [[nodiscard]] const Region& region_of(const Segment& segment) const {
    return regions_[segment.region]->region;
  }

  [[nodiscard]] RegisterResult register_runs(Port& port, MemoryUse use, UserRegistrations<Port>& registrations,
                                             const std::vector<Run>& runs) {
    std::uint64_t more = 0;
    for (const Run& run : runs) more += registrations.more_for(run.begin, run.bytes(), persistent_);
    if (registrations.full(more)) return RegisterResult::kWait;
    registrations_ = &registrations;
    for (const Run& run : runs) {
      const auto held = registrations.hold(port, run.begin, run.bytes(), use, persistent_);
      if (!held) {
        unregister();
        return registrations.bytes() != 0 ? RegisterResult::kWait : RegisterResult::kRefused;
      }
      regions_.push_back(*held);
    }
    return RegisterResult::kDone;
  }

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
  std::vector<Handle> regions_;  // held of *registrations_
  std::uint64_t bytes_ = 0;
  UserRegistrations<Port>* registrations_ = nullptr;  // where it was registered last
  bool persistent_ = false;
};

}  // namespace bufenlarge
