// SPDX-License-Identifier: MIT
// Peers that are of other jobs. Each is known by its world, which stands for its job, and its rank there. One that
// this side wants to talk to is known by name, with an address and its job's key; one that has called is
// known by its Hello alone until its name comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace bufenlarge {

struct ForeignPeer {
  std::uint32_t world = 0;
  std::uint32_t rank = 0;
  std::uint64_t job_key = 0;
  std::vector<std::byte> card;  // empty: its name is not known

  [[nodiscard]] bool named() const { return !card.empty(); }
};

class ForeignPeers {
 public:
  // The place of a peer among all foreign ones, from 0; it gets one when it is new.
  [[nodiscard]] std::size_t place(std::uint32_t world, std::uint32_t rank) {
    const auto [known, is_new] = places_.try_emplace(std::uint64_t{world} << 32 | rank, peers_.size());
    if (is_new) peers_.push_back({world, rank, 0, {}});
    return known->second;
  }

  // False when that peer is known by another name: two jobs have the same world by chance.
  [[nodiscard]] bool set_name(std::size_t place, std::uint64_t job_key, std::span<const std::byte> card) {
    ForeignPeer& peer = peers_[place];
    if (peer.named()) return peer.job_key == job_key;
    peer.job_key = job_key;
    peer.card.assign(card.begin(), card.end());
    return true;
  }

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] const ForeignPeer& operator[](std::size_t place) const { return peers_[place]; }

 private:
  std::deque<ForeignPeer> peers_;  // channels keep pointers into it
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace bufenlarge
