// SPDX-License-Identifier: MIT
// The Port of channel/port.h over one libfabric domain: one listener, one event queue and a few
// completion queues for all endpoints. One thread at a time may call a port (FI_THREAD_DOMAIN).
//
// On verbs every operation, also that of a control word, is posted with a context of its own and has a
// completion: libfabric 1.17 drops the errors of operations without one (verbs_cq.c, vrb_poll_cq). An endpoint
// counts the operations it has posted and never posts more than its send queue holds.
//
// On verbs a notification and the end of a response each take a posted receive: one of the endpoint where
// notifications are on, otherwise one of a receive context that all endpoints share. tcp needs no receives.
#pragma once

#include <poll.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "channel/port.h"
#include "fabric/completion_queues.h"
#include "fabric/connection_bound.h"
#include "fabric/descriptors.h"
#include "fabric/endpoint.h"
#include "fabric/fid.h"
#include "fabric/memory_region.h"
#include "fabric/provider.h"
#include "fabric/queue_memory.h"
#include "fabric/ready_queues.h"
#include "fabric/socket_address.h"
#include "fabric/tcp_sockets.h"

namespace bufenlarge {

class FabricPort {
 public:
  using Endpoint = bufenlarge::Endpoint;
  using Link = EndpointLink;

  struct Request {
    InfoPtr info;
  };

  using Region = MemoryRegion;

  // Opens the provider, its queues and a listener. Throws FabricError.
  explicit FabricPort(const ProviderRequest& request);

  [[nodiscard]] Region allocate(std::size_t bytes, PeerAccess access = PeerAccess::kWrite) {
    const bool read = access == PeerAccess::kWriteAndQuestions && question_bytes() != 0;
    return Region(regions_, bytes, FI_WRITE | FI_REMOTE_WRITE | (read ? FI_READ | FI_REMOTE_READ : std::uint64_t{0}),
                  registrations_);
  }
  [[nodiscard]] Region register_memory(void* memory, std::size_t bytes, MemoryUse use) {
    const std::uint64_t access = (use != MemoryUse::kDestination ? FI_WRITE : std::uint64_t{0}) |
                                 (use != MemoryUse::kSource ? FI_REMOTE_WRITE : std::uint64_t{0});
    return Region(regions_, memory, bytes, access, user_registrations_);
  }
  [[nodiscard]] Link open(const void* address, std::span<const std::byte> data, void* user);
  [[nodiscard]] Link accept(Request& request, std::span<const std::byte> data, void* user);
  void reject(Request& request, std::span<const std::byte> data);
  // On tcp the peer's kernel responds for a process that computes, so a connection whose socket has no peer yet is one
  // to a host that does not respond. On verbs nothing tells.
  [[nodiscard]] bool reached(const Link& link) const;
  // See channel/port.h.
  [[nodiscard]] bool ask(Link& link, const HostQuestion<Region>& question);
  [[nodiscard]] bool responded(Link& link);
  [[nodiscard]] bool settled(Link& link, const HostQuestion<Region>& question);
  void give_up(Link& link);
  // Closes the endpoint of a link, and gives back what it holds; that of an attempt, on iWARP, when it has its event.
  // Called by the link.
  void close(Endpoint& endpoint);

  [[nodiscard]] WriteResult write(Link& link, const RdmaWrite<Region>& write) {
    if (!link) [[unlikely]] return WriteResult::kFailed;
    link.endpoint()->written = Endpoint::Written::kMore;
    if (verbs_) return write_verbs(link, write);
    ready_.heat(*link.endpoint()->queue);
    const WritePart part{write.from, write.region.descriptor(), write.bytes, write.address, write.key};
    if (is_data(write.use)) return write_tcp_data(*link.endpoint(), part, write.use, write.sequence);
    return write_tcp_slots(*link.endpoint(), part, write.use);
  }

  // Returns a text about the memory that was refused last: its size, the call that failed, how much is
  // registered, and what the user can do.
  [[nodiscard]] std::string memory_error() const;
  // Returns the same of memory that the limit on pinned memory has refused before the system was asked.
  [[nodiscard]] std::string limit_error(std::uint64_t bytes) const;
  // Sets a callback that gets this text whenever memory is refused.
  void set_on_refused(std::function<void(const std::string&)> on_refused) {
    regions_.on_refused = [this, report = std::move(on_refused)] { report(memory_error()); };
  }
  // See channel/port.h.
  void set_give_way(std::function<bool(std::size_t bytes)> give_way) { regions_.give_way = std::move(give_way); }
  // Sets a callback for the first time that a connection has to wait for a file descriptor.
  void set_on_no_descriptor(std::function<void()> callback) { on_no_descriptor_ = std::move(callback); }
  // What connections take here, and what there is of it; without what the port does not know of.
  [[nodiscard]] ConnectionLimits connection_limits() const;
  // On tcp, whether there is a file descriptor to spare; while there is none, connections of strangers who say nothing
  // for three seconds are ended. On verbs a connection takes none.
  [[nodiscard]] bool has_room(RoomFor what);
  // Returns the text of the last error: when open() or accept() returned an empty link, the call that failed
  // and why.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

  // See channel/port.h. Nothing may come for the queue any more, so it is read from now on until its end is found.
  [[nodiscard]] std::uint64_t completions_mark(const Link& link) {
    if (!link) return 0;
    if (!verbs_) ready_.heat(*link.endpoint()->queue);
    return link.endpoint()->queue->mark();
  }
  [[nodiscard]] bool completions_read(const Link& link, std::uint64_t mark) const {
    return !link || link.endpoint()->queue->read_to(mark);
  }
  // On tcp the number of the endpoint's completion queue.
  [[nodiscard]] std::uint32_t group(const Link& link) const {
    return verbs_ ? 0 : link.endpoint()->queue->number;
  }
  [[nodiscard]] std::uint64_t now_us() const;
  [[nodiscard]] Arrival arrival() const { return arrival_.arrival; }
  [[nodiscard]] bool first_write_may_stall() const { return bufenlarge::first_write_may_stall(*info_); }
  [[nodiscard]] const std::string& arrival_reason() const { return arrival_.why; }

  template <class Handler>
  unsigned poll(Handler& handler);
  template <class Handler>
  unsigned poll_events(Handler& handler);

  // Lets data wake sleep(). On verbs only completions do, so all slots are notified from now on. To be called before
  // the first endpoint is made. Returns false, with nothing changed, where the user wants rings to be polled, and on a
  // device without immediate data (iWARP). Throws FabricError.
  bool enable_sleep();
  // See channel/port.h. Where data does not wake it, it sleeps for 100 us at most.
  SleepEnd sleep(std::uint32_t timeout_us);

  [[nodiscard]] const SocketAddress& address() const { return address_; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  // Returns how many endpoints there are, those that are closed and wait to be used again included.
  [[nodiscard]] std::size_t endpoints() const { return endpoints_.size(); }
  // Returns the memory that the queues of one endpoint take.
  [[nodiscard]] const QueueMemory& queues() const { return queues_; }
  // Returns what an endpoint pins: its queues and places for words. tcp pins nothing.
  [[nodiscard]] std::uint64_t link_bytes() const;
  [[nodiscard]] const RegistrationCounters& registrations() const { return registrations_; }
  [[nodiscard]] const RegistrationCounters& user_registrations() const { return user_registrations_; }
  // Return how many responses have ended with immediate data, and how many with a message.
  [[nodiscard]] std::uint64_t ends_by_immediate() const { return ends_by_immediate_; }
  [[nodiscard]] std::uint64_t ends_by_message() const { return ends_by_message_; }

 private:
  // One decoded event of the event queue. `data` is valid until the next one is read.
  struct Event {
    // kUnnamed: an attempt failed, and libfabric does not say which.
    enum class Kind : std::uint8_t { kNone, kRequest, kConnected, kRejected, kLost, kUnreachable, kUnnamed };
    Kind kind = Kind::kNone;
    Endpoint* endpoint = nullptr;
    Request request;
    std::span<const std::byte> data;
    std::string why;
  };

  [[nodiscard]] Endpoint* make_endpoint(fi_info* info, void* user);
  // A closed endpoint that nothing can name any more, or a new one.
  [[nodiscard]] Endpoint& spare_endpoint();
  [[nodiscard]] Event next_event();
  [[nodiscard]] Event decode_error();
  // An attempt failed that libfabric does not name: where it can be one only, that has had its event.
  void end_unnamed_attempt();
  // Reads a failed completion. Returns the endpoint that it belongs to, or nullptr if it names none.
  [[nodiscard]] Endpoint* failed_completion(const CompletionQueue& queue, std::string& why) const;
  [[nodiscard]] QueuePlan plan_queues(fi_wait_obj verbs_wait) const;
  // Lets the descriptors of all queues tell of what comes. Returns false if something is there already.
  [[nodiscard]] bool arm_queues();
  [[nodiscard]] CompletionQueue* reserve_queue();
  void listen();
  // Listens on a port that the system chooses. Returns what fi_listen(3) does; throws FabricError if it is not called.
  [[nodiscard]] int open_listener();
  [[nodiscard]] bool events_due();
  void look_after_descriptors();
  [[nodiscard]] bool enough_events(unsigned requests, std::uint64_t since_us);
  template <class Handler>
  void give(Handler& handler, Event& event);
  [[nodiscard]] bool needs_words() const { return verbs_ && (!inline_words_ || !immediate_data_ || receives_ != 0); }
  [[nodiscard]] bool bind(Endpoint& endpoint);
  void release(Endpoint& endpoint);
  // Returns true if `code` is 0; otherwise keeps the call's name and the error for last_error().
  [[nodiscard]] bool succeeded(const char* call, ssize_t code);
  // Returns how much memory is registered and, where there is a limit, how to raise it.
  [[nodiscard]] std::string locked_memory() const;
  void post_shared_receives();
  [[nodiscard]] bool post_receive(Endpoint& endpoint, std::size_t place) const;
  [[nodiscard]] bool post_shared_receive(Endpoint::Tag& tag) const;
  [[nodiscard]] WriteResult post_held(Endpoint& endpoint, void* context, std::uint32_t sequence) const;
  [[nodiscard]] WriteResult write_tcp_data(Endpoint& endpoint, const WritePart& part, WriteUse use,
                                           std::uint32_t sequence) const;
  [[nodiscard]] WriteResult write_tcp_slots(Endpoint& endpoint, const WritePart& part, WriteUse use) const;
  [[nodiscard]] bool post_message(Endpoint& endpoint, std::uint32_t sequence) const;
  [[nodiscard]] WriteResult write_verbs(Link& link, RdmaWrite<Region> write) const;
  // What a question reads of the peer's memory.
  [[nodiscard]] std::size_t question_bytes() const { return verbs_ && write_ends_here(*info_) ? kQuestionBytes : 0; }
  [[nodiscard]] bool ask_verbs(Endpoint& endpoint, const HostQuestion<Region>& question) const;
  [[nodiscard]] bool ask_tcp(Endpoint& endpoint);
  [[nodiscard]] bool post_fence(Endpoint& endpoint, const HostQuestion<Region>& question) const;
  // The descriptor of a connection of tcp: -1 where it was not found, none where the connection has ended.
  [[nodiscard]] std::optional<int> socket_of(const Endpoint& endpoint);
  // On tcp, whether the peer's kernel has all that was sent, or will never have more.
  [[nodiscard]] bool sent_is_there(const Endpoint& endpoint);
  static WriteResult result_of(ssize_t code, bool copied) {
    if (code == 0) [[likely]] return copied ? WriteResult::kCopied : WriteResult::kPosted;
    return code == -FI_EAGAIN ? WriteResult::kAgain : WriteResult::kFailed;
  }
  template <class Handler>
  unsigned poll_queue(Handler& handler, CompletionQueue& queue);
  template <class Handler>
  void lose_all(Handler& handler, const CompletionQueue* of, const std::string& why);
  template <class Handler>
  void on_entry(Handler& handler, const fi_cq_data_entry& entry);
  template <class Handler>
  void on_received(Handler& handler, Endpoint::Tag& tag, const fi_cq_data_entry& entry);

  RegistrationCounters registrations_;
  RegistrationCounters user_registrations_;
  MemoryRegion::Domain regions_{};
  InfoPtr info_;
  FabricFid fabric_;
  DomainFid domain_;
  EventQueueFid events_;
  int events_descriptor_ = -1;
  std::optional<CompletionQueues> completions_;
  std::vector<fid*> waited_;  // of sleep(): the queues
  std::vector<pollfd> watched_;
  ReadyQueues ready_;  // tcp
  TcpSockets sockets_;
  WordCopySlab words_;
  MemoryRegion shared_places_;
  SharedReceiveFid shared_receive_;  // empty where notifications are on, or where the device has none
  std::array<Endpoint::Tag, kReadsPerPortMax> shared_tags_{};
  ListenerFid listener_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::deque<Endpoint*> closed_;  // of these, the oldest first
  std::array<std::byte, 512> event_bytes_{};
  SocketAddress address_;
  std::string last_error_;
  std::function<void()> on_no_descriptor_;
  DescriptorReserve descriptors_;
  std::uint64_t events_read_us_ = 0;
  std::uint64_t strangers_ended_us_ = 0;  // when it was looked for them
  static constexpr std::uint32_t kEventFailuresMax = 64;
  std::uint32_t events_failed_ = 0;  // reads of the event queue that failed by themselves, one after the other
  std::uint64_t events_empty_ = 0;  // times that the event queue was found empty
  std::uint32_t idle_polls_ = 0;  // polls of the event queue that found nothing
  std::size_t inline_bytes_ = 0;
  QueueMemory queues_;  // of one endpoint
  std::size_t parts_max_ = 1;  // most ranges of one write (tcp)
  std::uint64_t ends_by_immediate_ = 0;
  std::uint64_t ends_by_message_ = 0;
  ArrivalVerdict arrival_;
  const ArrivalChoice arrival_choice_;
  const std::uint32_t peers_;   // expected
  const std::uint64_t peer_timeout_us_;
  std::uint32_t receives_ = 0;  // that each endpoint posts
  bool immediate_data_ = false;
  bool inline_words_ = false;
  bool sleeps_ = false;  // verbs: the completion queues have descriptors
  bool verbs_ = false;  // each operation has a completion and takes an entry of a bounded queue
};

static_assert(Port<FabricPort>);

}  // namespace bufenlarge

#include "fabric/fabric_port_poll.h"  // the bodies of the templates
