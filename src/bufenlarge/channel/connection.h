// SPDX-License-Identifier: MIT
// Connecting: the machine of protocol/connect.h with its endpoint, its Hello and its first rings.
//
// Who may call it: Channel, with the events of the port and of the clock. It is the only part that opens and closes the
// endpoint and sets the link's state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "channel/other_job_peers.h"
#include "channel/peer_link.h"
#include "channel/receive_ring.h"
#include "channel/send_ring.h"
#include "protocol/connect.h"

namespace bufenlarge {

template <class PortT>
class Connection {
 public:
  using Port = PortT;

  // `address`: endpoint address of a peer of the own job; it stays where it is.
  Connection(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring, const void* address);
  // To a peer of another job, which stays where it is, too.
  Connection(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring,
             const OtherJobPeer& peer);

  // The upper layer has something to send.
  void want();
  // Gives the connection its time. True while it waits for more of it.
  [[nodiscard]] bool tick(std::uint64_t now_us);
  // Ends the endpoint and what it counts for.
  void close();
  // The own side has agreed to the end of the connection, and writes nothing; or it may write again.
  void hold(bool held);
  // The connection ends by agreement.
  void end();
  // The own attempt makes room for another connection.
  void give_way();
  // A connection that has ended can be made again.
  [[nodiscard]] bool can_reopen() const { return other_job_ == nullptr; }

  // ---- events
  // The connection stands; `data` is the Hello of a peer that accepted. False when the channel has failed by it.
  [[nodiscard]] bool check_reply(std::span<const std::byte> data);
  // After check_reply(). True when service() has to send the Hello slot now.
  [[nodiscard]] bool on_connected();
  void on_rejected(std::span<const std::byte> data);
  // An attempt failed.
  void on_lost(std::string_view why);
  void on_unreachable(std::string_view why);
  // An attempt ended for a reason that has nothing to do with the peer.
  void on_interrupted(std::string_view why);
  // The attempt is as old as the connect time limit.
  void on_overdue();
  // An established connection is lost, and everything that came before is read.
  void on_link_lost();
  // A checked request of this peer. Answers it.
  void on_request(typename Port::Request& request, const Hello& hello);
  // There is no room for the connection that a request asks for: the caller tries again, and meanwhile another
  // connection is asked to end.
  void turn_away(typename Port::Request& request, std::uint16_t attempt);
  // The first slot of the active side arrived.
  void on_slot() {
    if (connect_.state() == Connect::State::kSilent) [[unlikely]]
      on_first_slot();
  }

  // Stages the Hello slot if it is due and has room.
  void serve_hello();
  [[nodiscard]] bool hello_due() const { return hello_due_; }
  // In a list of the context.
  [[nodiscard]] bool listed() const { return time_listed_ || attempt_counted_; }
  [[nodiscard]] Connect::State state() const { return connect_.state(); }
  [[nodiscard]] std::uint16_t attempt() const { return connect_.attempt(); }
  // An attempt is under way, and the peer's host has responded to it.
  [[nodiscard]] bool waits_for_peer() const {
    return connect_.state() == Connect::State::kConnecting && link_.reached();
  }
  [[nodiscard]] FirstRings first_rings() const {
    const bool there = send_ring_.has_ring() && receive_ring_.has_ring();
    return there ? FirstRings::kThere : link_.core().first_rings(link_.peer());
  }

 private:
  [[nodiscard]] bool prepare_memory();
  [[nodiscard]] Hello own_hello(std::uint16_t attempt) const;
  // Seals what this process sends the peer that it calls.
  [[nodiscard]] std::uint64_t called_key() const;
  [[nodiscard]] std::uint32_t peer_rank() const;  // in its own job
  [[nodiscard]] std::string wrong_reply(std::span<const std::byte> data, Hello& hello) const;
  void adopt(const Hello& hello);
  void act(Connect::Action action, std::string_view why, Status if_it_fails = Status::kTimedOut);
  void give_up(std::string_view why, Status status);
  void open();
  [[nodiscard]] bool find_room();
  void wait_for_room();
  // Whether the memory is to be given back that an attempt or a caller leaves.
  [[nodiscard]] bool is_to_release() const;
  void release_memory();
  [[nodiscard]] std::string no_endpoint() const;
  void on_first_slot();
  void update_link();
  void look_for_answer();
  void want_time();
  void end_attempt();

  PeerLink<Port>& link_;
  SendRing<Port>& send_ring_;
  ReceiveRing<Port>& receive_ring_;
  Connect connect_;
  const void* address_;                      // of a peer of the own job
  const OtherJobPeer* other_job_ = nullptr;  // else
  typename Core<Port>::Attempts::Place attempt_;  // in Core::attempts, with attempt_counted_
  bool attempt_counted_ = false;
  bool hello_due_ = false;
  bool held_ = false;
  bool time_listed_ = false;
};

}  // namespace bufenlarge
