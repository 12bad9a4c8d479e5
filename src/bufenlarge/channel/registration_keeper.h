// SPDX-License-Identifier: MIT
// Which registrations of user memory stay while no transfer needs them: the bound on their bytes, in which order they
// give way, and what the memory monitor tells (docs/decisions/0033-registrations-that-stay.md). A context has one
// keeper for all uses of memory; the registrations themselves are in UserRegistrations, one for each use.
#pragma once

#include <cstdint>
#include <vector>

#include "channel/memory_monitor.h"

namespace bufenlarge {

// The idle registrations of one use, as their keeper sees them.
class IdleRegistrations {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  // Of two uses the one that returns less gives way first; kNone: there is nothing that could.
  [[nodiscard]] virtual std::uint64_t oldest() const = 0;
  // Ends the registration that oldest() means.
  virtual void evict_oldest() = 0;
  // The mapping of these addresses changes: ends what is idle there, and shares the rest with no other transfer.
  // Returns how many registrations that were.
  virtual std::uint64_t forget(const AddressRange& range) = 0;

 protected:
  ~IdleRegistrations() = default;
};

// What a context counts of its sources and destinations.
struct KeeperCounters {
  std::uint64_t hits = 0;           // uses of a registration that was there
  std::uint64_t misses = 0;         // uses that needed another
  std::uint64_t evictions = 0;      // registrations that ended to make room, or since a larger one contains them
  std::uint64_t invalidations = 0;  // registrations whose memory changed its mapping
};

class RegistrationKeeper {
 public:
  RegistrationKeeper() = default;
  RegistrationKeeper(const RegistrationKeeper&) = delete;
  RegistrationKeeper& operator=(const RegistrationKeeper&) = delete;

  // Adds a use. It stays as long as the keeper is used.
  void join(IdleRegistrations& use) { uses_.push_back(&use); }

  // From now on idle registrations may take so many bytes, with 0 none. With a monitor, which outlives the keeper, all
  // registrations may stay; without one only those of standing memory. To be called before the first transfer.
  void set(std::uint64_t bytes_max, const MemoryMonitor* monitor) {
    bytes_max_ = bytes_max;
    monitor_ = bytes_max == 0 ? nullptr : monitor;
    if (monitor_ != nullptr) seen_ = monitor_->ranges().recorded();
  }
  [[nodiscard]] bool watches() const { return monitor_ != nullptr; }
  // Whether all that may end the mapping of this range is seen.
  [[nodiscard]] bool sees(const AddressRange& range) const { return monitor_ != nullptr && monitor_->sees(range); }
  // Whether a registration of so many bytes may stay.
  [[nodiscard]] bool keeps(std::uint64_t bytes, bool standing) const {
    return bytes <= bytes_max_ && bytes_max_ != 0 && (standing || watches());
  }
  [[nodiscard]] std::uint64_t idle_bytes() const { return idle_bytes_; }

  // Applies what the monitor has recorded. To be called before each use of a registration and each end of one.
  void look() {
    if (monitor_ == nullptr) return;
    if (!monitor_->works()) {
      monitor_ = nullptr;
      forget(AddressRange::all());
    } else if (monitor_->ranges().recorded() != seen_) {
      seen_ = monitor_->ranges().look(seen_, [this](const AddressRange& range) { forget(range); });
    }
  }

  // The order in which registrations become idle.
  [[nodiscard]] std::uint64_t next_turn() { return ++turn_; }
  void add_idle(std::uint64_t bytes) {
    idle_bytes_ += bytes;
    while (idle_bytes_ > bytes_max_ && evict_oldest()) {
    }
  }
  void remove_idle(std::uint64_t bytes) { idle_bytes_ -= bytes; }

  // The system refuses memory, or somebody else needs it: ends idle registrations, the oldest first, until so many
  // bytes are given back or none is left. False when there was none.
  bool give_way(std::uint64_t bytes) {
    if (idle_bytes_ == 0) return false;
    const std::uint64_t enough = idle_bytes_ - (bytes < idle_bytes_ ? bytes : idle_bytes_);
    while (idle_bytes_ > enough && evict_oldest()) {
    }
    return true;
  }

  KeeperCounters counters;

 private:
  void forget(const AddressRange& range) {
    for (IdleRegistrations* use : uses_) counters.invalidations += use->forget(range);
  }
  bool evict_oldest() {
    IdleRegistrations* first = nullptr;
    for (IdleRegistrations* use : uses_)
      if (use->oldest() < (first == nullptr ? IdleRegistrations::kNone : first->oldest())) first = use;
    if (first == nullptr) return false;
    first->evict_oldest();
    return true;
  }

  std::vector<IdleRegistrations*> uses_;
  const MemoryMonitor* monitor_ = nullptr;  // nullptr also when it does not work any more
  std::uint64_t seen_ = 0;                  // of the monitor's ranges
  std::uint64_t bytes_max_ = 0;
  std::uint64_t idle_bytes_ = 0;
  std::uint64_t turn_ = 0;
};

}  // namespace bufenlarge
