// SPDX-License-Identifier: MIT
// What happened in one world, or in all worlds of a run, so that one sees when a run exercised nothing.
#pragma once

#include <cstdint>
#include <string>

namespace bufenlarge::sim {

#define BUFENLARGE_SIM_TOTALS(X)                                                                    \
  X(seeds) X(steps) X(virtual_ms) X(messages) X(bytes) X(fragments_delivered) X(responses_inside)   \
  X(slot_writes) X(slots_written) X(torn_writes) X(rereads) X(agains) X(grant_words)                \
  X(repeat_words) X(enlargements) X(earned) X(shrinks) X(refusals) X(narrow) X(acks) X(acks_torn)   \
  X(acks_late) X(acks_corrupted) X(acks_lost) X(acks_part_lost) X(acks_changed) X(repeats) X(acks_rejected)      \
  X(notifications) X(notifications_after_loss) X(mixed_checked) X(mixed_notified) X(overtakes)      \
  X(connections) X(crossings) X(connects_refused) X(attempts_lost) X(attempts_unanswered)            \
  X(lost_unnamed) X(descriptors_lacked) X(accepts_lost) X(rejections)                               \
  X(unauthorized) X(forged) X(requests_closed) X(first_stalled) X(allocation_failures) X(registrations_refused) \
  X(data_writes) X(waited) X(held) X(joined) X(same_memory) X(writes) X(writes_lost) X(bytes_written)         \
  X(ends) X(sources) X(reads) X(reads_lost) X(bytes_read) X(fragments_handed_up)                    \
  X(read_fragments) X(pauses) X(deaths) X(questions) X(failures_told) X(groups_late) X(groups_idle)              \
  X(closed) X(reopened) X(close_asked) X(close_for_room) X(close_refused) X(close_taken_back)       \
  X(no_room) X(beyond_limit) X(hot_words) X(hot_writes) X(cold_writes) X(hints) X(hints_lost)       \
  X(hints_late) X(hints_twice) X(unmaps) X(kept_hits) X(kept_evicted) X(kept_forgotten)

struct SimTotals {
#define BUFENLARGE_SIM_FIELD(name) std::uint64_t name = 0;
  BUFENLARGE_SIM_TOTALS(BUFENLARGE_SIM_FIELD)
#undef BUFENLARGE_SIM_FIELD

  void add(const SimTotals& other) {
#define BUFENLARGE_SIM_ADD(name) name += other.name;
    BUFENLARGE_SIM_TOTALS(BUFENLARGE_SIM_ADD)
#undef BUFENLARGE_SIM_ADD
  }

  // "seeds 10, steps 1234, ..."; what did not happen is left out.
  [[nodiscard]] std::string text() const {
    std::string text;
#define BUFENLARGE_SIM_TEXT(name) \
  if (name != 0) text += (text.empty() ? "" : ", ") + std::string(#name " ") + std::to_string(name);
    BUFENLARGE_SIM_TOTALS(BUFENLARGE_SIM_TEXT)
#undef BUFENLARGE_SIM_TEXT
    return text;
  }
};

}  // namespace bufenlarge::sim
