// SPDX-License-Identifier: MIT
// A Port (src/bufenlarge/channel/port.h) between contexts of one process, for counting what the channel layer does.
// Nothing fails, nothing is late, and each step of it takes the same few instructions however many links there are:
// remote addresses are pointers, and what was written is there when write() returns. As fabric/fabric_port.h does over
// tcp, an ordered port has groups of 16 links and reports those into which something was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "channel/port.h"

namespace bufenlarge::bench {

class StillPort {
 public:
  static constexpr std::uint32_t kLinksPerGroup = 16;
  static constexpr std::size_t kPage = 4096;

  struct Side {
    StillPort* port;
    void* user;  // nullptr once closed
    std::uint32_t group;
    Side* other = nullptr;
  };

  class Link {
   public:
    Link() = default;
    explicit Link(Side* side) : side_(side) {}
    Link(Link&& other) noexcept : side_(std::exchange(other.side_, nullptr)) {}
    Link& operator=(Link&& other) noexcept {
      std::swap(side_, other.side_);
      return *this;
    }
    ~Link() {
      if (side_ != nullptr) side_->user = nullptr;
    }
    explicit operator bool() const { return side_ != nullptr; }
    [[nodiscard]] Side* side() const { return side_; }

   private:
    Side* side_ = nullptr;
  };

  class Region {
   public:
    Region() = default;
    explicit Region(std::size_t bytes)  // whole pages, as of memory that a device knows
        : bytes_(bytes), own_(static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage))) {
      if (!own_) throw std::bad_alloc();
      std::memset(own_.get(), 0, bytes);
      data_ = own_.get();
    }
    Region(void* memory, std::size_t bytes) : data_(static_cast<std::byte*>(memory)), bytes_(bytes) {}
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t remote_address() const { return reinterpret_cast<std::uint64_t>(data_); }
    [[nodiscard]] std::uint32_t remote_key() const { return 1; }

   private:
    struct Free {
      void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::unique_ptr<std::byte, Free> own_;
  };

  struct Request {
    Side* from;
  };

  // `ports` has the ports of all ranks, whose number is what open() takes for an address.
  StillPort(std::vector<std::unique_ptr<StillPort>>& ports, Arrival arrival) : ports_(ports), arrival_(arrival) {}
  StillPort(const StillPort&) = delete;
  StillPort& operator=(const StillPort&) = delete;

  [[nodiscard]] Region allocate(std::size_t bytes, PeerAccess /*access*/) { return Region(bytes); }
  [[nodiscard]] Region register_memory(void* memory, std::size_t bytes, MemoryUse /*use*/) { return {memory, bytes}; }
  [[nodiscard]] Link open(const void* address, std::span<const std::byte> data, void* user) {
    std::uint32_t rank = 0;
    std::memcpy(&rank, address, sizeof rank);
    Side* side = make_side(user);
    ports_[rank]->events_.push_back({Event::kRequest, side, {data.begin(), data.end()}});
    return Link(side);
  }
  [[nodiscard]] Link accept(Request& request, std::span<const std::byte> data, void* user) {
    Side* side = make_side(user);
    side->other = request.from;
    request.from->other = side;
    request.from->port->events_.push_back({Event::kConnected, request.from, {data.begin(), data.end()}});
    events_.push_back({Event::kConnected, side, {}});
    return Link(side);
  }
  void reject(Request& request, std::span<const std::byte> data) {
    request.from->port->events_.push_back({Event::kRejected, request.from, {data.begin(), data.end()}});
  }
  [[nodiscard]] bool reached(const Link& /*link*/) const { return true; }
  [[nodiscard]] bool ask(Link& /*link*/, const HostQuestion<Region>& /*question*/) const { return true; }
  [[nodiscard]] bool responded(const Link& /*link*/) const { return true; }
  [[nodiscard]] bool settled(const Link& /*link*/, const HostQuestion<Region>& /*question*/) const { return true; }
  void give_up(const Link& /*link*/) const {}
  [[nodiscard]] bool has_room(RoomFor /*what*/) const { return true; }
  [[nodiscard]] WriteResult write(Link& link, const RdmaWrite<Region>& write);
  [[nodiscard]] std::uint64_t completions_mark(const Link& /*link*/) const { return 0; }  // no link is ever lost
  [[nodiscard]] bool completions_read(const Link& /*link*/, std::uint64_t /*mark*/) const { return true; }
  [[nodiscard]] std::uint32_t group(const Link& link) const { return link.side()->group; }
  [[nodiscard]] std::uint64_t now_us() const { return 1'000'000; }  // time stands still
  [[nodiscard]] Arrival arrival() const { return arrival_; }
  [[nodiscard]] bool first_write_may_stall() const { return false; }
  template <class Handler>
  unsigned poll(Handler& handler);
  template <class Handler>
  unsigned poll_events(Handler& handler);

 private:
  struct Event {
    enum Kind : std::uint8_t { kRequest, kConnected, kRejected } kind;
    Side* side;
    std::vector<std::byte> data;
  };
  struct Completion {
    enum Kind : std::uint8_t { kSlots, kData, kNotification, kReadDone } kind;
    void* user;
    std::uint32_t sequence;
  };

  Side* make_side(void* user) {
    sides_.push_back(std::make_unique<Side>(Side{this, user, ordered() ? links_++ / kLinksPerGroup : 0}));
    reported_.resize(links_ / kLinksPerGroup + 1);
    return sides_.back().get();
  }
  [[nodiscard]] bool ordered() const { return arrival_ == Arrival::kInOrder; }
  void written(std::uint32_t group) {
    if (!reported_[group]) groups_.push_back(group);
    reported_[group] = true;
  }

  std::vector<std::unique_ptr<StillPort>>& ports_;
  const Arrival arrival_;
  std::uint32_t links_ = 0;
  std::vector<std::unique_ptr<Side>> sides_;
  std::vector<Event> events_;
  std::vector<Completion> completions_;  // unread, of own writes and of the peers'
  std::vector<Completion> reading_;
  std::vector<std::uint32_t> groups_;  // to be reported
  std::vector<bool> reported_;         // by group: it is in groups_
  std::vector<std::uint32_t> asked_;
};

inline WriteResult StillPort::write(Link& link, const RdmaWrite<Region>& write) {
  StillPort& target = *link.side()->other->port;
  std::memcpy(reinterpret_cast<std::byte*>(write.address), write.from, write.bytes);
  void* const peer = link.side()->other->user;
  if (target.ordered()) target.written(link.side()->other->group);
  if (write.use == WriteUse::kNotifiedSlots) target.completions_.push_back({Completion::kNotification, peer, 0});
  if (write.use == WriteUse::kLastData) target.completions_.push_back({Completion::kReadDone, peer, write.sequence});
  const bool data = is_data(write.use);
  if (write.use == WriteUse::kWord || (write.bytes <= kInlineBytes && !data)) return WriteResult::kCopied;
  completions_.push_back({data ? Completion::kData : Completion::kSlots, link.side()->user, 0});
  return WriteResult::kPosted;
}

template <class Handler>
unsigned StillPort::poll(Handler& handler) {
  std::swap(completions_, reading_);
  for (const Completion& done : reading_) {
    if (done.user == nullptr) continue;
    if (done.kind == Completion::kSlots) handler.on_written(done.user);
    if (done.kind == Completion::kData) handler.on_data_written(done.user);
    if (done.kind == Completion::kNotification) handler.on_notification(done.user);
    if (done.kind == Completion::kReadDone) handler.on_read_done(done.user, done.sequence);
  }
  const auto count = static_cast<unsigned>(reading_.size());
  reading_.clear();
  std::swap(groups_, asked_);
  for (const std::uint32_t group : asked_) {
    reported_[group] = false;
    if (handler.on_placed(group) != 0) written(group);
  }
  asked_.clear();
  return count;
}

template <class Handler>
unsigned StillPort::poll_events(Handler& handler) {
  if (events_.empty()) return 0;
  const std::vector<Event> events = std::exchange(events_, {});
  static constexpr std::byte kNothing{};
  for (const Event& event : events) {
    const auto data = event.data.empty() ? std::span(&kNothing, 0) : std::span<const std::byte>(event.data);
    if (event.kind == Event::kRequest) {
      Request request{event.side};
      handler.on_request(request, data);
    }
    if (event.side->user == nullptr) continue;
    if (event.kind == Event::kRejected) handler.on_rejected(event.side->user, data);
    if (event.kind != Event::kConnected) continue;
    if (ordered()) written(event.side->group);
    handler.on_connected(event.side->user, data);
  }
  return static_cast<unsigned>(events.size());
}

static_assert(Port<StillPort>);

}  // namespace bufenlarge::bench
