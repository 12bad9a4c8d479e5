// SPDX-License-Identifier: MIT
// A file to which one process appends lines: NAME.RANK, where a knob gives NAME.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace bufenlarge {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using RankFile = std::unique_ptr<std::FILE, CloseFile>;

// Opens it. Returns what is wrong, with the knob and the file's name; empty when nothing is.
[[nodiscard]] std::string open_rank_file(RankFile& file, const char* knob, const std::string& prefix,
                                         std::uint32_t rank);

}  // namespace bufenlarge
