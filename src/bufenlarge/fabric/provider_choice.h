// SPDX-License-Identifier: MIT
// The values of the knobs ARRIVAL and PROVIDER.
#pragma once

#include <cstdint>

namespace bufenlarge {

enum class ArrivalChoice : std::uint8_t { kAuto, kPolled, kNotified, kMixed };
enum class ProviderChoice : std::uint8_t { kAuto, kTcp, kVerbs };

}  // namespace bufenlarge
