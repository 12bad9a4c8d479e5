// SPDX-License-Identifier: MIT
// What the user of bufenlarge_info gave cannot be used.
#pragma once

#include <stdexcept>

namespace bufenlarge {

// main() prints its text, which names what is wrong and what is allowed, and ends with status 2.
struct InfoError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace bufenlarge
