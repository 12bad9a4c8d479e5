// SPDX-License-Identifier: MIT
// How much a process logs: each level includes the ones before it.
#pragma once

namespace bufenlarge {

enum class LogLevel { kOff, kError, kState, kTrace };

}  // namespace bufenlarge
