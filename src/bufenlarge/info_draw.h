// SPDX-License-Identifier: MIT
// bufenlarge_info --draw-memory.
#pragma once

#include <string_view>
#include <vector>

namespace bufenlarge {

// `files`: what MEMORY_LOG wrote, of one or more processes. Prints an SVG picture of their sum over time, or what is
// wrong with a file; returns the exit status.
int draw_memory(const std::vector<std::string_view>& files);

}  // namespace bufenlarge
