// SPDX-License-Identifier: MIT
// Whether the hooks of unmap_hooks.h can be had in this build.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "unmap_hooks.h"

namespace bufenlarge::test {

// False with the thread sanitizer, whose allocator makes its system calls itself. Anything else fails the test.
inline bool has_hooks() {
  std::string why;
  if (unmap_hooks(why) != nullptr) return true;
  INFO(why);
#ifndef __SANITIZE_THREAD__
  FAIL();
#endif
  REQUIRE(why == "calls of free pass the C library");
  return false;
}

}  // namespace bufenlarge::test
