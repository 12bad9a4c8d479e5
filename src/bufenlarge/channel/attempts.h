// SPDX-License-Identifier: MIT
// The own attempts to connect that are under way, of all channels of a context, oldest first.
//
// At most kYoungMax of them are young. The bound keeps a process that wants many peers at once from opening all
// endpoints in one go; a peer that computes does not respond for as long as it computes, so an attempt that is no
// longer young does not count, and peers that are silent keep nobody waiting.
//
// Once in its life an attempt is overdue: it is as old as the connect time limit, and its owner finds out whether the
// peer's host has responded at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace bufenlarge {

template <class Channel>
class Attempts {
  struct Attempt {
    Channel* channel;
    std::uint64_t began_us;
    bool young;
  };
  using List = std::list<Attempt>;

 public:
  using Place = typename List::iterator;

  static constexpr std::uint32_t kYoungMax = 64;
  // A peer that is ready responds within 1 ms on tcp over loopback. With this, the one that is ready behind 1,000
  // silent ones is asked within 10 ms (docs/decisions/0022-storms.md).
  static constexpr std::uint64_t kYoungUs = 2'500;
  // libfabric resolves the route to a peer within this time, or gives up (verbs: 2 s).
  static constexpr std::uint64_t kRouteUs = 2'100'000;

  Attempts() = default;
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // `channel` begins an attempt. finish() takes the place, once.
  [[nodiscard]] Place start(Channel& channel, std::uint64_t now_us) {
    const Place place = list_.insert(list_.end(), {&channel, now_us, true});
    if (young_ == list_.end()) young_ = place;
    if (due_ == list_.end()) due_ = place;
    ++young_count_;
    return place;
  }
  void finish(Place place) {
    if (young_ == place) ++young_;
    if (due_ == place) ++due_;
    young_count_ -= place->young;
    list_.erase(place);
  }

  // Returns true if one more attempt may begin.
  [[nodiscard]] bool free(std::uint64_t now_us) {
    for (; young_ != list_.end() && now_us - young_->began_us >= kYoungUs; ++young_) {
      young_->young = false;
      --young_count_;
    }
    return young_count_ < kYoungMax;
  }

  // Returns a channel whose attempt began `limit_us` ago, each attempt's once; nullptr if there is none.
  [[nodiscard]] Channel* next_overdue(std::uint64_t now_us, std::uint64_t limit_us) {
    if (due_ == list_.end() || now_us - due_->began_us < limit_us) return nullptr;
    return (due_++)->channel;
  }

  // All connection events were read at this time.
  void events_read(std::uint64_t now_us) { events_read_us_ = now_us; }
  // Returns the channels whose attempt may be the one that failed when the port cannot say which. It fails while
  // libfabric processes the route to the peer, so it is none whose events were read after that.
  [[nodiscard]] std::vector<Channel*> suspects() const {
    std::vector<Channel*> found;
    for (auto at = list_.rbegin(); at != list_.rend() && at->began_us + kRouteUs > events_read_us_; ++at)
      found.push_back(at->channel);
    return found;
  }

  [[nodiscard]] std::size_t out() const { return list_.size(); }
  [[nodiscard]] bool empty() const { return list_.empty(); }

 private:
  List list_;
  Place young_ = list_.end();  // the oldest young one
  Place due_ = list_.end();    // the oldest that was not overdue yet
  std::uint64_t events_read_us_ = 0;
  std::uint32_t young_count_ = 0;
};

}  // namespace bufenlarge
