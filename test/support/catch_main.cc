// SPDX-License-Identifier: MIT
// The main function of every Catch2 test program, and the log guard: the library prints a line that
// begins with "bufenlarge:" only when something is wrong that nobody asked for (a failing fi_close,
// an exception in progress). A run in which it did so fails, whatever the assertions said.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

std::atomic<int> warnings{0};

// Writes through to the real standard error and looks at what passes.
ssize_t watch(void*, const char* text, std::size_t bytes) {
  if (std::string_view(text, bytes).find("bufenlarge:") != std::string_view::npos) ++warnings;
  return write(STDERR_FILENO, text, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* watched = fopencookie(nullptr, "w", cookie_io_functions_t{nullptr, watch, nullptr, nullptr});
  if (watched == nullptr) return 1;
  std::setvbuf(watched, nullptr, _IOLBF, 512);
  stderr = watched;
  const int failed = Catch::Session().run(argc, argv);
  std::fflush(watched);
  if (warnings != 0) std::printf("log guard: the library printed %d warnings nobody expected\n", warnings.load());
  return failed != 0 ? failed : warnings != 0 ? 1 : 0;
}
