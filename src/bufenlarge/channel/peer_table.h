// SPDX-License-Identifier: MIT
// All peers of one context by number: first the processes of the own job, by rank, then those of other jobs, in the
// order in which they became known. The table owns their channels, which it makes on first use, and their addresses.
//
// Who may call it: Context.
#pragma once

#include <cstddef>
#include <cstdint>
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
  PeerTable(Core& core, std::uint32_t size) : core_(core), channels_(size), own_size_(size) {}

  // Addresses of equal length, in order of rank; copied.
  void set_addresses(std::span<const std::byte> addresses) { addresses_.assign(addresses.begin(), addresses.end()); }

  // Returns nullptr for the own rank, for numbers out of range, and before set_addresses().
  [[nodiscard]] Channel* channel(std::uint32_t peer);
  // Returns nullptr where no channel was made.
  [[nodiscard]] const Channel* find(std::uint32_t peer) const {
    return peer < channels_.size() ? channels_[peer].get() : nullptr;
  }

  // Returns the number of the process of this name; nothing when there can be no such process.
  [[nodiscard]] std::optional<std::uint32_t> add(std::uint64_t job_key, std::uint32_t rank,
                                                 std::span<const std::byte> address);
  // The channel of the process whose checked Hello this is; nullptr when it claims to be this very process.
  [[nodiscard]] Channel* caller(const Hello& hello);

  [[nodiscard]] std::uint32_t own_size() const { return own_size_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(channels_.size()); }
  // Of a peer of the own job, after set_addresses().
  [[nodiscard]] const void* address(std::uint32_t peer) const {
    return addresses_.data() + peer * (addresses_.size() / own_size_);
  }
  // Of the others.
  [[nodiscard]] const OtherJobPeer& other_job(std::uint32_t peer) const { return other_jobs_[peer - own_size_]; }

 private:
  [[nodiscard]] std::uint32_t number_of(std::uint32_t job_id, std::uint32_t rank);

  Core& core_;
  OtherJobPeers other_jobs_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::byte> addresses_;
  const std::uint32_t own_size_;
};

}  // namespace bufenlarge
