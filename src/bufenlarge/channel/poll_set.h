// SPDX-License-Identifier: MIT
// The address and the expected value of the next commit word of every connected channel, packed: a look at an idle
// channel reads two words, and nothing of the channel itself. Where the port reports arrivals by groups of links, each
// group has a set of its own, and a round looks at the sets of the groups reported. Elsewhere there is one set, in
// which the hot channels (hot_channels.h) come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bufenlarge {

template <class Channel>
class PollSet {
 public:
  struct Entry {
    const std::uint64_t* commit;
    std::uint64_t expected;
    Channel* channel;
    std::uint32_t active_round = 0;  // when slots of it were taken last

    [[nodiscard]] bool arrived() const { return __atomic_load_n(commit, __ATOMIC_ACQUIRE) == expected; }
  };
  static constexpr std::size_t kNone = SIZE_MAX;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t index) const { return entries_[index]; }
  // Of all entries, for a loop in which none is added, removed, heated or cooled; update() and touch() may be called.
  [[nodiscard]] std::span<const Entry> all() const { return entries_; }
  // The first so many entries are hot.
  [[nodiscard]] std::size_t hot() const { return hot_; }
  // Returns the index of the entry that found() named last if its slot has arrived again, at most kAloneMax times
  // running; otherwise size(). Where a group is reported anew after each round that found something, looking at that
  // one ring is enough: a pair that talks does not pay for the others of its group, which wait a few rounds.
  [[nodiscard]] std::size_t same_again() {
    const bool again = alone_ < kAloneMax && recent_ < entries_.size() && entries_[recent_].arrived();
    alone_ = again ? alone_ + 1 : 0;
    return again ? recent_ : entries_.size();
  }
  void found(std::size_t index) { recent_ = index; }
  static constexpr std::uint32_t kAloneMax = 3;

  // Adds a channel and returns its index, which the channel keeps.
  std::size_t add(Channel* channel) {
    static constexpr std::uint64_t kNever = 0;
    entries_.push_back({&kNever, 1, channel});
    return entries_.size() - 1;
  }
  void update(std::size_t index, const std::uint64_t* commit, std::uint64_t expected) {
    entries_[index].commit = commit;
    entries_[index].expected = expected;
  }
  void touch(std::size_t index, std::uint32_t round) { entries_[index].active_round = round; }
  // The entry changes its place with the first that is not hot, or the last that is.
  void heat(std::size_t index) { swap(index, hot_++); }
  void cool(std::size_t index) { swap(index, --hot_); }
  // Moves the last entry into the gap. Not to be called while iterating.
  void remove(std::size_t index) {
    if (index < hot_) {
      cool(index);
      index = hot_;
    }
    swap(index, entries_.size() - 1);
    entries_.pop_back();
  }

 private:
  // Tells both channels their new places.
  void swap(std::size_t one, std::size_t other) {
    if (one == other) return;
    std::swap(entries_[one], entries_[other]);
    entries_[one].channel->set_poll_index(one);
    entries_[other].channel->set_poll_index(other);
  }

  std::vector<Entry> entries_;
  std::size_t hot_ = 0;
  std::size_t recent_ = kNone;
  std::uint32_t alone_ = 0;  // times running that same_again() has named one
};

template <class Channel>
class PollGroups {
 public:
  // The set of a group, which is empty before the first channel is added.
  PollSet<Channel>& of(std::uint32_t group) {
    if (group >= sets_.size()) sets_.resize(group + std::size_t{1});
    return sets_[group];
  }
  [[nodiscard]] const std::vector<PollSet<Channel>>& sets() const { return sets_; }
  // Returns how many channels there are in all groups.
  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    for (const auto& set : sets_) size += set.size();
    return size;
  }

 private:
  std::vector<PollSet<Channel>> sets_ = std::vector<PollSet<Channel>>(1);
};

}  // namespace bufenlarge
