// SPDX-License-Identifier: MIT
#include "protocol/phase_table.h"

#include "protocol/digest.h"

namespace bufenlarge {

std::uint8_t PhaseTable::phase_for(std::size_t bytes, std::uint8_t from) const {
  for (std::uint8_t phase = from; phase < count; ++phase) {
    if (bytes <= phases[phase].threshold_bytes) return phase;
  }
  return last();
}

std::uint8_t PhaseTable::phase_for_message(std::size_t bytes, std::size_t largest) const {
  std::uint8_t phase = phase_for(largest, 0);
  while (phase < last() && phases[phase].capacity() < bytes) ++phase;
  return phase;
}

std::uint32_t geometry_hash(const PhaseTable& table) {
  std::array<std::uint32_t, 2 * kPhasesMax> words{};
  for (std::uint8_t phase = 0; phase < table.count; ++phase) {
    words[2u * phase] = table.phases[phase].slot_bytes;
    words[2u * phase + 1] = table.phases[phase].slots;
  }
  return digest32(words.data(), sizeof words);
}

}  // namespace bufenlarge
