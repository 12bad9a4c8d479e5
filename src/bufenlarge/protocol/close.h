// SPDX-License-Identifier: MIT
// The end of one connection by agreement, seen from one side (docs/wire-protocol.md, section 12).
//
// from      event                                     to        what the caller then does
// --------  ----------------------------------------  --------  ----------------------------------------------
// Open      ask                                       Asked     stages the request
// Asked     answer: refuse                            Open      none
// Asked     answer: agree                             Agreed    next()
// Agreed    next: a slot followed the request         Open      none: that slot tells the peer
// Agreed    next: nothing followed, drained           Ended     kEnd: closes the endpoint, frees the memory
// Agreed    next: nothing followed, not drained       Open      kGoOn: stages the message that says so
// Open      request, then next: drained               Answered  kAgree: stages the answer, and writes no more
// Open      request, then next: not drained, or a slot followed  Open  kRefuse: stages the answer
// Asked     request, then next: higher rank, drained  Yielded   kAgree, as above
// Asked     request, then next: higher rank otherwise Asked     kRefuse
// Asked     request, lower rank                       Asked     answers when its own request is answered
// Answered  a slot of the peer                        Open      goes on writing
// Yielded   a slot of the peer                        Asked     goes on writing
// Answered, Yielded  lost                             Ended     closes the endpoint, frees the memory
// Agreed    lost, nothing followed, quiet             Ended     closes the endpoint, frees the memory
// Ended     restart                                   Open      none
//
// Slots are ordered, so both sides know whether a slot came after a request: such a slot takes the request back. The
// side that asked therefore never waits: it may send at any time. Who has agreed waits, since the end may come at any
// time, until it comes or a slot of the other side shows that the connection stays. Each request is answered once, and
// a side has one request at a time without an answer, so requests never fill the ring of a peer that computes.
#pragma once

#include <cstdint>

#include "protocol/state_log.h"
#include "protocol/wire.h"

namespace bufenlarge {

#define BUFENLARGE_CLOSE_STATES(X) X(Open) X(Asked) X(Agreed) X(Answered) X(Yielded) X(Ended)

class Close {
 public:
#define BUFENLARGE_STATE_ENUMERATOR(name) k##name,
  enum class State : std::uint8_t { BUFENLARGE_CLOSE_STATES(BUFENLARGE_STATE_ENUMERATOR) };
#undef BUFENLARGE_STATE_ENUMERATOR

  enum class Action : std::uint8_t {
    kNone,
    kAgree,   // stage the answer to the request peer_number(); write nothing more
    kRefuse,  // stage the answer to the request peer_number()
    kGoOn,    // stage the message that the connection stays
    kEnd,     // close the endpoint, free the memory
  };

  // `own_wins`: of two requests that cross, the own one is answered first.
  explicit Close(bool own_wins) : own_wins_(own_wins) {}

  // `log` is told every change of state; it outlives the machine.
  void set_log(StateLog* log) { log_ = log; }

  // ---- own request
  // Returns true if the own side may ask: nothing is under way.
  [[nodiscard]] bool may_ask() const { return state_ == State::kOpen && !asked(); }
  // Called when the own side wants to end the connection; returns the number of the request.
  [[nodiscard]] std::uint32_t ask();
  // Called when the request is staged; `end` is the position after its slot.
  void requested(std::uint64_t end) { end_ = end; }

  // ---- from the peer
  // Called for every slot of the peer while watchful(), before its contents. Returns true if the own side may write
  // again.
  [[nodiscard]] bool on_slot();
  // Called with a message of the peer. Returns false if the peer broke the protocol. `resumed`: what on_slot() said.
  [[nodiscard]] bool on_message(const CloseMessage& message, bool resumed);
  // Called when the connection is lost and all slots of the peer were taken. `quiet`: no read, response or write is
  // open, no message of the peer is, and no ring is being exchanged; `staged`: the position after the last own slot.
  // Returns true if that is the end that was agreed.
  [[nodiscard]] bool on_lost(bool quiet, std::uint64_t staged);

  // Called while pending(). `drained`: nothing is under way; `drained_for_room`: the same by the rule for a request
  // that needs room; `staged`: the position after the last own slot.
  [[nodiscard]] Action next(bool drained, bool drained_for_room, std::uint64_t staged);

  // Called when a new connection begins.
  void restart();

  [[nodiscard]] State state() const { return state_; }
  // Returns true if the own side may write nothing.
  [[nodiscard]] bool holds() const { return state_ == State::kAnswered || state_ == State::kYielded; }
  // Returns true if a slot of the peer changes something.
  [[nodiscard]] bool watchful() const { return watchful_; }
  // Returns true if next() has something to decide.
  [[nodiscard]] bool pending() const {
    const bool deferred = state_ == State::kAsked && own_wins_;
    return state_ == State::kAgreed || (asked() && !deferred);
  }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t peer_number() const { return peer_number_; }

 private:
  enum class Asked : std::uint8_t { kNo, kStands, kVoid };  // the peer's request without an answer

  [[nodiscard]] bool asked() const { return asked_ != Asked::kNo; }
  [[nodiscard]] Action answer(bool drained, bool drained_for_room);
  void set_state(State next, const char* why);
  void update_watch() { watchful_ = holds() || asked_ == Asked::kStands; }

  std::uint64_t end_ = 0;
  StateLog* log_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint32_t peer_number_ = 0;
  State state_ = State::kOpen;
  Asked asked_ = Asked::kNo;
  bool for_room_ = false;  // the peer's request
  bool watchful_ = false;
  bool own_wins_;
};

const char* to_string(Close::State state);

}  // namespace bufenlarge
