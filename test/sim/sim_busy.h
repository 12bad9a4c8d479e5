// SPDX-License-Identifier: MIT
// The endpoints of a world that may have something to do, and when: the time that passes where nothing is due costs
// nothing, however many writes are on their way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace bufenlarge::sim {

template <class Endpoint>
class SimBusy {
  struct Entry {
    Endpoint* endpoint;
    std::uint64_t due_us;  // at the latest now: it has to be looked at; nothing is due before
  };

 public:
  // Something of the endpoint has changed: it is looked at in the next round.
  void wake(Endpoint& endpoint) { place(all_.try_emplace(endpoint.number(), Entry{&endpoint, kNew}).first, 0); }

  // Lets each endpoint for which something is due do it, by number.
  void advance(std::uint64_t now_us) {
    std::vector<std::uint32_t> due;
    for (auto at = order_.begin(); at != order_.end() && at->first <= now_us; ++at) due.push_back(at->second);
    std::ranges::sort(due);
    for (const std::uint32_t number : due) {
      const auto at = all_.find(number);
      Endpoint& endpoint = *at->second.endpoint;
      endpoint.advance();
      if (!endpoint.at_rest()) {
        place(at, endpoint.next_advance_us());
        continue;
      }
      order_.erase({at->second.due_us, number});
      all_.erase(at);
    }
  }

  // When one of them has something to do next; ~0: never.
  [[nodiscard]] std::uint64_t next_due_us() const {
    std::uint64_t due = ~std::uint64_t{0};
    for (auto at = order_.begin(); at != order_.end() && at->first < due; ++at)
      due = std::min(due, all_.at(at->second).endpoint->next_due_us());
    return due;
  }

  // By number, each with its endpoint.
  [[nodiscard]] const std::map<std::uint32_t, Entry>& all() const { return all_; }

 private:
  using Place = typename std::map<std::uint32_t, Entry>::iterator;
  static constexpr std::uint64_t kNew = ~std::uint64_t{0} - 1;  // in no order yet

  void place(Place at, std::uint64_t due_us) {
    if (at->second.due_us == due_us) return;
    order_.erase({at->second.due_us, at->first});
    at->second.due_us = due_us;
    order_.emplace(due_us, at->first);
  }

  std::map<std::uint32_t, Entry> all_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;  // by time
};

}  // namespace bufenlarge::sim
