// SPDX-License-Identifier: MIT
// Two jobs whose processes connect to each other by name, as MPI_Comm_connect and MPI_Comm_spawn make them.
#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "c_objects.h"
#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Name = std::array<std::byte, BUFENLARGE_NAME_BYTES>;

constexpr std::uint64_t kHereKey = 0x1111222233334444u;
constexpr std::uint64_t kThereKey = 0x5555666677778888u;

struct TwoJobs {
  explicit TwoJobs(const KnobTexts& there_knobs = {}, const KnobTexts& here_knobs = {})
      : here(2, here_knobs, kHereKey), there(3, there_knobs, kThereKey) {}
  template <class Done>
  [[nodiscard]] bool until(Done done) {
    return comes_true(done, [this] {
      here.progress();
      there.progress();
    });
  }
  Job here;
  Job there;
};

Name name_of(Process& process, std::uint32_t peer) {
  Name name{};
  REQUIRE(bufenlarge_context_name(process.context(), peer, name.data()) == BUFENLARGE_OK);
  return name;
}

ProcessName parts_of(const Name& name) { return std::bit_cast<ProcessName>(name); }

template <class Change>
void change(Name& name, Change change) {
  ProcessName parts = parts_of(name);
  change(parts);
  name = std::bit_cast<Name>(parts);
}

std::uint32_t add(Process& process, const Name& name) {
  std::uint32_t number = UINT32_MAX;
  REQUIRE(bufenlarge_context_add_peer(process.context(), name.data(), &number) == BUFENLARGE_OK);
  return number;
}

bool arrived(Process& process, std::uint32_t peer, std::size_t count) { return process.messages[peer].size() >= count; }

TEST_CASE("a process of another job becomes a peer by its name, numbered from the size of the job on", "[other_job]") {
  TwoJobs jobs;
  CHECK(add(jobs.here[0], name_of(jobs.there[2], 2)) == 2);
  CHECK(add(jobs.here[0], name_of(jobs.there[2], 1)) == 3);
  CHECK(add(jobs.here[0], name_of(jobs.there[0], 2)) == 2);  // known already, whoever names it
  CHECK(add(jobs.here[0], name_of(jobs.here[1], 1)) == 1);   // of the own job: its rank
  CHECK(add(jobs.here[0], name_of(jobs.here[1], 0)) == 0);
  CHECK(name_of(jobs.here[0], 3) == name_of(jobs.there[0], 1));
}

TEST_CASE("data that is no name of a process is refused", "[other_job]") {
  TwoJobs jobs;
  Name name = name_of(jobs.here[1], 1);
  change(name, [](ProcessName& read) { read.rank = 7; });  // of a job of two
  std::uint32_t number = 0;
  CHECK(bufenlarge_context_add_peer(jobs.here[0].context(), name.data(), &number) == BUFENLARGE_ERR_ARGUMENT);
  name = name_of(jobs.there[1], 1);
  change(name, [](ProcessName& read) { read.address[0] = std::byte{99}; });  // neither IPv4 nor IPv6
  CHECK(bufenlarge_context_add_peer(jobs.here[0].context(), name.data(), &number) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_name(jobs.here[0].context(), 2, name.data()) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(bufenlarge_context_channel(jobs.here[0].context(), 2) == nullptr);
}

TEST_CASE("a process that is called by another job gets a peer number for the caller, and can reply", "[other_job]") {
  TwoJobs jobs;
  Process &caller = jobs.here[1], &called = jobs.there[0];
  const std::uint32_t to = add(caller, name_of(called, 0));
  const Vector request({40}, 1), reply({300, 5000}, 2);
  std::size_t sent = 0;
  REQUIRE(jobs.until([&] {
    if (sent == 0) sent = caller.send(to, request.all());
    return arrived(called, 3, 1);
  }));
  CHECK(called.messages[3][0] == request.bytes());
  Name name{};
  // Expect: the caller has a number, and its name is not known yet
  CHECK(bufenlarge_context_name(called.context(), 3, name.data()) == BUFENLARGE_ERR_ARGUMENT);
  CHECK(add(called, name_of(caller, 1)) == 3);
  CHECK(name_of(called, 3) == name_of(caller, 1));
  sent = 0;
  REQUIRE(jobs.until([&] {
    if (sent < reply.bytes().size()) sent += called.send(3, reply.rest(sent));
    return arrived(caller, to, 1);
  }));
  CHECK(caller.messages[to][0] == reply.bytes());
  CHECK(called.stats(3).send.phase == 1);  // the channel has grown like any other
  CHECK(caller.stats().channels == 1);
  CHECK(called.stats().channels == 1);
}

// Only by its rank in the own job does a process find its channel again.
TEST_CASE("a connection between jobs stays, however long it is not used", "[other_job][S3]") {
  const KnobTexts knobs{{"IDLE_CLOSE", "1ms"}};
  TwoJobs jobs(knobs, knobs);
  Process &here = jobs.here[0], &there = jobs.there[0];
  const std::uint32_t to = add(here, name_of(there, 0));
  std::size_t sent = 0;
  REQUIRE(jobs.until([&] {
    if (sent == 0) sent = here.send(to, Vector({8}).all());
    return arrived(there, 3, 1);
  }));
  // event: a connection in the own job, younger, ends
  jobs.here.send(1, 0, Vector({8}));
  REQUIRE(jobs.until([&] {
    return here.stats().connections_closed == 1 && jobs.here[1].stats().connections_closed == 1;
  }));
  CHECK(here.stats().connections == 1);
  CHECK(there.stats().connections == 1);
  CHECK(here.failures.empty());
}

TEST_CASE("two processes that call each other at once have one connection", "[other_job][connect]") {
  TwoJobs jobs;
  std::uint32_t crossed = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Process &here = jobs.here[rank % 2], &there = jobs.there[rank];
    const std::uint32_t to = add(here, name_of(there, rank)), from = add(there, name_of(here, rank % 2));
    std::size_t sent = 0, back = 0;
    REQUIRE(jobs.until([&] {
      if (sent == 0) sent = here.send(to, Vector({64}, rank).all());
      if (back == 0) back = there.send(from, Vector({64}, rank + 9).all());
      return arrived(there, from, 1) && arrived(here, to, 1);
    }));
    CHECK(there.messages[from][0] == Vector({64}, rank).bytes());
    CHECK(here.messages[to][0] == Vector({64}, rank + 9).bytes());
    CHECK(there.stats().channels == 1);
    crossed += here.stats().connects_crossed + there.stats().connects_crossed;
  }
  CHECK(crossed > 0);
}

TEST_CASE("a caller with a wrong key in the name is unauthorized and gets no reason", "[other_job]") {
  TwoJobs jobs;
  Name name = name_of(jobs.there[0], 0);
  change(name, [](ProcessName& read) { read.key ^= 1; });
  const std::uint32_t to = add(jobs.here[0], name);
  REQUIRE(jobs.until([&] {
    CHECK(jobs.here[0].send(to, Vector({8}).all()) == 0);
    return jobs.there[0].stats().connects_refused > 0;
  }));
  CHECK(jobs.there[0].stats().channels == 0);
  CHECK(jobs.here[0].stats().channels == 0);
}

// Calls a process of `jobs.there` as a new job of one, talks to it, and ends. Returns the number it had there.
std::uint32_t come_and_go(TwoJobs& jobs, std::uint64_t key) {
  Job guest(1, {}, key);
  Process& called = jobs.there[0];
  const std::uint32_t from = add(called, name_of(guest[0], 0)), to = add(guest[0], name_of(called, 0));
  called.messages[from].clear();
  std::size_t sent = 0;
  REQUIRE(comes_true([&] { return arrived(called, from, 1); }, [&] {
    if (sent == 0) sent = guest[0].send(to, Vector({8}).all());
    guest.progress();
    jobs.there.progress();
  }));
  return from;
}

TEST_CASE("a process that has left is forgotten, and its number goes to the next", "[other_job][F3]") {
  TwoJobs jobs;
  Process& called = jobs.there[0];
  CHECK(bufenlarge_context_forget_peer(called.context(), 0) == 0);
  CHECK(bufenlarge_context_forget_peer(called.context(), 3) == 1);
  for (std::uint64_t guest = 0; guest < 3; ++guest) {
    const std::uint32_t number = come_and_go(jobs, 0x9000 + guest);
    CHECK(number == 3);
    CHECK(bufenlarge_context_forget_peer(called.context(), number) == 0);
    REQUIRE(jobs.until([&] { return bufenlarge_context_forget_peer(called.context(), number) == 1; }));
    CHECK(called.failures.size() == guest + 1);
    CHECK(called.stats().channels == 0);
  }
}

// Has read a name of rank 0 of a job of two, and takes its key for the job's.
struct Impostor {
  explicit Impostor(const Name& read) {
    const ProcessName name = parts_of(read);
    process.emplace(KnobTexts{{"CONNECT_TIMEOUT", "1s"}}, 1u, 2u, name.key);
    Bytes addresses(name.address, name.address + process->address.size());
    addresses.insert(addresses.end(), process->address.begin(), process->address.end());
    REQUIRE(bufenlarge_context_set_addresses(process->context(), addresses.data(), 2) == BUFENLARGE_OK);
  }
  std::optional<Process> process;
};

TEST_CASE("who has read a name cannot call as a rank of the job, and the job goes on", "[other_job][hostile][F4]") {
  Job job(2, {}, kHereKey);
  const bool in_use = GENERATE(true, false);
  if (in_use) job.send(1, 0, Vector({8}));
  Impostor impostor(name_of(job[0], 0));
  REQUIRE(comes_true([&] { return !impostor.process->failures.empty(); }, [&] {
    if (impostor.process->failures.empty()) (void)impostor.process->send(0, Vector({8}, 666).all());
    impostor.process->progress();
    job.progress();
  }));
  CHECK_THAT(impostor.process->failures[0].text, Contains("refused"));
  CHECK(job[0].stats().connects_refused >= 1);
  CHECK(job[0].failures.empty());
  CHECK(job[0].messages[1].size() == (in_use ? 1 : 0));
  job.send(1, 0, Vector({40}, 1));
  job.send(0, 1, Vector({5000}, 2));
  CHECK(job[1].failures.empty());
}

TEST_CASE("a name does not hold the key of the job, and names of two ranks not the same key", "[other_job][F4]") {
  Job job(2, {}, kHereKey);
  const Name one = name_of(job[0], 0), other = name_of(job[0], 1);
  CHECK(parts_of(one).key != kHereKey);
  CHECK(parts_of(one).key != parts_of(other).key);
}

TEST_CASE("jobs of different geometry do not connect, and the error says so", "[other_job]") {
  TwoJobs jobs(KnobTexts{{"PHASES", "512,16384"}});
  const std::uint32_t to = add(jobs.here[0], name_of(jobs.there[0], 0));
  REQUIRE(jobs.until([&] {
    if (jobs.here[0].failures.empty()) jobs.here[0].send(to, Vector({8}).all());
    return !jobs.here[0].failures.empty();
  }));
  CHECK(jobs.here[0].failures[0].status == BUFENLARGE_ERR_PROTOCOL);
  CHECK_THAT(jobs.here[0].failures[0].text,
             Contains("rank 0 of another job at 127.0.0.1") && Contains("geometry differs"));
}

TEST_CASE("the end of a process of another job is reported to its own peers alone", "[other_job][loss]") {
  TwoJobs jobs;
  Process& ending = jobs.there[1];
  const std::uint32_t to = add(jobs.here[0], name_of(ending, 1));
  std::size_t sent = 0;
  REQUIRE(jobs.until([&] {
    if (sent == 0) sent = jobs.here[0].send(to, Vector({8}).all());
    return arrived(ending, 3, 1);
  }));
  ending.close();
  REQUIRE(jobs.until([&] { return !jobs.here[0].failures.empty(); }));
  CHECK(jobs.here[0].failures[0].peer == to);
  CHECK(jobs.here[1].failures.empty());
  jobs.here.send(0, 1, Vector({100}));
}

}  // namespace
}  // namespace bufenlarge::test
