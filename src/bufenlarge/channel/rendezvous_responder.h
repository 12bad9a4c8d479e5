// SPDX-License-Identifier: MIT
// The responding side of the rendezvous: the peer's read requests, each answered by RDMA writes out of the sources it
// names, or through the ring where one of the two sides could not register its memory.
//
// Who may call it: Channel, with the requests that arrive; Rendezvous, each round, with completions, and at the loss.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "channel/data_writer.h"
#include "channel/enlargement.h"
#include "channel/peer_link.h"
#include "channel/send_ring.h"
#include "channel/source_table.h"
#include "protocol/read_request.h"

namespace bufenlarge {

template <class PortT>
class RendezvousResponder {
 public:
  using Port = PortT;

  RendezvousResponder(PeerLink<Port>& link, SendRing<Port>& send_ring, Enlargement<Port>& enlargement,
                      DataWriter<Port>& data)
      : link_(link), send_ring_(send_ring), enlargement_(enlargement), data_(data) {}

  // A request of the peer; fails the channel when the peer may not read that.
  void on_request(std::span<const std::byte> payload);
  // Sends what can go.
  void service();
  [[nodiscard]] bool pending() const { return !responses_.empty(); }
  // A use of the source has ended: the source is given back to the upper layer if that was the last.
  void end_use(SourceRef<Port> use);
  // The endpoint is closed: forgets all responses. A window that others may still read does not wait for their end.
  void forget();
  // Gives all sources that are advertised to this peer back to the upper layer, with this status.
  void end_sources(Status status);

 private:
  // A request that is not answered to its end, with the sources it names.
  struct Response {
    ReadResponse plan;
    std::vector<SourceRef<Port>> sources;
  };

  [[nodiscard]] bool take_request(std::span<const std::byte> payload);
  [[nodiscard]] std::optional<std::vector<SourceRef<Port>>> check_sources(const ReadRequestParts& parts) const;
  [[nodiscard]] bool register_sources(Response& response);
  [[nodiscard]] RegisterResult register_source(Source<Port>& source);
  [[nodiscard]] bool give_back_sources(Response& response);
  [[nodiscard]] bool respond(Response& response);
  [[nodiscard]] bool write_next(Response& response);
  [[nodiscard]] bool stage_fragment(Response& response);
  static void forget_use(SourceTable<Port>& table, SourceRef<Port> use);

  PeerLink<Port>& link_;
  SendRing<Port>& send_ring_;
  Enlargement<Port>& enlargement_;
  DataWriter<Port>& data_;
  std::deque<Response> responses_;  // oldest first
  RegistrationLine::Turn turn_;     // of the oldest
};

}  // namespace bufenlarge
