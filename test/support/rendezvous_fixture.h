// SPDX-License-Identifier: MIT
// A channel that reads from, or is read by, a peer that the test plays.
#pragma once

#include <catch2/catch.hpp>

#include <optional>
#include <vector>

#include "protocol/read_request.h"
#include "support/context_fixture.h"

namespace bufenlarge::test {

class RendezvousFixture : public ContextFixture {
 public:
  using ContextFixture::ContextFixture;

  // ---- this side reads
  // Reads into `destination`, which is the cookie.
  void read(Vector& destination, std::uint32_t handle = 77, bool last = true, std::uint32_t rank = 1) {
    const ReadOrder order{destination.all(), &destination, 0, destination.bytes().size(), handle, last};
    REQUIRE(channel(rank).read(order) == Status::kOk);
  }
  // Returns the requests that have arrived at the peer, and grants its ring.
  std::vector<ReadRequestParts> requests(std::uint32_t rank = 1) {
    std::vector<ReadRequestParts> found;
    while (auto arrival = peer(rank).next()) {
      if (arrival->kind() != SlotKind::kReadRequest) continue;
      auto parts = parse_read_request(arrival->payload);
      REQUIRE(parts);
      found.push_back(*parts);
    }
    peer(rank).grant_all();
    return found;
  }
  // Lets the peer write what was asked for.
  void place(const ReadRequestParts& request, std::span<const std::byte> data) {
    for (const ReadDestination& to : request.destinations) {
      REQUIRE(fabric.place(to.key, to.address, data.first(to.bytes)));
      data = data.subspan(to.bytes);
    }
  }
  void fragment(std::uint32_t sequence, std::span<const std::byte> data, bool last, std::uint32_t reserved = 0,
             std::uint32_t rank = 1) {
    const ReadFragment head{sequence, reserved};
    Bytes payload(sizeof head + data.size());
    std::memcpy(payload.data(), &head, sizeof head);
    if (!data.empty()) std::memcpy(payload.data() + sizeof head, data.data(), data.size());
    peer(rank).write_slot(SlotKind::kReadFragment, payload, last ? kMarkLast : std::uint8_t{0});
  }

  // ---- the peer reads
  std::uint32_t advertise(const Vector& source, std::uint32_t rank = 1) {
    std::uint32_t handle = 0;
    REQUIRE(channel(rank).advertise(source.all(), const_cast<Vector*>(&source), handle) == Status::kOk);
    return handle;
  }
  void ask(const std::vector<ReadSource>& sources, const std::vector<ReadDestination>& destinations,
           std::uint32_t sequence = 5, std::uint8_t flags = 0, std::uint32_t rank = 1) {
    const ReadRequest head{sequence, static_cast<std::uint8_t>(sources.size()),
                           static_cast<std::uint8_t>(destinations.size()), flags, 0};
    Bytes payload(sizeof head + 16 * (sources.size() + destinations.size()));
    std::memcpy(payload.data(), &head, sizeof head);
    std::memcpy(payload.data() + sizeof head, sources.data(), 16 * sources.size());
    if (!destinations.empty())
      std::memcpy(payload.data() + sizeof head + 16 * sources.size(), destinations.data(), 16 * destinations.size());
    peer(rank).write_slot(SlotKind::kReadRequest, payload, 0);
  }
  // Adds memory of the peer to read into.
  FakeFabric::Memory& room(std::size_t bytes) { return fabric.add(bytes); }

  // Checks that the channel to this peer has failed, and no other.
  void check_protocol_error(const std::string& text, std::uint32_t rank = 1) {
    REQUIRE(upper.failures.size() == 1);
    CHECK(upper.failures[0].peer == rank);
    CHECK(upper.failures[0].status == Status::kProtocolError);
    CHECK_THAT(upper.failures[0].text, Catch::Matchers::Contains(text));
  }
  [[nodiscard]] std::size_t logged(const std::string& word) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(port.log, [&](const std::string& line) { return line.starts_with(word); }));
  }
};

}  // namespace bufenlarge::test
