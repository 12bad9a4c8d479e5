// SPDX-License-Identifier: MIT
// The knobs LOG and LOG_FILE through the C interface, over libfabric's tcp provider.
#include <catch2/catch.hpp>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "fabric/job.h"
#include "support/test_folder.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("each process writes the life of its channels to its own file", "[log][tcp]") {
  const Folder folder;
  const std::string prefix = folder.path / "life";
  {
    Job job(2, {{"LOG", "state"}, {"LOG_FILE", prefix}});
    job.send(0, 1, Vector({5000}));
  }
  for (const char* rank : {"0", "1"}) {
    const std::vector<std::string> lines = lines_of(prefix + "." + rank);
    REQUIRE_FALSE(lines.empty());
    const std::regex form(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} rank )" + std::string(rank) +
                          R"( peer [01]: .+ -> .+: .+)");
    for (const std::string& line : lines) {
      INFO(line);
      CHECK(std::regex_match(line, form));
    }
  }
  CHECK_THAT(lines_of(prefix + ".0").front(), Contains("connection Idle -> Wanted: there is something to send"));
}

TEST_CASE("without LOG nothing is written", "[log][tcp]") {
  const Folder folder;
  {
    Job job(2, {{"LOG_FILE", folder.path / "life"}});
    job.send(0, 1, Vector({5000}));
  }
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("a log file that cannot be written is an option error with its name", "[log]") {
  const Options options = make_options({{"LOG", "state"}, {"LOG_FILE", "/no/such/folder/life"}});
  bufenlarge_context_config_t config{};
  config.options = options.get();
  config.size = 1;
  config.deliver = [](void*, std::uint32_t, const void*, std::size_t, unsigned) {};
  config.failed = [](void*, std::uint32_t, bufenlarge_status_t, const char*) {};
  char message[BUFENLARGE_MESSAGE_BYTES] = "";
  bufenlarge_context_t* context = nullptr;
  CHECK(bufenlarge_context_open(&config, &context, message, sizeof message) == BUFENLARGE_ERR_OPTION);
  CHECK(context == nullptr);
  CHECK_THAT(message, Contains("LOG_FILE: /no/such/folder/life.0 cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace bufenlarge::test
