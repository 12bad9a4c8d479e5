// SPDX-License-Identifier: MIT
#include "channel/context.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace bufenlarge {

namespace detail {

inline HelloExpectation expectation(const ChannelSettings& settings, std::uint32_t size, std::uint64_t job_key,
                                    std::uint32_t rank) {
  const Phase& first = settings.phases.at(0);
  const auto slots = static_cast<std::uint16_t>(first.slots);
  return {job_key, size, first.slot_bytes, slots, geometry_hash(settings.phases), rank};
}

}  // namespace detail

template <class PortT>
Context<PortT>::Context(Port& port, const ChannelSettings& settings, std::uint32_t rank, std::uint32_t size,
                        std::uint64_t job_key, const UpperLayer& upper)
    : core_(port, settings, detail::expectation(settings, size, job_key, rank), upper),
      peers_(core_, size),
      loopback_(core_),
      closer_(core_),
      shrinker_(core_),
      silent_(core_),
      reclaimer_(core_),
      hot_(core_) {
  core_.random_state = job_key + rank;
  windows_.count_in(core_.ledger);
}

template <class PortT>
SendTarget* Context<PortT>::target(std::uint32_t peer) {
  if (peer == core_.rank) return &loopback_;
  return peers_.channel(peer);
}

template <class PortT>
bool Context<PortT>::add_standing(std::byte* memory, std::size_t bytes) {
  return core_.source_registrations.add_standing(memory, bytes) &&
         core_.destination_registrations.add_standing(memory, bytes);
}

template <class PortT>
bool Context<PortT>::end_standing(std::byte* memory) {
  return core_.source_registrations.end_standing(memory) && core_.destination_registrations.end_standing(memory);
}

template <class PortT>
bool Context<PortT>::written() const {
  for (const PollSet<Channel>& rings : core_.rings.sets()) {
    for (std::size_t i = 0; i < rings.size(); ++i)
      if (!rings[i].channel->idle()) return false;
  }
  return loopback_.idle();
}

template <class PortT>
bool Context<PortT>::idle() {
  bool idle = loopback_.idle();
  for (const PollSet<Channel>& rings : core_.rings.sets())
    for (std::size_t i = 0; i < rings.size(); ++i) idle &= rings[i].channel->settled();
  return idle;
}

// ---- a round

template <class PortT>
unsigned Context<PortT>::progress() {
  unsigned moved = 0;
  if (const Arrival arrival = core_.port.arrival(); arrival == Arrival::kInOrder) {
    moved = poll_port();
    moved += std::exchange(placed_, 0);
  } else {
    if (polls(arrival)) moved = hot_.look();
    if (moved == 0 || ++rounds_unpolled_ == kUnpolledRoundsMax) moved += poll_port();
  }
  if (++round_ % kEventRounds == 0 || !core_.attempts.empty()) moved += poll_events();
  if (round_ % kEventRounds == 0) look_at_time();
  if (!core_.notified.empty()) moved += serve_notified();
  if (!core_.pending.empty() || !core_.timed.empty()) [[unlikely]]
    serve_lists();
  if (!loopback_.idle()) [[unlikely]]
    moved += loopback_.progress();
  return moved;
}

template <class PortT>
bool Context<PortT>::sleep(std::uint32_t timeout_us) {
  if constexpr (requires { core_.port.sleep(timeout_us); }) {
    if (!core_.notified.empty() || !core_.pending.empty() || !core_.timed.empty() || !loopback_.idle()) return false;
    const SleepEnd end = core_.port.sleep(timeout_us);
    if (end == SleepEnd::kEvents) (void)poll_events();
    look_at_time();  // rounds are rare now
    return true;
  }
  return false;
}

template <class PortT>
inline unsigned Context<PortT>::poll_port() {
  rounds_unpolled_ = 0;
  return core_.port.poll(*this);
}

template <class PortT>
inline unsigned Context<PortT>::look_at(PollSet<Channel>& rings) {
  unsigned moved = 0;
  const auto entries = rings.all();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].arrived()) continue;
    rings.found(i);
    moved += entries[i].channel->receive();
  }
  return moved;
}

// The port reads a few events at a time.
template <class PortT>
unsigned Context<PortT>::poll_events() {
  const unsigned count = core_.port.poll_events(*this);
  if (count != 0) round_ = kEventRounds - 1;  // the next round looks again
  if (count != 0 || core_.attempts.empty()) return count;
  const std::uint64_t now_us = core_.port.now_us();
  core_.attempts.events_read(now_us);
  const std::uint64_t limit_us = core_.settings.connect_timeout_us;
  while (Channel* channel = core_.attempts.next_overdue(now_us, limit_us)) channel->on_overdue();
  return count;
}

template <class PortT>
inline unsigned Context<PortT>::on_placed(std::uint32_t group) {
  PollSet<Channel>& rings = core_.rings.of(group);
  unsigned moved = 0;
  if (const std::size_t same = rings.same_again(); same < rings.size()) moved = rings[same].channel->receive();
  if (moved == 0) moved = look_at(rings);  // or the port would not report the group again
  placed_ += moved;
  return moved;
}

template <class PortT>
unsigned Context<PortT>::serve_notified() {
  unsigned moved = 0;
  core_.notified.serve([this, &moved](Channel& channel) {
    moved += hot_.receive(channel);
    return channel.notified();
  });
  return moved;
}

template <class PortT>
void Context<PortT>::serve_lists() {
  const std::uint64_t now_us = core_.port.now_us();
  core_.timed.serve([now_us](Channel& channel) { return channel.tick(now_us); });
  core_.pending.serve([now_us](Channel& channel) { return channel.service(now_us); });
  if (core_.room_wanted) closer_.make_room(now_us);
}

template <class PortT>
void Context<PortT>::look_at_time() {
  core_.keeper.look();  // what was unmapped is given back, though no transfer follows
  if (!closer_.on() && !shrinker_.on() && !silent_.on() && !reclaimer_.due() && core_.memory_sampler == nullptr) return;
  const std::uint64_t now_us = core_.port.now_us();
  if (closer_.on()) closer_.look(now_us);
  if (shrinker_.on()) shrinker_.look(now_us);
  if (silent_.on()) silent_.look(now_us);
  if (reclaimer_.due()) reclaimer_.look(now_us);
  if (core_.memory_sampler != nullptr) core_.memory_sampler->sample(now_us);
}

// ---- events

template <class PortT>
void Context<PortT>::on_connected(void* user, std::span<const std::byte> data) {
  auto& channel = *static_cast<Channel*>(user);
  channel.on_connected(data);
  hot_.on_connected(channel);
}

// A late response may refer to a request whose channel has failed.
template <class PortT>
void Context<PortT>::on_read_done(void* user, std::uint32_t sequence) {
  auto* const channel = static_cast<Channel*>(user);  // nullptr where the port cannot tell
  auto* const request = core_.reads.find(sequence);
  if (request != nullptr && (channel == nullptr || channel->peer() == request->reader->peer()))
    request->reader->on_read_done(*request);
  else if (channel != nullptr)
    channel->fail(Status::kProtocolError, "the peer answered a read request that was not made");
}

// An attempt failed, and the port cannot say which. When it can be one only, that was refused. Otherwise all that may
// be the one begin anew, at different times and fewer at once, so that it will be alone in the end.
template <class PortT>
void Context<PortT>::on_unnamed_failure(std::string_view why) {
  const std::vector<Channel*> suspects = core_.attempts.suspects();
  if (suspects.size() == 1) return suspects[0]->on_lost(why);
  for (Channel* channel : suspects) channel->on_interrupted(why);
  core_.attempts.restarted(static_cast<std::uint32_t>(suspects.size()));
}

template <class PortT>
void Context<PortT>::on_request(typename Port::Request& request, std::span<const std::byte> data) {
  HelloVerdict verdict = check_request(data, core_.expected);
  if (verdict.hello) {
    peers_.forget_callers();
    if (Channel* peer = peers_.caller(*verdict.hello)) {
      if (closer_.room_for(*peer))
        peer->on_request(request, *verdict.hello);
      else
        peer->turn_away(request, *verdict.hello);
      return;
    }
    verdict.reason = RejectReason::kUnauthorized;  // it claims to be this very process
  }
  refuse(request, verdict, data);
}

// An unauthorized caller is told nothing. The channel of a process of the job that cannot be talked to fails, so that
// this side's error names both values, too; but not one that is in use.
template <class PortT>
void Context<PortT>::refuse(typename Port::Request& request, const HelloVerdict& verdict,
                            std::span<const std::byte> data) {
  ++refused_;
  const Reject reject = make_reject(verdict.reason, core_.expected, 0);
  const bool authorized = verdict.reason != RejectReason::kUnauthorized;
  core_.port.reject(request, std::as_bytes(std::span(&reject, authorized ? 1u : 0u)));
  Hello hello{};
  if (!data.empty()) std::memcpy(&hello, data.data(), std::min(data.size(), kHelloBytes));
  if (!authorized) return log_unauthorized(hello.rank, verdict.text);
  if ((hello.flags & kHelloOtherJob) != 0) return;
  Channel* const peer = channel(hello.rank);
  if (peer != nullptr && !peer->connected()) peer->fail(Status::kProtocolError, verdict.text);
}

// Only the first have a line each, so that a stranger does not fill a disk.
template <class PortT>
void Context<PortT>::log_unauthorized(std::uint32_t claimed_rank, const std::string& text) const {
  static constexpr std::uint64_t kLines = 16;
  if (core_.log_level < LogLevel::kError || refused_ > kLines) return;
  core_.log->line(claimed_rank, "a request that claims to be of this rank is refused: " + text);
}

}  // namespace bufenlarge
