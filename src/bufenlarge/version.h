// SPDX-License-Identifier: MIT
#pragma once

#include "bufenlarge.h"

#define BUFENLARGE_STRING(value) BUFENLARGE_STRING_OF(value)
#define BUFENLARGE_STRING_OF(value) #value

namespace bufenlarge {

inline constexpr const char* kVersionText = "0.1.0 (wire " BUFENLARGE_STRING(BUFENLARGE_WIRE_VERSION) ")";

}  // namespace bufenlarge
