// SPDX-License-Identifier: MIT
// What becomes of a write, decided by chance when it is posted: when it is read and complete, in which
// parts it appears, and what happens to an acknowledgement.
#include <algorithm>

#include "sim/sim_link.h"

namespace bufenlarge::sim {

void SimEndpoint::plan(Write& write) {
  const std::uint64_t now = fabric_.clock.now_us();
  const SimFaults& faults = fabric_.faults;
  cut(write);
  read_us_ = std::max(read_us_, now + fabric_.delay(faults.delay_us_max));
  write.read_us = read_us_;
  std::uint64_t last_read_us = read_us_;
  if (!write.read && !write.unsignaled && fabric_.random.chance(faults.read_again)) {
    last_read_us += 1 + fabric_.delay(2 * faults.delay_us_max);
    write.reread_us = last_read_us;
  }
  std::uint64_t complete = last_read_us + fabric_.delay(2 * faults.delay_us_max);
  if (fabric_.random.chance(faults.late_completion)) complete += fabric_.random.below(500);
  write.complete_us = complete_us_ = std::max(complete_us_, complete);

  AckFate fate;
  if (write.kind == WriteKind::kAck) {
    fate = ack_fate(write.ack);
    note_fate(write.ack, fate);
  }
  std::uint64_t due = earliest_place_us(write) + fabric_.delay(faults.delay_us_max);
  if (fate.kind == AckFate::Kind::kLate) due += fate.hold_us;
  for (Part& part : write.parts) {
    const bool last = &part == &write.parts.back();
    if (&part != &write.parts.front()) due += fabric_.delay(faults.delay_us_max);
    if (last && fate.kind == AckFate::Kind::kTorn) due += fate.hold_us;
    part.due_us = due;
  }
  placed_us_ = std::max(placed_us_, due);
  if (write.notifies)
    write.notify_us = notify_us_ = std::max(notify_us_, placed_us_) + fabric_.delay(faults.delay_us_max);
  if (fate.kind == AckFate::Kind::kLost) write.parts.clear();
  if (fate.kind == AckFate::Kind::kPartLost) write.parts.pop_back();
  if (fate.kind == AckFate::Kind::kCorrupt) damage(write);
  if (write.kind == WriteKind::kHint) spoil_hint(write);
}

// A hint promises nothing: it may be lost, or come when what it tells of was taken long ago.
void SimEndpoint::spoil_hint(Write& write) {
  if (fabric_.random.chance(fabric_.faults.hint_lost)) {
    ++fabric_.totals.hints_lost;
    write.parts.clear();
  } else if (fabric_.random.chance(fabric_.faults.hint_late)) {
    ++fabric_.totals.hints_late;
    write.parts.front().due_us += fabric_.random.below(500);
    placed_us_ = std::max(placed_us_, write.parts.front().due_us);
  }
}

// The last write once more.
void SimEndpoint::repeat_hint() {
  ++fabric_.totals.hints_twice;
  Write again = writes_.back();
  if (again.source != nullptr) again.source->add_reader(again.from, 1);
  again.parts.assign(1, {0, 1, 0});
  plan(again);
  ++incomplete_;
  writes_.push_back(std::move(again));
}

std::uint64_t SimEndpoint::earliest_place_us(const Write& write) const {
  if (!fabric_.any_order) return std::max(placed_us_, read_us_);
  std::uint64_t earliest = read_us_;
  for (const Write& before : writes_) {
    if (!before.parts.empty() && before.overlaps(write))
      earliest = std::max(earliest, before.parts.back().due_us);
  }
  return earliest;
}

void SimEndpoint::cut(Write& write) {
  SimRandom& random = fabric_.random;
  const auto bytes = static_cast<std::uint32_t>(write.bytes.size());
  std::vector<std::uint32_t> ends;
  const bool ack = write.kind == WriteKind::kAck;  // its fate may need two parts at least
  if (ack || (bytes > 8 && random.chance(fabric_.faults.tear))) {
    const std::uint32_t unit = random.chance(500) ? 1 : 8;
    for (std::uint32_t i = random.between(1, fabric_.faults.tear_parts_max - 1); i > 0; --i)
      ends.push_back(unit * (1 + random.below((bytes - 1) / unit)));
    std::sort(ends.begin(), ends.end());
    fabric_.totals.torn_writes += !ack;
  }
  ends.push_back(bytes);
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends) {
    if (end != begin) write.parts.push_back({begin, end - begin, 0});
    begin = end;
  }
  if (fabric_.ordered()) return;
  for (std::size_t i = write.parts.size(); i > 1; --i)
    std::swap(write.parts[i - 1], write.parts[random.below(static_cast<std::uint32_t>(i))]);
}

AckFate SimEndpoint::ack_fate(const EnlargeAck& ack) {
  using enum AckFate::Kind;
  const SimFaults& faults = fabric_.faults;
  if (!fabric_.scripted_acks.empty()) {
    const AckFate fate = fabric_.scripted_acks.front();
    fabric_.scripted_acks.pop_front();
    return fate;
  }
  const AckStall& stall = fabric_.stall;
  if (fabric_.clock.now_us() < stall.until_us && stall.waiter == other_->rank_ && stall.peer == rank_)
    return {kLost, 0};
  if (ack.number != damaged_ack_) damages_ = 0;
  damaged_ack_ = ack.number;
  if (damages_ < faults.ack_damage_max) {
    ++damages_;
    if (fabric_.random.chance(faults.ack_corrupt)) return {kCorrupt, 0};
    if (fabric_.random.chance(faults.ack_lost)) return {kLost, 0};
    if (fabric_.random.chance(faults.ack_part_lost)) return {kPartLost, 0};
  }
  const std::uint64_t hold_us = fabric_.random.below(faults.ack_hold_us_max + 1);
  if (fabric_.random.chance(faults.ack_torn)) return {kTorn, hold_us};
  if (fabric_.random.chance(faults.ack_late)) return {kLate, hold_us};
  return {};
}

void SimEndpoint::note_fate(const EnlargeAck& ack, const AckFate& fate) {
  SimTotals& totals = fabric_.totals;
  const auto count = [&](std::uint64_t& total, const char* what) {
    ++total;
    fabric_.trace.note("%lld>%lld  ack %lld on its way: %s", rank_, other_->rank_, ack.number, what);
    if (fate.hold_us != 0)
      fabric_.trace.note("%lld>%lld  ack %lld: for %lld us", rank_, other_->rank_, ack.number, fate.hold_us);
  };
  switch (fate.kind) {
    case AckFate::Kind::kWhole:
      return;
    case AckFate::Kind::kTorn:
      return count(totals.acks_torn, "its last part is held up");
    case AckFate::Kind::kLate:
      return count(totals.acks_late, "held up");
    case AckFate::Kind::kCorrupt:
      return count(totals.acks_corrupted, "corrupted");
    case AckFate::Kind::kLost:
      return count(totals.acks_lost, "lost");
    case AckFate::Kind::kPartLost:
      return count(totals.acks_part_lost, "a part lost");
  }
}

void SimEndpoint::damage(Write& write) {
  for (std::uint32_t bits = fabric_.random.between(1, 3); bits > 0; --bits) {
    write.flipped_bits.push_back(fabric_.random.below(static_cast<std::uint32_t>(write.bytes.size()) * 8));
  }
  if (write.read) write.flip();
}

}  // namespace bufenlarge::sim
