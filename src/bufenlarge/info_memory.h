// SPDX-License-Identifier: MIT
// bufenlarge_info --memory.
#pragma once

#include <string_view>
#include <vector>

namespace bufenlarge {

// `arguments`: the number of ranks, then the options. Prints the model, or what is wrong with an argument; returns the
// exit status.
int print_memory(const std::vector<std::string_view>& arguments);

}  // namespace bufenlarge
