// SPDX-License-Identifier: MIT
// Where there is Catch2 version 3: what the tests use of version 2, by its names. configure chooses this header.
#pragma once

#include <catch2/catch_all.hpp>
#include <concepts>
#include <string>

namespace Catch {

namespace Matchers {

// Version 3 has this name for elements of ranges. Of two templates with one signature the constrained one is taken.
template <class Text>
  requires std::convertible_to<Text, std::string>
auto Contains(Text&& text) {
  return ContainsSubstring(std::string(text));
}

}  // namespace Matchers

using Matchers::Contains;
using Matchers::StartsWith;

}  // namespace Catch

using Catch::Approx;
