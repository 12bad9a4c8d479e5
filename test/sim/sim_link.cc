// SPDX-License-Identifier: MIT
#include "sim/sim_link.h"

#include <algorithm>
#include <cstring>

#include "protocol/digest.h"
#include "sim/sim_port.h"

namespace bufenlarge::sim {

namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

std::string text_of(WriteKind kind) {
  return kind == WriteKind::kSlots  ? "slots"
         : kind == WriteKind::kData ? "data"
         : kind == WriteKind::kAck  ? "an acknowledgement"
                                    : "a word";
}

}  // namespace

// ---- what happens to a write (planned in sim_write_faults.cc)

void SimEndpoint::read(Write& write) {
  fabric_.moved = true;
  fabric_.totals.rereads += write.read;
  write.read = true;
  // A second acknowledgement of a request may still travel when the peer, which has used the first, asks for more:
  // then it is the next acknowledgement that arrives, or parts of both.
  const bool used = write.kind == WriteKind::kAck && other_->rules_.used_ack() >= write.ack.number;
  const bool changed = used && std::memcmp(write.from, &write.ack, sizeof write.ack) != 0;
  const std::uint32_t kept = changed ? fabric_.random.below(sizeof write.ack) : 0;
  fabric_.totals.acks_changed += changed;
  std::memcpy(write.bytes.data() + kept, write.from + kept, write.bytes.size() - kept);
  write.flip();
  if (!changed && digest32(write.from, write.bytes.size()) != write.posted_digest)
    fabric_.violate("rank " + std::to_string(rank_) + " changed memory that a posted write had yet to read: " +
                    text_of(write.kind));
}

void SimEndpoint::complete(Write& write) {
  write.complete = true;
  --incomplete_;
  if (write.source == nullptr) return;
  write.source->add_reader(write.from, -1);
  // An acknowledgement may be used, and its place with it, before its completion is here.
  if ((write.kind == WriteKind::kSlots || write.kind == WriteKind::kData) &&
      digest32(write.from, write.bytes.size()) != write.posted_digest)
    fabric_.violate("rank " + std::to_string(rank_) + " changed memory before its write was complete");
}

void SimEndpoint::place(Write& write, const Part& part) {
  fabric_.moved = true;
  if (!other_->open()) return;  // nobody is there any more
  std::byte* to = other_->port_.memory().at(write.key, write.address, write.bytes.size());
  if (to == nullptr) {
    fabric_.violate("rank " + std::to_string(rank_) + " wrote into closed memory of rank " +
                    std::to_string(other_->rank_) + " (key " + std::to_string(write.key) + ")");
    return;
  }
  std::memcpy(to + part.offset, write.bytes.data() + part.offset, part.bytes);
  fabric_.active.note(other_->rank_);
  other_->spoken_to_ = true;
  // The last part may be what lies there already, and then the slot is whole before.
  if (write.kind == WriteKind::kSlots) rules_.on_placed(write.next);
  if (write.kind != WriteKind::kAck) return;
  EnlargeAck there;
  std::memcpy(&there, to, sizeof there);
  other_->rules_.landed(there);
  if (&part == &write.parts.back() && std::memcmp(to, &write.ack, sizeof there) == 0)
    fabric_.trace.note("%lld>%lld  ack %lld is there", rank_, other_->rank_, there.number);
}

// ---- time

void SimEndpoint::advance() {
  const std::uint64_t now = fabric_.clock.now_us();
  if (!writes_.empty() && !broken_) {
    for (Write& write : writes_) {
      if (write.read_us > now || write.waits) break;
      if (!write.read) read(write);
      if (write.unsignaled && !write.complete) complete(write);
      if (write.reread_us != 0 && write.reread_us <= now) {
        write.reread_us = 0;
        if (write.kind == WriteKind::kSlots || write.kind == WriteKind::kData || !write.placed_whole()) read(write);
      }
    }
    if (!fabric_.ordered()) (void)place_due();
    notify_due();
  }
  if (open() || closed_seen_ || other_ == nullptr || !writes_.empty()) return;
  closed_seen_ = true;
  other_->set_broken();
  port_.push_lost(*other_, "the peer closed the connection");
}

bool SimEndpoint::place_due() {
  if (stalled_) return false;
  const std::uint64_t now = fabric_.clock.now_us();
  bool overtakes = false, placed = false;
  for (Write& write : writes_) {
    while (write.read && !write.placed_whole() && write.parts[write.placed].due_us <= now) {
      fabric_.totals.overtakes += overtakes;
      placed = true;
      place(write, write.parts[write.placed++]);
    }
    overtakes |= !write.placed_whole();
    if (overtakes && !fabric_.any_order) break;
  }
  drop_done();
  if (placed && fabric_.ordered()) fabric_.busy.wake(*this);  // else this is advance()
  return placed;
}

void SimEndpoint::notify_due() {
  for (Write& write : writes_) {
    if (!write.placed_whole()) break;
    if (!write.notifies) continue;
    if (write.notify_us > fabric_.clock.now_us()) break;
    write.notifies = false;
    fabric_.moved = true;
    if (!other_->open()) continue;
    other_->arrivals_.push_back(write.sequence);
    fabric_.active.note(other_->rank_);
    if (write.sequence != 0) {
      ++fabric_.totals.ends;
      fabric_.trace.note("%lld>%lld  end of response %lld", rank_, other_->rank_, write.sequence);
      continue;
    }
    ++fabric_.totals.notifications;
    fabric_.trace.note("%lld>%lld  notification", rank_, other_->rank_);
    if (++other_->notifications_ > fabric_.receives)
      fabric_.violate("rank " + std::to_string(rank_) + " notified, and no receive was posted");
  }
  drop_done();
}

std::optional<std::uint32_t> SimEndpoint::take_arrival() {
  if (arrivals_.empty()) return std::nullopt;
  const std::uint32_t sequence = arrivals_.front();
  arrivals_.pop_front();
  ++arrivals_read_;
  fabric_.moved = true;
  if (sequence == 0) {
    --notifications_;
    fabric_.totals.notifications_after_loss += lost_;
  }
  return sequence;
}

void SimEndpoint::finish_placing(std::uint32_t key) {
  bool moved = false;
  for (Write& write : writes_) {
    if (write.key != key || write.placed == 0) continue;
    while (!write.placed_whole()) place(write, write.parts[write.placed++]);
    moved = true;
  }
  if (moved) fabric_.busy.wake(*this);
}

std::optional<WriteKind> SimEndpoint::take_completion() {
  const std::uint64_t now = fabric_.clock.now_us();
  if (broken_) return std::nullopt;
  for (Write& write : writes_) {
    if (write.complete) continue;
    if (!write.read || write.reread_us != 0 || write.complete_us > now) return std::nullopt;
    if (write.held) continue;
    for (Write& one : writes_) {
      if (&one == &write) break;
      if (one.held && !one.complete) complete(one);
    }
    const WriteKind kind = write.kind;
    const bool signaled = write.source != nullptr && (kind == WriteKind::kSlots || kind == WriteKind::kData);
    complete(write);
    if (!signaled) continue;
    fabric_.moved = true;
    drop_done();
    return kind;
  }
  drop_done();
  return std::nullopt;
}

void SimEndpoint::drop_done() {
  const auto done = [](const Write& write) { return write.complete && write.placed_whole() && !write.notifies; };
  while (!writes_.empty() && done(writes_.front())) writes_.pop_front();
}

std::uint64_t SimEndpoint::next_due_us() const {
  if (broken_ || other_ == nullptr) return kNever;
  if (!open() && writes_.empty()) return closed_seen_ ? kNever : 0;
  return std::min(next_read_us(), next_place_us());
}

std::uint64_t SimEndpoint::next_advance_us() const {
  if (!open() && writes_.empty()) return 0;
  if (broken_ || other_ == nullptr) return kNever;
  const bool places = !fabric_.ordered() || writes_.empty() || writes_.front().placed_whole();
  return places ? std::min(next_read_us(), next_place_us()) : next_read_us();
}

std::uint64_t SimEndpoint::next_read_us() const {
  std::uint64_t due = kNever;
  for (const Write& write : writes_) {
    if (write.waits) break;
    if (!write.read) due = std::min(due, write.read_us);
    if (write.reread_us != 0) due = std::min(due, write.reread_us);
  }
  return due;
}

// Or is notified of.
std::uint64_t SimEndpoint::next_place_us() const {
  if (stalled_) return kNever;
  std::uint64_t due = kNever;
  bool all_placed = true;
  for (const Write& write : writes_) {
    if (write.waits) break;
    if (!write.placed_whole())
      due = std::min(due, write.parts[write.placed].due_us);
    else if (write.notifies && all_placed)
      due = std::min(due, write.notify_us);
    all_placed = all_placed && write.placed_whole();
    if (!all_placed && !fabric_.any_order) break;
  }
  return due;
}

std::uint64_t SimEndpoint::next_completion_us() const {
  if (broken_) return kNever;
  for (const Write& write : writes_) {
    if (write.waits) break;
    if (!write.complete && !write.held && !write.unsignaled) return write.complete_us;
  }
  return kNever;
}

}  // namespace bufenlarge::sim
