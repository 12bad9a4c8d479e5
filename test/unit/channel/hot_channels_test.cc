// SPDX-License-Identifier: MIT
// Which rings a round looks at where a device places data: HotChannels in a context, and what it tells the peers.
#include "channel/hot_channels.h"

#include <catch2/catch.hpp>

#include "support/context_fixture.h"
#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

ChannelSettings hot_settings(std::uint32_t hot_max, std::uint32_t quiet_rounds = 100) {
  ChannelSettings made = test::hot_settings(phases({{128, 4}}), hot_max);
  made.quiet_rounds = quiet_rounds;
  return made;
}

// Connected to `peers` peers, which know by hints or notifications.
class Hot : public ContextFixture {
 public:
  Hot(Arrival arrival, std::uint32_t peers, std::uint32_t hot_max, std::uint32_t quiet_rounds = 100)
      : ContextFixture(hot_settings(hot_max, quiet_rounds), peers + 1), peers_(peers) {
    port.arrives = arrival;
    for (std::uint32_t rank = 1; rank <= peers; ++rank) connect(rank);
    rounds(2);
  }

  // Whether each peer knows that its ring is looked at.
  std::vector<bool> told() {
    std::vector<bool> is;
    for (std::uint32_t rank = 1; rank <= peers_; ++rank) is.push_back(peer(rank).inbox().hot.hot != 0);
    return is;
  }
  std::size_t count() {
    const std::vector<bool> is = told();
    return static_cast<std::size_t>(std::ranges::count(is, true));
  }
  // A message that the peer tells of as it has to. Returns after how many rounds it was there, 0 for not in 1,000; 1
  // for what the first round finds that looks for such messages.
  unsigned send_to_us(std::uint32_t rank, bool tells = true) {
    const std::size_t before = upper.messages[rank].size();
    FakePeer& from = peer(rank);
    from.send(pattern(8, rank));
    if (tells && port.arrives == Arrival::kChecked && from.inbox().hot.hot == 0) from.hint();
    from.grant_all();
    const bool told = tells || from.inbox().hot.hot != 0;
    const unsigned soon = from.inbox().hot.hot != 0 ? 1 : HotChannels<FakePort>::kColdEvery;
    for (unsigned round = 1; round <= 1000; ++round) {
      context.progress();
      if (upper.messages[rank].size() != before) return told && round <= soon ? 1 : round;
    }
    return 0;
  }

 private:
  std::uint32_t peers_;
};

TEST_CASE("while few are connected all channels are hot, and their peers know", "[hot][S1]") {
  for (const Arrival arrival : {Arrival::kChecked, Arrival::kMixed}) {
    Hot hot(arrival, 4, 4, 10);
    CHECK(hot.told() == std::vector<bool>{true, true, true, true});
    hot.rounds(100);
    CHECK(hot.count() == 4);
    for (const std::uint32_t rank : {1u, 4u}) CHECK(hot.send_to_us(rank, false) == 1);
  }
}

TEST_CASE("a channel too many is not hot, and is seen by a hint in a few rounds", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 6, 4);
  CHECK(hot.told() == std::vector<bool>{true, true, true, true, false, false});
  CHECK(hot.send_to_us(6) == 1);
}

TEST_CASE("slots that nothing tells of are found in four rounds for each cold channel", "[hot][S1]") {
  constexpr std::uint32_t kPeers = 40;
  Hot hot(Arrival::kChecked, kPeers, 2);
  for (const std::uint32_t rank : {3u, 20u, 40u}) {
    const unsigned rounds = hot.send_to_us(rank, false);
    CHECK(rounds >= 1);
    CHECK(rounds <= (kPeers / HotChannels<FakePort>::kColdLooks + 1) * HotChannels<FakePort>::kColdEvery);
  }
}

TEST_CASE("while slots come in each round, the port is polled in every fourth", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 1, 1);
  REQUIRE(hot.send_to_us(1) == 1);
  hot.rounds(2);  // nothing comes in the second, which polls
  const unsigned before = hot.port.polls;
  for (unsigned round = 0; round < 3 * FakeContext::kUnpolledRoundsMax; ++round) REQUIRE(hot.send_to_us(1) == 1);
  CHECK(hot.port.polls - before == 3);
}

TEST_CASE("a hint for a ring in which nothing came, or of a hot channel, changes nothing", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 6, 4);
  hot.peer(1).hint();
  hot.peer(6).hint();
  hot.rounds(4);
  CHECK(hot.told() == std::vector<bool>{true, true, true, true, false, false});
  CHECK(hot.upper.messages[6].empty());
  CHECK(hot.send_to_us(6) == 1);
}

TEST_CASE("of many, a channel becomes hot when slots come twice in time", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 12, 8, 40);
  hot.rounds(800);
  CHECK(hot.count() == 1);  // one stays hot of eight
  CHECK(hot.send_to_us(10) == 1);
  CHECK_FALSE(hot.told()[9]);
  hot.rounds(50);
  CHECK(hot.send_to_us(10) == 1);
  CHECK_FALSE(hot.told()[9]);  // not in time
  CHECK(hot.send_to_us(10) == 1);
  CHECK(hot.told()[9]);
}

TEST_CASE("while as many are hot as may be, no other becomes so before one of them is quiet", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 5, 2, 40);
  CHECK(hot.told() == std::vector<bool>{true, true, false, false, false});
  for (int i = 0; i < 10; ++i)
    for (const std::uint32_t rank : {1u, 2u, 3u, 3u}) CHECK(hot.send_to_us(rank) == 1);
  CHECK(hot.told() == std::vector<bool>{true, true, false, false, false});
  hot.rounds(100);
  for (int i = 0; i < 2; ++i) CHECK(hot.send_to_us(3) == 1);
  CHECK(hot.told()[2]);
}

TEST_CASE("a hot channel that is used stays hot, one that is quiet does not", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 12, 8, 40);
  for (int i = 0; i < 400; ++i) {
    hot.rounds(5);
    CHECK(hot.send_to_us(2) == 1);
  }
  CHECK(hot.told()[1]);
  CHECK(hot.count() == 1);
  Hot large(Arrival::kChecked, 36, 32, 40);
  large.rounds(4000);
  CHECK(large.count() == HotChannels<FakePort>::kKept);
}

TEST_CASE("a peer that knows nothing of hot channels is heard", "[hot][S1]") {
  for (const Arrival arrival : {Arrival::kChecked, Arrival::kMixed}) {
    Hot hot(arrival, 3, 0);
    CHECK(hot.count() == 0);
    for (const std::uint32_t rank : {1u, 2u, 3u}) CHECK(hot.send_to_us(rank) != 0);
    CHECK(hot.count() == 0);
  }
}

TEST_CASE("a channel that has failed is looked at no more, hot or not", "[hot][S1]") {
  Hot hot(Arrival::kChecked, 6, 3, 40);
  for (const std::uint32_t rank : {1u, 2u, 6u}) {
    hot.lose(rank);
    hot.rounds(2 * FakeContext::kEventRounds);
    REQUIRE(hot.channel(rank).failed());
    CHECK_FALSE(hot.channel(rank).watched());
  }
  hot.rounds(100);
  for (const std::uint32_t rank : {3u, 4u, 5u}) CHECK(hot.send_to_us(rank) == 1);
}

TEST_CASE("a word about a hot channel that finds no room goes later", "[hot][S1]") {
  ContextFixture fixture(hot_settings(4));
  fixture.port.arrives = Arrival::kChecked;
  fixture.port.rule = [](const FakePort::Write& write) {
    return write.use == WriteUse::kWord ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  FakePeer& peer = fixture.connect(1);
  fixture.rounds(3);
  CHECK(peer.inbox().hot.hot == 0);
  CHECK_FALSE(fixture.channel(1).idle());
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.inbox().hot.hot == 1);
  CHECK(fixture.channel(1).idle());
}

TEST_CASE("the passive side says that it looks when it may write", "[hot][S1]") {
  ContextFixture fixture(hot_settings(4));
  fixture.port.arrives = Arrival::kChecked;
  FakePeer& peer = fixture.ask_in(1);
  CHECK(peer.inbox().hot.hot == 0);
  peer.send_hello();
  fixture.rounds(2);
  CHECK(peer.inbox().hot.hot == 1);
}

TEST_CASE("the passive side says so on the connection that replaces one, too", "[hot][S1]") {
  ContextFixture fixture(hot_settings(4));
  fixture.port.arrives = Arrival::kChecked;
  fixture.ask_in(1, 1);
  FakePeer& peer = fixture.ask_in(1, 2);
  peer.send_hello();
  fixture.rounds(2);
  CHECK(peer.inbox().hot.hot == 1);
}

TEST_CASE("a peer is hinted at while it does not look, once for each write", "[hot][S1]") {
  ContextFixture fixture(hot_settings(4));
  fixture.peer(1).hinted = true;
  fixture.peer(1).hot = false;
  FakePeer& peer = fixture.connect(1);
  CHECK(peer.take_hint());  // of the first slot
  CHECK(fixture.send({8}).bytes == 8);
  CHECK(peer.take_hint());
  peer.set_hot(true);
  CHECK(fixture.send({8}).bytes == 8);
  CHECK_FALSE(peer.take_hint());
  peer.set_hot(false);
  fixture.port.rule = [](const FakePort::Write& write) {
    return write.use == WriteUse::kHint ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  CHECK(fixture.send({8}).bytes == 8);
  CHECK_FALSE(peer.take_hint());
  CHECK_FALSE(fixture.channel(1).idle());
  fixture.port.rule = nullptr;
  fixture.rounds();
  CHECK(peer.take_hint());
}

TEST_CASE("for a mixed peer that does not look at its ring everything is notified", "[sendring][mixed][S1]") {
  RingsFixture fixture(settings(two_phases()), Arrival::kInOrder, kHelloWantsNotifications | kHelloVerifiesSlots);
  for (const bool hot : {false, true, false}) {
    fixture.peer.set_hot(hot);
    CHECK(fixture.send({8}));
    CHECK(fixture.port.writes.back().use == (hot ? WriteUse::kSlots : WriteUse::kNotifiedSlots));
  }
  const auto slots = fixture.arrived();
  REQUIRE(slots.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) CHECK(((slots[n].trailer.marks & kMarkNotified) != 0) == (n != 1));
}

}  // namespace
}  // namespace bufenlarge::test
