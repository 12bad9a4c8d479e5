// SPDX-License-Identifier: MIT
// A channel whose directions earn their larger rings (GROWTH=earned).
#pragma once

#include <catch2/catch.hpp>

#include <initializer_list>

#include "support/arrived.h"
#include "support/enlarge_fixture.h"

namespace bufenlarge::test {

inline ChannelSettings earning(const PhaseTable& table, std::uint64_t shrink_after_us = 0) {
  ChannelSettings made = settings(table);
  made.growth = GrowthRule::kEarned;
  made.shrink_after_us = shrink_after_us;
  return made;
}

// A connected channel, whose peer reads what arrives and grants it.
struct Earning : ContextFixture {
  explicit Earning(const ChannelSettings& how) : ContextFixture(how), other(connect()) { rounds(); }

  // Sends messages, each `pause_us` after the one before, while they go whole. Returns how many did.
  unsigned send_many(std::initializer_list<std::size_t> sizes, unsigned most, std::uint64_t pause_us = 0) {
    for (unsigned sent = 0; sent < most; ++sent, port.now += pause_us) {
      const Vector vector(sizes, sent + 1);
      if (test::send(channel(), vector.all()) == kNothingSent) return sent;
      CHECK(drain(other).bytes == vector.bytes());
      grant();
    }
    return most;
  }
  // What has arrived is granted, and the writes are complete.
  void grant() {
    other.grant_all();
    rounds();
  }
  // The peer provides what the channel has asked for. Returns the phase.
  std::uint32_t grow(std::uint64_t took_us = 1, AckStatus status = AckStatus::kProvisioned) {
    const EnlargeRequest request = request_in(other.next().value());
    port.now += took_us;
    const auto phase = static_cast<std::uint8_t>(status == AckStatus::kRefused ? send_phase() : request.phase);
    other.acknowledge(other.provision(phase, request.number, status));
    rounds(2);
    return request.phase;
  }
  [[nodiscard]] std::uint8_t send_phase() { return channel().send_ring().phase(); }
  void pass(std::uint64_t us) {
    port.now += us;
    rounds(FakeContext::kEventRounds);
  }

  FakePeer& other;
};

}  // namespace bufenlarge::test
