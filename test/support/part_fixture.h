// SPDX-License-Identifier: MIT
// Parts of one channel, each tested by its own face: a PeerLink over a FakePort (PartFixture), with both rings
// (RingsFixture). The peer is played by the test (FakePeer). Both end by checking that nothing broke the contract of
// the port.
//
// A PeerLink needs a Channel to put on lists and to name to the port. The one here is only that: nobody calls it.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include "channel/context.h"
#include "protocol/words.h"
#include "support/builders.h"
#include "support/checked_fabric.h"
#include "support/fake_peer.h"
#include "support/fake_port.h"
#include "support/upper_log.h"

namespace bufenlarge::test {

inline constexpr std::uint32_t kPeerRank = 1;
inline constexpr std::uint32_t kJobSize = 4;

class PartFixture {
 public:
  using FakeCore = Core<FakePort>;

  explicit PartFixture(const ChannelSettings& settings_in = settings(two_phases()),
                       Arrival arrival = Arrival::kInOrder, std::uint32_t rank = 0)
      : port(fabric),
        peer(fabric, kPeerRank, kJobSize, settings_in.phases),
        core(port, settings_in, peer.expectation(rank), upper.layer()),
        channel(core, kPeerRank, &kPeerRank),
        link(core, kPeerRank, channel) {
    port.arrives = arrival;
    peer.called = rank;
    core.random_state = 1;
  }
  PartFixture(const PartFixture&) = delete;
  PartFixture& operator=(const PartFixture&) = delete;

  // A connected endpoint; words go to the peer's inbox.
  void open() {
    REQUIRE(link.take_control());
    REQUIRE(link.open(&kPeerRank, {}));
    port.opened.back()->connected = true;
    const Hello hello = peer.hello(1);
    link.aim_words(hello.control_address, hello.control_key, hello.block);
    link.set_state(PeerLink<FakePort>::State::kReady);
  }

  // Reads the port's completions.
  void poll() {
    Events events{*this};
    port.poll(events);
  }
  // Returns true if a part has asked for service() since the last call.
  bool wants_service() { return take(core.pending); }
  bool listed_as_notified() { return take(core.notified); }
  bool listed_as_timed() { return take(core.timed); }

  // Every write comes to this until it is changed.
  void answer(WriteResult result) {
    port.rule = [result](const FakePort::Write&) { return std::optional(result); };
  }
  void answer_as_usual() { port.rule = nullptr; }
  void refuse_memory() {
    port.refuses_memory = [](std::size_t) { return true; };
  }
  void refuse_user_memory() {
    port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
  }
  [[nodiscard]] std::size_t logged(const std::string& word) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(port.log, [&](const std::string& line) { return line.starts_with(word); }));
  }
  // The channel has failed, and the upper layer was told once.
  void check_failure(Status status, const std::string& text) const {
    REQUIRE(upper.failures.size() == 1);
    CHECK(upper.failures[0].peer == kPeerRank);
    CHECK(upper.failures[0].status == status);
    CHECK_THAT(upper.failures[0].text, Catch::Matchers::Contains(text));
    CHECK(link.failed());
  }

  CheckedFabric fabric;
  FakePort port;
  FakePeer peer;
  UpperLog upper;
  FakeCore core;
  Channel<FakePort> channel;
  PeerLink<FakePort> link;
  std::function<void()> written;       // what the completion of a write of slots calls
  std::function<void()> data_written;  // the same for data

 private:
  struct Events {
    PartFixture& fixture;
    void on_written(void* user) const { call(fixture.written, user); }
    void on_data_written(void* user) const { call(fixture.data_written, user); }
    void on_notification(void*) const {}
    [[nodiscard]] unsigned on_placed(std::uint32_t) const { return 0; }
    void on_read_done(void*, std::uint32_t) const {}
    void call(const std::function<void()>& event, void* user) const {
      CHECK(user == &fixture.channel);
      if (event) event();
    }
  };

  bool take(WorkList<Channel<FakePort>>& list) {
    unsigned count = 0;
    list.serve([&](Channel<FakePort>& one) {
      CHECK(&one == &channel);
      ++count;
      return false;
    });
    CHECK(count <= 1);
    return count != 0;
  }
};

// Both rings of the first phase, connected to those of the peer.
class RingsFixture : public PartFixture {
 public:
  explicit RingsFixture(const ChannelSettings& settings_in = settings(two_phases()),
                        Arrival arrival = Arrival::kInOrder, std::uint8_t peer_wants = 0)
      : PartFixture(settings_in, arrival), receive_ring(link), send_ring(link, receive_ring.consumer()) {
    open();
    const Phase& first = settings_in.phases.at(0);
    REQUIRE(send_ring.provision(first));
    REQUIRE(receive_ring.provision(first));
    send_ring.start(0, first.slots, 0, 0);
    receive_ring.start(0, 0);
    send_ring.aim_at(peer.ring().address, peer.ring().key, first.stride());
    send_ring.set_peer_wants((peer_wants & kHelloVerifiesSlots) != 0, (peer_wants & kHelloWantsNotifications) != 0);
    written = [this] { send_ring.on_written(); };
    meet();
    (void)port.news();
  }
  ~RingsFixture() {
    link.close();
    receive_ring.drop();
    send_ring.drop();
  }

  bool send(std::initializer_list<std::size_t> sizes, std::uint32_t seed = 1) {
    std::size_t sent = 0;
    return send_ring.send_single_slot(Vector(sizes, seed).all(), sent);
  }
  // Stages a message and returns how much of it.
  std::size_t stage(std::size_t bytes, bool ends = true, std::uint32_t seed = 1) {
    std::size_t sent = 0;
    send_ring.stage(Vector({bytes}, seed).all(), ends, sent);
    return sent;
  }
  // The slots that have arrived at the peer.
  std::vector<FakePeer::Arrival> arrived() {
    std::vector<FakePeer::Arrival> all;
    while (auto arrival = peer.next()) all.push_back(*arrival);
    return all;
  }
  [[nodiscard]] SlotState look(SlotTrailer& trailer) const {
    return receive_ring.look(receive_ring.next_slot(), trailer);
  }
  [[nodiscard]] SlotState look() const {
    SlotTrailer trailer;
    return look(trailer);
  }
  // Takes the next slot, which is there, as Channel does. Returns its payload's place.
  const std::byte* take_slot(SlotTrailer& trailer) {
    const std::byte* slot = receive_ring.next_slot();
    REQUIRE(look(trailer) == SlotState::kReady);
    receive_ring.take_notification(trailer);
    receive_ring.consumer().consume();
    return slot + payload_offset(receive_ring.stride(), trailer.bytes);
  }

  ReceiveRing<FakePort> receive_ring;
  SendRing<FakePort> send_ring;

 private:
  // Tells the peer where it writes.
  void meet() {
    Hello own = peer.hello(1);
    const bool checks = port.arrives == Arrival::kChecked || port.arrives == Arrival::kMixed;
    own.flags = static_cast<std::uint8_t>((checks ? kHelloVerifiesSlots : 0) |
                                          (has_notifications(port.arrives) ? kHelloWantsNotifications : 0));
    own.ring_address = receive_ring.remote_address();
    own.ring_key = receive_ring.remote_key();
    own.control_address = link.inbox_address();
    own.control_key = link.inbox_key();
    own.block = link.hint();
    peer.meet(encode_hello(own, {kJobKey, kPeerRank}));
  }
};

}  // namespace bufenlarge::test
