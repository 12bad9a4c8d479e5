// SPDX-License-Identifier: MIT
#pragma once

namespace bufenlarge {

inline constexpr const char* kVersionText = "0.1.0 (wire 1)";

}  // namespace bufenlarge
