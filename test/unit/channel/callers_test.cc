// SPDX-License-Identifier: MIT
// Callers of other jobs. Who knows the name of a process may claim to be any rank of any job, so what they leave behind
// is bounded.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kSize = 4;
constexpr std::uint32_t kCallers = 1000;
constexpr std::uint32_t kOtherJob = 77;

struct CallersFixture : ContextFixture {
  explicit CallersFixture(const ChannelSettings& settings_in = settings(two_phases()))
      : ContextFixture(settings_in, kSize) {}

  // A process calls and claims to be this rank of that job. The link of the call, or null when it was rejected.
  FakePort::LinkState* call(std::uint32_t rank, std::uint32_t job_id = kOtherJob) {
    Hello hello = peer(1).hello(1);
    hello.flags |= kHelloOtherJob;
    hello.rank = rank;
    hello.slot_bytes = job_id;
    const std::size_t before = port.accepted.size();
    port.request(peer(1).sealed(hello, false, name_key_of(kJobKey, 0)));
    rounds(FakeContext::kEventRounds);
    return port.accepted.size() == before ? nullptr : port.accepted.back();
  }
  void go(FakePort::LinkState* link) {
    port.lost(link, "it has gone");
    rounds(2 * FakeContext::kEventRounds);
  }
  // Its first slot comes.
  void speak(FakePort::LinkState* link) {
    port.connected(link, {});
    rounds(FakeContext::kEventRounds);
    Hello answer{};
    std::memcpy(&answer, link->data.data(), kHelloBytes);
    const Phase first = two_phases().at(0);  // to a process of the same job, as the player of the peer takes it
    answer.flags &= static_cast<std::uint8_t>(~kHelloOtherJob);
    answer.slot_bytes = first.slot_bytes;
    answer.slots = static_cast<std::uint16_t>(first.slots);
    peer(1).meet(encode_hello(answer, {kJobKey, 1, true}));
    peer(1).send_hello();
    rounds();
  }
  // Peers of other jobs for which there is a place.
  [[nodiscard]] std::uint32_t places() const { return context.peers().size() - kSize; }
};

TEST_CASE("callers that go before their first slot leave nothing behind", "[context][spawn][F3]") {
  CallersFixture fixture;
  const bool stands = GENERATE(false, true);
  for (std::uint32_t n = 0; n < kCallers; ++n) {
    FakePort::LinkState* const link = fixture.call(n % 10, kOtherJob + n);
    REQUIRE(link != nullptr);
    if (stands) fixture.port.connected(link, {});
    fixture.go(link);
  }
  CHECK(fixture.places() == 1);
  CHECK(fixture.context.peers().channels().size() == 1);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("callers for whom there is no room leave nothing behind", "[context][spawn][F3]") {
  ChannelSettings one_connection = settings(two_phases());
  one_connection.connections_max = 1;
  CallersFixture fixture(one_connection);
  fixture.connect(1);
  for (std::uint32_t n = 0; n < kCallers; ++n) REQUIRE(fixture.call(n) == nullptr);
  CHECK(fixture.port.rejections.size() == kCallers);
  CHECK(fixture.places() == 1);
}

TEST_CASE("a caller whose connection is being made stays while others come and go", "[context][spawn][F3]") {
  CallersFixture fixture;
  FakePort::LinkState* const accepting = fixture.call(0);
  FakePort::LinkState* const silent = fixture.call(1);
  fixture.port.connected(silent, {});
  for (std::uint32_t n = 2; n < 10; ++n) fixture.go(fixture.call(n));
  CHECK(fixture.places() == 3);
  fixture.speak(accepting);
  CHECK(fixture.channel(kSize).connection().state() == Connect::State::kReady);
  CHECK(fixture.channel(kSize + 1).connection().state() == Connect::State::kSilent);
}

TEST_CASE("a caller that the upper layer has heard of stays until that forgets it", "[context][spawn][F3]") {
  CallersFixture fixture;
  FakePort::LinkState* const named = fixture.call(0);
  const Bytes address(4);
  REQUIRE(fixture.context.peers().add(kOtherJob, 0, 5, address) == kSize);
  fixture.go(named);
  FakePort::LinkState* const spoke = fixture.call(1);
  fixture.speak(spoke);
  fixture.go(fixture.call(2));
  fixture.go(spoke);
  for (std::uint32_t n = 3; n < 10; ++n) fixture.go(fixture.call(n));
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].peer == kSize + 1);
  CHECK(fixture.channel(kSize + 1).failed());
  CHECK(fixture.context.peers().other_job(kSize).named());
  CHECK(fixture.places() == 3);
  REQUIRE(fixture.context.peers().forget(kSize + 1));
  REQUIRE(fixture.context.peers().forget(kSize));
  fixture.go(fixture.call(10));
  fixture.go(fixture.call(11));
  CHECK(fixture.places() == 3);
}

}  // namespace
}  // namespace bufenlarge::test
