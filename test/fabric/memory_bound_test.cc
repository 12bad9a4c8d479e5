// SPDX-License-Identifier: MIT
// How much memory a process may pin where the user has not said so.
#include "fabric/memory_bound.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "support/test_folder.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("what a process may lock and its share of the memory bound what it pins", "[bound][B2]") {
  MemoryLimits limits;
  CHECK(choose_memory_bound(limits).bytes == 0);
  limits.locked = 8u << 20;
  CHECK(choose_memory_bound(limits).bytes == 8u << 20);
  limits.contexts = 2;
  CHECK(choose_memory_bound(limits).bytes == 4u << 20);
  limits.memory = 64u << 20;
  limits.processes = 8;
  CHECK(choose_memory_bound(limits).bytes == 3u << 20);
  CHECK_THAT(choose_memory_bound(limits).why,
             Contains("may lock 8388608 bytes") && Contains("8 processes share 67108864 bytes"));
  limits.locked = MemoryLimits::kNone;
  CHECK(choose_memory_bound(limits).bytes == 3u << 20);
  limits.memory = 0;
  CHECK(choose_memory_bound(limits).bytes == 1);  // 0 would be no bound
  CHECK(given_memory_bound(4u << 20, 2).bytes == 2u << 20);
  CHECK(given_memory_bound(0, 2).bytes == 0);
}

TEST_CASE("a process with CAP_IPC_LOCK may lock what it likes", "[bound][B2]") {
  CHECK(may_lock_all("Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000004000\n"));
  CHECK(may_lock_all("CapEff:\t000001ffffffffff\n"));
  CHECK_FALSE(may_lock_all("CapEff:\t000001ffffffbfff\n"));
  CHECK_FALSE(may_lock_all("CapPrm:\t000001ffffffffff\n"));
}

TEST_CASE("the limit of a control group is the least on its way up", "[bound][B2]") {
  const Folder folder;
  const std::filesystem::path& root = folder.path;
  const auto write = [&root](const std::string& name, const char* text) {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text << '\n';
  };
  const std::string at = root.string();
  CHECK(group_memory("0::/", at) == MemoryLimits::kNone);
  write("memory.max", "max");
  write("slurm/memory.max", "5000");
  write("slurm/job_7/memory.max", "7000");
  CHECK(group_memory("0::/\n", at) == MemoryLimits::kNone);
  CHECK(group_memory("0::/slurm/job_7\n", at) == 5000);
  write("slurm/job_7/memory.max", "3000");
  CHECK(group_memory("0::/slurm/job_7/step_0\n", at) == 3000);  // that has no file
  write("memory/batch/memory.limit_in_bytes", "900");
  CHECK(group_memory("5:cpu,memory:/batch\n4:devices:/batch\n0::/slurm\n", at) == 900);
  CHECK(group_memory("4:devices:/batch\nnonsense\n", at) == MemoryLimits::kNone);
  CHECK(read_memory_limits().memory > 0);
}

}  // namespace
}  // namespace bufenlarge::test
