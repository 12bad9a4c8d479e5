// SPDX-License-Identifier: MIT
// The log of one process (knobs LOG and LOG_FILE): one line per event, with time, rank and peer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "channel/log_sink.h"
#include "rank_file.h"

namespace bufenlarge {

class Log final : public LogSink {
 public:
  explicit Log(std::uint32_t rank) : rank_(rank) {}

  // Appends to the file `prefix`.RANK from now on, in place of standard error. Returns what is wrong, with the file's
  // name; empty when nothing is.
  [[nodiscard]] std::string open(const std::string& prefix);

  // "2026-11-22 14:28:01.000123 rank 0 peer 1: TEXT". The line is in the file when the call returns.
  void line(std::uint32_t peer, std::string_view text) override;

 private:
  RankFile file_;  // empty: standard error
  std::uint32_t rank_;
};

}  // namespace bufenlarge
