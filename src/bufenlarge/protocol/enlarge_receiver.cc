// SPDX-License-Identifier: MIT
#include "protocol/enlarge_receiver.h"

#include "check.h"
#include "protocol/digest.h"
#include "protocol/enlarge_sender.h"

namespace bufenlarge {

const char* to_string(EnlargeReceiver::State state) {
  switch (state) {
#define BUFENLARGE_STATE_NAME(name) \
  case EnlargeReceiver::State::k##name: return #name;
    BUFENLARGE_ENLARGE_RECEIVER_STATES(BUFENLARGE_STATE_NAME)
#undef BUFENLARGE_STATE_NAME
  }
  return "?";
}

void EnlargeReceiver::set_state(State next, const char* why) {
  using enum State;
  const bool legal = (state_ != kSwapping && next == kSwapping) ||
                     (state_ == kSwapping && next == kAcked) || (state_ == kAcked && next == kSteady);
  BUFENLARGE_CHECK(legal);
  if (log_ != nullptr) log_->state_changed("enlargement, receiver", to_string(state_), to_string(next), why);
  state_ = next;
}

bool EnlargeReceiver::on_request(EnlargeRequest request, const PhaseTable& table) {
  const bool allowed = request.number == request_.number + 1 && request.phase < table.count;
  if (!allowed || state_ == State::kSwapping) return false;
  request_ = request;
  set_state(State::kSwapping, "a request of the peer");
  return true;
}

void EnlargeReceiver::swapped(const EnlargeAck& ack) {
  set_state(State::kAcked, "the new ring is provisioned");
  ack_ = ack;
}

bool EnlargeReceiver::on_repeat(EnlargeRequest request) const {
  return state_ == State::kAcked && request.number == request_.number;
}

void EnlargeReceiver::confirmed() { set_state(State::kSteady, "the first slot of the new ring"); }

void EnlargeReceiver::restart() {
  BUFENLARGE_CHECK(state_ == State::kSteady);
  request_ = {0, 0};
}

EnlargeAck seal_ack(EnlargeAck ack, std::uint32_t number) {
  ack.number = number;
  ack.reserved = 0;
  ack.head = ack_head(number);
  ack.tail = ack_tail(number);
  ack.check = ack_check(ack);
  return ack;
}

}  // namespace bufenlarge
