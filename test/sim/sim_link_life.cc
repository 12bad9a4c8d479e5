// SPDX-License-Identifier: MIT
// How a link begins and ends, and whether the host at its other end responds.
#include <algorithm>
#include <cstring>

#include "sim/sim_port.h"

namespace bufenlarge::sim {

void SimEndpoint::pair(SimEndpoint& other, bool active) {
  other_ = &other;
  active_ = active;
  stalled_ = active && port_.first_write_may_stall() && fabric_.random.chance(fabric_.faults.first_stalls);
  fabric_.totals.first_stalled += stalled_;
  Hello theirs{};
  std::memcpy(&theirs, other.hello.data(), std::min(other.hello.size(), kHelloBytes));
  rules_.announce(theirs);
  rules_.pair(other.rules_);
}

// Reads of the own memory end here; what was read still travels, but nothing behind a write that was not.
void SimEndpoint::drop_unread() {
  const auto unread = std::ranges::find(writes_, false, &Write::read);
  for (auto at = unread; at != writes_.end(); ++at)
    if (!at->complete && at->source != nullptr) at->source->add_reader(at->from, -1);
  writes_.erase(unread, writes_.end());
  for (Write& write : writes_) {
    write.reread_us = 0;
    if (write.complete) continue;
    write.complete = true;
    if (write.source != nullptr) write.source->add_reader(write.from, -1);
  }
  incomplete_ = 0;
  if (other_ == nullptr || broken_) writes_.clear();
  drop_done();
}

bool SimEndpoint::all_read() const {
  return std::ranges::all_of(writes_, [](const Write& write) { return write.read; });
}

// A connection that was used ends by agreement, or because the other side is gone.
void SimEndpoint::check_close() const {
  if (!port_.alive() || other_ == nullptr || broken_ || !other_->open() || !other_->port_.alive()) return;
  if (rules_.next() == 0 && other_->rules_.next() == 0) return;
  if (!rules_.may_close(other_->rules_))
    fabric_.violate("rank " + std::to_string(rank_) + " closed its connection to rank " +
                    std::to_string(other_->rank_) + " without an agreement");
}

void SimEndpoint::set_broken() {
  broken_ = true;
  if (other_ != nullptr) fabric_.busy.wake(*this);
}

void SimEndpoint::close() {
  check_close();
  stalled_ = false;
  user_ = nullptr;
  fabric_.moved = true;
  drop_unread();
  fabric_.busy.wake(*this);
}

void SimEndpoint::crash() {
  stalled_ = false;
  user_ = nullptr;
  drop_unread();
  if (fabric_.random.chance(500)) writes_.clear();
  fabric_.busy.wake(*this);
}

// The other side learns nothing: it may go on writing until its queue is full.
void SimEndpoint::vanish() {
  stalled_ = false;
  user_ = nullptr;
  drop_unread();
  writes_.clear();
  closed_seen_ = true;
  if (other_ == nullptr) return;
  other_->set_gone();
  other_->set_broken();
}

// ---- whether the other side's host responds: that of a process that pauses does

void SimEndpoint::ask() {
  ++fabric_.totals.questions;
  response_us_ = fabric_.clock.now_us() + fabric_.delay(fabric_.faults.response_us_max);
}

bool SimEndpoint::responded() const { return !gone_ && fabric_.clock.now_us() >= response_us_; }

}  // namespace bufenlarge::sim
