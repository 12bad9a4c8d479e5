// SPDX-License-Identifier: MIT
// A folder of a test, and the lines of a file in it.
#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace bufenlarge::test {

// Gone, with what is in it, when the object is.
struct Folder {
  Folder() {
    char name[] = "/tmp/bufenlarge-test-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream from(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

}  // namespace bufenlarge::test
