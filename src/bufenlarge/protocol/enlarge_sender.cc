// SPDX-License-Identifier: MIT
#include "protocol/enlarge_sender.h"

#include <algorithm>

#include "check.h"
#include "protocol/digest.h"

namespace bufenlarge {

std::uint64_t ack_head(std::uint32_t number) { return 0x4845414400000000u | number; }  // "HEAD"
std::uint64_t ack_tail(std::uint32_t number) { return 0x5441494c00000000u | number; }  // "TAIL"

const char* to_string(EnlargeSender::State state) {
  switch (state) {
#define BUFENLARGE_STATE_NAME(name) \
  case EnlargeSender::State::k##name: return #name;
    BUFENLARGE_ENLARGE_SENDER_STATES(BUFENLARGE_STATE_NAME)
#undef BUFENLARGE_STATE_NAME
  }
  return "?";
}

void EnlargeSender::set_state(State next, const char* why) {
  using enum State;
  const bool legal = (state_ == kSteady && next == kRequestDue) ||
                     (state_ == kRequestDue && next == kRequested) ||
                     (state_ == kRequested && (next == kHeadSeen || next == kSwapping)) ||
                     (state_ == kHeadSeen && (next == kRequested || next == kSwapping)) ||
                     (state_ == kSwapping && next == kSteady);
  BUFENLARGE_CHECK(legal);
  if (log_ != nullptr) log_->state_changed("enlargement, sender", to_string(state_), to_string(next), why);
  state_ = next;
}

void EnlargeSender::expect_by(std::uint64_t now_us) { deadline_us_ = now_us + timeout_us_ * pause_factor_; }

void EnlargeSender::need(std::uint8_t phase, const char* why) {
  set_state(State::kRequestDue, why);
  ++number_;
  wanted_ = phase;
  pause_factor_ = 1;
}

void EnlargeSender::requested(std::uint64_t base, std::uint64_t now_us) {
  BUFENLARGE_CHECK(state_ == State::kRequestDue);
  base_ = base;
  set_state(State::kRequested, "the request is in its slot");
  expect_by(now_us);
}

bool EnlargeSender::whole(const EnlargeAck& seen, const PhaseTable& table) const {
  if (seen.tail != ack_tail(number_) || seen.check != ack_check(seen)) return false;
  if (seen.number != number_ || seen.base != base_ || seen.phase >= table.count) return false;
  const Phase& phase = table.at(seen.phase);
  const bool provisioned = seen.status == static_cast<std::uint8_t>(AckStatus::kProvisioned);
  const bool refused = seen.status == static_cast<std::uint8_t>(AckStatus::kRefused) ||
                       seen.status == static_cast<std::uint8_t>(AckStatus::kRefusedByLimit);
  if (!provisioned && !refused) return false;
  if (provisioned && seen.phase != wanted_) return false;
  return seen.slot_bytes == phase.slot_bytes && seen.slots == phase.slots;
}

EnlargeSender::Verdict EnlargeSender::poll(const EnlargeAck& seen, const PhaseTable& table,
                                           std::uint64_t now_us) {
  BUFENLARGE_CHECK(waiting());
  if (seen.head == ack_head(number_)) {
    // Where a device reorders, head and tail may be placed before the body. So until the time limit an
    // acknowledgement whose check does not hold counts as not whole yet.
    if (whole(seen, table)) {
      ack_ = seen;
      set_state(State::kSwapping, "the acknowledgement is whole");
      return Verdict::kAccepted;
    }
    if (state_ == State::kRequested) {
      set_state(State::kHeadSeen, "the head of the acknowledgement is there");
      deadline_us_ = now_us + timeout_us_;
    }
  }
  if (now_us < deadline_us_) return Verdict::kNothing;
  if (state_ == State::kHeadSeen) {
    ++rejected_;
    set_state(State::kRequested, "the acknowledgement stayed torn, or is corrupt");
  }
  ++repeats_;
  pause_factor_ = std::min(pause_factor_ * 2, kPauseFactorMax);
  expect_by(now_us);
  return Verdict::kRepeat;
}

void EnlargeSender::restart() {
  BUFENLARGE_CHECK(steady());
  number_ = 0;
}

void EnlargeSender::swapped() { set_state(State::kSteady, "the new ring is in use"); }

}  // namespace bufenlarge
