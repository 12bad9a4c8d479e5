// SPDX-License-Identifier: MIT
// Enlargement of both directions of one channel, and their way back to smaller rings: the two machines of
// protocol/enlarge_sender.h and protocol/enlarge_receiver.h get their clocks, their words and their memory,
// protocol/growth_policy.h says when a larger ring is earned, and protocol/shrink_policy.h when a direction goes back.
//
// Who may call it: Channel, which begins the enlargement of a message that does not fit and serves what waits;
// RendezvousResponder, which grows before it responds through the ring.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "channel/change_sink.h"
#include "channel/peer_link.h"
#include "channel/receive_ring.h"
#include "channel/send_ring.h"
#include "protocol/enlarge_receiver.h"
#include "protocol/enlarge_sender.h"
#include "protocol/growth_policy.h"
#include "protocol/shrink_policy.h"
#include "protocol/vector_plan.h"

namespace bufenlarge {

template <class PortT>
class Enlargement {
 public:
  using Port = PortT;

  Enlargement(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring);

  // ---- sending direction
  // Asks the peer for a ring of this phase, which an element needs; nothing else is staged until it is in use.
  void begin(std::uint8_t phase) {
    if (hold_least(phase))
      ask(phase, "an element does not fit");
    else
      pause_growth(link_.port().now_us(), true);
  }
  // To be called before data goes through the ring, of which each slot is full: begins to grow as far as the direction
  // may. False when it need not or cannot, or has not earned that.
  [[nodiscard]] bool grow_to_limit();
  // The highest phase the sending direction may ask for now: the present one when enlargement is off, for a time after
  // a refusal, and right after a change: any where directions also shrink, else one that gave memory back.
  [[nodiscard]] std::uint8_t limit() {
    if (limit_ == most_ && policy_.idle()) [[likely]]
      return limit_;
    return limit_at(link_.port().now_us());
  }
  // What may go of this vector, which is sent now, and the phase to grow to because of it. When a larger ring is to be
  // earned (GROWTH), all of it goes until it is, and what takes several slots is noted.
  [[nodiscard]] VectorPlan plan(std::span<const iovec> vector);
  // There was no slot for a message that fits: where growth is earned, waiting is spent on the next phase that has more
  // slots. (What does not fit has spent it as fragments.)
  void on_full(std::span<const iovec> vector);
  // With nothing under way: the direction goes back to the first phase, for its memory is wanted.
  void give_back() {
    if (hold_least(0)) ask(0, "its memory is wanted");
  }
  // To be called now and then, with nothing under way: asks for a smaller ring when a large one is not needed.
  void look_at_use(std::uint64_t now_us);

  // ---- receiving direction
  // The request was the last slot of its ring. Exchanges the ring, or fails the channel.
  void on_request(EnlargeRequest request);
  // A slot of the new ring has arrived.
  void on_slot() {
    if (receiver_.acked()) receiver_.confirmed();
  }

  // The connection has ended: requests are counted anew.
  void end();
  // The channel has failed: no answer is waited for any more.
  void release() { least_ = {}; }

  // Does what waits; service() of the channel calls it while connected.
  void service(std::uint64_t now_us);
  [[nodiscard]] bool pending() const { return !sender_.steady() || receiver_.acked() || words_due(); }
  [[nodiscard]] bool words_due() const { return ack_due_ || repeat_due_; }

  [[nodiscard]] const EnlargeSender& sender() const { return sender_; }

  // A refused direction asks again after this time, which doubles with each refusal up to so many times as much. Where
  // a limit refused it memory comes back soon.
  static constexpr std::uint64_t kRefusedPauseUs = 1'000'000;
  static constexpr std::uint64_t kLimitPauseUs = 20'000;
  static constexpr std::uint32_t kRefusedFactorMax = 64;

 private:
  [[nodiscard]] std::uint8_t limit_at(std::uint64_t now_us);
  // The highest phase it may ask for because of so many bytes, which are sent now and need this phase.
  [[nodiscard]] std::uint8_t limit_for(std::uint8_t needed, std::size_t bytes);
  [[nodiscard]] static Ledger::Use use_of(int phase) {
    return phase == 0 ? Ledger::Use::kBeginning : Ledger::Use::kGrown;
  }
  void keep(std::uint8_t needed, std::size_t bytes);
  [[nodiscard]] std::uint8_t spend(std::uint8_t from, std::uint8_t needed, std::size_t bytes, std::uint32_t room);
  void ask(std::uint8_t phase, const char* why);
  [[nodiscard]] bool hold_least(std::uint8_t phase);
  void serve_request();
  void serve_acknowledgement(std::uint64_t now_us);
  void exchange_send_ring(std::uint64_t now_us);
  // One exchange of a direction, in its counters and in the context's.
  void count(DirectionCounters& counters, bool enlarged, bool shrunk, bool refused);
  // To be called when the exchange is done, with what the sink is to know of it.
  void tell(RingChange change) const;
  // Why the own ring is of this phase and not of the one that was wanted.
  [[nodiscard]] Refusal refusal(std::uint8_t phase) const;
  void note_exchange(std::uint8_t former, std::uint8_t phase, std::uint64_t now_us);
  void note_refusal(std::uint8_t phase, std::uint64_t now_us);
  void pause_growth(std::uint64_t now_us, bool limited);
  // The own ring is smaller than the peer's, because of a limit that allows a larger one now.
  [[nodiscard]] bool memory_is_back() const {
    return limited_here_ && !link_.beyond_limit(link_.core().settings.phases.at(peer_phase_), Ledger::Use::kGrown);
  }
  void settle_growth(std::uint8_t former, std::uint8_t phase, std::uint64_t now_us);
  [[nodiscard]] std::optional<std::uint8_t> provision_send_ring(const EnlargeAck& ack);
  [[nodiscard]] AckStatus provision_receive_ring(std::uint8_t wanted);
  void acknowledge(AckStatus status);
  void post_acknowledgement();
  void serve_repeat_word();

  PeerLink<Port>& link_;
  SendRing<Port>& send_ring_;
  ReceiveRing<Port>& receive_ring_;
  EnlargeSender sender_;
  EnlargeReceiver receiver_;
  GrowthPolicy growth_;
  ShrinkPolicy policy_;
  Ledger::Entry least_;                     // for the smallest send ring that the answer may ask for
  std::uint64_t asked_us_ = 0;              // when the change that is under way began
  std::uint64_t provision_retry_us_ = 0;    // when memory for a send ring is asked for again
  std::uint64_t provision_give_up_us_ = 0;  // from when on the channel fails without
  std::uint64_t refused_until_us_ = 0;      // with a limit_ below most_: when more may be asked for again
  std::uint64_t full_at_ = ~std::uint64_t{0};  // the position for which there was no slot last
  std::uint32_t refusals_ = 0;              // since a larger ring was had
  bool limited_here_ = false;               // the last one, by the own limit
  const std::uint8_t most_;
  std::uint8_t limit_;
  std::uint8_t peer_phase_ = 0;  // of the peer's receive ring
  const bool earns_;
  bool ack_due_ = false;
  bool repeat_due_ = false;
};

}  // namespace bufenlarge
