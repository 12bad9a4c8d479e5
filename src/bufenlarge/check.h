// SPDX-License-Identifier: MIT
// BUFENLARGE_CHECK: our own invariants, always on. What comes from the wire is validated and
// answered with Status::kProtocolError instead; it never reaches a check.
#pragma once

#include <cstdio>
#include <cstdlib>

#define BUFENLARGE_CHECK(condition)                                                       \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      std::fprintf(stderr, "bufenlarge: broken invariant (%s) at %s:%d\n", #condition,    \
                   __FILE__, __LINE__);                                                   \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
