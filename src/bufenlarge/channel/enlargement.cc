// SPDX-License-Identifier: MIT
#include "channel/enlargement.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "protocol/connect.h"
#include "protocol/words.h"

namespace bufenlarge {

template <class PortT>
Enlargement<PortT>::Enlargement(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring)
    : link_(link),
      send_ring_(send_ring),
      receive_ring_(receive_ring),
      sender_(link.core().settings.ack_timeout_us),
      policy_(link.core().settings.shrink_after_us),
      most_(link.core().settings.enlargement ? link.core().settings.phases.last() : std::uint8_t{0}),
      limit_(most_),
      earns_(link_.core().settings.growth == GrowthRule::kEarned) {
  sender_.set_log(link.state_log());
  receiver_.set_log(link.state_log());
}

template <class PortT>
void Enlargement<PortT>::end() {
  sender_.restart();
  receiver_.restart();
  growth_.restart();
  policy_.restart();
  peer_phase_ = 0;
}

template <class PortT>
void Enlargement<PortT>::service(std::uint64_t now_us) {
  if (sender_.state() == EnlargeSender::State::kRequestDue) serve_request();
  if (sender_.waiting()) serve_acknowledgement(now_us);
  if (sender_.state() == EnlargeSender::State::kSwapping) exchange_send_ring(now_us);
  if (!link_.failed() && receiver_.acked()) serve_repeat_word();
  if (!link_.failed() && ack_due_) post_acknowledgement();
  if (!link_.failed() && repeat_due_)
    repeat_due_ = !link_.post_word(offsetof(ControlInbox, repeat), sizeof(RepeatWord));
}

// ---- sending direction

template <class PortT>
void Enlargement<PortT>::ask(std::uint8_t phase, const char* why) {
  sender_.need(phase, why);
  asked_us_ = link_.port().now_us();
  send_ring_.pause();
  serve_request();
  if (!link_.failed()) link_.want_service();
}

// The peer's ring of that phase may have more slots than the present one, and the own ring then needs as many: where
// memory is limited, that for the smallest is entered first. False when there is none.
template <class PortT>
bool Enlargement<PortT>::hold_least(std::uint8_t phase) {
  const PhaseTable& phases = link_.core().settings.phases;
  const std::size_t bytes = std::size_t{phases.at(0).stride()} * phases.at(phase).slots;
  if (!link_.core().ledger.limited() || bytes <= send_ring_.registered_bytes()) return true;
  least_ = link_.core().ledger.enter(Ledger::Use::kBeginning, pinned_bytes<typename Port::Region>(bytes));
  return static_cast<bool>(least_);
}

template <class PortT>
bool Enlargement<PortT>::grow_to_limit() {
  if (!send_ring_.open()) return false;
  const std::uint8_t limit = limit_for(most_, send_ring_.capacity());
  if (send_ring_.phase() >= limit) return false;
  begin(limit);
  return true;
}

// By the rule of the seeds each element has to fit. What is earned is counted in slots, so there the message counts.
template <class PortT>
VectorPlan Enlargement<PortT>::plan(std::span<const iovec> vector) {
  const ChannelSettings& settings = link_.core().settings;
  const std::uint8_t present = send_ring_.phase();
  if (!earns_) {
    send_ring_.note_use(vector);
    if (send_ring_.room() == 0) send_ring_.note_use(present);
    return plan_vector(vector, settings.phases, present, limit(), settings.vector_mode);
  }
  const VectorSize size = size_of(vector);
  const std::uint8_t needed = settings.phases.phase_for_message(size.bytes, size.largest);
  const std::uint8_t limit = limit_for(needed, size.bytes);
  const VectorPlan plan = plan_vector(vector, settings.phases, present, limit, settings.vector_mode);
  const bool earned = std::min(needed, limit) > present;
  return earned && plan.elements == vector.size() ? VectorPlan{0, 0, std::min(needed, limit)} : plan;
}

// Only what there is room for now counts, also while no larger phase may be asked for.
template <class PortT>
std::uint8_t Enlargement<PortT>::limit_for(std::uint8_t needed, std::size_t bytes) {
  const std::uint8_t limit = this->limit();
  if (!earns_) {
    send_ring_.note_use(needed);
    return limit;
  }
  const std::uint32_t room = send_ring_.room(bytes / send_ring_.capacity() + 1);
  if (room == 0) {
    growth_.stand_still(link_.port().now_us());
    send_ring_.note_use(send_ring_.phase());
  }
  keep(needed, std::min(bytes, std::size_t{room} * send_ring_.capacity()));
  const std::uint8_t present = send_ring_.phase();
  if (std::min(needed, most_) <= present) return limit;
  return std::min(limit, spend(present, needed, bytes, room));
}

template <class PortT>
void Enlargement<PortT>::on_full(std::span<const iovec> vector) {
  const std::uint64_t position = send_ring_.producer().staged();
  if (!earns_ || position == full_at_ || !send_ring_.open()) return;
  if (send_ring_.message_open() || size_of(vector).largest > send_ring_.threshold_bytes()) return;
  full_at_ = position;
  const PhaseTable& phases = link_.core().settings.phases;
  const std::uint8_t present = send_ring_.phase();
  const std::uint8_t limit = this->limit();
  const std::uint32_t slots = phases.at(present).slots;
  std::uint8_t deeper = present;
  while (deeper < limit && phases.at(deeper).slots <= slots) ++deeper;
  if (phases.at(deeper).slots <= slots) return;
  const std::uint64_t now_us = link_.port().now_us();
  growth_.wait(deeper, slots, now_us);
  const std::uint8_t earned = growth_.earned(present, GrowthPolicy::cost(link_.core().exchange_us), now_us);
  if (earned != present) begin(std::min(limit, earned));
}

// Where directions go back, a phase is needed when it would be earned from the one that is known to be needed.
template <class PortT>
void Enlargement<PortT>::keep(std::uint8_t needed, std::size_t bytes) {
  const std::uint8_t used = send_ring_.used_phase();
  const std::uint8_t present = send_ring_.phase();
  if (!policy_.on() || std::min(needed, present) <= used) return;
  const std::uint32_t slots = link_.core().settings.phases.at(used).slots;
  const std::uint8_t earned = std::min(present, spend(used, std::min(needed, present), bytes, slots));
  if (earned != used) send_ring_.note_use(earned);
}

// Returns the phase beyond `from` that was earned; else `from`, and what these bytes cost there is spent.
template <class PortT>
std::uint8_t Enlargement<PortT>::spend(std::uint8_t from, std::uint8_t needed, std::size_t bytes, std::uint32_t room) {
  const std::uint64_t now_us = link_.port().now_us();
  const std::uint8_t earned = growth_.earned(from, GrowthPolicy::cost(link_.core().exchange_us), now_us);
  if (earned != from) return earned;
  const std::uint32_t capacity = link_.core().settings.phases.at(from).capacity();
  growth_.spend(needed, (bytes + capacity - 1) / capacity, room, now_us);
  return from;
}

template <class PortT>
std::uint8_t Enlargement<PortT>::limit_at(std::uint64_t now_us) {
  if (limit_ != most_ && (now_us >= refused_until_us_ || memory_is_back())) limit_ = most_;
  return policy_.may_change(now_us) ? limit_ : std::min(limit_, send_ring_.phase());
}

template <class PortT>
void Enlargement<PortT>::look_at_use(std::uint64_t now_us) {
  if (!policy_.due(now_us)) return;
  const std::uint8_t present = send_ring_.phase();
  const std::uint8_t phase = policy_.next(present, send_ring_.take_used_phase(), now_us);
  if (phase != present && hold_least(phase)) ask(phase, "so large a ring is not needed");
}

// The request is the last slot of its ring: nothing is staged after it before the exchange.
template <class PortT>
void Enlargement<PortT>::serve_request() {
  if (send_ring_.room() == 0) return;
  // The acknowledgement of an earlier request may still be there.
  std::memset(&link_.inbox().ack, 0, sizeof(EnlargeAck));
  const EnlargeRequest request = sender_.request();
  send_ring_.stage_control(SlotKind::kEnlargeRequest, std::as_bytes(std::span(&request, 1)));
  sender_.requested(send_ring_.producer().staged(), link_.port().now_us());
  send_ring_.flush();
}

template <class PortT>
void Enlargement<PortT>::serve_acknowledgement(std::uint64_t now_us) {
  std::atomic_thread_fence(std::memory_order_acquire);
  EnlargeAck seen;
  std::memcpy(&seen, &link_.inbox().ack, sizeof seen);
  switch (sender_.poll(seen, link_.core().settings.phases, now_us)) {
    case EnlargeSender::Verdict::kNothing:
      return;
    case EnlargeSender::Verdict::kAccepted:
      provision_retry_us_ = now_us;
      provision_give_up_us_ = now_us + link_.core().settings.connect_timeout_us;
      return;
    case EnlargeSender::Verdict::kRepeat:
      std::memset(&link_.inbox().ack, 0, sizeof(EnlargeAck));
      link_.outbox().repeat = make_repeat(sender_.request());
      repeat_due_ = true;
      return;
  }
}

template <class PortT>
void Enlargement<PortT>::exchange_send_ring(std::uint64_t now_us) {
  // The device may read the staging memory for a retransmission until its writes are complete.
  if (!send_ring_.all_complete() || now_us < provision_retry_us_) return;
  const EnlargeAck& ack = sender_.ack();
  const std::uint8_t present = send_ring_.phase();
  least_ = {};
  const std::optional<std::uint8_t> phase = provision_send_ring(ack);
  if (!phase) {
    provision_retry_us_ = now_us + Connect::kPauseMinUs;
    if (now_us >= provision_give_up_us_) link_.fail(Status::kMemoryError, link_.no_memory("a send ring of any size"));
    return;
  }
  send_ring_.aim_at(ack.ring_address, ack.ring_key, slot_stride(ack.slot_bytes));
  send_ring_.start(ack.base, ack.slots, *phase, ack.epoch);
  link_.trace("send ring: phase ", *phase, ", ", ack.slots, " slots of ", ack.slot_bytes, " bytes, epoch ", ack.epoch);
  sender_.swapped();
  send_ring_.resume();
  note_exchange(present, *phase, now_us);
}

template <class PortT>
void Enlargement<PortT>::count(DirectionCounters& counters, bool enlarged, bool shrunk, bool refused) {
  counters.enlargements += enlarged;
  counters.shrinks += shrunk;
  counters.refused += refused;
  link_.core().enlargements += enlarged;
  link_.core().shrinks += shrunk;
}

// The own ring may have caught up only, which is no change of the direction.
template <class PortT>
void Enlargement<PortT>::tell(RingChange change) const {
  if (link_.core().change_sink == nullptr) return;
  if (change.former == change.phase && change.refusal == Refusal::kNone) return;
  change.peer = link_.peer();
  change.ring_bytes = link_.ring_bytes().now;
  change.pinned_bytes = link_.core().ledger.bytes();
  link_.core().change_sink->changed(change);
}

template <class PortT>
Refusal Enlargement<PortT>::refusal(std::uint8_t phase) const {
  const EnlargeAck& ack = sender_.ack();
  if (phase == sender_.request().phase) return Refusal::kNone;
  if (ack.status == static_cast<std::uint8_t>(AckStatus::kRefusedByLimit)) return Refusal::kPeerByLimit;
  if (ack.status == static_cast<std::uint8_t>(AckStatus::kRefused)) return Refusal::kPeer;
  const bool by_limit = link_.beyond_limit(link_.core().settings.phases.at(ack.phase), use_of(ack.phase));
  return by_limit ? Refusal::kHereByLimit : Refusal::kHere;
}

// The direction has grown when the peer's ring has, so that both sides count the same: the own one may be smaller for
// now, and catch up while the peer refuses more.
//
// The receiver looks for repeat words until a slot of the new ring comes. After an enlargement the message that did not
// fit is that slot; a direction that goes back has nothing to send, so it gets an empty one.
template <class PortT>
void Enlargement<PortT>::note_exchange(std::uint8_t former, std::uint8_t phase, std::uint64_t now_us) {
  const std::uint8_t wanted = static_cast<std::uint8_t>(sender_.request().phase);
  const std::uint8_t peer_former = std::exchange(peer_phase_, sender_.ack().phase);
  const bool shrinks = wanted < peer_former;
  count(send_ring_.counters(), peer_phase_ > peer_former, peer_phase_ < peer_former, phase != wanted);
  tell({.sends = true, .former = peer_former, .phase = peer_phase_, .wanted = wanted, .refusal = refusal(phase)});
  if (phase < wanted)
    note_refusal(phase, now_us);
  else if (phase > former)
    refusals_ = 0;
  asked_us_ = std::min(asked_us_, now_us);  // this round may have begun before that
  settle_growth(former, phase, now_us);
  policy_.changed(former, phase, asked_us_, now_us);
  if (!shrinks) return;
  send_ring_.stage_control(SlotKind::kHello, {});
  send_ring_.flush();
}

// What one side has no memory for goes in smaller fragments.
template <class PortT>
void Enlargement<PortT>::note_refusal(std::uint8_t phase, std::uint64_t now_us) {
  const EnlargeAck& ack = sender_.ack();
  limited_here_ =
      phase < ack.phase && link_.beyond_limit(link_.core().settings.phases.at(ack.phase), Ledger::Use::kGrown);
  pause_growth(now_us, limited_here_ || ack.status == static_cast<std::uint8_t>(AckStatus::kRefusedByLimit));
}

// No ring larger than the present one is asked for, for a time.
template <class PortT>
void Enlargement<PortT>::pause_growth(std::uint64_t now_us, bool limited) {
  limit_ = send_ring_.phase();
  refused_until_us_ = now_us + (limited ? kLimitPauseUs : kRefusedPauseUs) *
                                   std::min(1u << std::min(refusals_++, 31u), kRefusedFactorMax);
}

template <class PortT>
void Enlargement<PortT>::settle_growth(std::uint8_t former, std::uint8_t phase, std::uint64_t now_us) {
  if (phase < former) growth_.restart();
  if (phase <= former) return;
  std::uint64_t& quickest_us = link_.core().exchange_us;
  const std::uint64_t took_us = std::max<std::uint64_t>(now_us - asked_us_, 1);
  quickest_us = quickest_us == 0 ? took_us : std::min(quickest_us, took_us);
}

// As many slots as the peer's ring has, of the largest phase that can be had: slots that are smaller than the peer's
// end where the peer's end (docs/wire-protocol.md, section 4.1). Where there is no other memory the slots come from
// what the ring has. Returns the phase; nothing when not even the smallest can be had now.
template <class PortT>
std::optional<std::uint8_t> Enlargement<PortT>::provision_send_ring(const EnlargeAck& ack) {
  for (int phase = ack.phase; phase >= 0; --phase) {
    Phase geometry = link_.core().settings.phases.at(static_cast<std::uint8_t>(phase));
    geometry.slots = ack.slots;
    const bool same = phase == send_ring_.phase() && send_ring_.divide(geometry);
    if (same || send_ring_.provision(geometry, use_of(phase)) || send_ring_.divide(geometry))
      return static_cast<std::uint8_t>(phase);
  }
  return std::nullopt;
}

}  // namespace bufenlarge
