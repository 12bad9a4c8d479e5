// SPDX-License-Identifier: MIT
// The rules of docs/wire-protocol.md, section 12, as what crosses the wire shows them.
#include <cstring>

#include "sim/sim_rules.h"

namespace bufenlarge::sim {

std::string SimRules::check_close_slot(const SlotTrailer& trailer, const std::byte* end) {
  close_ = {};
  if (trailer.kind != static_cast<std::uint8_t>(SlotKind::kClose)) return "";
  if (trailer.bytes != sizeof close_) return "a message for closing of another size";
  std::memcpy(&close_, end - sizeof trailer - sizeof close_, sizeof close_);
  const auto is = [this](CloseStep step) { return close_.step == static_cast<std::uint8_t>(step); };
  if (is(CloseStep::kRequest)) {
    if (request_open_) return "a second request to close before the first was answered";
    if (close_.number != ++request_) return "a request to close with another number than the next";
    request_open_ = true;
    request_end_ = next_;
  } else if (is(CloseStep::kAgree) || is(CloseStep::kRefuse)) {
    if (close_.number != to_answer_) return "an answer to no request to close";
    to_answer_ = 0;
    if (is(CloseStep::kAgree)) agreed_ = close_.number, agreed_end_ = peer_->request_end_;
  } else if (!is(CloseStep::kGoOn) || close_.number != request_) {
    return "a message for closing without a meaning";
  }
  peer_->on_close_of(*this);
  return "";
}

void SimRules::on_close_of(SimRules& peer) {
  const auto is = [&peer](CloseStep step) { return peer.close_.step == static_cast<std::uint8_t>(step); };
  if (is(CloseStep::kRequest)) to_answer_ = peer.request_;
  if (is(CloseStep::kAgree) || is(CloseStep::kRefuse)) request_open_ = false;
}

bool SimRules::holds(const SimRules& peer) const { return agreed_ != 0 && peer.placed_ <= agreed_end_; }

bool SimRules::may_close(const SimRules& peer) const {
  return request_ != 0 && peer.agreed_ == request_ && next_ == request_end_;
}

}  // namespace bufenlarge::sim
