// SPDX-License-Identifier: MIT
// What has arrived at a peer that the test plays.
#pragma once

#include <catch2/catch.hpp>

#include <vector>

#include "support/fake_peer.h"

namespace bufenlarge::test {

// The bytes of all slots that arrived at a peer, joined, and the marks of each slot.
struct Arrived {
  Bytes bytes;
  std::vector<unsigned> marks;
};

// Reads all slots that have arrived, which have to be payload.
inline Arrived drain(FakePeer& peer) {
  Arrived all;
  while (const auto arrival = peer.next()) {
    REQUIRE(arrival->kind() == SlotKind::kPayload);
    all.bytes.insert(all.bytes.end(), arrival->payload.begin(), arrival->payload.end());
    all.marks.push_back(arrival->trailer.marks);
  }
  return all;
}

inline ChannelSettings without_enlargement(const PhaseTable& table) {
  ChannelSettings made = settings(table);
  made.enlargement = false;
  return made;
}

}  // namespace bufenlarge::test
