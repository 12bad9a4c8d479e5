// SPDX-License-Identifier: MIT
// bufenlarge_context_set_changed(): what is told is what the counters count. Over libfabric's tcp provider.
#include <algorithm>

#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kTwo = 2;

// What each process of a job was told. The library gives back the process (user of the context).
struct Told {
  static inline std::map<const Process*, std::vector<bufenlarge_change_t>> of;

  explicit Told(Job& job) {
    of.clear();
    for (std::uint32_t rank = 0; rank < kTwo; ++rank)
      bufenlarge_context_set_changed(job[rank].context(), [](void* user, const bufenlarge_change_t* change) {
        of[static_cast<const Process*>(user)].push_back(*change);
      });
  }
};

void check_grown(const bufenlarge_change_t& change, std::uint32_t peer, int sends) {
  CHECK(change.peer == peer);
  CHECK(change.sends == sends);
  CHECK(change.phase_before == 0);
  CHECK(change.phase == 1);
  CHECK(change.phase_wanted == 1);
  CHECK(change.slot_bytes == 8256);
  CHECK(change.slots == 16);
  CHECK(change.refusal == BUFENLARGE_REFUSED_NOT);
}

TEST_CASE("both sides are told once that a direction has grown, and that it has gone back", "[change][tcp]") {
  Job job(kTwo, {{"SHRINK_AFTER", "20ms"}});
  const Told told(job);
  job.send(0, 1, Vector({40}));
  CHECK(Told::of.empty());
  job.send(0, 1, Vector({5000}));
  const std::vector<bufenlarge_change_t>& sender = Told::of[&job[0]];
  const std::vector<bufenlarge_change_t>& receiver = Told::of[&job[1]];
  REQUIRE(sender.size() == 1);
  REQUIRE(receiver.size() == 1);
  check_grown(sender[0], 1, 1);
  check_grown(receiver[0], 0, 0);
  CHECK(sender[0].ring_bytes == job[0].stats(1).registered_bytes);
  CHECK(sender[0].pinned_bytes == job[0].stats().pinned_bytes);
  REQUIRE(job.until([&] { return sender.size() == 2 && receiver.size() == 2; }));
  for (const bufenlarge_change_t& change : {sender[1], receiver[1]}) {
    CHECK(change.phase_before == 1);
    CHECK(change.phase == 0);
    CHECK(change.slot_bytes == 512);
    CHECK(change.refusal == BUFENLARGE_REFUSED_NOT);
  }
  CHECK(job[0].stats(1).send.shrinks == 1);
  CHECK(job[1].stats(0).receive.shrinks == 1);
}

// The limit leaves no room for the large ring of either side: the receiver is the first that is asked.
TEST_CASE("both sides are told who refused a ring, and what was used instead", "[change][tcp]") {
  Job job(kTwo, {{"MEMORY_MAX", "1048576"}, {"PHASES", "512,131072"}});
  const Told told(job);
  job.send(0, 1, Vector({5000}));
  const std::vector<bufenlarge_change_t>& sender = Told::of[&job[0]];
  const std::vector<bufenlarge_change_t>& receiver = Told::of[&job[1]];
  REQUIRE_FALSE(sender.empty());
  REQUIRE_FALSE(receiver.empty());
  CHECK(sender[0].refusal == BUFENLARGE_REFUSED_PEER_BY_LIMIT);
  CHECK(receiver[0].refusal == BUFENLARGE_REFUSED_HERE_BY_LIMIT);
  for (const bufenlarge_change_t& change : {sender[0], receiver[0]}) {
    CHECK(change.phase_before == 0);
    CHECK(change.phase == 0);
    CHECK(change.phase_wanted == 1);
    CHECK(change.slot_bytes == 512);
  }
  CHECK(sender.size() == job[0].stats(1).send.refused);
  CHECK(receiver.size() == job[1].stats(0).receive.refused);
}

TEST_CASE("nobody is told any more after the callback was taken away", "[change][tcp]") {
  Job job(kTwo);
  const Told told(job);
  bufenlarge_context_set_changed(job[0].context(), nullptr);
  job.send(0, 1, Vector({5000}));
  CHECK(Told::of[&job[0]].empty());
  CHECK(Told::of[&job[1]].size() == 1);
  CHECK(job[0].stats(1).send.enlargements == 1);
}

}  // namespace
}  // namespace bufenlarge::test
