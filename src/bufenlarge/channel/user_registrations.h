// SPDX-License-Identifier: MIT
// All current registrations of user memory used as sources (or as destinations), of all channels of a context.
//
// On verbs a registration pins memory, so their bytes are bounded. Sources and destinations have bounds of their own:
// sources wait for nobody but the own device, so they always come free, and with them the peers' destinations. One that
// waits for the next request of its read gives way (SourceTable::give_way). Who finds no room waits in a line.
//
// A registration is held by the transfers that use it. Transfers of the same range that are under way at once share
// one: a buffer that goes to several peers, or goes again before it is complete. With its last holder it ends, or
// becomes idle, as the keeper says (registration_keeper.h): then the next transfer of that range, or of a part of it,
// finds it. Idle registrations keep nobody waiting: they end when a new one would not fit the bound.
//
// What holds. Memory whose mapping changes by a call that the monitor sees is never used through an older registration
// by a transfer that starts after that call began: hold() looks at what was recorded, and the calls are recorded before
// they change anything. A registration covers no page without a byte of the transfer that made it, or of standing
// memory, so nobody may change its mapping while it is being made. Without a monitor a registration that is shared is
// as safe as one for each transfer, for all its holders use its whole range, and none of it may be freed while one of
// them is under way (docs/decisions/0011-user-memory.md). What stays then is standing memory, and that of persistent
// requests: it may be freed while its request is inactive, and mapped anew for others, so only transfers of persistent
// requests find it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "channel/ledger.h"
#include "channel/port.h"
#include "channel/registration_keeper.h"
#include "channel/registration_line.h"

namespace bufenlarge {

template <class Port>
class UserRegistrations final : public IdleRegistrations {
 public:
  using Region = typename Port::Region;
  struct Standing;
  struct Registration {
    Ledger::Entry entry;
    Region region;
    AddressRange range;
    Standing* standing = nullptr;  // the standing memory that it is of
    std::uint64_t turn = 0;        // when it became idle
    std::uint32_t holders = 0;
    bool ends = false;    // with its last holder; no transfer finds it any more
    bool unseen = false;  // its mapping may end without the monitor
  };
  using Handle = typename std::list<Registration>::iterator;
  // Memory that stays as it is until its owner says otherwise.
  struct Standing {
    AddressRange range;
    std::optional<Handle> at{};  // its registration
  };

  // The keeper outlives this object.
  explicit UserRegistrations(RegistrationKeeper& keeper, std::uint64_t bytes_max = 256u << 20)
      : keeper_(keeper), bytes_max_(bytes_max) {
    keeper_.join(*this);
  }
  UserRegistrations(const UserRegistrations&) = delete;
  UserRegistrations& operator=(const UserRegistrations&) = delete;

  // Enters what is registered from now on in this ledger, which outlives the registrations.
  void count_in(Ledger& ledger) { ledger_ = &ledger; }
  void set_bytes_max(std::uint64_t bytes) { bytes_max_ = bytes; }
  // Those that are held; idle ones are not counted.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool beyond(std::uint64_t more) const { return more > bytes_max_ || bytes_ > bytes_max_ - more; }
  // Whether so many bytes more have to wait until some are given back.
  [[nodiscard]] bool full(std::uint64_t more) const { return more != 0 && bytes_ != 0 && beyond(more); }
  [[nodiscard]] RegistrationLine& line() { return line_; }
  // Returns how many bytes hold() of this range would add.
  [[nodiscard]] std::uint64_t more_for(std::byte* begin, std::size_t bytes, bool persistent = false) {
    keeper_.look();
    const AddressRange range = range_of(begin, bytes);
    const Standing* around = standing_around(range, persistent);
    if (const auto at = find(range, around)) return (*at)->holders != 0 ? 0 : (*at)->region.bytes();
    return around != nullptr ? size_of(around->range) : bytes;
  }

  // Registers the range, or holds a registration that contains it. Nothing when the device or the ledger refuses.
  // All of one object have the same use. `persistent`: for a transfer of a persistent request.
  [[nodiscard]] std::optional<Handle> hold(Port& port, std::byte* begin, std::size_t bytes, MemoryUse use,
                                           bool persistent = false) {
    keeper_.look();
    const AddressRange range = range_of(begin, bytes);
    Standing* const around = standing_around(range, persistent);
    if (const auto at = find(range, around)) {
      ++keeper_.counters.hits;
      take(*at);
      return at;
    }
    ++keeper_.counters.misses;
    if (around != nullptr)
      if (const auto at = add(port, around->range, use, around)) return at;
    return add(port, range, use, nullptr);
  }
  void release(Handle at) {
    if (at->holders > 1) {
      --at->holders;
      return;
    }
    keeper_.look();  // while it is held
    at->holders = 0;
    bytes_ -= at->region.bytes();
    if (!at->ends && (at->unseen || !keeper_.keeps(at->region.bytes(), at->standing != nullptr))) hide(at);
    if (at->ends)
      held_.erase(at);
    else
      rest(at);
  }

  // From now on this memory is standing: the owner changes nothing of its mapping until end_standing(), and the first
  // transfer in it registers all of it. False when it overlaps other standing memory.
  [[nodiscard]] bool add_standing(std::byte* begin, std::size_t bytes) {
    const AddressRange range = range_of(begin, bytes);
    const auto after = standing_.lower_bound(range.begin);
    if (after != standing_.end() && after->second.range.overlaps(range)) return false;
    if (after != standing_.begin() && std::prev(after)->second.range.overlaps(range)) return false;
    standing_.emplace(range.begin, Standing{range});
    return true;
  }
  // The standing memory that begins there is so no more. A registration that is held ends with its last holder. False
  // when there is none.
  bool end_standing(std::byte* begin) {
    const auto found = standing_.find(range_of(begin, 0).begin);
    if (found == standing_.end()) return false;
    if (const auto at = found->second.at) end(*at);
    standing_.erase(found);
    return true;
  }

  // A persistent request has this memory until end_persistent(). Several may have it, or parts of it. What others keep
  // of it is used no more: such a request may be inactive and its memory another by now.
  void add_persistent(std::byte* begin, std::size_t bytes) {
    const AddressRange range = range_of(begin, bytes);
    longest_ = std::max(longest_, bytes);
    const std::uintptr_t first = range.begin > longest_ ? range.begin - longest_ : 0;
    for (auto at = persistent_.lower_bound({first, 0}); at != persistent_.end() && at->first.first < range.end; ++at)
      if (at->second.memory.at && at->second.memory.range.overlaps(range)) end(*at->second.memory.at);
    Persistent& one = persistent_[{range.begin, range.end}];
    one.memory.range = range;
    ++one.requests;
  }
  // False when no request has it.
  bool end_persistent(std::byte* begin, std::size_t bytes) {
    const AddressRange range = range_of(begin, bytes);
    const auto found = persistent_.find({range.begin, range.end});
    if (found == persistent_.end()) return false;
    if (--found->second.requests != 0) return true;
    if (const auto at = found->second.memory.at) end(*at);
    persistent_.erase(found);
    return true;
  }

  // ---- for the keeper
  [[nodiscard]] std::uint64_t oldest() const override {
    if (!idle_.empty()) return idle_.front().turn;
    return idle_standing_.empty() ? kNone : idle_standing_.front().turn | kStandingLast;
  }
  void evict_oldest() override {
    ++keeper_.counters.evictions;
    end(idle_.empty() ? idle_standing_.begin() : idle_.begin());
  }
  std::uint64_t forget(const AddressRange& range) override {
    std::uint64_t count = 0;
    auto at = index_.lower_bound({range.begin, 0});
    while (at != index_.begin() && std::prev(at)->second->range.overlaps(range)) --at;
    while (at != index_.end() && at->first.first < range.end) {
      end((at++)->second);
      ++count;
    }
    for (auto& [begin, standing] : standing_) {
      if (!standing.at || !standing.range.overlaps(range)) continue;
      end(*standing.at);
      ++count;
    }
    return count;
  }

 private:
  static constexpr std::uint64_t kStandingLast = std::uint64_t{1} << 63;  // standing memory gives way last

  static AddressRange range_of(std::byte* begin, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    return {address, address + bytes};
  }
  static std::size_t size_of(const AddressRange& range) { return range.end - range.begin; }

  struct Persistent {
    Standing memory;
    std::uint32_t requests = 0;
  };

  // Under a monitor no registration in index_ contains another, so the ends are in the order of the beginnings, and
  // the last that begins early enough is the only one that can contain the range.
  [[nodiscard]] std::optional<Handle> find(const AddressRange& range, const Standing* around) {
    if (around != nullptr && around->at) return around->at;
    const auto after = index_.upper_bound({range.begin, range.end});
    if (after != index_.begin()) {
      const Handle before = std::prev(after)->second;
      const bool same = before->range.begin == range.begin && before->range.end == range.end;
      if (same || (keeper_.watches() && before->range.contains(range))) return before;
    }
    if (keeper_.watches() && after != index_.end() && after->second->range.contains(range)) return after->second;
    return std::nullopt;
  }
  // The standing memory around the range, or that of a persistent request that begins there (a receive may have more
  // than a message), whose registration may stay.
  [[nodiscard]] Standing* standing_around(const AddressRange& range, bool persistent) {
    const auto keeps = [&](const Standing& memory) {
      return memory.range.contains(range) && keeper_.keeps(size_of(memory.range), true);
    };
    const auto after = standing_.upper_bound(range.begin);
    if (after != standing_.begin() && keeps(std::prev(after)->second)) return &std::prev(after)->second;
    if (!persistent || keeper_.watches()) return nullptr;
    const auto own = persistent_.lower_bound({range.begin, range.end});
    const bool begins_there = own != persistent_.end() && own->first.first == range.begin;
    return begins_there && keeps(own->second.memory) ? &own->second.memory : nullptr;
  }

  // Registers the range, for one holder.
  [[nodiscard]] std::optional<Handle> add(Port& port, const AddressRange& range, MemoryUse use, Standing* standing) {
    const std::size_t bytes = size_of(range);
    auto* const begin = reinterpret_cast<std::byte*>(range.begin);
    while (idle_bytes_ != 0 && beyond(idle_bytes_ + bytes)) evict_oldest();
    Ledger::Entry entry;
    if (ledger_ != nullptr) {
      entry = ledger_->enter(Ledger::Use::kUser, pinned_bytes<Region>(begin, bytes));
      if (!entry) return std::nullopt;
    }
    Region region = port.register_memory(begin, bytes, use);
    if (region.bytes() == 0) return std::nullopt;
    const Handle at = held_.insert(held_.end(), Registration{std::move(entry), std::move(region), range, standing});
    at->holders = 1;
    at->unseen = standing == nullptr && !keeper_.sees(range);
    bytes_ += bytes;
    if (standing != nullptr) {
      standing->at = at;
    } else {
      if (keeper_.watches()) supersede(range);
      index_.emplace(std::pair(range.begin, range.end), at);
    }
    return at;
  }
  // A registration of this range comes: ends those that it contains.
  void supersede(const AddressRange& range) {
    for (auto at = index_.lower_bound({range.begin, 0}); at != index_.end() && range.contains(at->second->range);) {
      ++keeper_.counters.evictions;
      end((at++)->second);
    }
  }

  void take(Handle at) {
    if (at->holders++ != 0) return;
    held_.splice(held_.end(), idle_list(at), at);
    leave_idle(at);
    bytes_ += at->region.bytes();
  }
  // It becomes idle.
  void rest(Handle at) {
    at->turn = keeper_.next_turn();
    std::list<Registration>& idle = idle_list(at);
    idle.splice(idle.end(), held_, at);
    idle_bytes_ += at->region.bytes();
    keeper_.add_idle(at->region.bytes());
  }
  void leave_idle(Handle at) {
    idle_bytes_ -= at->region.bytes();
    keeper_.remove_idle(at->region.bytes());
  }
  // Ends it now, or with its last holder.
  void end(Handle at) {
    std::list<Registration>& idle = idle_list(at);
    hide(at);
    if (at->holders != 0) return;
    leave_idle(at);
    idle.erase(at);
  }
  void hide(Handle at) {
    at->ends = true;
    if (at->standing != nullptr)
      at->standing->at.reset();
    else
      index_.erase({at->range.begin, at->range.end});
    at->standing = nullptr;
  }
  [[nodiscard]] std::list<Registration>& idle_list(Handle at) {
    return at->standing != nullptr ? idle_standing_ : idle_;
  }

  RegistrationKeeper& keeper_;
  RegistrationLine line_;
  std::map<std::pair<std::uintptr_t, std::uintptr_t>, Handle> index_;  // by begin and end; not of standing memory
  std::map<std::uintptr_t, Standing> standing_;                        // by begin; their ranges do not overlap
  std::map<std::pair<std::uintptr_t, std::uintptr_t>, Persistent> persistent_;  // by begin and end
  std::size_t longest_ = 0;                                                     // of these, ever
  std::list<Registration> held_;           // those that end with their last holder, too
  std::list<Registration> idle_;           // the oldest first
  std::list<Registration> idle_standing_;  // the same, of standing memory
  std::uint64_t bytes_ = 0;                // held
  std::uint64_t idle_bytes_ = 0;
  std::uint64_t bytes_max_;
  Ledger* ledger_ = nullptr;
};

}  // namespace bufenlarge
