// SPDX-License-Identifier: MIT
// All peers of one context by number: first the processes of the own job, by rank, then those of other jobs, in the
// order in which they became known. The table owns their channels, which it makes on first use; a peer without one has
// no entry. It copies the addresses of the own job, or reads them where the upper layer keeps them.
//
// Who may call it: Context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "channel/channel.h"
#include "channel/other_job_peers.h"
#include "protocol/handshake.h"

namespace bufenlarge {

template <class PortT>
class PeerTable {
 public:
  using Channel = bufenlarge::Channel<PortT>;
  using Core = bufenlarge::Core<PortT>;

  // `size`: processes of the own job.
  PeerTable(Core& core, std::uint32_t size) : core_(core), own_size_(size) {}
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;
  // Closes the channels in order of their peers; the map would begin at its end.
  ~PeerTable() {
    while (!channels_.empty()) channels_.erase(channels_.begin());
  }

  // Addresses of equal length, in order of rank; copied.
  void set_addresses(std::span<const std::byte> addresses) {
    copied_.assign(addresses.begin(), addresses.end());
    share_addresses(copied_.data(), copied_.size() / own_size_);
  }
  // The same, not copied: that of rank r is `stride` * r bytes behind `first`, as long as there is the table.
  void share_addresses(const std::byte* first, std::size_t stride) {
    first_address_ = first;
    address_stride_ = stride;
  }

  // Returns nullptr for the own rank, for numbers out of range or forgotten, and before set_addresses().
  [[nodiscard]] Channel* channel(std::uint32_t peer);
  // Returns nullptr where no channel was made.
  [[nodiscard]] const Channel* find(std::uint32_t peer) const {
    const auto known = channels_.find(peer);
    return known != channels_.end() ? known->second.get() : nullptr;
  }
  // All channels, in order of their peers.
  [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Channel>>& channels() const { return channels_; }

  // Returns the number of the process of this name; nothing when there can be no such process.
  [[nodiscard]] std::optional<std::uint32_t> add(std::uint32_t job_id, std::uint32_t rank, std::uint64_t name_key,
                                                 std::span<const std::byte> address);
  // The process of another job with this number has gone, and nobody uses its number any more: its record and channel
  // end. False, with nothing done, while its channel is in use.
  [[nodiscard]] bool forget(std::uint32_t peer);
  // The channel of the process whose checked Hello this is; nullptr when it claims to be this very process.
  [[nodiscard]] Channel* caller(const Hello& hello);
  // Forgets the callers of other jobs whose connection did not come about and of which the upper layer has not heard:
  // who knows a name may claim any job and rank, as often as it likes.
  void forget_callers();

  [[nodiscard]] std::uint32_t own_size() const { return own_size_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(own_size_ + other_jobs_.size()); }
  // Of a peer of the own job; nullptr before the addresses are known.
  [[nodiscard]] const void* address(std::uint32_t peer) const {
    return first_address_ != nullptr ? first_address_ + peer * address_stride_ : nullptr;
  }
  // Of the others.
  [[nodiscard]] const OtherJobPeer& other_job(std::uint32_t peer) const { return other_jobs_[peer - own_size_]; }

 private:
  [[nodiscard]] std::uint32_t number_of(std::uint32_t job_id, std::uint32_t rank);
  // What forget() does, but for `callers_`.
  [[nodiscard]] bool remove(std::uint32_t peer);
  // The upper layer has its number, or will have it.
  [[nodiscard]] bool heard_of(std::uint32_t caller) const;

  Core& core_;
  OtherJobPeers other_jobs_;
  std::vector<std::uint32_t> callers_;  // numbers that only a call has made
  std::map<std::uint32_t, std::unique_ptr<Channel>> channels_;  // not asked on the path of a message
  std::vector<std::byte> copied_;
  const std::byte* first_address_ = nullptr;
  std::size_t address_stride_ = 0;
  const std::uint32_t own_size_;
};

}  // namespace bufenlarge
