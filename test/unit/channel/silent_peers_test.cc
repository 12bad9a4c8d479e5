// SPDX-License-Identifier: MIT
#include "channel/silent_peers.h"

#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kTimeoutUs = 16'000'000;
constexpr std::uint64_t kLookUs = kTimeoutUs / Silence::kLooks;

ChannelSettings with_timeout(std::uint64_t timeout_us = kTimeoutUs) {
  ChannelSettings made = settings(two_phases());
  made.peer_timeout_us = timeout_us;
  return made;
}

struct SilentFixture : ContextFixture {
  explicit SilentFixture(const ChannelSettings& settings_in = with_timeout()) : ContextFixture(settings_in) {}

  // Time passes, and the process makes progress all the while.
  void pass(std::uint64_t looks) {
    while (looks-- > 0) {
      port.now += kLookUs;
      rounds(FakeContext::kEventRounds);
    }
  }
};

TEST_CASE("a peer whose host does not respond is lost when PEER_TIMEOUT is over", "[silent_peers][F5]") {
  SilentFixture fixture;
  SECTION("of an own attempt") { fixture.connect(); }
  SECTION("of a caller") { fixture.accept(); }
  const auto& links = fixture.port.opened.empty() ? fixture.port.accepted : fixture.port.opened;
  fixture.pass(Silence::kLooks - 1);
  CHECK(fixture.upper.failures.empty());
  CHECK_FALSE(links.back()->given_up);
  fixture.pass(3);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
  CHECK(fixture.upper.failures[0].text.find("has not responded for 16 s (MPIR_CVAR_BUFENLARGE_PEER_TIMEOUT)") !=
        std::string::npos);
  CHECK(fixture.channel().ring_bytes().now == 0);
  CHECK(links.back()->given_up);
}

TEST_CASE("a peer that says nothing stays while its host responds", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.connect();
  FakePort::LinkState* const link = fixture.port.opened.back();
  link->responds = true;
  fixture.pass(10 * Silence::kLooks);
  CHECK(fixture.upper.failures.empty());
  CHECK(link->asked >= 10 * Silence::kLooks / (Silence::kQuietLooks + 1));
  CHECK(link->asked <= 10 * Silence::kLooks / Silence::kQuietLooks);
  CHECK(fixture.send({8}) == Sent{Status::kOk, 8});
}

TEST_CASE("a peer that talks is not asked for", "[silent_peers][F5]") {
  SilentFixture fixture;
  FakePeer& peer = fixture.connect();
  for (std::uint32_t i = 0; i < 2 * Silence::kLooks; ++i) {
    fixture.pass(Silence::kQuietLooks - 1);
    peer.send(pattern(8));
    fixture.rounds();
    peer.grant_all();
  }
  CHECK(fixture.port.opened.back()->asked == 0);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("time in which the own process computes does not count", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.connect();
  for (std::uint32_t i = 0; i < Silence::kLooks - 1; ++i) {
    fixture.port.now += 100 * kTimeoutUs;
    fixture.rounds(FakeContext::kEventRounds);
  }
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.port.opened.back()->asked == 1);
}

TEST_CASE("a process that sleeps looks when it wakes", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.connect();
  for (std::uint32_t i = 0; i <= Silence::kLooks; ++i) {
    REQUIRE(fixture.upper.failures.empty());
    fixture.port.now += kLookUs;
    (void)fixture.context.sleep(1000);
  }
  fixture.rounds();
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("nobody is lost where the port refuses to ask", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.port.refuses_questions = true;
  fixture.connect();
  fixture.pass(4 * Silence::kLooks);
  CHECK(fixture.port.opened.back()->asked > 1);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("nobody is lost while the passive side of iWARP may not write yet", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.port.first_write_stalls = true;
  fixture.ask_in();
  fixture.pass(4 * Silence::kLooks);
  CHECK(fixture.port.accepted.back()->asked == 0);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("a host is not asked when its connection has ended and not all of it is read", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.port.arrives = Arrival::kNotified;
  fixture.accept();
  fixture.port.notifications_per_poll = 0;
  fixture.peer().send(pattern(8));
  fixture.lose();
  fixture.pass(2 * Silence::kLooks);
  CHECK(fixture.port.accepted.back()->asked == 0);
  CHECK(fixture.upper.failures.empty());
  fixture.port.notifications_per_poll = 1;
  fixture.rounds(2);
  CHECK(fixture.upper.messages[1].size() == 1);
  REQUIRE(fixture.upper.failures.size() == 1);
  CHECK(fixture.upper.failures[0].text.find("the link broke") != std::string::npos);
}

TEST_CASE("PEER_TIMEOUT off asks nobody", "[silent_peers][F5]") {
  SilentFixture fixture(with_timeout(0));
  fixture.connect();
  fixture.pass(4 * Silence::kLooks);
  CHECK(fixture.port.opened.back()->asked == 0);
  CHECK(fixture.upper.failures.empty());
}

// A fixture whose peer was called, and has not answered.
struct CallFixture : SilentFixture {
  CallFixture() {
    REQUIRE(send({8}) == kNothingSent);
    rounds();
    link = port.opened.back();
  }
  FakePort::LinkState* link = nullptr;
};

TEST_CASE("a peer that was called and whose host has gone since is lost", "[silent_peers][connect][F5]") {
  CallFixture fixture;
  FakePort::LinkState* const link = fixture.link;
  SECTION("when PEER_TIMEOUT is over") {
    fixture.pass(Silence::kLooks - 1);
    CHECK(fixture.upper.failures.empty());
    fixture.pass(3);
    REQUIRE(fixture.upper.failures.size() == 1);
    CHECK(fixture.upper.failures[0].status == Status::kPeerFailed);
    CHECK(fixture.upper.failures[0].text.find("has not responded for 16 s (MPIR_CVAR_BUFENLARGE_PEER_TIMEOUT)") !=
          std::string::npos);
    CHECK(link->given_up);
    CHECK(link->user == nullptr);
    CHECK(fixture.channel().ring_bytes().now == 0);
  }
  SECTION("but not while it responds: the process may be stopped") {
    link->responds = true;
    fixture.pass(10 * Silence::kLooks);
    CHECK(link->asked >= 10 * Silence::kLooks / (Silence::kQuietLooks + 1));
    CHECK(fixture.upper.failures.empty());
    CHECK(fixture.channel().connection().state() == Connect::State::kConnecting);
  }
  SECTION("but not where it has never responded: that is for the connect time limit") {
    link->reached = false;
    fixture.pass(Silence::kLooks + 3);
    CHECK(link->asked == 0);
    CHECK(fixture.upper.failures.empty());
  }
}

TEST_CASE("the time of a peer that was called begins anew with the next attempt", "[silent_peers][connect][F5]") {
  CallFixture fixture;
  fixture.pass(Silence::kLooks - 1);
  fixture.port.lost(fixture.link, "the peer closed the connection");
  for (int i = 0; i < 100 && fixture.port.opened.size() == 1; ++i, fixture.port.now += 1000) fixture.rounds();
  REQUIRE(fixture.port.opened.size() == 2);
  fixture.pass(Silence::kLooks - 1);
  CHECK(fixture.upper.failures.empty());
  fixture.pass(3);
  CHECK(fixture.upper.failures.size() == 1);
}

TEST_CASE("a caller that was lost before its first message may come again", "[silent_peers][F5]") {
  SilentFixture fixture;
  fixture.ask_in();
  fixture.pass(Silence::kLooks + 3);
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.channel().connection().state() == Connect::State::kIdle);
}

}  // namespace
}  // namespace bufenlarge::test
