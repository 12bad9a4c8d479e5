// SPDX-License-Identifier: MIT
// The Port of channel/port.h over a virtual clock: one process's device. Its links are in sim_link.h,
// its memory in sim_memory.h; here are the connection events and how they go wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "channel/port.h"
#include "sim/sim_fabric.h"
#include "sim/sim_link.h"
#include "sim/sim_memory.h"

namespace bufenlarge::sim {

class SimPort {
 public:
  using Region = SimRegion;

  class Link {
   public:
    Link() = default;
    explicit Link(SimEndpoint* endpoint) : endpoint_(endpoint) {}
    Link(Link&& other) noexcept : endpoint_(std::exchange(other.endpoint_, nullptr)) {}
    Link& operator=(Link&& other) noexcept {
      if (this == &other) return *this;
      close();
      endpoint_ = std::exchange(other.endpoint_, nullptr);
      return *this;
    }
    ~Link() { close(); }
    explicit operator bool() const { return endpoint_ != nullptr; }
    [[nodiscard]] SimEndpoint* endpoint() const { return endpoint_; }

   private:
    void close() {
      if (endpoint_ != nullptr && endpoint_->open()) endpoint_->close();
      endpoint_ = nullptr;
    }
    SimEndpoint* endpoint_ = nullptr;
  };

  struct Request {
    SimEndpoint* from = nullptr;
    bool answered = false;
  };

  SimPort(SimFabric& fabric, std::uint32_t rank);
  SimPort(const SimPort&) = delete;
  SimPort& operator=(const SimPort&) = delete;

  // ---- the Port concept
  [[nodiscard]] Region allocate(std::size_t bytes, PeerAccess /*access*/) {
    SimMemory::Block* block = memory_.open(bytes);
    while (block == nullptr && give_way_(bytes)) block = memory_.open(bytes);
    return block == nullptr ? Region() : Region(memory_, block);
  }
  [[nodiscard]] Region register_memory(void* memory, std::size_t bytes, MemoryUse use) {
    SimMemory::Block* block = memory_.open_user(memory, bytes, use);
    while (block == nullptr && give_way_(bytes)) block = memory_.open_user(memory, bytes, use);
    return block == nullptr ? Region() : Region(memory_, block);
  }
  void set_in_use(const Region& region, const std::byte* from, std::size_t bytes, bool in_use) {
    memory_.set_in_use(*region.block(), from, bytes, in_use);
  }
  void set_give_way(std::function<bool(std::size_t bytes)> give_way) { give_way_ = std::move(give_way); }
  [[nodiscard]] Link open(const void* address, std::span<const std::byte> data, void* user);
  [[nodiscard]] Link accept(Request& request, std::span<const std::byte> data, void* user);
  void reject(Request& request, std::span<const std::byte> data);
  [[nodiscard]] bool has_room(RoomFor what);
  [[nodiscard]] bool reached(const Link& link) const { return link && !link.endpoint()->unreached(); }
  [[nodiscard]] bool ask(Link& link, const HostQuestion<Region>& question);
  [[nodiscard]] bool responded(const Link& link) const { return link.endpoint()->responded(); }
  [[nodiscard]] bool settled(const Link& link, const HostQuestion<Region>& /*question*/) const {
    return link.endpoint()->all_read();
  }
  void give_up(Link& /*link*/) const {}  // each end of a connection is told in any case
  [[nodiscard]] WriteResult write(Link& link, const RdmaWrite<Region>& write);
  [[nodiscard]] std::uint64_t now_us() const { return fabric_.clock.now_us(); }
  [[nodiscard]] bool first_write_may_stall() const {
    return !fabric_.ordered() && fabric_.faults.first_stalls != 0;
  }
  [[nodiscard]] Arrival arrival() const { return fabric_.arrival_of(rank_); }
  // No sooner and no later than channel/port.h says.
  [[nodiscard]] std::uint64_t completions_mark(const Link& link) const { return link.endpoint()->arrivals_come(); }
  [[nodiscard]] bool completions_read(const Link& link, std::uint64_t mark) const {
    return link.endpoint()->arrivals_read() >= mark;
  }
  [[nodiscard]] std::uint32_t group(const Link& link) const {
    return fabric_.ordered() ? link.endpoint()->number() % kGroups : 0;
  }
  template <class Handler>
  unsigned poll(Handler& handler);
  template <class Handler>
  unsigned poll_events(Handler& handler);

  // ---- the world's
  // Every link breaks, nobody listens any more.
  void crash();
  // The same, but the host goes, too, and nobody is told.
  void vanish();
  // The same without a fault: the process closes its context.
  void leave();
  // A request whose private data is not a Hello of the job.
  void knock(std::span<const std::byte> data);
  void push_lost(SimEndpoint& endpoint, const char* why);
  // After slots of `endpoint` that more were to follow at once; nullptr: they have followed. Until then no other
  // link is written, and nothing polled, unless a write was refused for now.
  void followed(SimEndpoint* endpoint) { unfollowed_ = endpoint; }
  void follow_later() { unfollowed_ = nullptr; }
  // When something waits for this process to poll; ~0: never.
  [[nodiscard]] std::uint64_t next_due_us() const;
  [[nodiscard]] std::size_t open_endpoints() const;
  [[nodiscard]] SimMemory& memory() { return memory_; }
  [[nodiscard]] const SimMemory& memory() const { return memory_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] bool alive() const { return alive_; }

 private:
  static constexpr std::uint32_t kGroups = 3;

  enum class EventKind : std::uint8_t { kRequest, kConnected, kRejected, kLost, kUnnamed };
  struct Event {
    EventKind kind;
    SimEndpoint* endpoint;  // the own one; of a request: the active side's, nullptr of an unauthorized caller
    std::uint64_t due_us;
    std::vector<std::byte> data;
    std::string why;
  };

  [[nodiscard]] SimEndpoint& make_endpoint(std::span<const std::byte> data, void* user);
  // Puts an event of `endpoint` (nullptr: of nobody's) into this port's queue.
  void push(EventKind kind, SimEndpoint* endpoint, std::vector<std::byte> data, const char* why);
  // `told`: callers whose requests wait learn of it.
  void stop_listening(bool told);
  void connect(SimEndpoint& active, SimPort& target);
  void lose_attempt(SimEndpoint& active);
  void join(SimEndpoint& active, SimEndpoint& passive);
  void lose(SimEndpoint& active, SimEndpoint& passive);
  [[nodiscard]] bool next_event(Event& event);
  void check_followed(const SimEndpoint* next);
  template <class Handler>
  void place(Handler& handler);
  template <class Handler>
  [[nodiscard]] bool take_entry(Handler& handler, SimEndpoint& endpoint);
  template <class Handler>
  void dispatch(Handler& handler, Event& event);

  SimFabric& fabric_;
  SimMemory memory_;
  std::function<bool(std::size_t bytes)> give_way_ = [](std::size_t) { return false; };
  std::vector<SimEndpoint*> endpoints_;  // open ones, and those whose writes still travel
  std::vector<Event> events_;
  std::array<bool, kGroups> placed_{};  // data may have been placed, and the handler was not told
  SimEndpoint* unfollowed_ = nullptr;
  std::uint32_t rank_;
  bool alive_ = true;
};

static_assert(Port<SimPort>);

template <class Handler>
unsigned SimPort::poll(Handler& handler) {
  check_followed(nullptr);
  if (fabric_.ordered()) place(handler);
  std::erase_if(endpoints_,
                [](const SimEndpoint* endpoint) { return !endpoint->open() && endpoint->quiet(); });
  const std::uint32_t entries = fabric_.random.between(1, fabric_.poll_entries_max);
  const auto open = static_cast<std::uint32_t>(endpoints_.size());
  const std::uint32_t first = open == 0 ? 0 : fabric_.random.below(open);
  unsigned count = 0;
  for (std::uint32_t i = 0; i < open; ++i) {
    SimEndpoint& endpoint = *endpoints_[(first + i) % open];
    while (count < entries && endpoint.open() && take_entry(handler, endpoint)) ++count;
  }
  return count;
}

// Now and then a group is reported a poll later, or for nothing.
template <class Handler>
void SimPort::place(Handler& handler) {
  for (SimEndpoint* endpoint : endpoints_) {
    if (endpoint->open() && endpoint->other() != nullptr && endpoint->other()->place_due())
      placed_[endpoint->number() % kGroups] = true;
  }
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    const bool late = placed_[group] && fabric_.random.chance(fabric_.faults.group_late);
    const bool idle = !placed_[group] && fabric_.random.chance(fabric_.faults.group_idle);
    fabric_.totals.groups_late += late;
    fabric_.totals.groups_idle += idle;
    if ((placed_[group] && !late) || idle) placed_[group] = handler.on_placed(group) != 0;
  }
}

template <class Handler>
bool SimPort::take_entry(Handler& handler, SimEndpoint& endpoint) {
  const bool arrival = endpoint.notified() && fabric_.random.chance(500);
  if (!arrival) {
    const auto complete = endpoint.take_completion();
    if (complete == WriteKind::kSlots) handler.on_written(endpoint.user());
    if (complete == WriteKind::kData) handler.on_data_written(endpoint.user());
    if (complete) return true;
  }
  const auto sequence = endpoint.take_arrival();
  if (!sequence) return false;
  if (*sequence == 0)
    handler.on_notification(endpoint.user());
  else
    handler.on_read_done(fabric_.ordered() ? nullptr : endpoint.user(), *sequence);
  return true;
}

template <class Handler>
unsigned SimPort::poll_events(Handler& handler) {
  Event event;
  unsigned count = 0;
  fabric_.go_on();
  for (; count < fabric_.poll_events_max && next_event(event); ++count) dispatch(handler, event);
  return count;
}

template <class Handler>
void SimPort::dispatch(Handler& handler, Event& event) {
  fabric_.moved = true;
  // Empty private data still lies somewhere, as it does in the event buffer of the fabric's port.
  static constexpr std::byte kNothing{};
  const auto data = event.data.empty() ? std::span(&kNothing, 0) : std::span<const std::byte>(event.data);
  if (event.kind == EventKind::kRequest) {
    if (event.endpoint != nullptr && !event.endpoint->open()) ++fabric_.totals.requests_closed;
    Request request{event.endpoint};
    handler.on_request(request, data);
    if (!request.answered) fabric_.violate("a connection request was not answered");
    return;
  }
  if (event.kind == EventKind::kUnnamed) {
    handler.on_unnamed_failure(event.why);
    return;
  }
  SimEndpoint& endpoint = *event.endpoint;
  if (!endpoint.open()) return;
  if (event.kind == EventKind::kConnected) {
    endpoint.set_connected();
    placed_[endpoint.number() % kGroups] = true;
    handler.on_connected(endpoint.user(), data);
  }
  if (event.kind == EventKind::kRejected) handler.on_rejected(endpoint.user(), data);
  if (event.kind == EventKind::kLost) {
    endpoint.set_broken();
    endpoint.set_lost();
    handler.on_lost(endpoint.user(), std::string_view(event.why));
  }
}

}  // namespace bufenlarge::sim
