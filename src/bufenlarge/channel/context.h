// SPDX-License-Identifier: MIT
// All channels of one process, and one round of progress over them.
//
// A round costs what is active: two words per connected channel to see that nothing arrived, and the
// channels on the pending and time lists. On a provider that places data only inside of the poll the
// port is polled first. Else what has arrived comes first: a completion that is read a round later costs
// nobody anything, a message does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "channel/channel.h"
#include "channel/channel_connect.h"

namespace bufenlarge {

template <class PortT>
class Context {
 public:
  using Port = PortT;
  using Channel = bufenlarge::Channel<Port>;
  using Core = typename Channel::Core;

  // Addresses are `address_bytes` each, in order of rank, and copied.
  Context(Port& port, const ChannelSettings& settings, std::uint32_t rank, std::uint32_t size,
          std::uint64_t job_key, const UpperLayer& upper)
      : core_(port, settings, expectation(settings, size, job_key), rank, upper), channels_(size), own_size_(size) {
    core_.random_state = job_key + rank;
  }

  void set_addresses(std::span<const std::byte> addresses) { addresses_.assign(addresses.begin(), addresses.end()); }

  // Made on first use; nullptr for the own rank (see send_to_self), for ranks out of range, and before
  // set_addresses().
  Channel* channel(std::uint32_t peer) {
    if (peer >= channels_.size() || peer == core_.rank || addresses_.empty()) return nullptr;
    auto& channel = channels_[peer];
    if (!channel)
      channel = peer < own_size_ ? std::make_unique<Channel>(core_, peer, address(peer))
                                 : std::make_unique<Channel>(core_, peer, other_job(peer));
    return channel.get();
  }
  // The address of a peer of the own job, once they are known.
  [[nodiscard]] const void* address(std::uint32_t peer) const {
    return addresses_.data() + peer * (addresses_.size() / own_size_);
  }
  [[nodiscard]] std::uint32_t own_size() const { return own_size_; }
  // A peer of another job, from own_size() on.
  [[nodiscard]] const OtherJobPeer& other_job(std::uint32_t peer) const { return other_job_[peer - own_size_]; }
  // Its number; nullopt when the name is none that can be.
  [[nodiscard]] std::optional<std::uint32_t> add_peer(std::uint64_t job_key, std::uint32_t rank,
                                                      std::span<const std::byte> address);
  [[nodiscard]] const Channel* find(std::uint32_t peer) const {
    return peer < channels_.size() ? channels_[peer].get() : nullptr;
  }

  // Loopback: copied whole, delivered by a later round. Returns the bytes.
  std::size_t send_to_self(std::span<const iovec> vector, bool more);
  // How much share() registers in all; no bound before.
  void set_window_bytes_max(std::uint64_t bytes) { shared_.set_bytes_max(bytes); }
  // Lets all peers read this memory, until deregister_window(). Registered now; false when that is refused, or beyond the bound.
  [[nodiscard]] bool register_window(void* memory, std::size_t bytes, Window& window);
  // Nobody reads it any more, but for writes whose completion is still to come.
  void deregister_window(std::uint32_t name);
  // Large data: copied by a later round.
  [[nodiscard]] Status advertise_to_self(std::span<const iovec> segments, void* cookie, std::uint32_t& name);
  void read_from_self(const ReadOrder& order) { self_reads_.push_back({order, UserMemory<Port>(order.to)}); }

  unsigned progress();

  [[nodiscard]] bool idle() const {
    for (std::size_t i = 0; i < core_.rings.size(); ++i)
      if (!core_.rings[i].channel->idle()) return false;
    return to_self_.empty() && self_reads_.empty();
  }

  // ---- events of the port
  void on_written(void* user) { static_cast<Channel*>(user)->on_written(); }
  void on_data_written(void* user) { static_cast<Channel*>(user)->on_data_written(); }
  void on_read_done(void* user, std::uint32_t sequence);
  void on_notification(void* user) { static_cast<Channel*>(user)->on_notification(); }
  void on_lost(void* user, std::string_view why) { static_cast<Channel*>(user)->on_lost(why); }
  void on_connected(void* user, std::span<const std::byte> data) {
    static_cast<Channel*>(user)->on_connected(data);
  }
  void on_rejected(void* user, std::span<const std::byte> data) {
    static_cast<Channel*>(user)->on_rejected(data);
  }
  void on_request(typename Port::Request& request, std::span<const std::byte> data);

  [[nodiscard]] const Core& core() const { return core_; }
  [[nodiscard]] std::uint32_t refused() const { return refused_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(channels_.size()); }

  // Connection events are rare: they are looked for this often, and in every round while an own
  // attempt is out.
  static constexpr std::uint32_t kEventRounds = 32;
  // With something in every round the port is still polled this often.
  static constexpr std::uint32_t kUnpolledRoundsMax = 4;

 private:
  std::uint32_t other_job_number(std::uint32_t job_id, std::uint32_t rank);
  Channel* caller(const Hello& hello);
  static HelloExpectation expectation(const ChannelSettings& settings, std::uint32_t size,
                                      std::uint64_t job_key) {
    const Phase& first = settings.phases.at(0);
    return {job_key, size, first.slot_bytes, static_cast<std::uint16_t>(first.slots),
            geometry_hash(settings.phases)};
  }
  unsigned deliver_to_self();
  unsigned serve_self_read();
  unsigned poll_port();
  unsigned look_at_rings();
  unsigned serve_notified();
  void serve_lists();

  struct SelfFragment {
    std::vector<std::byte> bytes;
    std::uint8_t marks;
  };

  struct SelfRead {
    ReadOrder order;
    UserMemory<Port> to;
  };

  UserRegistrations<PortT> shared_{~std::uint64_t{0}};  // what the upper layer shares
  Core core_;
  OtherJobPeers other_job_;
  std::vector<std::unique_ptr<Channel>> channels_;  // own job first
  const std::uint32_t own_size_;
  std::vector<std::byte> addresses_;
  std::deque<SelfFragment> to_self_;
  std::deque<SelfRead> self_reads_;
  bool self_open_ = false;
  std::uint32_t refused_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t rounds_unpolled_ = 0;
};

template <class PortT>
unsigned Context<PortT>::progress() {
  unsigned moved = 0;
  if (core_.port.arrival() == Arrival::kInOrder) {
    moved = poll_port();
    moved += look_at_rings();
  } else {
    moved = look_at_rings();
    if (moved == 0 || ++rounds_unpolled_ == kUnpolledRoundsMax) moved += poll_port();
  }
  if (++round_ % kEventRounds == 0 || core_.attempts_out != 0) moved += core_.port.poll_events(*this);
  if (!core_.notified.empty()) moved += serve_notified();
  if (!core_.pending.empty() || !core_.timed.empty()) [[unlikely]] serve_lists();
  if (!to_self_.empty()) [[unlikely]] moved += deliver_to_self();
  if (!self_reads_.empty()) [[unlikely]] moved += serve_self_read();
  return moved;
}

template <class PortT>
unsigned Context<PortT>::poll_port() {
  rounds_unpolled_ = 0;
  const unsigned polled = core_.port.poll(*this);
  core_.port_drained = polled == 0;
  return polled;
}

template <class PortT>
unsigned Context<PortT>::look_at_rings() {
  unsigned moved = 0;
  for (std::size_t i = 0; i < core_.rings.size(); ++i) {
    if (core_.rings[i].arrived()) moved += core_.rings[i].channel->receive();
  }
  return moved;
}

// Serves each channel of the list and takes off those that need it no more. Serving may add some.
template <class Channel, class Serve>
void serve_listed(std::vector<Channel*>& list, void (Channel::*set_listed)(bool), Serve serve) {
  for (std::size_t i = 0; i < list.size();) {
    if (serve(*list[i])) {
      ++i;
    } else {
      (list[i]->*set_listed)(false);
      list[i] = list.back();
      list.pop_back();
    }
  }
}

template <class PortT>
unsigned Context<PortT>::serve_notified() {
  unsigned moved = 0;
  serve_listed(core_.notified, &Channel::set_notified_listed, [&moved](Channel& channel) {
    moved += channel.receive();
    return channel.notified();
  });
  return moved;
}

template <class PortT>
void Context<PortT>::serve_lists() {
  const std::uint64_t now_us = core_.port.now_us();
  serve_listed(core_.timed, &Channel::set_time_listed, [now_us](Channel& channel) { return channel.tick(now_us); });
  serve_listed(core_.pending, &Channel::set_pending_listed,
               [now_us](Channel& channel) { return channel.service(now_us); });
}

// Of a request that ended with its channel there may be an response yet.
template <class PortT>
void Context<PortT>::on_read_done(void* user, std::uint32_t sequence) {
  const auto* entry = core_.reads.find(sequence);
  auto* const told = static_cast<Channel*>(user);
  if (entry != nullptr && (told == nullptr || told == entry->owner))
    entry->owner->on_read_done(sequence);
  else if (told != nullptr)
    told->fail(Status::kProtocolError, "the peer answered a read request that was not made");
}

template <class PortT>
std::uint32_t Context<PortT>::other_job_number(std::uint32_t job_id, std::uint32_t rank) {
  const std::size_t place = other_job_.place(job_id, rank);
  if (own_size_ + place >= channels_.size()) channels_.resize(own_size_ + place + 1);
  return static_cast<std::uint32_t>(own_size_ + place);
}

template <class PortT>
std::optional<std::uint32_t> Context<PortT>::add_peer(std::uint64_t job_key, std::uint32_t rank,
                                                      std::span<const std::byte> address) {
  if (job_key == core_.expected.job_key) return rank < own_size_ ? std::optional(rank) : std::nullopt;
  const std::uint32_t job_id = job_id_of(job_key);
  if (job_id == core_.job_id) return std::nullopt;
  const std::uint32_t number = other_job_number(job_id, rank);
  return other_job_.set_name(number - own_size_, job_key, address) ? std::optional(number) : std::nullopt;
}

// The channel of one whose Hello is right; nullptr when it claims to be this very process.
template <class PortT>
typename Context<PortT>::Channel* Context<PortT>::caller(const Hello& hello) {
  if ((hello.flags & kHelloOtherJob) == 0) return hello.rank < own_size_ ? channel(hello.rank) : nullptr;
  const std::uint32_t job_id = hello.slot_bytes;
  return job_id != core_.job_id ? channel(other_job_number(job_id, hello.rank)) : nullptr;
}

template <class PortT>
void Context<PortT>::on_request(typename Port::Request& request, std::span<const std::byte> data) {
  HelloVerdict verdict = check_hello(data, core_.expected);
  if (verdict.hello) {
    if (Channel* peer = caller(*verdict.hello)) {
      peer->on_request(request, *verdict.hello);
      return;
    }
    verdict.reason = RejectReason::kUnauthorized;  // it claims to be this very process
  }
  ++refused_;
  const Reject reject = make_reject(verdict.reason, core_.expected, 0);
  const bool told = verdict.reason != RejectReason::kUnauthorized;
  core_.port.reject(request, std::as_bytes(std::span(&reject, told ? 1u : 0u)));
  std::uint8_t flags = 0;
  if (told) std::memcpy(&flags, data.data() + offsetof(Hello, flags), sizeof flags);
  if (!told || (flags & kHelloOtherJob) != 0) return;
  // One of the job that cannot be talked to: this side's error names both values, too.
  std::uint32_t rank = 0;
  std::memcpy(&rank, data.data() + offsetof(Hello, rank), sizeof rank);
  if (Channel* peer = channel(rank)) peer->fail(Status::kProtocolError, verdict.text);
}

}  // namespace bufenlarge

#include "channel/context_self.h"
