// SPDX-License-Identifier: MIT
// What a channel has for data that goes from user memory to user memory: the reader, the responder, the one-sided
// writer, and the writer of data the last two share. Made when the channel first needs it.
//
// Who may call it: Channel and Context.
#pragma once

#include "channel/data_writer.h"
#include "channel/one_sided_writer.h"
#include "channel/rendezvous_reader.h"
#include "channel/rendezvous_responder.h"

namespace bufenlarge {

template <class PortT>
struct Rendezvous {
  using Port = PortT;

  Rendezvous(PeerLink<Port>& link_in, SendRing<Port>& send_ring_in, Enlargement<Port>& enlargement)
      : link(link_in),
        send_ring(send_ring_in),
        data(link_in),
        reader(link_in, send_ring_in),
        responder(link_in, send_ring_in, enlargement, data),
        one_sided(link_in, data) {}

  // Sends what is due. True while something of it has to be tried again.
  [[nodiscard]] bool service();
  // The oldest signaled write of data is complete.
  void on_data_written();
  // Ends everything with this status; the endpoint is closed.
  void end(Status status);
  [[nodiscard]] bool idle() const {
    return reader.empty() && !responder.pending() && data.empty() && one_sided.empty();
  }

  PeerLink<Port>& link;
  SendRing<Port>& send_ring;
  DataWriter<Port> data;
  RendezvousReader<Port> reader;
  RendezvousResponder<Port> responder;
  OneSidedWriter<Port> one_sided;
};

}  // namespace bufenlarge
