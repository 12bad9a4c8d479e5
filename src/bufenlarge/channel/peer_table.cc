// SPDX-License-Identifier: MIT
#include "channel/peer_table.h"

#include <utility>

namespace bufenlarge {

template <class PortT>
typename PeerTable<PortT>::Channel* PeerTable<PortT>::channel(std::uint32_t peer) {
  if (peer >= size() || peer == core_.rank || first_address_ == nullptr) return nullptr;
  if (const auto known = channels_.find(peer); known != channels_.end()) return known->second.get();
  if (peer >= own_size_ && !other_job(peer).known) return nullptr;
  auto made = peer < own_size_ ? std::make_unique<Channel>(core_, peer, address(peer))
                               : std::make_unique<Channel>(core_, peer, other_job(peer));
  return channels_.emplace(peer, std::move(made)).first->second.get();
}

template <class PortT>
std::uint32_t PeerTable<PortT>::number_of(std::uint32_t job_id, std::uint32_t rank) {
  return static_cast<std::uint32_t>(own_size_ + other_jobs_.place(job_id, rank));
}

template <class PortT>
std::optional<std::uint32_t> PeerTable<PortT>::add(std::uint32_t job_id, std::uint32_t rank, std::uint64_t name_key,
                                                   std::span<const std::byte> address) {
  if (job_id == core_.job_id) {
    const bool right = rank < own_size_ && name_key == name_key_of(core_.expected.job_key, rank);
    return right ? std::optional(rank) : std::nullopt;
  }
  const std::uint32_t number = number_of(job_id, rank);
  return other_jobs_.set_name(number - own_size_, name_key, address) ? std::optional(number) : std::nullopt;
}

template <class PortT>
bool PeerTable<PortT>::forget(std::uint32_t peer) {
  if (!remove(peer)) return false;
  std::erase(callers_, peer);
  return true;
}

template <class PortT>
bool PeerTable<PortT>::remove(std::uint32_t peer) {
  const auto known = channels_.find(peer);
  if (known != channels_.end() && !known->second->unused()) return false;
  if (known != channels_.end()) channels_.erase(known);
  other_jobs_.forget(peer - own_size_);
  return true;
}

template <class PortT>
typename PeerTable<PortT>::Channel* PeerTable<PortT>::caller(const Hello& hello) {
  if ((hello.flags & kHelloOtherJob) == 0) return hello.rank < own_size_ ? channel(hello.rank) : nullptr;
  const std::uint32_t job_id = hello.slot_bytes;
  if (job_id == core_.job_id) return nullptr;
  const bool is_new = !other_jobs_.knows(job_id, hello.rank);
  const std::uint32_t number = number_of(job_id, hello.rank);
  if (is_new) callers_.push_back(number);
  return channel(number);
}

// A connection that stood is lost by a failure, which the upper layer is told.
template <class PortT>
bool PeerTable<PortT>::heard_of(std::uint32_t caller) const {
  const Channel* const channel = find(caller);
  const bool stood = channel != nullptr && channel->connection().state() == Connect::State::kReady;
  return other_job(caller).named() || stood || (channel != nullptr && channel->failed());
}

template <class PortT>
void PeerTable<PortT>::forget_callers() {
  std::erase_if(callers_, [this](std::uint32_t caller) { return heard_of(caller) || remove(caller); });
}

}  // namespace bufenlarge
