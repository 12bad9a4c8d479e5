// SPDX-License-Identifier: MIT
// bufenlarge_info --draw-memory.
#pragma once

#include <string_view>
#include <vector>

namespace bufenlarge {

// `files`: what MEMORY_LOG wrote, of one or more processes. Prints an SVG picture of their sum over time. Throws an
// InfoError about a file that is none of these.
void draw_memory(const std::vector<std::string_view>& files);

}  // namespace bufenlarge
