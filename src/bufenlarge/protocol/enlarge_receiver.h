// SPDX-License-Identifier: MIT
// The receiving side of one enlargement (docs/wire-protocol.md, sections 3 to 5).
//
// from         event                          to           what the caller then does
// -----------  -----------------------------  -----------  -------------------------------------------
// Steady       on_request: next number,       Swapping     provisions a ring of that phase and frees the present
//              any phase                                   one, or keeps the present one; then swapped()
// Acked        on_request: as above           Swapping     (the sender changes once more)
// Swapping     swapped(ack)                   Acked        writes the acknowledgement
// Acked        on_repeat: same number         Acked        writes the same acknowledgement again
// Acked        confirmed()                    Steady       stops looking for repeat words
// any          on_repeat: another number      unchanged    nothing: the request itself is still in the
//                                                          ring, or was confirmed long ago
//
// The request is the last slot of its ring: a receiver that reads it has consumed every earlier slot and
// may free the ring, or use it again.
#pragma once

#include <cstdint>

#include "protocol/phase_table.h"
#include "protocol/state_log.h"
#include "protocol/wire.h"

namespace bufenlarge {

#define BUFENLARGE_ENLARGE_RECEIVER_STATES(X) X(Steady) X(Swapping) X(Acked)

class EnlargeReceiver {
 public:
#define BUFENLARGE_STATE_ENUMERATOR(name) k##name,
  enum class State : std::uint8_t { BUFENLARGE_ENLARGE_RECEIVER_STATES(BUFENLARGE_STATE_ENUMERATOR) };
#undef BUFENLARGE_STATE_ENUMERATOR

  // Called when a request has arrived, for any phase: a sender that had no memory for the present one asks for it
  // again. Returns false if the peer broke the protocol: the number is not the next one, or the phase is unknown.
  [[nodiscard]] bool on_request(EnlargeRequest request, const PhaseTable& table);
  // Called when the new ring is ready; `ack` describes it.
  void swapped(const EnlargeAck& ack);
  // Called when a repeat word has arrived. Returns true if the caller has to write ack() once more.
  [[nodiscard]] bool on_repeat(EnlargeRequest request) const;
  // Called when the first slot of the new ring has arrived: the sender has the acknowledgement.
  void confirmed();

  // Called when a new connection begins, in Steady: the peer numbers its requests from 1 again.
  void restart();

  // `log` is told every change of state; it outlives the machine.
  void set_log(StateLog* log) { log_ = log; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool acked() const { return state_ == State::kAcked; }
  [[nodiscard]] EnlargeRequest request() const { return request_; }
  [[nodiscard]] const EnlargeAck& ack() const { return ack_; }

 private:
  void set_state(State next, const char* why);

  EnlargeRequest request_{0, 0};
  EnlargeAck ack_{};
  StateLog* log_ = nullptr;
  State state_ = State::kSteady;
};

const char* to_string(EnlargeReceiver::State state);

// Returns `ack`, which describes a ring, with its number, its check and both flags filled in.
EnlargeAck seal_ack(EnlargeAck ack, std::uint32_t number);

}  // namespace bufenlarge
