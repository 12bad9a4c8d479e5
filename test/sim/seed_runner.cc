// SPDX-License-Identifier: MIT
#include "sim/seed_runner.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace bufenlarge::sim {

namespace {

// What to say when a check inside of the library ends the process: made beforehand, since a signal
// handler may not.
char last_words[256];
struct sigaction former;

void on_abort(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, last_words, std::strlen(last_words));
  sigaction(SIGABRT, &former, nullptr);
  raise(signal);
}

class LastWords {
 public:
  LastWords() {
    struct sigaction action {};
    action.sa_handler = on_abort;
    sigaction(SIGABRT, &action, &former);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords() { sigaction(SIGABRT, &former, nullptr); }
};

std::string replay_command(std::uint64_t seed, const char* test) {
  return "BUFENLARGE_SIM_SEED=" + std::to_string(seed) + " ./sim_tests \"" + test + "\"";
}

// The variable's number; `otherwise` when it is not set. A wrong one ends the run: it would pass for
// one that was asked for.
std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  if (errno == 0 && *end == '\0' && *text != '-' && number != 0) return number;
  std::printf("%s='%s' is not a number from 1 on\n", variable, text);
  std::exit(2);
}

std::string run_one(std::uint64_t seed, SimKind kind, const char* test, TraceOutput output,
                    SimTotals& totals) {
  const std::string command = replay_command(seed, test);
  std::snprintf(last_words, sizeof last_words, "seed %llu; to see it again: %s\n",
                static_cast<unsigned long long>(seed), command.c_str());
  const SimConfig config = draw_config(seed, kind);
  const std::string what = "seed " + std::to_string(seed) + ": " + describe(config);
  if (output == TraceOutput::kPrint) std::printf("%s\n", what.c_str());
  SimWorld world(config, output);
  const SimResult result = world.run();
  totals.add(result.totals);
  if (result.failure.empty()) return "";
  return result.failure + "\n" + what + "\nto see it again: " + command;
}

}  // namespace

SeedRun run_seeds(SimKind kind, std::uint32_t seeds, const char* test) {
  const LastWords words;
  SeedRun run;
  if (const std::uint64_t single = number_from("BUFENLARGE_SIM_SEED", 0); single != 0) {
    run.replayed = true;
    run.failure = run_one(single, kind, test, TraceOutput::kPrint, run.totals);
  } else {
    const std::uint64_t share = seeds / number_from("BUFENLARGE_SIM_PART", 1);
    const std::uint64_t count = number_from("BUFENLARGE_SIM_SEEDS", std::max<std::uint64_t>(share, 1));
    const std::uint64_t first = number_from("BUFENLARGE_SIM_FIRST", 1);
    for (std::uint64_t seed = first; seed < first + count && run.failure.empty(); ++seed)
      run.failure = run_one(seed, kind, test, TraceOutput::kNone, run.totals);
  }
  std::printf("%s: %s\n", test, run.totals.text().c_str());
  std::fflush(stdout);  // a long run shows how far it is
  return run;
}

}  // namespace bufenlarge::sim
