// SPDX-License-Identifier: MIT
// All state toward one peer: connection, both rings, both enlargement machines, control block.
//
// A channel is a member of its context and is called by the context's owner only. The send path is in
// channel_send.h, arrival in channel_receive.h, growth in channel_enlarge.h, opening and closing in
// channel_connect.h, large data in rendezvous.h.
//
// Memory. Rings and control block are there from the first attempt to connect until the channel is
// lost or the context closes. A failure found while the upper layer is being called (deliver, send)
// only marks the channel; service() releases its memory in the next round, so that no slot vanishes
// under a callback that reads it.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "channel/core.h"
#include "channel/other_job_peers.h"
#include "channel/in_flight.h"
#include "channel/port.h"
#include "channel/rendezvous.h"
#include "channel/ring_memory.h"
#include "channel/stats.h"
#include "protocol/connect.h"
#include "protocol/enlarge_receiver.h"
#include "protocol/enlarge_sender.h"
#include "protocol/ring_consumer.h"
#include "protocol/ring_producer.h"
#include "protocol/slot.h"

namespace bufenlarge {

template <class PortT>
class Channel {
 public:
  using Port = PortT;
  using Core = bufenlarge::Core<Port, Channel>;
  using Region = typename Port::Region;
  using Ring = RingMemory<Region>;

  Channel(Core& core, std::uint32_t peer, const void* address);
  // To a process of another job, which stays where it is.
  Channel(Core& core, std::uint32_t peer, const OtherJobPeer& other_job);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Takes a leading part of the message's rest; `sent` in bytes. kAgain when nothing went. Corked, what
  // it takes may stay until post_staged(), so that slots of several messages go in one write.
  [[nodiscard]] Status send(std::span<const iovec> vector, bool more, std::size_t& sent,
                            bool corked = false);
  void post_staged();

  // Lets the peer read these segments, which together are one range of bytes, by the name it is told. They
  // stay as they are until `released`.
  [[nodiscard]] Status advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& name);
  // Reads what the peer has advertised; `read_done` tells the end.
  [[nodiscard]] Status read(const ReadOrder& order);

  // Writes into what the peer shares; `written` tells when the source is free. kAgain when the source cannot be
  // registered now: nothing is done then.
  [[nodiscard]] Status write(const WriteOrder& order);
  // A message that is delivered when all that was written before it is placed. It is for one slot
  // (element_bytes_max), and is taken as a whole or not at all.
  [[nodiscard]] Status send_fenced(std::span<const iovec> vector, std::size_t& sent);
  // The largest element that can be sent without growing.
  [[nodiscard]] std::uint32_t element_bytes_max() const { return send_geometry().threshold_bytes; }

  // Reads arrived slots, a ring full at most; returns how many.
  unsigned receive();

  // Does what had to wait; true while something still has to.
  [[nodiscard]] bool service(std::uint64_t now_us);

  // Gives the connection its time; true while it waits for more of it.
  [[nodiscard]] bool tick(std::uint64_t now_us);

  // Events of the own link.
  void on_written();
  void on_notification();
  void on_data_written();
  void on_read_done(std::uint32_t sequence);
  void on_connected(std::span<const std::byte> data);
  void on_rejected(std::span<const std::byte> data);
  void on_lost(std::string_view why);
  // A checked request of this peer. Responses it.
  void on_request(typename Port::Request& request, const Hello& hello);

  // The channel is of no more use; `text` is told to the upper layer, once.
  void fail(Status status, std::string_view text);

  void set_poll_index(std::size_t index) { poll_index_ = index; }
  void set_pending_listed(bool listed) { pending_listed_ = listed; }
  void set_time_listed(bool listed) { time_listed_ = listed; }
  void set_notified_listed(bool listed) { notified_listed_ = listed; }
  [[nodiscard]] bool notified() const { return notifications_ != 0 && connected(); }

  [[nodiscard]] Core& core() { return core_; }
  [[nodiscard]] std::uint32_t peer() const { return peer_; }
  [[nodiscard]] bool failed() const { return failure_ != Status::kOk; }
  [[nodiscard]] Status failure() const { return failure_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] bool connected() const { return !failed() && connect_.established(); }
  [[nodiscard]] bool idle() const;
  [[nodiscard]] Connect::State connect_state() const { return connect_.state(); }
  [[nodiscard]] std::uint8_t send_phase() const { return send_phase_; }
  [[nodiscard]] std::uint8_t receive_phase() const { return receive_phase_; }
  [[nodiscard]] const DirectionCounters& sent() const { return sent_; }
  [[nodiscard]] const DirectionCounters& received() const { return received_; }
  [[nodiscard]] const EnlargeSender& enlarge_sender() const { return enlarge_sender_; }
  [[nodiscard]] const RingProducer& producer() const { return producer_; }
  [[nodiscard]] const RingConsumer& consumer() const { return consumer_; }
  [[nodiscard]] std::size_t registered_bytes() const {
    return send_ring_.registered_bytes() + receive_ring_.registered_bytes();
  }
  [[nodiscard]] std::size_t registered_bytes_max() const { return registered_bytes_max_; }

 private:
  friend class Rendezvous<Channel>;

  // The peer's memory this side may write.
  struct Remote {
    std::uint64_t ring_address = 0;  // where slot 0 would begin if it were as long as an own slot
    std::uint64_t control_address = 0;
    std::uint32_t ring_key = 0;
    std::uint32_t stride = 0;        // of the ring
    std::uint32_t control_key = 0;
    bool wants_checks = false;
    bool wants_notifications = false;
  };

  // ---- channel_send.h
  [[nodiscard]] Status not_ready();
  [[nodiscard]] bool send_single_slot(std::span<const iovec> vector, std::size_t& sent);
  void stage(std::span<const iovec> elements, bool ends, std::size_t& sent);
  void stage_slot(SlotKind kind, std::uint32_t bytes, std::uint8_t marks);
  [[nodiscard]] std::uint32_t room();
  void flush();
  [[nodiscard]] bool post_run();
  [[nodiscard]] bool write_run(std::uint32_t first, std::uint32_t begin, std::uint32_t count);
  [[nodiscard]] std::uint32_t run_length() const;
  [[nodiscard]] bool needs_notification(std::uint32_t first, std::uint32_t count) const;
  void mark_notified(std::uint32_t first, std::uint32_t count);
  [[nodiscard]] bool post_word(std::uint64_t inbox_offset, std::size_t bytes);
  [[nodiscard]] bool may_stage();
  [[nodiscard]] bool grows();
  [[nodiscard]] std::uint32_t slot_capacity() const { return send_ring_.capacity(); }
  [[nodiscard]] std::byte* begin_control(std::uint32_t bytes);
  void stage_control(SlotKind kind, std::span<const std::byte> payload);
  [[nodiscard]] Rendezvous<Channel>& rendezvous();
  // ---- channel_receive.h
  [[nodiscard]] SlotState look(const std::byte* slot, SlotTrailer& trailer) const;
  [[nodiscard]] bool take_slot(const std::byte* slot, const SlotTrailer& trailer);
  void take_rendezvous(std::span<const std::byte> payload, const SlotTrailer& trailer);
  void deliver(const std::byte* payload, const SlotTrailer& trailer);
  void watch_next_slot();
  void maybe_grant();
  // ---- channel_enlarge.h
  void begin_enlargement(std::uint8_t phase);
  void serve_request();
  void serve_acknowledgement(std::uint64_t now_us);
  void swap_send_ring(std::uint64_t now_us);
  void swap_receive_ring();
  void serve_repeat_word();
  [[nodiscard]] std::optional<std::uint8_t> provision_send_ring(const EnlargeAck& ack);
  void aim_at(std::uint64_t ring_address, std::uint32_t ring_key, std::uint32_t stride);
  [[nodiscard]] bool provision(Ring& ring, const Phase& geometry);
  // ---- channel_connect.h
  [[nodiscard]] bool prepare_memory();
  [[nodiscard]] Hello own_hello(std::uint16_t attempt, std::uint64_t job_key) const;
  [[nodiscard]] std::uint64_t called_key() const { return other_job_ ? other_job_->job_key : core_.expected.job_key; }
  [[nodiscard]] std::string wrong_reply(const HelloVerdict& verdict) const;
  void adopt(const Hello& hello);
  void act(Connect::Action action, std::string_view why, Status if_it_fails = Status::kTimedOut);
  void open();
  [[nodiscard]] std::string no_endpoint() const;
  [[nodiscard]] std::string no_memory(std::string_view what) const;
  void lose();
  void close_link();
  void release();
  void want_service();
  void want_time();
  void list_notified();

  [[nodiscard]] const Phase& send_geometry() const { return core_.settings.phases.at(send_phase_); }
  void note_registered();
  [[nodiscard]] bool poll_listed() const { return poll_index_ != PollSet<Channel>::kNone; }

  Core& core_;
  Ring send_ring_;
  Ring receive_ring_;
  RingProducer producer_;
  RingConsumer consumer_;
  InFlight in_flight_;
  Remote remote_;
  typename ControlSlab<Port>::Handle control_;
  std::unique_ptr<Rendezvous<Channel>> rendezvous_;  // made when it is needed first
  typename Port::Link link_;  // after the memory its writes read, so that it is closed before
  EnlargeSender enlarge_sender_;
  EnlargeReceiver enlarge_receiver_;
  Connect connect_;
  DirectionCounters sent_;
  DirectionCounters received_;
  const void* address_;                      // of a peer of the own job
  const OtherJobPeer* other_job_ = nullptr;  // else
  std::size_t poll_index_ = PollSet<Channel>::kNone;
  std::size_t registered_bytes_max_ = 0;
  std::uint64_t provision_retry_us_ = 0;
  std::uint64_t provision_give_up_us_ = 0;
  std::string error_;
  std::string loss_;
  std::uint64_t notify_before_ = 0;  // slots of smaller positions are notified for if the peer can be
  std::uint32_t peer_;
  std::uint32_t notifications_ = 0;  // notified, and the last slot of their write not read yet
  std::uint16_t send_epoch_ = 0;
  std::uint16_t receive_epoch_ = 0;
  std::uint8_t send_phase_ = 0;
  std::uint8_t send_limit_;  // highest phase this direction may ask for
  std::uint8_t receive_phase_ = 0;
  Status failure_ = Status::kOk;
  bool message_open_ = false;     // its first slot is staged, its last is not
  bool receive_open_ = false;     // its first slot was delivered, its last was not
  bool grant_due_ = false;
  bool ack_due_ = false;
  bool repeat_due_ = false;
  bool hello_due_ = false;
  bool release_due_ = false;
  bool loss_due_ = false;         // the connection is lost; what it brought is read first
  bool attempt_counted_ = false;  // in core_.attempts_out
  bool pending_listed_ = false;
  bool time_listed_ = false;
  bool notified_listed_ = false;
};

}  // namespace bufenlarge
