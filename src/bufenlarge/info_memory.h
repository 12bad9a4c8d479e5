// SPDX-License-Identifier: MIT
// bufenlarge_info --memory.
#pragma once

#include <string_view>
#include <vector>

namespace bufenlarge {

// `arguments`: the number of ranks, then the options. `environment`: as main() gets it, for the knobs. Prints the
// model. Throws an InfoError about what is not allowed.
void print_memory(const std::vector<std::string_view>& arguments, const char* const* environment);

}  // namespace bufenlarge
