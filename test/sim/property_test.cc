// SPDX-License-Identifier: MIT
// The shipped channels over a simulated fabric, a few hundred seeds for each family of properties (see
// seed_runner.h for more of them, or for a single one). Every family checks all of these:
// nothing is lost, doubled, changed or out of order; marks are right; no slot is written before the
// one that lay there was read; nothing is written into memory that was not confirmed or is closed;
// each notification finds a receive posted for it; each reader gets notifications and checks as it asked;
// memory that a posted write reads is neither changed nor freed; everything drains; what grew had to; the
// registered bytes are those of the rings in use; every region is given back. Of reads: data goes only where the
// request at hand says, its end is reported once, when all is placed, and what was given back is left alone.
#include <catch2/catch.hpp>
#include <initializer_list>

#include "sim/seed_runner.h"

using bufenlarge::sim::draw_config;
using bufenlarge::sim::run_seeds;
using bufenlarge::sim::SeedRun;
using bufenlarge::sim::SimConfig;
using bufenlarge::sim::SimKind;
using bufenlarge::sim::SimTotals;
using bufenlarge::sim::SimWorld;
using bufenlarge::sim::TraceOutput;

namespace {

struct Count {
  const char* name;
  std::uint64_t SimTotals::*field;
};
#define BUFENLARGE_COUNT(name) \
  Count { #name, &SimTotals::name }

// A run in which one of `exercised` never happened has shown nothing.
void hold(SimKind kind, std::uint32_t seeds, std::initializer_list<Count> exercised) {
  const SeedRun run = run_seeds(kind, seeds, Catch::getResultCapture().getCurrentTestName().c_str());
  INFO(run.failure);
  REQUIRE(run.failure.empty());
  REQUIRE(run.totals.messages > 0);
  if (run.replayed) return;
  for (const Count& count : exercised) {
    INFO(count.name);
    CHECK(run.totals.*count.field > 0);
  }
}

}  // namespace

TEST_CASE("every message arrives once and in order under all faults", "[sim][E1][E2][E12]") {
  hold(SimKind::kMixed, 500,
       {BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(refusals), BUFENLARGE_COUNT(acks_torn),
        BUFENLARGE_COUNT(acks_corrupted), BUFENLARGE_COUNT(acks_late), BUFENLARGE_COUNT(repeats),
        BUFENLARGE_COUNT(crossings), BUFENLARGE_COUNT(attempts_lost), BUFENLARGE_COUNT(connects_refused),
        BUFENLARGE_COUNT(torn_writes), BUFENLARGE_COUNT(rereads), BUFENLARGE_COUNT(agains),
        BUFENLARGE_COUNT(responses_inside), BUFENLARGE_COUNT(allocation_failures), BUFENLARGE_COUNT(notifications),
        BUFENLARGE_COUNT(overtakes), BUFENLARGE_COUNT(mixed_checked), BUFENLARGE_COUNT(mixed_notified),
        BUFENLARGE_COUNT(groups_late), BUFENLARGE_COUNT(groups_idle), BUFENLARGE_COUNT(hot_words),
        BUFENLARGE_COUNT(hot_writes), BUFENLARGE_COUNT(cold_writes), BUFENLARGE_COUNT(hints_lost),
        BUFENLARGE_COUNT(hints_late), BUFENLARGE_COUNT(hints_twice)});
}

TEST_CASE("an acknowledgement that does not come whole is asked for again", "[sim][E8]") {
  hold(SimKind::kAcks, 300,
       {BUFENLARGE_COUNT(acks_torn), BUFENLARGE_COUNT(acks_late), BUFENLARGE_COUNT(acks_lost),
        BUFENLARGE_COUNT(acks_part_lost), BUFENLARGE_COUNT(acks_corrupted), BUFENLARGE_COUNT(acks_rejected),
        BUFENLARGE_COUNT(repeats), BUFENLARGE_COUNT(enlargements)});
}

TEST_CASE("attempts that cross or fail end in one connection", "[sim]") {
  hold(SimKind::kConnections, 300,
       {BUFENLARGE_COUNT(crossings), BUFENLARGE_COUNT(connects_refused), BUFENLARGE_COUNT(attempts_lost),
        BUFENLARGE_COUNT(lost_unnamed), BUFENLARGE_COUNT(descriptors_lacked), BUFENLARGE_COUNT(accepts_lost),
        BUFENLARGE_COUNT(requests_closed), BUFENLARGE_COUNT(rejections), BUFENLARGE_COUNT(first_stalled),
        BUFENLARGE_COUNT(unauthorized), BUFENLARGE_COUNT(forged)});
}

TEST_CASE("a side that cannot have a large ring does without, and the data goes in fragments", "[sim][E7][E9]") {
  hold(SimKind::kMemory, 300,
       {BUFENLARGE_COUNT(refusals), BUFENLARGE_COUNT(narrow), BUFENLARGE_COUNT(allocation_failures),
        BUFENLARGE_COUNT(enlargements)});
}

TEST_CASE("only a direction with an element that does not fit grows", "[sim][E3][E4][E5][E9][E10][E11]") {
  hold(SimKind::kGrowth, 300,
       {BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(crossings), BUFENLARGE_COUNT(responses_inside),
        BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(mixed_checked), BUFENLARGE_COUNT(mixed_notified)});
}

TEST_CASE("a direction that needs no large ring any more goes back to a small one, and grows again", "[sim][B1]") {
  hold(SimKind::kShrink, 500,
       {BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(shrinks), BUFENLARGE_COUNT(refusals),
        BUFENLARGE_COUNT(narrow), BUFENLARGE_COUNT(repeats), BUFENLARGE_COUNT(acks_torn), BUFENLARGE_COUNT(reads),
        BUFENLARGE_COUNT(earned),
        BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(deaths), BUFENLARGE_COUNT(allocation_failures),
        BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(overtakes), BUFENLARGE_COUNT(torn_writes)});
}

TEST_CASE("a direction that earns its larger ring gets it, whatever becomes of it then", "[sim][G1]") {
  hold(SimKind::kEarned, 500,
       {BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(earned), BUFENLARGE_COUNT(shrinks), BUFENLARGE_COUNT(refusals),
        BUFENLARGE_COUNT(narrow), BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened), BUFENLARGE_COUNT(repeats),
        BUFENLARGE_COUNT(acks_torn), BUFENLARGE_COUNT(reads), BUFENLARGE_COUNT(read_fragments),
        BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(deaths), BUFENLARGE_COUNT(allocation_failures),
        BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(overtakes), BUFENLARGE_COUNT(torn_writes)});
}

TEST_CASE("a process never pins more than it may, and everything arrives all the same", "[sim][B2]") {
  hold(SimKind::kBudget, 500,
       {BUFENLARGE_COUNT(beyond_limit), BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(shrinks),
        BUFENLARGE_COUNT(refusals), BUFENLARGE_COUNT(narrow), BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened),
        BUFENLARGE_COUNT(close_for_room), BUFENLARGE_COUNT(no_room), BUFENLARGE_COUNT(earned), BUFENLARGE_COUNT(reads),
        BUFENLARGE_COUNT(read_fragments), BUFENLARGE_COUNT(allocation_failures), BUFENLARGE_COUNT(crossings),
        BUFENLARGE_COUNT(repeats), BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(overtakes)});
}

TEST_CASE("the other channels finish while one waits for its acknowledgement", "[sim][E6]") {
  hold(SimKind::kStall, 200, {BUFENLARGE_COUNT(acks_lost), BUFENLARGE_COUNT(repeats)});
}

TEST_CASE("the death of a process is reported once and harms nobody else", "[sim]") {
  hold(SimKind::kDeath, 300,
       {BUFENLARGE_COUNT(deaths), BUFENLARGE_COUNT(failures_told), BUFENLARGE_COUNT(attempts_unanswered),
        BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(reads_lost)});
}

TEST_CASE("who waits for a host that vanished is told, and a process that pauses is not lost", "[sim][F5]") {
  hold(SimKind::kSilence, 300,
       {BUFENLARGE_COUNT(deaths), BUFENLARGE_COUNT(failures_told), BUFENLARGE_COUNT(questions),
        BUFENLARGE_COUNT(attempts_unanswered), BUFENLARGE_COUNT(pauses), BUFENLARGE_COUNT(notifications),
        BUFENLARGE_COUNT(reads_lost)});
}

TEST_CASE("rings of one slot and slots of the smallest size lose nothing", "[sim][E2]") {
  hold(SimKind::kTight, 300,
       {BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(grant_words), BUFENLARGE_COUNT(notifications),
        BUFENLARGE_COUNT(overtakes)});
}

TEST_CASE("what was written before a process closed its context arrives", "[sim]") {
  hold(SimKind::kLeave, 200,
       {BUFENLARGE_COUNT(messages), BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(notifications_after_loss)});
}

TEST_CASE("what a one-sided write wrote is there before the message after it", "[sim][write]") {
  hold(SimKind::kWrites, 400,
       {BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(bytes_written), BUFENLARGE_COUNT(data_writes),
        BUFENLARGE_COUNT(held), BUFENLARGE_COUNT(waited), BUFENLARGE_COUNT(notifications),
        BUFENLARGE_COUNT(mixed_notified), BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(overtakes),
        BUFENLARGE_COUNT(agains)});
}

TEST_CASE("a read gets what was advertised, and memory changes hands when a callback says so",
          "[sim][R1][R2][R3][R4]") {
  hold(SimKind::kReads, 500,
       {BUFENLARGE_COUNT(reads), BUFENLARGE_COUNT(bytes_read), BUFENLARGE_COUNT(data_writes), BUFENLARGE_COUNT(held),
        BUFENLARGE_COUNT(joined), BUFENLARGE_COUNT(same_memory), BUFENLARGE_COUNT(ends),
        BUFENLARGE_COUNT(read_fragments), BUFENLARGE_COUNT(fragments_handed_up),
        BUFENLARGE_COUNT(registrations_refused), BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(enlargements),
        BUFENLARGE_COUNT(overtakes)});
}

TEST_CASE("processes with little memory for transfers do not wait for each other", "[sim][F7]") {
  hold(SimKind::kScarce, 500,
       {BUFENLARGE_COUNT(reads), BUFENLARGE_COUNT(bytes_read), BUFENLARGE_COUNT(data_writes), BUFENLARGE_COUNT(held),
        BUFENLARGE_COUNT(read_fragments), BUFENLARGE_COUNT(same_memory), BUFENLARGE_COUNT(ends)});
}

TEST_CASE("no transfer uses memory through a registration from before it was unmapped", "[sim][K1]") {
  hold(SimKind::kKept, 500,
       {BUFENLARGE_COUNT(reads), BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(unmaps), BUFENLARGE_COUNT(kept_hits),
        BUFENLARGE_COUNT(kept_evicted), BUFENLARGE_COUNT(kept_forgotten), BUFENLARGE_COUNT(joined),
        BUFENLARGE_COUNT(same_memory), BUFENLARGE_COUNT(registrations_refused), BUFENLARGE_COUNT(overtakes)});
}

// The same worlds whose monitors see nothing.
TEST_CASE("a registration that outlives its mapping does harm that is noticed", "[sim][K1]") {
  unsigned noticed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimConfig config = draw_config(seed, SimKind::kKept);
    config.blind = true;
    noticed += !SimWorld(config, TraceOutput::kNone).run().failure.empty();
  }
  CHECK(noticed >= 5);
}

TEST_CASE("connections that are not used end, and are made again with nothing lost", "[sim][S3]") {
  hold(SimKind::kIdle, 600,
       {BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened), BUFENLARGE_COUNT(close_refused),
        BUFENLARGE_COUNT(close_taken_back), BUFENLARGE_COUNT(enlargements), BUFENLARGE_COUNT(shrinks),
        BUFENLARGE_COUNT(reads),
        BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(crossings), BUFENLARGE_COUNT(pauses), BUFENLARGE_COUNT(deaths),
        BUFENLARGE_COUNT(notifications), BUFENLARGE_COUNT(overtakes), BUFENLARGE_COUNT(torn_writes)});
}

TEST_CASE("a process never has more connections than it may, and everything arrives all the same", "[sim][S3]") {
  hold(SimKind::kRoom, 400,
       {BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened), BUFENLARGE_COUNT(close_for_room),
        BUFENLARGE_COUNT(no_room), BUFENLARGE_COUNT(descriptors_lacked), BUFENLARGE_COUNT(close_refused),
        BUFENLARGE_COUNT(enlargements),
        BUFENLARGE_COUNT(reads), BUFENLARGE_COUNT(writes), BUFENLARGE_COUNT(deaths)});
}

TEST_CASE("thousands of processes with sixteen connections each all get what was sent", "[sim][S3]") {
  hold(SimKind::kThousands, 1,
       {BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened), BUFENLARGE_COUNT(close_for_room),
        BUFENLARGE_COUNT(no_room)});
}

TEST_CASE("many processes with few connections each all get what was sent", "[sim][S3]") {
  hold(SimKind::kCrowd, 20,
       {BUFENLARGE_COUNT(closed), BUFENLARGE_COUNT(reopened), BUFENLARGE_COUNT(close_for_room),
        BUFENLARGE_COUNT(no_room), BUFENLARGE_COUNT(descriptors_lacked)});
}
