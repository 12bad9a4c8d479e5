// SPDX-License-Identifier: MIT
// What the channels of a context write into the log, level by level.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

struct Lines final : LogSink {
  void line(std::uint32_t peer, std::string_view text) override {
    texts.push_back(std::to_string(peer) + ": " + std::string(text));
  }
  [[nodiscard]] bool has(std::string_view part) const {
    return std::ranges::any_of(texts, [part](const std::string& one) { return one.find(part) != std::string::npos; });
  }
  std::vector<std::string> texts;
};

TEST_CASE("level state has a line for each change of a machine, with the reason", "[log]") {
  ContextPair pair(settings(two_phases()));
  Lines lines;
  pair.side[0].context.set_log(LogLevel::kState, lines);
  pair.open();
  pair.send_all(0, Vector({5000}));
  pair.settle();
  CHECK(lines.texts == std::vector<std::string>{
                           "1: connection Idle -> Wanted: there is something to send",
                           "1: connection Wanted -> Connecting: an attempt is free",
                           "1: connection Connecting -> Ready: the peer accepted",
                           "1: enlargement, sender Steady -> RequestDue: an element does not fit",
                           "1: enlargement, sender RequestDue -> Requested: the request is in its slot",
                           "1: enlargement, sender Requested -> Swapping: the acknowledgement is whole",
                           "1: enlargement, sender Swapping -> Steady: the new ring is in use",
                       });
}

TEST_CASE("the connection to a process of another job is logged, too", "[log][spawn]") {
  ContextFixture fixture;
  Lines lines;
  fixture.context.set_log(LogLevel::kState, lines);
  const std::uint32_t peer = fixture.add_other_job();
  REQUIRE(peer == 4);
  REQUIRE(fixture.send({8}, peer) == kNothingSent);
  CHECK(lines.has("4: connection Idle -> Wanted: there is something to send"));
}

TEST_CASE("the receiver of an enlargement logs its machine, too", "[log]") {
  ContextPair pair(settings(two_phases()));
  Lines lines;
  pair.side[1].context.set_log(LogLevel::kState, lines);
  pair.open();
  pair.send_all(0, Vector({5000}));
  pair.settle();
  CHECK(lines.has("0: connection Idle -> Accepting: a request of the peer"));
  CHECK(lines.has("0: connection Silent -> Ready: the peer's first message"));
  CHECK(lines.has("0: enlargement, receiver Steady -> Swapping: a request of the peer"));
  CHECK(lines.has("0: enlargement, receiver Swapping -> Acked: the new ring is provisioned"));
  CHECK(lines.has("0: enlargement, receiver Acked -> Steady: the first slot of the new ring"));
}

TEST_CASE("level error has the first unauthorized requests, with the rank they claim and the reason", "[log][F4]") {
  ContextFixture fixture;
  Lines lines;
  fixture.context.set_log(LogLevel::kError, lines);
  const FakePeer& stranger = fixture.peer(2);
  fixture.port.request(stranger.sealed(stranger.hello(1), false, kJobKey ^ 1));
  for (int i = 0; i < 20; ++i) fixture.port.request({});
  for (int i = 0; i < 21; ++i) fixture.rounds(FakeContext::kEventRounds);
  CHECK(fixture.context.refused() == 21);
  REQUIRE(lines.texts.size() == 16);
  CHECK(lines.texts[0] ==
        "2: a request that claims to be of this rank is refused: no Hello of this job: the private data has another "
        "size, magic or seal");
}

TEST_CASE("level trace has the requests and rings between the changes of state", "[log]") {
  ContextPair pair(settings(two_phases()));
  Lines lines;
  pair.side[0].context.set_log(LogLevel::kTrace, lines);
  pair.open();
  pair.send_all(0, Vector({5000}));
  pair.settle();
  CHECK(lines.has("1: connection Idle -> Wanted"));
  CHECK(lines.has("1: Hello of the peer: attempt 1"));
  CHECK(lines.has("1: send ring: phase 1, 16 slots of 8192 bytes, epoch 1"));
}

TEST_CASE("level error has failures only, and off has nothing", "[log]") {
  for (const LogLevel level : {LogLevel::kOff, LogLevel::kError}) {
    ContextFixture fixture;
    Lines lines;
    fixture.context.set_log(level, lines);
    fixture.connect();
    fixture.lose();
    fixture.rounds(FakeContext::kEventRounds + 1);
    REQUIRE(fixture.channel().failed());
    if (level == LogLevel::kOff)
      CHECK(lines.texts.empty());
    else
      CHECK(lines.texts == std::vector<std::string>{"1: failed: the link broke"});
  }
}

}  // namespace
}  // namespace bufenlarge::test
