// SPDX-License-Identifier: MIT
// The receiving side of one enlargement (002 fig 6; 000 c15 to c18).
//
// from         event                          to           what the caller then does
// -----------  -----------------------------  -----------  -------------------------------------------
// Steady       on_request: next number,       Swapping     unregisters and frees the small ring,
//              larger phase                                provisions the large one, then swapped()
// Acked        on_request: as above           Swapping     (the sender grows once more)
// Swapping     swapped(ack)                   Acked        writes the acknowledgement
// Acked        on_repeat: same number         Acked        writes the same acknowledgement again
// Acked        confirmed()                    Steady       stops looking for repeat words
// any          on_repeat: another number      unchanged    nothing: the request itself is still in the
//                                                          ring, or was confirmed long ago
//
// The request is the last slot of its ring, so when it is read every earlier slot was consumed and
// the ring may be freed at once.
#pragma once

#include <cstdint>

#include "protocol/phase_table.h"
#include "protocol/wire.h"

namespace bufenlarge {

#define BUFENLARGE_ENLARGE_RECEIVER_STATES(X) X(Steady) X(Swapping) X(Acked)

class EnlargeReceiver {
 public:
#define BUFENLARGE_STATE_ENUMERATOR(name) k##name,
  enum class State : std::uint8_t { BUFENLARGE_ENLARGE_RECEIVER_STATES(BUFENLARGE_STATE_ENUMERATOR) };
#undef BUFENLARGE_STATE_ENUMERATOR

  // False when the peer broke the protocol: wrong number, unknown phase, or not a larger one.
  [[nodiscard]] bool on_request(EnlargeRequest request, std::uint8_t present, const PhaseTable& table);
  void swapped(const EnlargeAck& ack);
  // True when the acknowledgement is to be written once more.
  [[nodiscard]] bool on_repeat(EnlargeRequest request) const;
  // The first slot of the new ring has arrived: the sender has the acknowledgement.
  void confirmed();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool acked() const { return state_ == State::kAcked; }
  [[nodiscard]] EnlargeRequest request() const { return request_; }
  [[nodiscard]] const EnlargeAck& ack() const { return ack_; }

 private:
  void set_state(State next);

  EnlargeRequest request_{0, 0};
  EnlargeAck ack_{};
  State state_ = State::kSteady;
};

const char* to_string(EnlargeReceiver::State state);

// Fills number, check and both flags of an acknowledgement that describes a ring.
EnlargeAck seal_ack(EnlargeAck ack, std::uint32_t number);

}  // namespace bufenlarge
