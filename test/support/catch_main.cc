// SPDX-License-Identifier: MIT
// The main function of every Catch2 test program, with a log guard. The library prints a line that begins with
// "bufenlarge:" only when it cannot report an error in another way (fi_close(3) fails, or progress throws where
// there is no fatal callback). A run with such a line fails, even if all assertions hold.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

std::atomic<int> warnings{0};

// Writes the text to the real standard error and counts those of the library.
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
  if (warnings != 0) std::printf("log guard: the library printed %d unexpected warnings\n", warnings.load());
  return failed != 0 ? failed : warnings != 0 ? 1 : 0;
}
