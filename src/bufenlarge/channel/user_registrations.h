// SPDX-License-Identifier: MIT
// All current registrations of user memory used as sources (or as destinations), of all channels of a context.
//
// On verbs a registration pins memory, so their bytes are bounded. Sources and destinations have bounds of their own:
// sources wait for nobody but the own device, so they always come free, and with them the peers' destinations.
//
// Transfers of the same range that are under way at once share one registration: a buffer that goes to several peers,
// or goes again before it is complete. The registration ends with the last of them. So it is as safe as one for each:
// nobody may free memory that a transfer is still to read or write (docs/decisions/0011-user-memory.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "channel/ledger.h"
#include "channel/port.h"

namespace bufenlarge {

template <class Port>
class UserRegistrations {
 public:
  using Region = typename Port::Region;
  struct Registration {
    Ledger::Entry entry;
    Region region;
    std::uint32_t holders = 0;
  };
  using Handle = typename std::map<std::pair<std::byte*, std::size_t>, Registration>::iterator;

  explicit UserRegistrations(std::uint64_t bytes_max = 256u << 20) : bytes_max_(bytes_max) {}
  UserRegistrations(const UserRegistrations&) = delete;
  UserRegistrations& operator=(const UserRegistrations&) = delete;

  // Enters what is registered from now on in this ledger, which outlives the registrations.
  void count_in(Ledger& ledger) { ledger_ = &ledger; }
  void set_bytes_max(std::uint64_t bytes) { bytes_max_ = bytes; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool beyond(std::uint64_t more) const { return more > bytes_max_ || bytes_ > bytes_max_ - more; }
  // Whether a registration of so many bytes more has to wait until some are given back.
  [[nodiscard]] bool full(std::uint64_t more) const { return more != 0 && bytes_ != 0 && beyond(more); }
  [[nodiscard]] bool holds(std::byte* begin, std::size_t bytes) const { return live_.contains({begin, bytes}); }

  // Registers the range, or shares its registration. Nothing when the device or the ledger refuses. All of one object
  // have the same use.
  [[nodiscard]] std::optional<Handle> hold(Port& port, std::byte* begin, std::size_t bytes, MemoryUse use) {
    auto at = live_.find({begin, bytes});
    if (at == live_.end()) {
      Ledger::Entry entry;
      if (ledger_ != nullptr) {
        entry = ledger_->enter(Ledger::Use::kUser, pinned_bytes<Region>(begin, bytes));
        if (!entry) return std::nullopt;
      }
      Region region = port.register_memory(begin, bytes, use);
      if (region.bytes() == 0) return std::nullopt;
      at = live_.emplace(std::pair(begin, bytes), Registration{std::move(entry), std::move(region)}).first;
      bytes_ += bytes;
    }
    ++at->second.holders;
    return at;
  }
  void release(Handle at) {
    if (--at->second.holders != 0) return;
    bytes_ -= at->first.second;
    live_.erase(at);
  }

 private:
  std::map<std::pair<std::byte*, std::size_t>, Registration> live_;  // by begin and bytes
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_max_;
  Ledger* ledger_ = nullptr;
};

}  // namespace bufenlarge
