// SPDX-License-Identifier: MIT
#include "log.h"

#include <cstdio>
#include <ctime>

namespace bufenlarge {

std::string Log::open(const std::string& prefix) { return open_rank_file(file_, "LOG_FILE", prefix, rank_); }

void Log::line(std::uint32_t peer, std::string_view text) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm calendar{};
  localtime_r(&now.tv_sec, &calendar);
  char time[32];
  std::strftime(time, sizeof time, "%F %T", &calendar);
  std::FILE* to = file_ ? file_.get() : stderr;
  std::fprintf(to, "%s.%06ld rank %u peer %u: %.*s\n", time, now.tv_nsec / 1000, rank_, peer,
               static_cast<int>(text.size()), text.data());
  std::fflush(to);
}

}  // namespace bufenlarge
