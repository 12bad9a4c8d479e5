// SPDX-License-Identifier: MIT
// Ends a fuzz target when something does not hold that must.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PROMISE(holds)                                                              \
  do {                                                                              \
    if (!(holds)) {                                                                 \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)
