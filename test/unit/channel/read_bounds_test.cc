// SPDX-License-Identifier: MIT
// When a read's requests go, and how many are under way.
#include <catch2/catch.hpp>

#include "support/read_solo.h"

namespace bufenlarge::test {
namespace {

PhaseTable small_slots() { return phases({{64, 16}, {512, 16}}); }

TEST_CASE("a read of more segments than a slot holds goes as several requests", "[read][R2]") {
  ReadSolo solo(settings(small_slots()));
  FakePeer& peer = solo.connect();
  Vector destination({100, 200, 300, 5, 6}, 3);
  solo.read(destination);
  solo.rounds();
  const auto requests = solo.requests();
  REQUIRE(requests.size() == 5);
  const Bytes data = pattern(611, 8);
  std::size_t at = 0;
  for (const ReadRequestParts& one : requests) {
    CHECK(one.sources[0].offset == at);
    CHECK((one.head.flags == kReadLast) == (&one == &requests.back()));
    solo.place(one, std::span(data).subspan(at));
    at += one.bytes;
    CHECK(solo.upper.reads.empty());
    solo.end_read(one.head.sequence);
    solo.rounds();
  }
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(destination.bytes() == data);
  CHECK(solo.logged("register") == solo.logged("unregister"));
  CHECK_FALSE(peer.next());
}

TEST_CASE("eight requests of a channel are under way, the next wait until four have ended", "[read][R1]") {
  ReadSolo solo(settings(phases({{512, 32}})));
  solo.connect();
  std::vector<std::unique_ptr<Vector>> destinations;
  for (unsigned n = 0; n < 20; ++n) {
    destinations.push_back(std::make_unique<Vector>(std::vector<std::size_t>{100}, n));
    solo.read(*destinations.back(), 77, n % 2 == 0);  // such neighbours are not asked for together
  }
  solo.rounds(3);
  std::deque<ReadRequestParts> under_way;
  for (const ReadRequestParts& one : solo.requests()) under_way.push_back(one);
  REQUIRE(under_way.size() == 8);
  CHECK(solo.logged("register") == 8);  // memory is pinned when its data is asked for
  unsigned asked = 8;
  for (unsigned done = 1; done <= 20; ++done) {
    const std::size_t writes = solo.port.writes.size();
    solo.end_read(under_way.front().head.sequence);
    under_way.pop_front();
    solo.rounds(2);
    CHECK(solo.upper.reads.size() == done);
    CHECK(solo.upper.reads.back().cookie == destinations[done - 1].get());
    for (const ReadRequestParts& one : solo.requests()) under_way.push_back(one);
    if (asked - done == 4 && asked < 20) {
      asked += 4;
      CHECK(solo.port.writes.size() == writes + 1);  // all four
    }
    CHECK(under_way.size() == asked - done);
  }
  CHECK(solo.context.idle());
}

TEST_CASE("64 requests of a context are under way, the next waits for an end of any", "[read][R1]") {
  ReadSolo solo(settings(phases({{512, 16}})), 12);
  std::vector<std::unique_ptr<Vector>> destinations;
  std::size_t found = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> under_way;  // rank and sequence
  const auto look = [&] {
    for (std::uint32_t rank = 1; rank <= 10; ++rank)
      for (const ReadRequestParts& one : solo.requests(rank)) under_way.emplace_back(rank, one.head.sequence), ++found;
  };
  for (std::uint32_t rank = 1; rank <= 10; ++rank) {
    solo.connect(rank);
    for (unsigned n = 0; n < 8; ++n) {
      destinations.push_back(std::make_unique<Vector>(std::vector<std::size_t>{100}, n));
      solo.read(*destinations.back(), 77, n % 2 == 0, rank);
    }
  }
  solo.rounds(4);
  look();
  REQUIRE(found == 64);
  for (unsigned ended = 1; ended <= 80; ++ended) {
    const auto [rank, sequence] = under_way.front();
    under_way.erase(under_way.begin());
    solo.end_read(sequence, rank);
    solo.rounds(4);
    look();
    // Of the last two channels five go one by one, then three when four are left: after the 65th and the 70th end.
    CHECK(found == (ended < 65 ? std::min(74u, 64 + ended) : ended < 70 ? 77 : 80));
  }
  CHECK(solo.upper.reads.size() == 80);
  CHECK(solo.context.idle());
}

TEST_CASE("a read waits for credit, and goes when there is some", "[read][R1]") {
  ReadSolo solo(settings(phases({{512, 4}})));
  FakePeer& peer = solo.connect();
  REQUIRE(solo.send({488, 488, 488, 488}) == Sent{Status::kOk, 4 * 488});
  Vector destination({100}, 1);
  solo.read(destination);
  solo.rounds(3);
  for (unsigned n = 0; n < 4; ++n) CHECK(peer.next()->kind() == SlotKind::kPayload);
  solo.rounds(3);
  CHECK_FALSE(peer.next());
  peer.grant_all();
  solo.rounds(3);
  CHECK(solo.requests().size() == 1);
}

TEST_CASE("a read of a channel that is not connected connects it", "[read][connect][R1]") {
  ReadSolo solo;
  Vector destination({100}, 1);
  solo.read(destination);
  solo.rounds(2);
  REQUIRE(solo.port.opened.size() == 1);
}

// iWARP: the responder may not be first.
TEST_CASE("the passive side asks for nothing before the active side has spoken", "[read][connect][R1]") {
  ReadSolo solo;
  FakePeer& peer = solo.ask_in();
  Vector destination({100}, 1);
  solo.read(destination);
  solo.rounds(5);
  CHECK(solo.port.writes.empty());
  peer.greet();
  solo.rounds(3);
  CHECK(solo.requests().size() == 1);
}

TEST_CASE("a read ordered before the connection goes when it is there", "[read][connect][R1]") {
  ReadSolo solo;
  Vector destination({100}, 1);
  solo.read(destination);
  solo.rounds(2);
  REQUIRE(solo.port.opened.size() == 1);
  FakePort::LinkState* link = solo.port.opened[0];
  FakePeer& peer = solo.peer();
  peer.meet(link->data);
  solo.port.connected(link, peer.hello_bytes(peer.theirs().attempt));
  solo.rounds(3);
  CHECK(solo.requests().size() == 1);
}

TEST_CASE("an answer in pieces to a read that asked for writes lands all the same", "[read]") {
  ReadSolo solo;
  solo.connect();
  Vector destination({300, 400}, 1);
  solo.read(destination);
  solo.rounds();
  const auto requests = solo.requests();
  REQUIRE(requests.size() == 1);
  const Bytes data = pattern(700, 6);
  solo.piece(requests[0].head.sequence, std::span(data).first(350), false);
  solo.piece(requests[0].head.sequence, std::span(data).subspan(350), true);
  solo.rounds();
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(solo.upper.reads[0].status == Status::kOk);
  CHECK(destination.bytes() == data);
}

TEST_CASE("no more than four data writes of a channel are posted at once", "[read][R3]") {
  ReadSolo solo;
  solo.connect();
  solo.port.completes = false;
  const Vector source({1000, 1000, 1000, 1000, 1000, 1000, 1000}, 4);
  const std::uint32_t name = solo.expose(source);
  FakeFabric::Memory& room = solo.room(7000);
  solo.ask({{0, name, 7000}}, {{room.address, room.key, 7000}}, 9, kReadLast);
  solo.rounds(4);
  CHECK(solo.port.posted() == 4);
  CHECK(solo.upper.releases.empty());
  for (unsigned n = 1; n <= 7; ++n) {
    solo.port.complete(1);
    solo.rounds(2);
    CHECK(solo.port.posted() == std::min(4u, 7 - n));
    CHECK(solo.upper.releases.size() == (n == 7 ? 1 : 0));
  }
  std::vector<std::uint32_t> sequences;
  for (const FakePort::Write& one : solo.port.writes)
    if (one.use >= WriteUse::kData) sequences.push_back(one.sequence);
  CHECK(sequences == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 9});
  CHECK(std::memcmp(room.data(), source.bytes().data(), 7000) == 0);
}

TEST_CASE("an answer of megabytes goes in equal writes", "[read][R3]") {
  ReadSolo solo;
  solo.connect();
  constexpr std::uint32_t kBytes = 4u << 20;
  const Vector source({kBytes}, 4);
  const std::uint32_t name = solo.expose(source);
  FakeFabric::Memory& room = solo.room(kBytes);
  solo.ask({{0, name, kBytes}}, {{room.address, room.key, kBytes}}, 9, kReadLast);
  solo.rounds(8);
  std::vector<std::size_t> sizes;
  for (const FakePort::Write& one : solo.port.writes)
    if (one.use >= WriteUse::kData) sizes.push_back(one.bytes.size());
  CHECK(sizes == std::vector<std::size_t>{839680, 839680, 839680, 839680, 835584});
  CHECK(std::memcmp(room.data(), source.bytes().data(), kBytes) == 0);
}

// The segments lie over each other, so that a gigabyte of them is not a gigabyte of memory; too many to be registered.
TEST_CASE("a read of more than 1 GiB through the ring goes as several requests, one after the other", "[read][R2][R4]") {
  constexpr std::uint32_t kPiece = 4u << 20;
  constexpr std::uint64_t kBytes = std::uint64_t{kReadSegmentBytesMax} + 2 * kPiece - 5;
  ReadSolo solo(settings(phases({{4u << 20, 2}})));
  FakePeer& peer = solo.connect();
  Bytes memory(kPiece);
  std::vector<iovec> to(kBytes / kPiece, {memory.data(), kPiece});
  to.push_back({memory.data(), kBytes % kPiece});
  REQUIRE(solo.channel().read({to, &memory, 0, kBytes, 77, true}) == Status::kOk);
  std::uint64_t done = 0;
  for (const std::uint64_t asked : {std::uint64_t{kReadSegmentBytesMax}, kBytes - kReadSegmentBytesMax}) {
    solo.rounds(2);
    const auto requests = solo.requests();
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].bytes == asked);
    CHECK(requests[0].sources[0].offset == done);
    CHECK((requests[0].head.flags & kReadLast) == (done == 0 ? 0 : kReadLast));
    Bytes data = pattern(kPiece - 64, static_cast<std::uint32_t>(asked));
    for (std::uint64_t left = asked; left != 0;) {
      const auto bytes = std::min<std::uint64_t>(left, data.size());
      left -= bytes;
      data[0] = static_cast<std::byte>(left);
      solo.piece(requests[0].head.sequence, std::span(data).first(bytes), left == 0);
      const std::size_t at = done % kPiece;
      done += bytes;
      CHECK(solo.upper.reads.empty());
      solo.rounds();
      const std::size_t part = std::min<std::size_t>(bytes, kPiece - at);
      if (std::memcmp(memory.data() + at, data.data(), part) != 0) FAIL(done << " bytes: the piece is not in place");
      if (std::memcmp(memory.data(), data.data() + part, bytes - part) != 0) FAIL(done << " bytes: the rest is not");
    }
  }
  REQUIRE(solo.upper.reads.size() == 1);
  CHECK(solo.upper.reads[0].status == Status::kOk);
  CHECK(solo.context.core().rendezvous.piece_bytes == kBytes);
  CHECK_FALSE(peer.next());
}

}  // namespace
}  // namespace bufenlarge::test
