// SPDX-License-Identifier: MIT
// Waiting with a limit: a test that waits longer than kPatience has found a hang.
#pragma once

#include <catch2/catch.hpp>

#include <chrono>

namespace bufenlarge::test {

inline constexpr std::chrono::seconds kPatience{20};  // a loaded machine under a sanitizer is slow

// Calls `step` until `done` returns true. Returns false if that takes longer than `patience`.
template <class Done, class Step>
bool comes_true(Done done, Step step, std::chrono::milliseconds patience = kPatience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    step();
  }
  return true;
}

}  // namespace bufenlarge::test
