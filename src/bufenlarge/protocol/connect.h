// SPDX-License-Identifier: MIT
// The life of one channel's connection, seen from one side (docs/wire-protocol.md, section 8).
//
// from        event                                      to          action
// ----------  -----------------------------------------  ----------  -------------------------------
// Idle        want                                       Wanted      none
// Wanted      tick, an attempt is free                   Connecting  kOpen
// Connecting  connected                                  Ready       kSendHello: the active side writes first
// Connecting  rejected: crossing                         Yielding    kClose
// Connecting  rejected: stale, lost, or unreachable      Backoff     kClose (Failed, kFail past the limit)
// Connecting  interrupted, or gave way                   Backoff     kClose: takes nothing from the limit
// Connecting  rejected: version, geometry, unauthorized  Failed      kFail
// Connecting  rejected: no room                          Backoff     kClose, however long it takes
// Connecting  request, own rank lower                    Connecting  kReject: crossing
// Connecting  request, own rank higher                   Accepting   kReplace: drop own, accept
// Yielding    tick, limit passed                         Wanted      none: the peer's request did not come
// Backoff     tick, pause over                           Wanted      none
// Idle, Wanted, Yielding, Backoff   request              Accepting   kAccept
// Accepting   connected                                  Silent      none: on iWARP the peer writes first
// Accepting, Silent  request, newer attempt              Accepting   kReplace
// Accepting, Silent  request otherwise                   unchanged   kReject: stale
// Ready, Failed      request                             unchanged   kReject: stale
// Accepting, Silent  lost                                Idle or Wanted  kClose
// Silent      first message                              Ready       none
// Ready       lost                                       Failed      kFail
// Ready       ended by agreement                         Idle or Wanted  none: the caller has closed the endpoint
// Ready       tick, an answer is due                     unchanged   kRepeat, after pauses: see expect_answer()
//
// Silence is not a failure: a peer that computes outside MPI responds when it comes back, and an attempt
// waits for it without limit. The time limit ends the attempts at a peer that refuses them or cannot be
// reached. It runs from the first refusal, and anew from a refusal that comes after silence, after a request of the
// peer, or after a crossing that the peer's attempt won; of an attempt that did not reach the peer's host it takes
// the whole time. While no attempt is free, and while the own side has no room for one, it stands still.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/state_log.h"
#include "protocol/wire.h"

namespace bufenlarge {

#define BUFENLARGE_CONNECT_STATES(X) \
  X(Idle) X(Wanted) X(Connecting) X(Yielding) X(Backoff) X(Accepting) X(Silent) X(Ready) X(Failed)

class Connect {
 public:
#define BUFENLARGE_STATE_ENUMERATOR(name) k##name,
  enum class State : std::uint8_t { BUFENLARGE_CONNECT_STATES(BUFENLARGE_STATE_ENUMERATOR) };
#undef BUFENLARGE_STATE_ENUMERATOR

  enum class Action : std::uint8_t {
    kNone,
    kOpen,       // open an endpoint and connect it to the peer, with the number attempt()
    kSendHello,  // send a slot of SlotKind::kHello
    kAccept,     // accept the request at hand
    kReplace,    // close the own endpoint, then accept the request at hand
    kReject,     // reject the request at hand with reject_reason()
    kClose,      // close the own endpoint
    kFail,       // close the own endpoint; the channel is lost
    kRepeat,     // write a word again that the peer has
  };

  // `own_rank` and `peer_rank` differ; the lower one wins a crossing. For `limit_us` microseconds after
  // the first refusal the machine answers a refusal with another attempt, after that with kFail.
  Connect(std::uint32_t own_rank, std::uint32_t peer_rank, std::uint64_t limit_us)
      : limit_us_(limit_us), own_wins_(own_rank < peer_rank) {}

  // Times are microseconds of one monotonic clock. `random` spreads the next attempts of several processes.
  //
  // `log` is told every change of state; it outlives the machine.
  void set_log(StateLog* log) { log_ = log; }

  // Called when the own side has something to send; calls after the first change nothing.
  void want(std::uint64_t now_us);
  // Called again and again while timed(). `attempt_free`: the context may have one more attempt under way.
  [[nodiscard]] Action tick(std::uint64_t now_us, bool attempt_free);
  // Called when a connection is established: the own attempt was accepted, or the peer's was.
  [[nodiscard]] Action on_connected();
  // Called after kSendHello where the first writes of a connection may stay unseen until another one comes. Asks for
  // such a one, again and again after growing pauses, until on_answer(): something of the peer has arrived.
  void expect_answer(std::uint64_t now_us);
  void on_answer() { repeat_pause_us_ = 0; }
  [[nodiscard]] bool answer_due() const { return ready() && repeat_pause_us_ != 0; }
  // Called when the peer rejects the own attempt and gives a reason.
  [[nodiscard]] Action on_rejected(RejectReason reason, std::uint64_t now_us, std::uint32_t random);
  // Called when the own attempt was refused without a reason, and when a connection broke.
  [[nodiscard]] Action on_lost(std::uint64_t now_us, std::uint32_t random);
  // Called when the own attempt got no response from the peer's host.
  [[nodiscard]] Action on_unreachable(std::uint64_t now_us, std::uint32_t random);
  // Called when the own attempt ended for a reason that has nothing to do with the peer.
  [[nodiscard]] Action on_interrupted(std::uint64_t now_us, std::uint32_t random);
  // Called when the peer asks for a connection; `attempt` is the number in its Hello.
  [[nodiscard]] Action on_request(std::uint16_t attempt);
  // Called when the own side has no room for its attempt, or needs that room for another connection.
  [[nodiscard]] Action on_gave_way(std::uint64_t now_us, std::uint32_t random);
  // Called in Ready when the own side has agreed to the end: what is wanted from now on is another connection.
  void settle() { wanted_ = false; }
  // Called in Ready when the connection has ended by agreement.
  void on_ended();
  // Called when the first slot of the peer has arrived.
  void on_first_message();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool ready() const { return state_ == State::kReady; }
  [[nodiscard]] bool established() const { return state_ == State::kReady || state_ == State::kSilent; }
  // Returns true if the state changes with time: the caller has to call tick().
  [[nodiscard]] bool timed() const {
    return state_ == State::kWanted || state_ == State::kYielding || state_ == State::kBackoff || answer_due();
  }
  [[nodiscard]] std::uint16_t attempt() const { return attempt_; }
  [[nodiscard]] RejectReason reject_reason() const { return reject_reason_; }
  [[nodiscard]] std::uint32_t crossings() const { return crossings_; }

  // The pause before another attempt doubles from the first to the second of these.
  static constexpr std::uint64_t kPauseMinUs = 1'000;
  static constexpr std::uint64_t kPauseMaxUs = 1'000'000;
  // The longest where there was no room.
  static constexpr std::uint64_t kRoomPauseMaxUs = 16'000;
  // The pause before another repetition doubles from the first to the second of these.
  static constexpr std::uint64_t kRepeatPauseUs = 20'000;
  static constexpr std::uint64_t kRepeatPauseMaxUs = 2'560'000;
  // How long a side that lost a crossing waits for the peer's request.
  static constexpr std::uint64_t kYieldUs = 1'000'000;
  // An attempt that was out this long before it was refused had met silence. Longer than the 3 s in which Linux finds
  // that a neighbour does not answer ARP, and than the 2 s that libfabric gives the resolution of an address; shorter
  // than the 10 s after which siw gives up a peer that computes.
  static constexpr std::uint64_t kSilenceUs = 5'000'000;

 private:
  void set_state(State next, const char* why);
  [[nodiscard]] Action retry(std::uint64_t now_us, std::uint32_t random, std::uint64_t refusing_since_us);
  [[nodiscard]] Action back_off(std::uint64_t now_us, std::uint32_t random, const char* why);
  [[nodiscard]] Action pass_over(std::uint64_t now_us, std::uint32_t random, const char* why);
  [[nodiscard]] Action reject(RejectReason reason);

  std::uint64_t limit_us_;
  std::uint64_t opened_us_ = 0;    // when the last own attempt began
  std::uint64_t refused_us_ = 0;   // when the limit began to run, with refused_
  std::optional<std::uint64_t> blocked_us_;  // since when no attempt is free
  std::uint64_t wake_us_ = 0;
  std::uint64_t pause_us_ = kPauseMinUs;
  std::uint64_t repeat_pause_us_ = 0;  // in Ready; 0: no answer is due
  std::uint32_t crossings_ = 0;
  std::uint16_t attempt_ = 0;       // number of the last own attempt, as active side
  std::uint16_t peer_attempt_ = 0;  // number of the peer's attempt that was accepted, as passive side
  RejectReason reject_reason_ = RejectReason::kUnauthorized;
  State state_ = State::kIdle;
  StateLog* log_ = nullptr;
  bool own_wins_;
  bool wanted_ = false;  // the own side has something to send
  bool refused_ = false;
};

const char* to_string(Connect::State state);

}  // namespace bufenlarge
