// SPDX-License-Identifier: MIT
// BUFENLARGE_CHECK ends the process with a message when an invariant of this library is broken. It is always
// on. What comes from the wire never reaches it: the code validates that and reports
// Status::kProtocolError.
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
