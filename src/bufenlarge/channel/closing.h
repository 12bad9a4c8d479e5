// SPDX-License-Identifier: MIT
// The end of a connection by agreement: the machine of protocol/close.h with its slots, and how long the connection has
// not been used.
//
// Who may call it: Channel, with the slots that arrive and in each round while something is due; Closer, through
// Channel, which decides what is to be closed.
#pragma once

#include <cstdint>
#include <span>

#include "channel/peer_link.h"
#include "channel/receive_ring.h"
#include "channel/send_ring.h"
#include "protocol/close.h"

namespace bufenlarge {

template <class PortT>
class Closing {
 public:
  using Port = PortT;
  enum class Outcome : std::uint8_t {
    kNothing,
    kHeld,  // the own side has agreed: it writes nothing more
    kEnd,   // the connection ends now
  };

  Closing(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring);

  // ---- own request
  [[nodiscard]] bool may_ask() const { return close_.may_ask(); }
  // The connection is drained: asks the peer to end it.
  void ask(bool for_room);

  // ---- the peer
  // Every slot, before it is taken. True when the own side may write again.
  [[nodiscard]] bool on_slot(std::uint8_t kind) {
    if (!close_.watchful()) [[likely]]
      return false;
    return on_watched_slot(kind);
  }
  // A slot of SlotKind::kClose. Fails the channel when the peer may not say that.
  void on_message(std::span<const std::byte> payload);
  // True when the loss of the connection is the end that was agreed. `quiet`: no read, response or write
  // is open, no message of the peer is, and no ring is being exchanged.
  [[nodiscard]] bool on_lost(bool quiet) { return close_.on_lost(quiet, send_ring_.producer().staged()); }

  // Says what is due. `drained`: nothing is under way; `drained_for_room`: the same, but for sources the peer has
  // not read yet.
  [[nodiscard]] Outcome serve(bool drained, bool drained_for_room);
  [[nodiscard]] bool pending() const { return close_.pending(); }
  void restart();

  // ---- use
  // A connection stands: its time begins.
  void begin(std::uint64_t now_us) {
    slots_seen_ = slots();
    idle_since_us_ = now_us;
  }
  // To be called now and then: sees whether something was sent or taken since the last call.
  void note_use(std::uint64_t now_us);
  [[nodiscard]] std::uint64_t idle_since_us() const { return idle_since_us_; }
  // More than the first slot was sent or taken.
  [[nodiscard]] bool used() const { return slots() > 1; }

  [[nodiscard]] Close::State state() const { return close_.state(); }

 private:
  [[nodiscard]] bool on_watched_slot(std::uint8_t kind);
  // Sent and taken, those of this protocol too.
  [[nodiscard]] std::uint64_t slots() const;
  void stage(CloseStep step, std::uint32_t number, bool for_room = false);

  PeerLink<Port>& link_;
  SendRing<Port>& send_ring_;
  ReceiveRing<Port>& receive_ring_;
  Close close_;
  std::uint64_t slots_seen_ = 0;
  std::uint64_t idle_since_us_ = 0;
  bool resumed_ = false;  // by the message that is being taken
};

}  // namespace bufenlarge
