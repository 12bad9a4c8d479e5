// SPDX-License-Identifier: MIT
// A responder with what it stands on, and a peer, played by the test, that asks to read.
#pragma once

#include "channel/data_writer.cc"  // its templates of what a completion calls
#include "channel/rendezvous_responder.h"
#include "support/part_fixture.h"

namespace bufenlarge::test {

struct ResponderFixture : RingsFixture {
  using Memory = FakeFabric::Memory;

  explicit ResponderFixture(const ChannelSettings& settings_in = settings(two_phases()))
      : RingsFixture(settings_in),
        enlargement(link, send_ring, receive_ring),
        data(link),
        responder(link, send_ring, enlargement, data) {
    data_written = [this] {
      data.on_written([this](SourceRef<FakePort> use) { responder.end_use(std::move(use)); });
    };
  }
  ~ResponderFixture() {
    link.close();
    responder.forget();
  }

  // `source` is the cookie.
  std::uint32_t advertise(const Vector& source, std::uint32_t reader = kPeerRank) {
    return core.sources.add(source.all(), const_cast<Vector*>(&source), reader);
  }
  void request(const std::vector<ReadSource>& sources, const std::vector<ReadDestination>& to, std::uint8_t flags = 0,
               std::uint32_t sequence = 5) {
    ReadRequestParts parts;
    parts.head.sequence = sequence;
    parts.head.flags = flags;
    parts.sources = sources;
    parts.destinations = to;
    Bytes payload(1024);
    payload.resize(encode_request(parts, payload));
    responder.on_request(payload);
  }
  // A request for all of a source, into memory of the peer that is returned.
  const Memory& request_all(const Vector& source, std::uint32_t handle, std::uint8_t flags = 0,
                            std::uint32_t sequence = 5) {
    const auto bytes = static_cast<std::uint32_t>(source.bytes().size());
    const Memory& to = fabric.add(bytes);
    request({{0, handle, bytes}}, {{to.address, to.key, bytes}}, flags, sequence);
    return to;
  }
  void release(std::uint32_t handle) {
    Bytes payload(64);
    payload.resize(encode_release(handle, payload));
    responder.on_request(payload);
  }
  void serve() {
    responder.service();
    send_ring.flush();
  }
  // The data in the fragments that have arrived.
  Bytes fragments(std::uint32_t sequence = 5) {
    Bytes all;
    for (const auto& slot : arrived()) {
      REQUIRE(slot.kind() == SlotKind::kReadFragment);
      ReadFragment head{};
      std::memcpy(&head, slot.payload.data(), sizeof head);
      CHECK(head.sequence == sequence);
      all.insert(all.end(), slot.payload.begin() + sizeof head, slot.payload.end());
      ended = (slot.trailer.marks & kMarkLast) != 0;
    }
    peer.grant_all();
    return all;
  }
  [[nodiscard]] static bool holds(const Memory& memory, const Vector& source) {
    return std::memcmp(memory.data(), source.bytes().data(), memory.bytes) == 0;
  }

  Enlargement<FakePort> enlargement;
  DataWriter<FakePort> data;
  RendezvousResponder<FakePort> responder;
  bool ended = false;  // the last fragment was marked
};

}  // namespace bufenlarge::test
