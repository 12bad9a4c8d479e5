// SPDX-License-Identifier: MIT
// Rings of the first phase, cut from a few registered regions (slabs): a ring of its own registration pins whole pages,
// and a device has a number of registrations only. All rings have the same size. A slab is given back to the system
// when its last ring is.
//
// A slab has one remote key, so only processes of the own job get rings from it, which trust each other as to their
// memory. A ring of more than kRingBytesMax bytes gains nothing here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "channel/ledger.h"
#include "channel/port.h"

namespace bufenlarge {

// Where the rings that a connection begins with come from.
enum class FirstRings : std::uint8_t {
  kThere,  // an attempt before has left them
  kSlab,
  kOwn,  // each is a region of its own
};

inline constexpr std::size_t kSlabPage = 4096;

[[nodiscard]] inline std::size_t whole_slab_pages(std::size_t bytes) {
  return (bytes + kSlabPage - 1) / kSlabPage * kSlabPage;
}
// The smallest slab has both rings of one connection. In bytes.
[[nodiscard]] inline std::size_t least_slab_bytes(std::size_t ring_bytes) { return whole_slab_pages(2 * ring_bytes); }

template <class Port>
class RingSlabs {
  struct Slab;

 public:
  using Region = typename Port::Region;
  static constexpr std::size_t kRingBytesMax = std::size_t{64} << 10;
  static constexpr std::size_t kSlabBytesMax = std::size_t{256} << 10;
  // Slabs hold this part of all rings at most: so much may be registered and not used, and so much stays registered
  // for a single ring.
  static constexpr std::size_t kSlabPart = 4;
  static constexpr std::size_t kLimitPart = 64;  // of a limit on pinned memory

  // One ring, zeroed, until it is destroyed. An empty one has no region.
  class Ring {
   public:
    Ring() = default;
    Ring(RingSlabs& slabs, Slab& slab, std::byte* data) : slabs_(&slabs), slab_(&slab), data_(data) {}
    Ring(Ring&& other) noexcept { swap(other); }
    Ring& operator=(Ring&& other) noexcept {
      Ring(std::move(other)).swap(*this);
      return *this;
    }
    ~Ring() {
      if (slabs_ != nullptr) slabs_->give_back(*slab_, data_);
    }
    explicit operator bool() const { return slabs_ != nullptr; }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return slabs_ == nullptr ? 0 : slabs_->ring_bytes_; }
    [[nodiscard]] const Region& region() const { return slab_->region; }

   private:
    void swap(Ring& other) noexcept {
      std::swap(slabs_, other.slabs_);
      std::swap(slab_, other.slab_);
      std::swap(data_, other.data_);
    }

    RingSlabs* slabs_ = nullptr;
    Slab* slab_ = nullptr;
    std::byte* data_ = nullptr;
  };

  // Of rings of so many bytes. Port and ledger outlive it, and it outlives its rings.
  RingSlabs(Port& port, Ledger& ledger, std::size_t ring_bytes)
      : port_(port), ledger_(ledger), ring_bytes_(ring_bytes) {}

  [[nodiscard]] bool serves(std::size_t bytes) const { return bytes == ring_bytes_ && bytes <= kRingBytesMax; }
  // Returns an empty ring where no memory could be registered.
  [[nodiscard]] Ring take() {
    if (free_ == 0 && !grow()) return {};
    // Slabs of few rings can become free when the first ones are filled first.
    Slab& slab = **std::ranges::find_if(slabs_, [](const auto& one) { return !one->free.empty(); });
    std::byte* const data = slab.free.back();
    slab.free.pop_back();
    --free_;
    ++in_use_;
    set_in_use(slab, data, true);
    std::memset(data, 0, ring_bytes_);
    return {*this, slab, data};
  }
  // Whether so many can be taken without memory.
  [[nodiscard]] bool has_free(std::size_t rings) const { return free_ >= rings; }
  // Registered, and part of no ring.
  [[nodiscard]] std::size_t unused_bytes() const { return bytes_ - in_use_ * ring_bytes_; }
  // What the smallest slab pins, which has two rings at least, in bytes.
  [[nodiscard]] std::uint64_t least_pinned() const { return pinned_bytes<Region>(least_slab_bytes(ring_bytes_)); }

  // How many bytes, in how many slabs, so many rings take where nothing refuses them.
  struct Taken {
    std::uint64_t bytes = 0;
    std::uint64_t slabs = 0;
  };
  [[nodiscard]] static Taken taken(std::size_t rings, std::size_t ring_bytes) {
    Taken all;
    for (std::uint64_t have = 0; have < rings; ++all.slabs) {
      const std::size_t slab = next_bytes(all.bytes, ring_bytes, kSlabBytesMax);
      have += slab / ring_bytes;
      all.bytes += slab;
    }
    return all;
  }

 private:
  struct Slab {
    Ledger::Entry entry;
    Region region;
    std::vector<std::byte*> free{};
    std::size_t rings = 0;
  };

  [[nodiscard]] static std::size_t next_bytes(std::size_t present, std::size_t ring_bytes, std::size_t most) {
    const std::size_t rings = std::min(present / kSlabPart, most) / ring_bytes;
    return rings <= 2 ? least_slab_bytes(ring_bytes) : whole_slab_pages(rings * ring_bytes);
  }

  bool grow() {
    const std::size_t most =
        ledger_.limited() ? std::min<std::uint64_t>(kSlabBytesMax, ledger_.limits().all / kLimitPart) : kSlabBytesMax;
    const std::size_t bytes = next_bytes(bytes_, ring_bytes_, most);
    const std::size_t least = least_slab_bytes(ring_bytes_);
    return add_slab(bytes) || (bytes > least && add_slab(least));
  }

  bool add_slab(std::size_t bytes) {
    Ledger::Entry entry = ledger_.enter(Ledger::Use::kBeginning, pinned_bytes<Region>(bytes));
    if (!entry) return false;
    auto slab = std::make_unique<Slab>(Slab{std::move(entry), port_.allocate(bytes, PeerAccess::kWrite)});
    if (slab->region.bytes() == 0) return false;
    slab->rings = bytes / ring_bytes_;
    for (std::size_t i = slab->rings; i-- > 0;) {
      slab->free.push_back(slab->region.data() + i * ring_bytes_);
      set_in_use(*slab, slab->free.back(), false);
    }
    free_ += slab->rings;
    bytes_ += slab->region.bytes();
    slabs_.push_back(std::move(slab));
    return true;
  }

  void give_back(Slab& slab, std::byte* data) {
    set_in_use(slab, data, false);
    slab.free.push_back(data);
    ++free_;
    --in_use_;
    if (slab.free.size() < slab.rings) return;
    free_ -= slab.rings;
    bytes_ -= slab.region.bytes();
    std::erase_if(slabs_, [&slab](const auto& one) { return one.get() == &slab; });
  }

  // For ports that watch over what is written and read (test/sim).
  void set_in_use(Slab& slab, std::byte* data, bool in_use) {
    if constexpr (requires { port_.set_in_use(slab.region, data, ring_bytes_, in_use); })
      port_.set_in_use(slab.region, data, ring_bytes_, in_use);
  }

  Port& port_;
  Ledger& ledger_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::size_t free_ = 0;  // rings of all slabs
  std::size_t in_use_ = 0;
  std::size_t bytes_ = 0;  // of all slabs
  const std::size_t ring_bytes_;
};

}  // namespace bufenlarge
