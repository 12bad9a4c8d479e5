// SPDX-License-Identifier: MIT
// When a channel sends the requests of its reads, and how many are under way at once.
#include <catch2/catch.hpp>

#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

PhaseTable small_slots() { return phases({{64, 16}, {512, 16}}); }

TEST_CASE("a read of more segments than a slot holds goes as several requests", "[read][R2]") {
  RendezvousFixture fixture(settings(small_slots()));
  FakePeer& peer = fixture.connect();
  Vector destination({100, 200, 300, 5, 6}, 3);
  fixture.read(destination);
  fixture.rounds();
  const auto requests = fixture.requests();
  REQUIRE(requests.size() == 5);
  const Bytes data = pattern(611, 8);
  std::size_t at = 0;
  for (const ReadRequestParts& one : requests) {
    CHECK(one.sources[0].offset == at);
    CHECK((one.head.flags == kReadLast) == (&one == &requests.back()));
    fixture.place(one, std::span(data).subspan(at));
    at += one.bytes;
    CHECK(fixture.upper.reads.empty());
    fixture.end_read(one.head.sequence);
    fixture.rounds();
  }
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(destination.bytes() == data);
  CHECK(fixture.logged("register") == fixture.logged("unregister"));
  CHECK_FALSE(peer.next());
}

TEST_CASE("eight requests of a channel are under way, the next wait until four have ended", "[read][R1]") {
  RendezvousFixture fixture(settings(phases({{512, 32}})));
  fixture.connect();
  std::vector<std::unique_ptr<Vector>> destinations;
  for (unsigned n = 0; n < 20; ++n) {
    destinations.push_back(std::make_unique<Vector>(std::vector<std::size_t>{100}, n));
    fixture.read(*destinations.back(), 77, n % 2 == 0);  // such neighbours are not asked for together
  }
  fixture.rounds(3);
  std::deque<ReadRequestParts> under_way;
  for (const ReadRequestParts& one : fixture.requests()) under_way.push_back(one);
  REQUIRE(under_way.size() == 8);
  CHECK(fixture.logged("register") == 8);  // memory is registered when its data is asked for
  unsigned asked = 8;
  for (unsigned done = 1; done <= 20; ++done) {
    const std::size_t writes = fixture.port.writes.size();
    fixture.end_read(under_way.front().head.sequence);
    under_way.pop_front();
    fixture.rounds(2);
    CHECK(fixture.upper.reads.size() == done);
    CHECK(fixture.upper.reads.back().cookie == destinations[done - 1].get());
    for (const ReadRequestParts& one : fixture.requests()) under_way.push_back(one);
    if (asked - done == 4 && asked < 20) {
      asked += 4;
      CHECK(fixture.port.writes.size() == writes + 1);  // all four
    }
    CHECK(under_way.size() == asked - done);
  }
  CHECK(fixture.context.idle());
}

TEST_CASE("64 requests of a context are under way, the next waits for an end of any", "[read][R1]") {
  RendezvousFixture fixture(settings(phases({{512, 16}})), 12);
  std::vector<std::unique_ptr<Vector>> destinations;
  std::size_t found = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> under_way;  // rank and sequence
  const auto look = [&] {
    for (std::uint32_t rank = 1; rank <= 10; ++rank)
      for (const ReadRequestParts& one : fixture.requests(rank)) {
        under_way.emplace_back(rank, one.head.sequence);
        ++found;
      }
  };
  for (std::uint32_t rank = 1; rank <= 10; ++rank) {
    fixture.connect(rank);
    for (unsigned n = 0; n < 8; ++n) {
      destinations.push_back(std::make_unique<Vector>(std::vector<std::size_t>{100}, n));
      fixture.read(*destinations.back(), 77, n % 2 == 0, rank);
    }
  }
  fixture.rounds(4);
  look();
  REQUIRE(found == 64);
  for (unsigned ended = 1; ended <= 80; ++ended) {
    const auto [rank, sequence] = under_way.front();
    under_way.erase(under_way.begin());
    fixture.end_read(sequence, rank);
    fixture.rounds(4);
    look();
    // Of the last two channels five go one by one, then three when four are left: after the 65th and the 70th end.
    CHECK(found == (ended < 65 ? std::min(74u, 64 + ended) : ended < 70 ? 77 : 80));
  }
  CHECK(fixture.upper.reads.size() == 80);
  CHECK(fixture.context.idle());
}

TEST_CASE("a read waits for credit, and goes when there is some", "[read][R1]") {
  RendezvousFixture fixture(settings(phases({{512, 4}})));
  FakePeer& peer = fixture.connect();
  REQUIRE(fixture.send({488, 488, 488, 488}) == Sent{Status::kOk, 4 * 488});
  Vector destination({100}, 1);
  fixture.read(destination);
  fixture.rounds(3);
  for (unsigned n = 0; n < 4; ++n) CHECK(peer.next()->kind() == SlotKind::kPayload);
  fixture.rounds(3);
  CHECK_FALSE(peer.next());
  peer.grant_all();
  fixture.rounds(3);
  CHECK(fixture.requests().size() == 1);
}

TEST_CASE("a read of a channel that is not connected connects it", "[read][connect][R1]") {
  RendezvousFixture fixture;
  Vector destination({100}, 1);
  fixture.read(destination);
  fixture.rounds(2);
  REQUIRE(fixture.port.opened.size() == 1);
}

// iWARP: the responder may not be first.
TEST_CASE("the passive side asks for nothing before the active side has spoken", "[read][connect][R1]") {
  RendezvousFixture fixture;
  FakePeer& peer = fixture.ask_in();
  Vector destination({100}, 1);
  fixture.read(destination);
  fixture.rounds(5);
  CHECK(fixture.port.writes.empty());
  peer.send_hello();
  fixture.rounds(3);
  CHECK(fixture.requests().size() == 1);
}

TEST_CASE("a read ordered before the connection goes when it is there", "[read][connect][R1]") {
  RendezvousFixture fixture;
  Vector destination({100}, 1);
  fixture.read(destination);
  fixture.rounds(2);
  REQUIRE(fixture.port.opened.size() == 1);
  FakePort::LinkState* link = fixture.port.opened[0];
  FakePeer& peer = fixture.peer();
  peer.meet(link->data);
  fixture.port.connected(link, peer.answer_bytes(peer.theirs().attempt));
  fixture.rounds(3);
  CHECK(fixture.requests().size() == 1);
}

TEST_CASE("a response in fragments to a read that asked for writes lands all the same", "[read]") {
  RendezvousFixture fixture;
  fixture.connect();
  Vector destination({300, 400}, 1);
  fixture.read(destination);
  fixture.rounds();
  const auto requests = fixture.requests();
  REQUIRE(requests.size() == 1);
  const Bytes data = pattern(700, 6);
  fixture.fragment(requests[0].head.sequence, std::span(data).first(350), false);
  fixture.fragment(requests[0].head.sequence, std::span(data).subspan(350), true);
  fixture.rounds();
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].status == Status::kOk);
  CHECK(destination.bytes() == data);
}

TEST_CASE("no more than four data writes of a channel are posted at once", "[read][R3]") {
  RendezvousFixture fixture;
  fixture.connect();
  fixture.port.completes = false;
  const Vector source({1000, 1000, 1000, 1000, 1000, 1000, 1000}, 4);
  const std::uint32_t handle = fixture.advertise(source);
  FakeFabric::Memory& room = fixture.room(7000);
  fixture.ask({{0, handle, 7000}}, {{room.address, room.key, 7000}}, 9, kReadLast);
  fixture.rounds(4);
  CHECK(fixture.port.posted() == 4);
  CHECK(fixture.upper.releases.empty());
  for (unsigned n = 1; n <= 7; ++n) {
    fixture.port.complete(1);
    fixture.rounds(2);
    CHECK(fixture.port.posted() == std::min(4u, 7 - n));
    CHECK(fixture.upper.releases.size() == (n == 7 ? 1 : 0));
  }
  std::vector<std::uint32_t> sequences;
  for (const FakePort::Write& one : fixture.port.writes)
    if (is_data(one.use)) sequences.push_back(one.sequence);
  CHECK(sequences == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 9});
  CHECK(std::memcmp(room.data(), source.bytes().data(), 7000) == 0);
}

TEST_CASE("a response of megabytes goes in equal writes", "[read][R3]") {
  RendezvousFixture fixture;
  fixture.connect();
  constexpr std::uint32_t kBytes = 4u << 20;
  const Vector source({kBytes}, 4);
  const std::uint32_t handle = fixture.advertise(source);
  FakeFabric::Memory& room = fixture.room(kBytes);
  fixture.ask({{0, handle, kBytes}}, {{room.address, room.key, kBytes}}, 9, kReadLast);
  fixture.rounds(8);
  std::vector<std::size_t> sizes;
  for (const FakePort::Write& one : fixture.port.writes)
    if (is_data(one.use)) sizes.push_back(one.bytes.size());
  CHECK(sizes == std::vector<std::size_t>{839680, 839680, 839680, 839680, 835584});
  CHECK(std::memcmp(room.data(), source.bytes().data(), kBytes) == 0);
}

// The segments lie over each other, so that a gigabyte of them is not a gigabyte of memory, and are too many to be
// registered.
TEST_CASE("a read of more than 1 GiB through the ring goes as several requests, one after the other",
          "[read][R2][R4]") {
  constexpr std::uint32_t kFragment = 4u << 20;
  constexpr std::uint64_t kBytes = std::uint64_t{kReadSegmentBytesMax} + 2 * kFragment - 5;
  RendezvousFixture fixture(settings(phases({{4u << 20, 2}})));
  FakePeer& peer = fixture.connect();
  Bytes memory(kFragment);
  std::vector<iovec> to(kBytes / kFragment, {memory.data(), kFragment});
  to.push_back({memory.data(), kBytes % kFragment});
  REQUIRE(fixture.channel().read({to, &memory, 0, kBytes, 77, true}) == Status::kOk);
  std::uint64_t done = 0;
  for (const std::uint64_t asked : {std::uint64_t{kReadSegmentBytesMax}, kBytes - kReadSegmentBytesMax}) {
    fixture.rounds(2);
    const auto requests = fixture.requests();
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].bytes == asked);
    CHECK(requests[0].sources[0].offset == done);
    CHECK((requests[0].head.flags & kReadLast) == (done == 0 ? 0 : kReadLast));
    Bytes data = pattern(kFragment - 64, static_cast<std::uint32_t>(asked));
    for (std::uint64_t left = asked; left != 0;) {
      const auto bytes = std::min<std::uint64_t>(left, data.size());
      left -= bytes;
      data[0] = static_cast<std::byte>(left);
      fixture.fragment(requests[0].head.sequence, std::span(data).first(bytes), left == 0);
      const std::size_t at = done % kFragment;
      done += bytes;
      CHECK(fixture.upper.reads.empty());
      fixture.rounds();
      const std::size_t part = std::min<std::size_t>(bytes, kFragment - at);
      if (std::memcmp(memory.data() + at, data.data(), part) != 0) FAIL(done << " bytes: the fragment is not in place");
      if (std::memcmp(memory.data(), data.data() + part, bytes - part) != 0) FAIL(done << " bytes: the rest is not");
    }
  }
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].status == Status::kOk);
  CHECK(fixture.context.core().rendezvous.fragment_bytes == kBytes);
  CHECK_FALSE(peer.next());
}

}  // namespace
}  // namespace bufenlarge::test
