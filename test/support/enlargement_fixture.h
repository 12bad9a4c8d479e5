// SPDX-License-Identifier: MIT
// Enlargement with both rings, and a peer which the test plays.
#pragma once

#include "channel/enlargement.h"
#include "support/part_fixture.h"

namespace bufenlarge::test {

struct EnlargementFixture : RingsFixture {
  explicit EnlargementFixture(const ChannelSettings& settings_in = settings(three_phases()))
      : RingsFixture(settings_in), enlargement(link, send_ring, receive_ring) {}

  void service() { enlargement.service(port.now); }
  [[nodiscard]] EnlargeSender::State state() const { return enlargement.sender().state(); }
  // The number and the phase in the slots that have arrived, which have to be one request.
  EnlargeRequest requested() {
    const auto slots = arrived();
    REQUIRE(slots.size() == 1);
    REQUIRE(slots[0].kind() == SlotKind::kEnlargeRequest);
    EnlargeRequest request{};
    REQUIRE(slots[0].payload.size() == sizeof request);
    std::memcpy(&request, slots[0].payload.data(), sizeof request);
    return request;
  }
  // Asks for a phase; the peer answers with one.
  void exchange(std::uint8_t wanted, std::uint8_t given, AckStatus status = AckStatus::kProvisioned) {
    enlargement.begin(wanted);
    const EnlargeRequest request = requested();
    CHECK(request.phase == wanted);
    peer.acknowledge(peer.provision(given, request.number, status));
    poll();
    service();
  }
  // A request of the peer is taken as Channel does.
  void request(EnlargeRequest wanted) {
    peer.ask(wanted);
    SlotTrailer trailer;
    take_slot(trailer);
    enlargement.on_request(wanted);
  }

  Enlargement<FakePort> enlargement;
};

}  // namespace bufenlarge::test
