// SPDX-License-Identifier: MIT
// A Port (channel/port.h) that the test controls: time stands still until the test moves it, the test puts in every
// event and may have memory, writes and links refused, and the port records everything asked of it.
//
// Two ports that are entered in the same FakeFabric by rank connect to each other; the test plays each rank that is
// not entered (see fake_peer.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "channel/port.h"
#include "support/builders.h"
#include "support/fake_fabric.h"

namespace bufenlarge::test {

class FakePort {
 public:
  struct LinkState {
    FakePort* port = nullptr;
    LinkState* other = nullptr;  // the same connection's other side, when it is a FakePort
    void* user = nullptr;        // nullptr once closed
    Bytes data;                  // handed to open() or accept()
    bool connected = false;
    std::uint32_t group = 0;
    bool reached = true;         // the peer's host has responded
    bool settled = true;         // it has what was written
    int asked_settled = 0;
    std::uint32_t asked = 0;     // how often ask() was called
    bool responds = false;       // the host, to what it was asked
    bool given_up = false;
  };

  class Link {
   public:
    Link() = default;
    explicit Link(LinkState* state) : state_(state) {}
    Link(Link&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Link& operator=(Link&& other) noexcept {
      if (this == &other) return *this;
      close();
      state_ = std::exchange(other.state_, nullptr);
      return *this;
    }
    ~Link() { close(); }
    explicit operator bool() const { return state_ != nullptr; }
    [[nodiscard]] LinkState* state() const { return state_; }

   private:
    void close();
    LinkState* state_ = nullptr;
  };

  class Region {
   public:
    Region() = default;
    Region(FakePort* port, const FakeFabric::Memory* memory) : port_(port), memory_(memory) {}
    Region(Region&& other) noexcept { swap(other); }
    Region& operator=(Region&& other) noexcept {
      Region(std::move(other)).swap(*this);
      return *this;
    }
    ~Region();
    [[nodiscard]] std::byte* data() const { return memory_ == nullptr ? nullptr : memory_->data(); }
    [[nodiscard]] std::size_t bytes() const { return memory_ == nullptr ? 0 : memory_->bytes; }
    [[nodiscard]] std::uint64_t remote_address() const { return memory_->address; }
    [[nodiscard]] std::uint32_t remote_key() const { return memory_->key; }

   private:
    void swap(Region& other) noexcept {
      std::swap(port_, other.port_);
      std::swap(memory_, other.memory_);
    }
    FakePort* port_ = nullptr;
    const FakeFabric::Memory* memory_ = nullptr;
  };

  struct Request {
    Bytes data;
    LinkState* from = nullptr;  // when the other side is a FakePort
    bool answered = false;
  };

  struct Write {
    LinkState* link;
    Bytes bytes;
    std::uint64_t address;
    std::uint32_t key;
    WriteUse use;
    std::uint32_t sequence = 0;
  };

  explicit FakePort(FakeFabric& fabric_in) : fabric(fabric_in) {}
  ~FakePort() {
    std::erase_if(fabric.ports, [this](const auto& entry) { return entry.second == this; });
  }
  FakePort(const FakePort&) = delete;
  FakePort& operator=(const FakePort&) = delete;

  // ---- the Port concept
  Region allocate(std::size_t bytes, PeerAccess access = PeerAccess::kWrite);
  // Logs "use" and "give back".
  void set_in_use(const Region& region, const std::byte* from, std::size_t bytes, bool in_use);
  Region register_memory(void* memory, std::size_t bytes, MemoryUse use);
  Link open(const void* address, std::span<const std::byte> data, void* user);
  Link accept(Request& request, std::span<const std::byte> data, void* user);
  void reject(Request& request, std::span<const std::byte> data);
  void set_give_way(std::function<bool(std::size_t bytes)> give_way) { give_way_ = std::move(give_way); }
  [[nodiscard]] bool has_room(RoomFor) const { return !no_descriptors; }
  [[nodiscard]] bool reached(const Link& link) const { return link && link.state()->reached; }
  [[nodiscard]] bool ask(Link& link, const HostQuestion<Region>& question);
  [[nodiscard]] bool responded(const Link& link) const { return link.state()->asked != 0 && link.state()->responds; }
  [[nodiscard]] bool settled(const Link& link, const HostQuestion<Region>& question) {
    check_question(question);
    ++link.state()->asked_settled;
    return link.state()->settled;
  }
  void give_up(const Link& link) { link.state()->given_up = true; }
  WriteResult write(Link& link, const RdmaWrite<Region>& order);
  [[nodiscard]] std::uint64_t now_us() const { return now; }
  [[nodiscard]] Arrival arrival() const { return arrives; }
  [[nodiscard]] bool first_write_may_stall() const { return first_write_stalls; }
  SleepEnd sleep(std::uint32_t timeout_us) { return slept_us.push_back(timeout_us), sleep_end; }
  // One queue of all links.
  [[nodiscard]] std::uint64_t completions_mark(const Link&) const { return arrivals_read_ + arrivals_.size(); }
  [[nodiscard]] bool completions_read(const Link&, std::uint64_t mark) const { return arrivals_read_ >= mark; }
  [[nodiscard]] std::uint32_t group(const Link& link) const { return link.state()->group; }
  template <class Handler>
  unsigned poll(Handler& handler);
  template <class Handler>
  unsigned poll_events(Handler& handler);

  // ---- what the test does
  // The test puts these events in; the port drops events of links that are closed by then, as the concept says.
  void connected(LinkState* link, Bytes data);
  void rejected(LinkState* link, Bytes data);
  void lost(LinkState* link, std::string why);
  void unreachable(LinkState* link, std::string why);
  void unnamed_failure(std::string why);
  void request(Bytes data, LinkState* from = nullptr);
  // Completes this many of the oldest posted writes. With `completes` set, poll() completes them all.
  void complete(std::size_t count) { due_completions_ += count; }
  [[nodiscard]] std::size_t posted() const {
    return static_cast<std::size_t>(std::ranges::count(posted_, false, &Posted::held));
  }
  // Puts in a notification of the link's other side; the next poll that has room for it reports it.
  void notify(LinkState* link) { arrivals_.push_back({link, 0}); }
  // Does the same for the end of a response.
  void end_read(LinkState* link, std::uint32_t sequence) { arrivals_.push_back({link, sequence}); }
  // Returns the entries of the log since the last call.
  std::vector<std::string> news();

  FakeFabric& fabric;
  std::uint64_t now = 1'000'000;
  Arrival arrives = Arrival::kInOrder;
  std::size_t notifications_per_poll = 16;  // and ends of responses
  std::size_t parts_max = 1;              // of one write of data; with more than 1 the port holds parts, as on tcp
  bool names_ends = true;               // the end of a response comes with its link
  std::uint32_t next_group = 0;  // of the links made from now on
  std::optional<std::vector<std::uint32_t>> placed;  // groups the next poll reports; without a value all, always
  SleepEnd sleep_end = SleepEnd::kWoken;
  std::vector<std::uint32_t> slept_us;
  std::function<void()> before_events;  // what the device does between poll() and poll_events()
  std::size_t events_per_poll = SIZE_MAX;
  bool completes = true;
  bool first_write_stalls = false;
  bool refuses_open = false;
  bool no_descriptors = false;
  bool refuses_accept = false;
  bool refuses_questions = false;
  std::function<bool(std::size_t bytes)> refuses_memory;
  std::function<bool(MemoryUse use, std::size_t bytes)> refuses_user_memory;
  // Decides what becomes of a write; without a value the port takes it.
  std::function<std::optional<WriteResult>(const Write&)> rule;
  // Decides which writes are taken but do not land: they go into `withheld`.
  std::function<bool(const Write&)> withholds;
  std::vector<Write> withheld;

  std::vector<Write> writes;  // taken
  std::uint32_t refused_writes = 0;
  unsigned polls = 0;
  std::vector<LinkState*> opened;
  std::vector<LinkState*> accepted;
  std::vector<Bytes> rejections;
  std::vector<std::string> log;

 private:
  struct Event {
    enum class Kind { kConnected, kRejected, kLost, kUnreachable, kUnnamed, kRequest } kind;
    LinkState* link;
    Bytes data;
    std::string why;
  };

  // A write whose source memory is still read.
  struct Posted {
    LinkState* link;
    std::uint32_t region_key;
    const std::byte* from;
    Bytes bytes;
    WriteUse use;
    bool held;  // complete with the next that is not
  };
  struct Arrived {
    LinkState* link;
    std::uint32_t sequence;  // 0: a notification
  };

  LinkState* make_link(std::span<const std::byte> data, void* user);
  void check_question(const HostQuestion<Region>& question);
  void check_write(const Link& link, const Region& region, const std::byte* from, std::size_t bytes, WriteUse use,
                   std::uint32_t sequence);
  void land(const Write& write);
  template <class Handler>
  void report_placed(Handler& handler);
  [[nodiscard]] WriteResult takes(const Write& write);
  [[nodiscard]] Posted finish_oldest(std::deque<Posted>& posted);

  std::set<const std::byte*> in_use_;  // parts of regions
  std::function<bool(std::size_t bytes)> give_way_ = [](std::size_t) { return false; };
  std::deque<Event> events_;
  std::deque<Arrived> arrivals_;
  std::uint64_t arrivals_read_ = 0;
  std::deque<Posted> posted_;        // oldest first
  std::deque<Posted> posted_words_;  // their completions are not reported
  std::size_t held_ = 0;             // the last of posted_, for which the next must come
  std::uint32_t groups_ = 1;
  std::size_t due_completions_ = 0;
  std::size_t news_begin_ = 0;  // of the log
};

static_assert(Port<FakePort>);

template <class Handler>
unsigned FakePort::poll(Handler& handler) {
  unsigned count = 0;
  ++polls;
  for (std::size_t room = notifications_per_poll; room > 0 && !arrivals_.empty(); --room) {
    const Arrived arrived = arrivals_.front();
    arrivals_.pop_front();
    ++arrivals_read_;
    if (arrived.link->user == nullptr) continue;
    if (arrived.sequence == 0)
      handler.on_notification(arrived.link->user);
    else
      handler.on_read_done(names_ends ? arrived.link->user : nullptr, arrived.sequence);
    ++count;
  }
  while (!posted_words_.empty()) (void)finish_oldest(posted_words_);
  std::size_t due = completes ? posted() : std::min(posted(), std::exchange(due_completions_, 0));
  for (; due > 0; --due) {
    Posted done = finish_oldest(posted_);
    while (done.held) done = finish_oldest(posted_);
    if (done.link->user == nullptr) continue;
    if (!is_data(done.use))
      handler.on_written(done.link->user);
    else
      handler.on_data_written(done.link->user);
    ++count;
  }
  if (arrives == Arrival::kInOrder) report_placed(handler);
  return count;
}

template <class Handler>
void FakePort::report_placed(Handler& handler) {
  if (placed) {
    for (const std::uint32_t group : std::exchange(*placed, {})) (void)handler.on_placed(group);
    return;
  }
  for (std::uint32_t group = 0; group < groups_; ++group) (void)handler.on_placed(group);
}

template <class Handler>
unsigned FakePort::poll_events(Handler& handler) {
  unsigned count = 0;
  if (before_events) before_events();
  for (; !events_.empty() && count < events_per_poll; ++count) {
    Event event = std::move(events_.front());
    events_.pop_front();
    if (event.kind == Event::Kind::kRequest) {
      Request request{event.data, event.link};
      handler.on_request(request, event.data);
      if (!request.answered) fabric.violations.push_back("a request was not answered");
      continue;
    }
    if (event.kind == Event::Kind::kUnnamed) {
      handler.on_unnamed_failure(event.why);
      continue;
    }
    if (event.link->user == nullptr) continue;
    if (event.kind == Event::Kind::kConnected) {
      event.link->connected = true;
      handler.on_connected(event.link->user, event.data);
    }
    if (event.kind == Event::Kind::kRejected) handler.on_rejected(event.link->user, event.data);
    if (event.kind == Event::Kind::kLost) handler.on_lost(event.link->user, event.why);
    if (event.kind == Event::Kind::kUnreachable) handler.on_unreachable(event.link->user, event.why);
  }
  return count;
}

}  // namespace bufenlarge::test
