// SPDX-License-Identifier: MIT
// The own attempts to connect that are under way, of all channels of a context, oldest first.
//
// At most kYoungMax of them are young. The bound keeps a process that wants many peers at once from opening all
// endpoints in one go; a peer that computes does not respond for as long as it computes, so an attempt that is no
// longer young does not count, and peers that are silent keep nobody waiting.
//
// An attempt is suspect while a failure that the port has no name for may be its own. Such a failure restarts all
// suspects, and where such failures come often, no attempt of many would live long enough to succeed. So each of them
// halves how many suspects there may be when another attempt begins, and each attempt that stops being suspect in
// another way allows one more.
//
// Once in its life an attempt is overdue: it is as old as the connect time limit, and its owner finds out whether the
// peer's host has responded at all.
#pragma once

#include <algorithm>
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
    bool suspect;
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
    const Place place = list_.insert(list_.end(), {&channel, now_us, true, true});
    if (young_ == list_.end()) young_ = place;
    if (suspect_ == list_.end()) suspect_ = place;
    if (due_ == list_.end()) due_ = place;
    ++young_count_;
    ++suspect_count_;
    return place;
  }
  void finish(Place place) {
    if (young_ == place) ++young_;
    if (suspect_ == place) ++suspect_;
    if (due_ == place) ++due_;
    young_count_ -= place->young;
    if (place->suspect) count_out(*place);
    list_.erase(place);
  }

  // Returns true if one more attempt may begin.
  [[nodiscard]] bool free(std::uint64_t now_us) {
    for (; young_ != list_.end() && now_us - young_->began_us >= kYoungUs; ++young_) {
      young_->young = false;
      --young_count_;
    }
    return young_count_ < kYoungMax && suspect_count_ < suspects_max_;
  }

  // Returns a channel whose attempt began `limit_us` ago, each attempt's once; nullptr if there is none.
  [[nodiscard]] Channel* next_overdue(std::uint64_t now_us, std::uint64_t limit_us) {
    if (due_ == list_.end() || now_us - due_->began_us < limit_us) return nullptr;
    return (due_++)->channel;
  }

  // All connection events were read at this time.
  void events_read(std::uint64_t now_us) {
    for (; suspect_ != list_.end() && suspect_->began_us + kRouteUs <= now_us; ++suspect_) count_out(*suspect_);
  }
  // Returns the channels whose attempt may be the one that failed when the port cannot say which, oldest first. It
  // fails while libfabric processes the route to the peer, so it is none whose events were read after that.
  [[nodiscard]] std::vector<Channel*> suspects() const {
    std::vector<Channel*> found;
    for (auto at = suspect_; at != list_.end(); ++at) found.push_back(at->channel);
    return found;
  }
  // A failure without a name has restarted so many suspects, of which finish() was told.
  void restarted(std::uint32_t suspects) {
    if (suspects == 0) return;
    const std::uint32_t before = suspects_max_ == kUnbounded ? kUnbounded : suspects_max_ - suspects;
    suspects_max_ = std::max(1u, std::min(before, suspects / 2));
  }

  [[nodiscard]] std::size_t out() const { return list_.size(); }
  [[nodiscard]] bool empty() const { return list_.empty(); }

 private:
  void count_out(Attempt& attempt) {
    attempt.suspect = false;
    --suspect_count_;
    if (suspects_max_ != kUnbounded) ++suspects_max_;
  }

  static constexpr std::uint32_t kUnbounded = ~0u;

  List list_;
  Place young_ = list_.end();    // the oldest young one
  Place suspect_ = list_.end();  // the oldest suspect; all after it are suspect, too
  Place due_ = list_.end();      // the oldest that was not overdue yet
  std::uint32_t young_count_ = 0;
  std::uint32_t suspect_count_ = 0;
  std::uint32_t suspects_max_ = kUnbounded;
};

}  // namespace bufenlarge
