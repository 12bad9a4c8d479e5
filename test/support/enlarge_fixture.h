// SPDX-License-Identifier: MIT
// A channel that has asked a peer, which the test plays, for larger buffers.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>

#include "protocol/words.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {

// Returns the request in a slot that arrived at the peer.
inline EnlargeRequest request_in(const FakePeer::Arrival& arrival) {
  REQUIRE(arrival.kind() == SlotKind::kEnlargeRequest);
  EnlargeRequest request{};
  REQUIRE(arrival.payload.size() == sizeof request);
  std::memcpy(&request, arrival.payload.data(), sizeof request);
  return request;
}

// The channel is connected, an element of `bytes` did not fit, and the peer has read the request.
struct EnlargeFixture {
  explicit EnlargeFixture(std::size_t bytes = 5000, const PhaseTable& table = two_phases())
      : EnlargeFixture(bytes, settings(table)) {}
  EnlargeFixture(std::size_t bytes, const ChannelSettings& how) : fixture(how), peer(fixture.connect()) {
    REQUIRE(fixture.send({bytes}) == kNothingSent);
    request = request_in(peer.next().value());
    fixture.rounds();
    fixture.port.news();
  }
  [[nodiscard]] EnlargeSender::State state() { return fixture.channel().enlargement().sender().state(); }
  // The peer acknowledges, and the channel takes it.
  EnlargeAck acknowledge(AckStatus status = AckStatus::kProvisioned) {
    const bool refused = status == AckStatus::kRefused;
    const std::uint8_t phase =
        refused ? fixture.channel().send_ring().phase() : static_cast<std::uint8_t>(request.phase);
    const EnlargeAck ack = peer.provision(phase, request.number, status);
    peer.acknowledge(ack);
    fixture.rounds(2);
    return ack;
  }

  ContextFixture fixture;
  FakePeer& peer;
  EnlargeRequest request{};
};

}  // namespace bufenlarge::test
