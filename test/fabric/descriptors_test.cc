// SPDX-License-Identifier: MIT
// A process whose file descriptors run out.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <numeric>

#include "fabric/descriptors.h"
#include "fabric/job.h"
#include "fabric/soft_limit.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("opening a context raises the soft limit on file descriptors to the hard one", "[descriptors][S4]") {
  const SoftLimit lower(200);
  const Process process({}, 0, 2, 7);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(limit.rlim_cur == limit.rlim_max);
}

TEST_CASE("the reserve is held while there are descriptors, and given up when there are none", "[descriptors][S4]") {
  DescriptorReserve reserve;
  CHECK(reserve.hold(1));
  bool ample = true, ample_again = true;
  int given_up = -1;
  {
    const SoftLimit none(limit_with_spare(1) - 1);
    ample = reserve.hold(1);
    given_up = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ample_again = reserve.hold(0);
    close(given_up);
  }
  CHECK_FALSE(ample);
  CHECK(given_up >= 0);
  CHECK_FALSE(ample_again);
  CHECK(reserve.hold(1));
}

TEST_CASE("callers that find no descriptor come again, and the lack is told once", "[descriptors][S4]") {
  constexpr std::uint32_t kCallers = 40;
  Job job(kCallers + 1);
  const auto all_arrived = [&] { return job[0].messages.size() == kCallers; };
  std::vector<bool> sent(kCallers + 1);
  const auto send_all = [&] {
    for (std::uint32_t rank = 1; rank <= kCallers; ++rank)
      if (!sent[rank]) sent[rank] = job[rank].send(0, Vector({8}).all()) != 0;
    job.rounds(1);
  };
  {
    const SoftLimit few(limit_with_spare(20));
    const auto told_and_served = [&] { return job[0].messages.size() >= 2 && !job[0].warnings.empty(); };
    (void)comes_true(told_and_served, send_all);
    (void)comes_true(all_arrived, send_all, std::chrono::milliseconds(500));
  }  // the undefined-behaviour sanitizer needs descriptors for the checks
  CHECK(job[0].messages.size() >= 2);  // attempts that wait take descriptors, too, all of one process here
  for (std::uint32_t rank = 0; rank <= kCallers; ++rank) {
    CHECK(job[rank].failures.empty());
    CHECK(job[rank].warnings.size() <= 1);
  }
  REQUIRE(job[0].warnings.size() == 1);
  CHECK_THAT(job[0].warnings[0], Contains("file descriptor") && Contains("41 processes can take 40"));
  CHECK(comes_true(all_arrived, send_all));
  for (std::uint32_t rank = 0; rank <= kCallers; ++rank) CHECK(job[rank].failures.empty());
}

TEST_CASE("callers come through when another part of the process had taken the last descriptor", "[descriptors][S4]") {
  Job job(2, {{"CONNECT_TIMEOUT", "10s"}});
  job.rounds(10);
  CHECK(job[1].send(0, Vector({8}).all()) == 0);
  job[1].progress();  // its endpoint is open
  bool told = false;
  {
    const SoftLimit none(limit_with_spare(1) - 1);
    told = comes_true([&] { return !job[0].warnings.empty(); }, [&] { job.rounds(1); });
    job.rounds(20'000);
  }
  CHECK(told);
  CHECK(job[0].messages.empty());
  CHECK(job[1].failures.empty());
  job.send(1, 0, Vector({8}));
}

}  // namespace
}  // namespace bufenlarge::test
