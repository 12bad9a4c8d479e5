// SPDX-License-Identifier: MIT
// The pinned memory of one context and the limit on it (knob MEMORY_MAX).
//
// Three uses share the limit. What a connection begins with may take all of it: rings of the first phase, control
// blocks and the queues of its endpoint. Rings that have grown and registrations of user memory leave the reserve to
// beginnings, as far as these have not taken it, and never less than the spare bytes: a ring that goes back to the
// first phase is registered before the larger one is given back.
//
// Memory is entered before it is registered, so what is pinned never passes the limit. One thread at a time may call a
// ledger and end its entries; it outlives them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace bufenlarge {

class Ledger {
 public:
  enum class Use : std::uint8_t {
    kBeginning,  // what a connection begins with
    kGrown,      // rings of larger phases
    kUser,       // memory of the user: transfers and windows
  };
  static constexpr std::size_t kUses = 3;
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  // In bytes.
  struct Limits {
    std::uint64_t all = kNoLimit;
    std::uint64_t reserve = 0;
    std::uint64_t spare = 0;
  };

  // Counts its bytes as pinned while it lives. An empty one counts nothing. enter() makes the others.
  class Entry {
   public:
    Entry() = default;
    Entry(Ledger& ledger, Use use, std::uint64_t bytes) : ledger_(&ledger), bytes_(bytes), use_(use) {}
    Entry(Entry&& other) noexcept { swap(other); }
    Entry& operator=(Entry&& other) noexcept {
      Entry(std::move(other)).swap(*this);
      return *this;
    }
    ~Entry() {
      if (ledger_ != nullptr) ledger_->remove(use_, bytes_);
    }
    explicit operator bool() const { return ledger_ != nullptr; }

   private:
    void swap(Entry& other) noexcept {
      std::swap(ledger_, other.ledger_);
      std::swap(bytes_, other.bytes_);
      std::swap(use_, other.use_);
    }

    Ledger* ledger_ = nullptr;
    std::uint64_t bytes_ = 0;
    Use use_ = Use::kBeginning;
  };

  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void set_limits(const Limits& limits) { limits_ = limits; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] bool limited() const { return limits_.all != kNoLimit; }

  // Sets a function that gives memory back which nobody needs now, as much as it is asked for, or returns false when
  // there is none. It is called before something is refused.
  void set_give_way(std::function<bool(std::uint64_t bytes)> give_way) { give_way_ = std::move(give_way); }
  // Sets a callback that is told how many bytes the limit has just forbidden.
  void set_on_refused(std::function<void(std::uint64_t bytes)> on_refused) { on_refused_ = std::move(on_refused); }

  // Returns an empty entry where the limit forbids so many bytes more. That is noted: see wanted().
  [[nodiscard]] Entry enter(Use use, std::uint64_t bytes) {
    if (!make_room(use, bytes)) [[unlikely]] {
      ++refusals_;
      wanted_ = true;
      if (on_refused_) on_refused_(bytes);
      return {};
    }
    of(use) += bytes;
    most_ = std::max(most_, this->bytes());
    return {*this, use, bytes};
  }
  // Whether enter() would do it.
  [[nodiscard]] bool make_room(Use use, std::uint64_t bytes) {
    while (!has_room(use, bytes))
      if (!give_way_ || !give_way_(bytes)) return false;
    return true;
  }
  // Whether it would, with all memory as it is.
  [[nodiscard]] bool has_room(Use use, std::uint64_t bytes) const {
    const std::uint64_t kept = use == Use::kBeginning ? 0 : kept_for_beginnings();
    const std::uint64_t now = this->bytes();
    return now <= limits_.all && kept <= limits_.all - now && bytes <= limits_.all - now - kept;
  }

  // Ends an entry; Entry calls it.
  void remove(Use use, std::uint64_t bytes) { of(use) -= bytes; }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_[0] + bytes_[1] + bytes_[2]; }
  [[nodiscard]] std::uint64_t bytes(Use use) const { return bytes_[static_cast<std::size_t>(use)]; }
  // The most at any time.
  [[nodiscard]] std::uint64_t most() const { return most_; }
  // How often the limit forbade something.
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }
  // Something was refused since the last call of satisfied().
  [[nodiscard]] bool wanted() const { return wanted_; }
  void satisfied() { wanted_ = false; }

 private:
  [[nodiscard]] std::uint64_t& of(Use use) { return bytes_[static_cast<std::size_t>(use)]; }
  [[nodiscard]] std::uint64_t kept_for_beginnings() const {
    const std::uint64_t taken = bytes(Use::kBeginning);
    return std::max(limits_.spare, limits_.reserve - std::min(taken, limits_.reserve));
  }

  Limits limits_;
  std::array<std::uint64_t, kUses> bytes_{};  // by Use
  std::uint64_t most_ = 0;
  std::uint64_t refusals_ = 0;
  std::function<bool(std::uint64_t)> give_way_;
  std::function<void(std::uint64_t)> on_refused_;
  bool wanted_ = false;
};

// The bytes that a region of `bytes` own bytes pins: whole pages, where the port has pages.
template <class Region>
[[nodiscard]] std::uint64_t pinned_bytes(std::size_t bytes) {
  if constexpr (requires { Region::whole_pages(bytes); })
    return Region::whole_pages(bytes);
  else
    return bytes;
}

// The bytes that a registration of this memory of the user pins: the pages it touches.
template <class Region>
[[nodiscard]] std::uint64_t pinned_bytes(const std::byte* begin, std::size_t bytes) {
  if constexpr (requires { Region::whole_pages(bytes); }) {
    const auto before = reinterpret_cast<std::uintptr_t>(begin) % Region::whole_pages(1);
    return Region::whole_pages(before + bytes);
  } else {
    return bytes;
  }
}

}  // namespace bufenlarge
