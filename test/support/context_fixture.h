// SPDX-License-Identifier: MIT
// One context under test over a FakePort, with peers that the test plays (FakePeer), and two contexts
// that talk to each other (ContextPair). Both check at their end that nothing broke the contract of the port.
#pragma once

#include <catch2/catch.hpp>

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "channel/context.h"
#include "support/builders.h"
#include "support/checked_fabric.h"
#include "support/fake_peer.h"
#include "support/fake_port.h"
#include "support/upper_log.h"

namespace bufenlarge::test {

using FakeContext = Context<FakePort>;
using FakeChannel = FakeContext::Channel;

struct Sent {
  Status status;
  std::size_t bytes;
  bool operator==(const Sent&) const = default;
};
inline constexpr Sent kNothingSent{Status::kAgain, 0};

inline std::ostream& operator<<(std::ostream& out, const Sent& sent) {
  return out << "status " << static_cast<int>(sent.status) << ", " << sent.bytes << " bytes";
}

// Addresses of ranks 0 .. size-1 as FakePort reads them.
inline Bytes fake_addresses(std::uint32_t size) {
  Bytes addresses(std::size_t{size} * sizeof(std::uint32_t));
  for (std::uint32_t rank = 0; rank < size; ++rank)
    std::memcpy(addresses.data() + rank * sizeof rank, &rank, sizeof rank);
  return addresses;
}

inline Sent send(FakeChannel& channel, std::span<const iovec> vector, bool more = false) {
  Sent result{};
  result.status = channel.send(vector, more, result.bytes);
  return result;
}

class ContextFixture {
 public:
  explicit ContextFixture(const ChannelSettings& settings_in = settings(two_phases()), std::uint32_t size = 4,
                          std::uint32_t rank = 0)
      : port(fabric),
        context(port, settings_in, rank, size, kJobKey, upper.layer()),
        phases_(settings_in.phases),
        size_(size),
        rank_(rank) {
    context.set_addresses(fake_addresses(size));
  }
  ContextFixture(const ContextFixture&) = delete;
  ContextFixture& operator=(const ContextFixture&) = delete;

  FakeChannel& channel(std::uint32_t rank = 1) { return *context.channel(rank); }
  FakePeer& peer(std::uint32_t rank = 1) {
    auto& made = peers_[rank];
    if (made) return *made;
    made = std::make_unique<FakePeer>(fabric, rank, size_, phases_);
    made->called = rank_;
    made->on_notified = [this, rank] { notify(rank); };
    return *made;
  }
  // Puts in a notification of that peer.
  void notify(std::uint32_t rank = 1) { port.notify(links_.at(rank)); }
  // Puts in the end of a response of that peer, whose data the test has placed.
  void end_read(std::uint32_t sequence, std::uint32_t rank = 1) { port.end_read(links_.at(rank), sequence); }
  void lose(std::uint32_t rank = 1) { port.lost(links_.at(rank), "the link broke"); }
  Sent send(std::initializer_list<std::size_t> sizes, std::uint32_t rank = 1, bool more = false) {
    return test::send(channel(rank), Vector(sizes).all(), more);
  }
  void rounds(unsigned count = 1) {
    while (count-- > 0) context.progress();
  }

  // Names a process of another job to the side under test, and returns its number there.
  std::uint32_t add_other_job() {
    const std::uint64_t key = kJobKey + 1;
    const auto number = context.peers().add(job_id_of(key), 7, name_key_of(key, 7), fake_addresses(1));
    REQUIRE(number);
    return *number;
  }
  // Makes the side under test want a channel to `rank`, up to the link that it opens.
  FakePort::LinkState* want(std::uint32_t rank = 1) {
    const std::size_t before = port.opened.size();
    REQUIRE(send({8}, rank) == kNothingSent);
    rounds();
    REQUIRE(port.opened.size() == before + 1);
    return links_[rank] = port.opened.back();
  }
  // Connects as the active side; the peer reads the Hello and grants its slot.
  FakePeer& connect(std::uint32_t rank = 1) {
    FakePort::LinkState* link = want(rank);
    FakePeer& other = peer(rank);
    other.meet(link->data);
    port.connected(link, other.answer_bytes(other.theirs().attempt));
    rounds();
    REQUIRE(other.next().value().kind() == SlotKind::kHello);
    other.grant_all();
    return other;
  }
  // Connects as the passive side, which has then read the peer's first message.
  FakePeer& accept(std::uint32_t rank = 1) {
    FakePeer& other = ask_in(rank);
    other.send_hello();
    rounds();
    REQUIRE(channel(rank).connection().state() == Connect::State::kReady);
    return other;
  }
  // Does the same up to the silence before the peer's first message.
  FakePeer& ask_in(std::uint32_t rank = 1, std::uint16_t attempt = 1) {
    FakePeer& other = request(rank, attempt);
    port.connected(port.accepted.back(), {});
    rounds(FakeContext::kEventRounds);
    REQUIRE(channel(rank).connection().state() == Connect::State::kSilent);
    return other;
  }

  // Does the same up to the accepted request; the event that it is connected is still to come.
  FakePeer& request(std::uint32_t rank = 1, std::uint16_t attempt = 1) {
    FakePeer& other = peer(rank);
    const std::size_t before = port.accepted.size();
    port.request(other.hello_bytes(attempt));
    rounds(FakeContext::kEventRounds);
    REQUIRE(port.accepted.size() == before + 1);
    links_[rank] = port.accepted.back();
    other.meet(links_[rank]->data);
    return other;
  }

  CheckedFabric fabric;
  FakePort port;
  UpperLog upper;
  FakeContext context;

 private:
  std::map<std::uint32_t, std::unique_ptr<FakePeer>> peers_;
  std::map<std::uint32_t, FakePort::LinkState*> links_;
  const PhaseTable phases_;
  const std::uint32_t size_;
  const std::uint32_t rank_;
};

class ContextPair {
 public:
  explicit ContextPair(const ChannelSettings& settings_in)
      : side{Side(fabric, settings_in, 0), Side(fabric, settings_in, 1)} {}
  ContextPair(const ContextPair&) = delete;
  ContextPair& operator=(const ContextPair&) = delete;

  struct Side {
    Side(FakeFabric& fabric, const ChannelSettings& settings_in, std::uint32_t rank)
        : port(fabric), context(port, settings_in, rank, 2, kJobKey, upper.layer()), other(1 - rank) {
      fabric.ports[rank] = &port;
      context.set_addresses(fake_addresses(2));
    }
    FakeChannel& channel() { return *context.channel(other); }
    std::vector<Bytes>& messages() { return upper.messages[other]; }
    FakePort port;
    UpperLog upper;
    FakeContext context;
    std::uint32_t other;
  };

  void rounds(unsigned count = 1) {
    while (count-- > 0) {
      side[0].context.progress();
      side[1].context.progress();
    }
  }
  // Sends a whole message as an upper layer does: tries again what is left after progress.
  void send_all(std::uint32_t from, const Vector& vector) {
    std::size_t sent = 0;
    const std::size_t total = vector.bytes().size();
    for (unsigned tries = 0; sent < total; ++tries) {
      REQUIRE(tries < 100'000);
      const std::vector<iovec> rest = vector.rest(sent);
      sent += send(side[from].channel(), rest).bytes;
      rounds();
    }
  }
  void settle() {
    for (unsigned tries = 0; !(side[0].context.idle() && side[1].context.idle()); ++tries) {
      REQUIRE(tries < 10'000);
      rounds();
    }
    rounds(4);
  }
  // Sends a first message in each direction, after which both channels are ready.
  void open() {
    send_all(0, Vector({8}));
    send_all(1, Vector({8}));
    settle();
    REQUIRE(side[0].messages().size() == 1);
    REQUIRE(side[1].messages().size() == 1);
  }

  CheckedFabric fabric;
  std::array<Side, 2> side;
};

}  // namespace bufenlarge::test
