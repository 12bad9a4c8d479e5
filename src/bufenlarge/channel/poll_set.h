// SPDX-License-Identifier: MIT
// The address and the expected value of the next commit word of every connected channel, packed: a round over idle
// channels reads two words each, and none of the channels themselves. Where the port reports arrivals by groups of
// links, each group has a set of its own, and a round looks at the sets of the groups reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bufenlarge {

template <class Channel>
class PollSet {
 public:
  struct Entry {
    const std::uint64_t* commit;
    std::uint64_t expected;
    Channel* channel;

    [[nodiscard]] bool arrived() const { return __atomic_load_n(commit, __ATOMIC_ACQUIRE) == expected; }
  };
  static constexpr std::size_t kNone = SIZE_MAX;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t index) const { return entries_[index]; }

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
  // Moves the last entry into the gap and tells its channel the new index. Not to be called while iterating.
  void remove(std::size_t index) {
    entries_[index] = entries_.back();
    entries_.pop_back();
    if (index < entries_.size()) entries_[index].channel->set_poll_index(index);
  }

 private:
  std::vector<Entry> entries_;
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
