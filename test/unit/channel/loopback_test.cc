// SPDX-License-Identifier: MIT
#include "channel/loopback.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kOwnRank = 2;

struct LoopbackFixture : PartFixture {
  LoopbackFixture() : PartFixture(settings(two_phases()), Arrival::kInOrder, kOwnRank), loopback(core) {}

  std::uint32_t advertise(const Vector& source) {
    std::uint32_t handle = 0;
    REQUIRE(loopback.advertise(source.all(), const_cast<Vector*>(&source), handle) == Status::kOk);
    return handle;
  }
  // Reads into `to`, which is the cookie.
  void read(std::uint32_t handle, Vector& to, std::uint64_t offset = 0, bool last = false) {
    loopback.read({to.all(), &to, offset, to.bytes().size(), handle, last});
  }

  Loopback<FakePort> loopback;
};

TEST_CASE("a message to the own process is copied, and comes in a later round", "[loopback]") {
  LoopbackFixture fixture;
  Vector message({100, 0, 28});
  const Bytes data = message.bytes();
  CHECK(fixture.loopback.send(message.all(), false) == 128);
  std::ranges::fill(message.bytes(), std::byte{0});
  CHECK(fixture.upper.fragments.empty());
  CHECK_FALSE(fixture.loopback.idle());
  CHECK(fixture.loopback.progress() == 1);
  REQUIRE(fixture.upper.fragments.size() == 1);
  CHECK(fixture.upper.fragments[0].peer == kOwnRank);
  CHECK(fixture.upper.fragments[0].bytes == data);
  CHECK(fixture.upper.fragments[0].marks == kMarksOfMessage);
  CHECK(fixture.loopback.idle());
  CHECK(fixture.loopback.progress() == 0);
}

TEST_CASE("parts of a message come in order, one each round, and only the ends are marked", "[loopback]") {
  LoopbackFixture fixture;
  Bytes whole;
  for (std::uint32_t n = 0; n < 3; ++n) {
    const Vector part({50}, n);
    fixture.loopback.send(part.all(), n != 2);
    whole.insert(whole.end(), part.bytes().begin(), part.bytes().end());
  }
  fixture.loopback.send(Vector({8}, 9).all(), false);
  std::vector<unsigned> marks;
  while (fixture.loopback.progress() != 0)
    for (const auto& fragment : fixture.upper.take()) marks.push_back(fragment.marks);
  CHECK(marks == std::vector<unsigned>{kMarkFirst, 0, kMarkLast, kMarksOfMessage});
  REQUIRE(fixture.upper.messages[kOwnRank].size() == 2);
  CHECK(fixture.upper.messages[kOwnRank][0] == whole);
}

TEST_CASE("a message that is sent while one is delivered comes in the next round", "[loopback]") {
  LoopbackFixture fixture;
  fixture.upper.on_fragment = [&](const UpperLog::Fragment& fragment) {
    if (fragment.bytes.size() < 64) fixture.loopback.send(Vector({2 * fragment.bytes.size()}).all(), false);
  };
  fixture.loopback.send(Vector({16}).all(), false);
  for (const std::size_t bytes : {16u, 32u, 64u}) {
    CHECK(fixture.loopback.progress() == 1);
    const auto taken = fixture.upper.take();
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].bytes == pattern(bytes));
  }
  CHECK(fixture.loopback.idle());
}

TEST_CASE("a read copies the range it names, whatever the segments are", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100, 7, 393}, 3);
  Vector to({13, 200, 37}, 4);
  const std::uint32_t handle = fixture.advertise(source);
  fixture.read(handle, to, 90);
  CHECK_FALSE(fixture.loopback.idle());
  CHECK(fixture.upper.reads.empty());
  CHECK(fixture.loopback.progress() == 1);
  CHECK(std::ranges::equal(to.bytes(), std::span(source.bytes()).subspan(90, 250)));
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].peer == kOwnRank);
  CHECK(fixture.upper.reads[0].cookie == &to);
  CHECK(fixture.upper.reads[0].status == Status::kOk);
  CHECK(fixture.upper.releases.empty());
  CHECK(fixture.logged("register") == 0);
}

TEST_CASE("the own process hands a read without a destination up in order", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100, 300}, 3);
  int cookie = 0;
  fixture.loopback.read({{}, &cookie, 50, 350, fixture.advertise(source), false});
  fixture.loopback.progress();
  CHECK(std::ranges::equal(fixture.upper.handed_up[&cookie], std::span(source.bytes()).subspan(50)));
  CHECK(fixture.upper.reads.size() == 1);
}

TEST_CASE("the last read gives the source back, after its own end and once", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100}, 3);
  Vector to({100}, 4);
  const std::uint32_t handle = fixture.advertise(source);
  fixture.upper.on_release = [&](const UpperLog::End&) { CHECK(fixture.upper.reads.size() == 1); };
  fixture.read(handle, to, 0, true);
  fixture.loopback.progress();
  REQUIRE(fixture.upper.releases.size() == 1);
  CHECK(fixture.upper.releases[0].cookie == &source);
  CHECK(fixture.core.sources.size() == 0);
  fixture.read(handle, to, 0, true);
  fixture.loopback.progress();
  CHECK(fixture.upper.reads.back().status == Status::kProtocolError);
  CHECK(fixture.upper.releases.size() == 1);
}

TEST_CASE("a release gives the source back and ends no read", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100}, 3);
  const std::uint32_t handle = fixture.advertise(source);
  fixture.loopback.read(ReadOrder::release(handle));
  fixture.loopback.read(ReadOrder::release(handle));
  while (fixture.loopback.progress() != 0) continue;
  CHECK(fixture.upper.releases.size() == 1);
  CHECK(fixture.upper.reads.empty());
}

TEST_CASE("a read of what the own process may not read ends with an error and copies nothing", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100}, 3);
  const std::uint32_t handle = fixture.advertise(source);
  const std::uint32_t of_peer = fixture.core.sources.add(source.all(), nullptr, kPeerRank);
  Vector to({60}, 4);
  const Bytes before = to.bytes();
  fixture.read(handle, to, 41, true);
  fixture.read(handle, to, ~std::uint64_t{0} - 10, true);
  fixture.read(of_peer, to, 0, true);
  fixture.read(0, to, 0, true);
  while (fixture.loopback.progress() != 0) continue;
  REQUIRE(fixture.upper.reads.size() == 4);
  for (const UpperLog::End& end : fixture.upper.reads) CHECK(end.status == Status::kProtocolError);
  CHECK(to.bytes() == before);
  CHECK(fixture.upper.releases.empty());
  CHECK(fixture.core.sources.size() == 2);
}

TEST_CASE("the own process reads a window and cannot release it", "[loopback][window]") {
  LoopbackFixture fixture;
  const Vector memory({100}, 3);
  const std::uint32_t handle = fixture.core.sources.add(memory.all(), nullptr, kAnyPeer);
  Vector to({100}, 4);
  fixture.read(handle, to);
  fixture.loopback.progress();
  CHECK(to.bytes() == memory.bytes());
  fixture.read(handle, to, 0, true);
  fixture.loopback.read(ReadOrder::release(handle));
  while (fixture.loopback.progress() != 0) continue;
  REQUIRE(fixture.upper.reads.size() == 2);
  CHECK(fixture.upper.reads[1].status == Status::kProtocolError);
  CHECK(fixture.upper.releases.empty());
  CHECK(fixture.core.sources.find(handle, kPeerRank) != nullptr);
}

TEST_CASE("a round delivers one message part and serves one read", "[loopback]") {
  LoopbackFixture fixture;
  const Vector source({100}, 3);
  Vector to({100}, 4);
  const std::uint32_t handle = fixture.advertise(source);
  for (unsigned n = 0; n < 2; ++n) {
    fixture.loopback.send(Vector({8}).all(), false);
    fixture.read(handle, to);
  }
  CHECK(fixture.loopback.progress() == 2);
  CHECK(fixture.upper.fragments.size() == 1);
  CHECK(fixture.upper.reads.size() == 1);
  CHECK_FALSE(fixture.loopback.idle());
  CHECK(fixture.loopback.progress() == 2);
  CHECK(fixture.loopback.idle());
}

}  // namespace
}  // namespace bufenlarge::test
