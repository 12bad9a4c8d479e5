// SPDX-License-Identifier: MIT
// The life of one channel's connection, seen from one side (docs/wire-protocol.md, section 8).
//
// from        event                                     to          action
// ----------  ----------------------------------------  ----------  -------------------------------
// Idle        want                                      Wanted      none
// Wanted      tick, an attempt is free                  Connecting  kOpen
// Connecting  connected                                 Ready       kSendHello: the active side is first
// Connecting  rejected: crossing                        Yielding    kClose
// Connecting  rejected: stale / refused / lost          Backoff     kClose (kFail past the limit)
// Connecting  rejected: version, geometry, unauthorized     Failed      kFail
// Connecting  request, own rank lower                   Connecting  kReject: crossing
// Connecting  request, own rank higher                  Accepting   kReplace: drop own, accept
// Yielding    tick, limit passed                        Wanted      none (the peer's did not come)
// Backoff     tick, pause over                          Wanted      none
// Idle, Wanted, Yielding, Backoff   request             Accepting   kAccept
// Accepting   connected                                 Silent      none: iWARP, peer must be first
// Accepting, Silent  request, newer attempt             Accepting   kReplace
// Accepting, Silent, Ready  request otherwise           unchanged   kReject: stale
// Accepting, Silent  lost                               Idle or Wanted  kClose
// Silent      first message                             Ready       none
// Ready       lost                                      Failed      kFail
//
// Silence is not failure: a peer that computes outside MPI responses when it comes back. The time limit
// counts while the peer's side refuses or cannot be reached.
#pragma once

#include <cstdint>

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
    kOpen,     // begin attempt() to the peer
    kSendHello,    // send SlotKind::kHello
    kAccept,   // the request at hand
    kReplace,  // close the own endpoint, then accept the request at hand
    kReject,   // the request at hand, for reject_reason()
    kClose,    // close the own endpoint
    kFail,     // close it; the channel is lost
  };

  // `own_rank` and `peer_rank` differ. `limit_us`: how long refusals are taken for passing ones.
  Connect(std::uint32_t own_rank, std::uint32_t peer_rank, std::uint64_t limit_us)
      : limit_us_(limit_us), own_wins_(own_rank < peer_rank) {}

  void want(std::uint64_t now_us);
  // `attempt_free`: the bound on outstanding attempts of the context allows one more.
  [[nodiscard]] Action tick(std::uint64_t now_us, bool attempt_free);
  [[nodiscard]] Action on_connected();
  [[nodiscard]] Action on_rejected(RejectReason reason, std::uint64_t now_us, std::uint32_t random);
  // The attempt was refused, could not reach the peer, or an established connection broke.
  [[nodiscard]] Action on_lost(std::uint64_t now_us, std::uint32_t random);
  [[nodiscard]] Action on_request(std::uint16_t attempt);
  void on_first_message();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool ready() const { return state_ == State::kReady; }
  [[nodiscard]] bool established() const { return state_ == State::kReady || state_ == State::kSilent; }
  // tick() has something to wait for.
  [[nodiscard]] bool timed() const {
    return state_ == State::kWanted || state_ == State::kYielding || state_ == State::kBackoff;
  }
  [[nodiscard]] std::uint16_t attempt() const { return attempt_; }
  [[nodiscard]] RejectReason reject_reason() const { return reject_reason_; }
  [[nodiscard]] std::uint32_t crossings() const { return crossings_; }

  static constexpr std::uint64_t kPauseMinUs = 1'000;
  static constexpr std::uint64_t kPauseMaxUs = 1'000'000;
  static constexpr std::uint64_t kYieldUs = 1'000'000;

 private:
  void set_state(State next);
  [[nodiscard]] Action retry(std::uint64_t now_us, std::uint32_t random);
  [[nodiscard]] Action reject(RejectReason reason);

  std::uint64_t limit_us_;
  std::uint64_t wanted_since_us_ = 0;
  std::uint64_t wake_us_ = 0;
  std::uint64_t pause_us_ = kPauseMinUs;
  std::uint32_t crossings_ = 0;
  std::uint16_t attempt_ = 0;       // own, as active side
  std::uint16_t peer_attempt_ = 0;  // accepted, as passive side
  RejectReason reject_reason_ = RejectReason::kUnauthorized;
  State state_ = State::kIdle;
  bool own_wins_;
  bool wanted_ = false;  // the own side has something to send
};

const char* to_string(Connect::State state);

}  // namespace bufenlarge
