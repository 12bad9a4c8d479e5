// SPDX-License-Identifier: MIT
// Channels that a later round of progress has to serve. A channel stands in a list at most once: the flag that says so
// belongs to the part of the channel that asked.
#pragma once

#include <cstddef>
#include <vector>

namespace bufenlarge {

template <class Channel>
class WorkList {
 public:
  // `listed` outlives the list's entry.
  void add(Channel& channel, bool& listed) {
    if (listed) return;
    listed = true;
    entries_.push_back({&channel, &listed});
  }

  // Calls `serve(channel)` for each entry, those added meanwhile too, and removes the entries for which it returns
  // false.
  template <class Serve>
  void serve(Serve serve) {
    for (std::size_t i = 0; i < entries_.size();) {
      if (serve(*entries_[i].channel)) {
        ++i;
      } else {
        *entries_[i].listed = false;
        entries_[i] = entries_.back();
        entries_.pop_back();
      }
    }
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Channel* channel;
    bool* listed;
  };
  std::vector<Entry> entries_;
};

}  // namespace bufenlarge
