// SPDX-License-Identifier: MIT
// The sending side of one enlargement: request, wait for the acknowledgement, take the new ring
// (docs/wire-protocol.md, sections 3 and 4).
//
// from          event                                   to            what the caller then does
// ------------  --------------------------------------  ------------  ---------------------------
// Steady        need(phase)                             RequestDue    stages the request slot
// RequestDue    requested(base, now)                    Requested     nothing is sent any more
// Requested     poll: head flag seen                    HeadSeen      waits for the tail flag
// Requested     poll: time limit passed (late)          Requested     repeats the request
// HeadSeen      poll: time limit passed (torn, corrupt) Requested     repeats the request
// Requested,    poll: whole acknowledgement             Swapping      provisions the new ring, frees the
// HeadSeen                                                            present one
// Swapping      swapped()                               Steady        the upper layer's retry goes on
//
// The class does no I/O and reads no clock: the caller passes a copy of the acknowledgement and the time.
// Nothing here fails. When no acknowledgement comes, the sender repeats its request again and again, with
// growing pauses, since a peer that computes for minutes outside MPI is not at fault. If the peer has
// died, its connection reports that.
#pragma once

#include <cstdint>

#include "protocol/phase_table.h"
#include "protocol/state_log.h"
#include "protocol/wire.h"

namespace bufenlarge {

#define BUFENLARGE_ENLARGE_SENDER_STATES(X) X(Steady) X(RequestDue) X(Requested) X(HeadSeen) X(Swapping)

class EnlargeSender {
 public:
#define BUFENLARGE_STATE_ENUMERATOR(name) k##name,
  enum class State : std::uint8_t { BUFENLARGE_ENLARGE_SENDER_STATES(BUFENLARGE_STATE_ENUMERATOR) };
#undef BUFENLARGE_STATE_ENUMERATOR

  enum class Verdict : std::uint8_t {
    kNothing,   // no whole acknowledgement yet
    kRepeat,    // late, torn or corrupt: the caller clears the variable and writes the repeat word
    kAccepted,  // ack() describes the ring to use
  };

  // The sender repeats its request after `ack_timeout_us` microseconds without a whole acknowledgement;
  // the pause doubles with each repetition, up to kPauseFactorMax times as much.
  explicit EnlargeSender(std::uint64_t ack_timeout_us) : timeout_us_(ack_timeout_us) {}

  // Called when an element does not fit the present phase and needs `phase`, or when the direction goes back to it.
  void need(std::uint8_t phase, const char* why = "an element does not fit");
  // Called when the request is staged in the slot before position `base`, where the new ring has to begin.
  void requested(std::uint64_t base, std::uint64_t now_us);
  // Called again and again while waiting(). `seen` is a copy of the acknowledgement variable.
  [[nodiscard]] Verdict poll(const EnlargeAck& seen, const PhaseTable& table, std::uint64_t now_us);
  // Called when the ring that ack() describes is in use.
  void swapped();

  // Called when a new connection begins, in Steady: requests are numbered from 1 again.
  void restart();

  // `log` is told every change of state; it outlives the machine.
  void set_log(StateLog* log) { log_ = log; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool steady() const { return state_ == State::kSteady; }
  [[nodiscard]] bool waiting() const {
    return state_ == State::kRequested || state_ == State::kHeadSeen;
  }
  [[nodiscard]] EnlargeRequest request() const { return {number_, wanted_}; }
  [[nodiscard]] const EnlargeAck& ack() const { return ack_; }
  [[nodiscard]] std::uint32_t repeats() const { return repeats_; }
  [[nodiscard]] std::uint32_t rejected() const { return rejected_; }

  static constexpr std::uint32_t kPauseFactorMax = 32;

 private:
  void set_state(State next, const char* why);
  void expect_by(std::uint64_t now_us);
  [[nodiscard]] bool whole(const EnlargeAck& seen, const PhaseTable& table) const;

  std::uint64_t timeout_us_;
  std::uint64_t deadline_us_ = 0;
  std::uint64_t base_ = 0;
  EnlargeAck ack_{};
  std::uint32_t number_ = 0;
  std::uint32_t repeats_ = 0;
  std::uint32_t rejected_ = 0;
  std::uint32_t pause_factor_ = 1;
  std::uint8_t wanted_ = 0;
  StateLog* log_ = nullptr;
  State state_ = State::kSteady;
};

const char* to_string(EnlargeSender::State state);

// Return the values of an acknowledgement's head and tail flags for request `number`.
std::uint64_t ack_head(std::uint32_t number);
std::uint64_t ack_tail(std::uint32_t number);

}  // namespace bufenlarge
