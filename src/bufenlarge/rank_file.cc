// SPDX-License-Identifier: MIT
#include "rank_file.h"

#include <cerrno>
#include <cstring>

namespace bufenlarge {

std::string open_rank_file(RankFile& file, const char* knob, const std::string& prefix, std::uint32_t rank) {
  const std::string name = prefix + "." + std::to_string(rank);
  file.reset(std::fopen(name.c_str(), "a"));
  if (file) return "";
  return std::string(knob) + ": " + name + " cannot be written: " + std::strerror(errno);
}

}  // namespace bufenlarge
