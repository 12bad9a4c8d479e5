// SPDX-License-Identifier: MIT
// What can go wrong in a simulated world, and how often: chances are per mille.
#pragma once

#include <cstdint>

namespace bufenlarge::sim {

struct SimFaults {
  // Writes
  std::uint32_t write_again = 0;  // no room in the queue although there is
  std::uint32_t tear = 0;         // placed in parts
  std::uint32_t tear_parts_max = 6;
  std::uint32_t slow = 0;  // any delay is a long one
  std::uint32_t delay_us_max = 4;
  std::uint32_t slow_us_max = 0;
  std::uint32_t read_again = 0;  // the source is read once more, as a retransmission does
  std::uint32_t late_completion = 0;
  std::uint32_t hint_lost = 0;
  std::uint32_t hint_late = 0;
  std::uint32_t hint_twice = 0;
  std::uint32_t group_late = 0;  // ordered: a group with new data is reported a poll later
  std::uint32_t group_idle = 0;  // ordered: a group is reported for nothing

  // Acknowledgements. `ack_hold_us_max` is how long torn and late ones are held up; the others are
  // damaged at most `ack_damage_max` times per request, so that one gets through.
  std::uint32_t ack_torn = 0;
  std::uint32_t ack_late = 0;
  std::uint32_t ack_corrupt = 0;
  std::uint32_t ack_lost = 0;
  std::uint32_t ack_part_lost = 0;
  std::uint32_t ack_damage_max = 0;
  std::uint32_t ack_hold_us_max = 0;

  // Connections
  std::uint32_t open_fails = 0;       // no endpoint to be had
  std::uint32_t connect_refused = 0;  // nobody listens, for the moment
  std::uint32_t attempt_lost = 0;     // the active side sees it; the request may still arrive
  std::uint32_t lost_unnamed = 0;     // of the lost ones: the active side does not see which
  std::uint32_t accept_fails = 0;
  std::uint32_t accept_lost = 0;      // lost between accept and the active side's event
  std::uint32_t silent_lost = 0;      // of the lost ones: after the passive side's connected event
  std::uint32_t first_stalls = 0;     // what the active side writes is unseen until it writes again
  std::uint32_t connect_us_max = 20;  // delay of a connection event
  std::uint32_t response_us_max = 20;  // delay of a host's response to the question whether it is there

  // Processes
  std::uint32_t allocation_fails = 0;  // once: the next one succeeds
  std::uint32_t registration_fails = 0;  // of memory of the upper layer
  std::uint32_t unmap = 0;               // memory that the upper layer has back
  std::uint32_t between_polls = 0;     // devices go on between a look at completions and one at events
  std::uint32_t pause = 0;             // computes outside of the library for a while
  std::uint32_t pause_us_max = 0;
};

}  // namespace bufenlarge::sim
