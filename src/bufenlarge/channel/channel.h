// SPDX-License-Identifier: MIT
// All state toward one peer: a composition of parts, and its life cycle.
//
//   PeerLink       endpoint, control block, failure         everything below stands on it
//   SendRing       staging ring, writes of slots
//   ReceiveRing    ring the peer writes, credit
//   Enlargement    growth of both directions, and their way back
//   Connection     connecting, Hello
//   Closing        the end of a connection by agreement
//   Rendezvous     data from user memory to user memory; made when the channel first needs it
//
// A channel belongs to its context, and only the context's owner calls it. Bodies are in channel.cc.
//
// Memory. Rings and control block are there from the first attempt to connect until the connection ends by agreement,
// the channel has failed or the context closes; those for a process of another job, also until it goes before its first
// slot. PeerLink::fail() only marks the channel; service() releases its memory in the next round.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "channel/closing.h"
#include "channel/connection.h"
#include "channel/core.h"
#include "channel/enlargement.h"
#include "channel/other_job_peers.h"
#include "channel/peer_link.h"
#include "channel/port.h"
#include "channel/receive_ring.h"
#include "channel/rendezvous.h"
#include "channel/send_ring.h"
#include "channel/send_target.h"
#include "protocol/silence.h"

namespace bufenlarge {

template <class PortT>
class Channel : public SendTarget {
 public:
  using Port = PortT;
  using Core = bufenlarge::Core<Port>;

  // `address`: the peer's endpoint address, which stays where it is.
  Channel(Core& core, std::uint32_t peer, const void* address);
  // To a process of another job, which stays where it is.
  Channel(Core& core, std::uint32_t peer, const OtherJobPeer& other_job);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // ---- orders of the upper layer; bufenlarge.h has the contracts
  // Takes a leading part of the message's rest; `sent` in bytes. kAgain when nothing went. Corked, what it takes may
  // stay until post_staged(), so that slots of several messages go in one write.
  [[nodiscard]] Status send(std::span<const iovec> vector, bool more, std::size_t& sent, bool corked = false);
  void post_staged();
  // A message of one slot (element_bytes_max), which the peer delivers when everything written before it is placed. It
  // is taken whole or not at all.
  [[nodiscard]] Status send_fenced(std::span<const iovec> vector, std::size_t& sent);
  [[nodiscard]] Status advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& source,
                                 bool persistent = false);
  [[nodiscard]] Status read(const ReadOrder& order);
  // kAgain, with nothing done, when the data cannot be registered now, and while there is no connection, which is then
  // made: a write that waited for one would hold memory that others need for making room.
  [[nodiscard]] Status write(const WriteOrder& order);
  // The largest element that can be sent without growing, in bytes.
  [[nodiscard]] std::uint32_t element_bytes_max() const { return send_ring_.threshold_bytes(); }

  // ---- rounds of progress
  // Takes arrived slots, a ring full at most; returns how many.
  unsigned receive();
  // Does what had to wait; true while something still has to.
  [[nodiscard]] bool service(std::uint64_t now_us);
  // Gives the connection its time; true while it waits for more of it.
  [[nodiscard]] bool tick(std::uint64_t now_us);

  // ---- events of the own endpoint
  void on_written() { send_ring_.on_written(); }
  void on_notification() { receive_ring_.on_notification(); }
  void on_data_written();
  void on_connected(std::span<const std::byte> data);
  void on_rejected(std::span<const std::byte> data);
  void on_lost(std::string_view why);
  void on_unreachable(std::string_view why);
  void on_interrupted(std::string_view why);
  void on_overdue();
  // A checked request of this peer. Answers it.
  void on_request(typename Port::Request& request, const Hello& hello) { connection_.on_request(request, hello); }
  // The same where there is no room for the connection.
  void turn_away(typename Port::Request& request, const Hello& hello) { connection_.turn_away(request, hello.attempt); }

  void fail(Status status, std::string_view text) { link_.fail(status, text); }

  // ---- the end of connections, which Closer decides
  // Nothing is under way. For room, a source that the peer has not read yet does not count: it is read later.
  [[nodiscard]] bool drained(bool for_room) const;
  [[nodiscard]] bool may_close(bool for_room) const { return closing_.may_ask() && drained(for_room); }
  void ask_to_close(bool for_room);
  void note_use(std::uint64_t now_us) { closing_.note_use(now_us); }
  [[nodiscard]] bool used() const { return closing_.used(); }
  [[nodiscard]] std::uint64_t idle_since_us() const { return closing_.idle_since_us(); }
  [[nodiscard]] bool holds_link() const { return link_.has_endpoint(); }
  [[nodiscard]] FirstRings first_rings() const { return connection_.first_rings(); }
  void give_way() { connection_.give_way(); }
  [[nodiscard]] Core& core() { return link_.core(); }
  [[nodiscard]] std::uint32_t peer() const { return link_.peer(); }
  [[nodiscard]] bool failed() const { return link_.failed(); }
  [[nodiscard]] Status failure() const { return link_.failure(); }
  [[nodiscard]] const std::string& error() const { return link_.error(); }
  [[nodiscard]] bool connected() const { return link_.connected(); }
  // Writes that are notified are to be received.
  [[nodiscard]] bool notified() const { return receive_ring_.notified() && connected(); }
  // It has failed, or was never connected, and nothing of the context refers to it.
  [[nodiscard]] bool unused() const;
  // Everything that was accepted is written and completed locally.
  [[nodiscard]] bool idle() const;
  // ... and has reached the peer's host, as far as the port can tell. May ask it.
  [[nodiscard]] bool settled();

  // To be called now and then: asks for a smaller send ring when the present one is not needed.
  void look_at_use(std::uint64_t now_us);
  // To be called now and then, with PEER_TIMEOUT: asks the peer's host whether it responds when nothing comes from the
  // peer, and loses the connection, or the peer that was called, when it does not.
  void look_at_silence();
  // Whether it has grown and nothing is under way; then give_back() lets the send ring go back to the first phase, or
  // asks the peer, whose ring has grown, to end the connection, so that it begins anew.
  [[nodiscard]] bool may_give_back() const;
  void give_back();

  // ---- to observe
  [[nodiscard]] const SendRing<Port>& send_ring() const { return send_ring_; }
  [[nodiscard]] const ReceiveRing<Port>& receive_ring() const { return receive_ring_; }
  [[nodiscard]] const Enlargement<Port>& enlargement() const { return enlargement_; }
  [[nodiscard]] const Connection<Port>& connection() const { return connection_; }
  [[nodiscard]] const Closing<Port>& closing() const { return closing_; }
  [[nodiscard]] const RingBytes& ring_bytes() const { return link_.ring_bytes(); }

  // ---- its place in the poll set; see hot_channels.h
  [[nodiscard]] bool watched() const { return receive_ring_.watched(); }
  [[nodiscard]] std::size_t poll_index() const { return receive_ring_.poll_index(); }
  void set_poll_index(std::size_t index) { receive_ring_.set_poll_index(index); }
  void set_hot(bool hot) { receive_ring_.set_hot(hot); }

 private:
  [[nodiscard]] Status not_open();
  [[nodiscard]] bool takes_whole(std::span<const iovec> vector);
  [[nodiscard]] bool may_change_rings() const;
  [[nodiscard]] bool take_slot(const std::byte* slot, const SlotTrailer& trailer);
  void take_enlarge_request(std::span<const std::byte> payload);
  void serve_words();
  [[nodiscard]] bool words_due() const;
  void go_on();
  void serve_closing();
  void end_connection();
  void lose();
  void release();
  [[nodiscard]] Rendezvous<Port>& rendezvous();

  PeerLink<Port> link_;
  ReceiveRing<Port> receive_ring_;
  SendRing<Port> send_ring_;
  Enlargement<Port> enlargement_;
  Connection<Port> connection_;
  Closing<Port> closing_;
  std::unique_ptr<Rendezvous<Port>> rendezvous_;
  Silence silence_;
  bool released_ = false;  // after a failure: the memory
  bool ended_ = false;     // a connection of this channel has ended by agreement
};

}  // namespace bufenlarge
