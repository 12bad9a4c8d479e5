// SPDX-License-Identifier: MIT
// Peers of other jobs, by job id and rank. A peer that the upper layer has named has an address and the key of its
// name; a peer that has connected by itself is known by its Hello alone until it is named. A peer that is forgotten
// leaves its place to the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace bufenlarge {

struct OtherJobPeer {
  std::uint32_t job_id = 0;
  std::uint32_t rank = 0;
  std::uint64_t name_key = 0;  // protocol/keys.h
  std::vector<std::byte> address;  // empty: the upper layer has not named it
  bool known = false;              // false: its place is free

  [[nodiscard]] bool named() const { return !address.empty(); }
};

class OtherJobPeers {
 public:
  // Returns the place of the peer among all of them, from 0; a new peer gets one that is free, or the next.
  [[nodiscard]] std::size_t place(std::uint32_t job_id, std::uint32_t rank) {
    const auto [known, is_new] = places_.try_emplace(key_of(job_id, rank), peers_.size());
    if (!is_new) return known->second;
    if (free_.empty()) {
      peers_.emplace_back();
    } else {
      known->second = free_.back();
      free_.pop_back();
    }
    peers_[known->second] = {job_id, rank, 0, {}, true};
    return known->second;
  }

  [[nodiscard]] bool knows(std::uint32_t job_id, std::uint32_t rank) const {
    return places_.contains(key_of(job_id, rank));
  }

  // Does nothing where the place is free.
  void forget(std::size_t place) {
    if (!peers_[place].known) return;
    places_.erase(key_of(peers_[place].job_id, peers_[place].rank));
    peers_[place] = {};
    free_.push_back(place);
  }

  // Returns false when that peer has another name already: two jobs have the same job id by chance.
  [[nodiscard]] bool set_name(std::size_t place, std::uint64_t name_key, std::span<const std::byte> address) {
    OtherJobPeer& peer = peers_[place];
    if (peer.named()) return peer.name_key == name_key;
    peer.name_key = name_key;
    peer.address.assign(address.begin(), address.end());
    return true;
  }

  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] const OtherJobPeer& operator[](std::size_t place) const { return peers_[place]; }

 private:
  static std::uint64_t key_of(std::uint32_t job_id, std::uint32_t rank) { return std::uint64_t{job_id} << 32 | rank; }

  std::deque<OtherJobPeer> peers_;  // channels keep pointers into it
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<std::size_t> free_;
};

}  // namespace bufenlarge
