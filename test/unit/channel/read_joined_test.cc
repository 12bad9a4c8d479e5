// SPDX-License-Identifier: MIT
// Reads that are asked for together, and data that goes as the parts of one write.
#include <catch2/catch.hpp>

#include <memory>

#include "support/rendezvous_pair.h"
#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

PhaseTable one_phase() { return phases({{1024, 16}}); }

struct Joined : RendezvousFixture {
  Joined() : RendezvousFixture(settings(one_phase())) { connect(); }

  // Orders reads of these lengths, each from a source of its own.
  void order(const std::vector<std::size_t>& lengths, bool last = true) {
    for (const std::size_t bytes : lengths) {
      const auto n = static_cast<std::uint32_t>(destinations.size());
      destinations.push_back(std::make_unique<Vector>(std::vector<std::size_t>{bytes}, 1000));
      read(*destinations.back(), 1 + n, last);
    }
  }
  // Returns how many reads each request asks for.
  static std::vector<std::size_t> counts(const std::vector<ReadRequestParts>& requests) {
    std::vector<std::size_t> found;
    for (const ReadRequestParts& one : requests) found.push_back(one.sources.size());
    return found;
  }

  std::vector<std::unique_ptr<Vector>> destinations;
};

TEST_CASE("reads that wait are asked for together, and end together, in order", "[read][R1][R3]") {
  Joined test;
  test.order({100, 7, 30'000});
  test.rounds();
  const auto requests = test.requests();
  REQUIRE(requests.size() == 1);
  REQUIRE(requests[0].sources.size() == 3);
  CHECK(requests[0].head.flags == kReadLast);
  CHECK(requests[0].bytes == 30'107);
  const Bytes data = pattern(30'107, 5);
  test.place(requests[0], data);
  test.rounds();
  CHECK(test.upper.reads.empty());
  test.end_read(requests[0].head.sequence);
  test.rounds();
  REQUIRE(test.upper.reads.size() == 3);
  std::size_t at = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    CHECK(requests[0].sources[n].handle == 1 + n);
    CHECK(requests[0].sources[n].offset == 0);
    CHECK(test.upper.reads[n].cookie == test.destinations[n].get());
    CHECK(test.upper.reads[n].status == Status::kOk);
    const Bytes& there = test.destinations[n]->bytes();
    CHECK(std::memcmp(there.data(), data.data() + at, there.size()) == 0);
    at += there.size();
  }
  CHECK(test.logged("register") == 3);
  CHECK(test.logged("unregister") == 3);
  CHECK(test.context.idle());
}

TEST_CASE("what is asked for together has a bound in bytes, and fits one request", "[read][R1]") {
  using Counts = std::vector<std::size_t>;
  const auto asked = [](const std::vector<std::size_t>& lengths) {
    Joined test;
    test.order(lengths);
    test.rounds();
    return Joined::counts(test.requests());
  };
  CHECK(asked({kJoinedBytesMax - 1, 1, 1}) == Counts{2, 1});
  CHECK(asked({kJoinedBytesMax, 1, 1}) == Counts{1, 2});
  CHECK(asked({1, kJoinedBytesMax, 1}) == Counts{1, 1, 1});
  CHECK(asked({4 * kJoinedBytesMax, 4 * kJoinedBytesMax}) == Counts{1, 1});
  // 1,024 bytes less the trailer hold 31 reads of one segment: 8 bytes and 32 for each.
  const std::size_t most = (1024 - sizeof(SlotTrailer) - sizeof(ReadRequest)) / 32;
  CHECK(asked(std::vector<std::size_t>(2 * most + 1, 10)) == Counts{most, most, 1});
}

TEST_CASE("a read is not asked for together with what is released otherwise", "[read][R3]") {
  Joined test;
  test.order({10, 10}, false);
  test.order({10, 10}, true);
  REQUIRE(test.channel().read({{}, nullptr, 0, 0, 1, true}) == Status::kOk);  // a release alone
  test.order({10, 10}, true);
  test.rounds();
  const auto requests = test.requests();
  CHECK(Joined::counts(requests) == std::vector<std::size_t>{2, 2, 1, 2});
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].head.flags == 0);
  CHECK(requests[1].head.flags == kReadLast);
  CHECK(requests[2].head.sequence == 0);
}

TEST_CASE("reads do not wait for a later one whose memory has to wait", "[read]") {
  Joined test;
  test.port.refuses_user_memory = [&](MemoryUse, std::size_t) {  // more than two at once
    return test.logged("register") - test.logged("unregister") == 2;
  };
  test.order({100, 100, 100});
  test.rounds();
  const auto first = test.requests();
  REQUIRE(Joined::counts(first) == std::vector<std::size_t>{2});
  test.end_read(first[0].head.sequence);
  test.rounds(2);
  const auto second = test.requests();
  REQUIRE(Joined::counts(second) == std::vector<std::size_t>{1});
  test.end_read(second[0].head.sequence);
  test.rounds();
  CHECK(test.upper.reads.size() == 3);
}

TEST_CASE("fragments of reads that were asked for together go each to its own", "[read][R4]") {
  Joined test;
  test.order({100, 7, 300});
  test.rounds();
  const auto requests = test.requests();
  REQUIRE(requests.size() == 1);
  const std::uint32_t sequence = requests[0].head.sequence;
  const Bytes data = pattern(407, 5);
  SECTION("as the source cuts them") {
    std::size_t at = 0;
    for (const std::size_t bytes : {60u, 40u, 7u, 300u}) {
      test.fragment(sequence, std::span(data).subspan(at, bytes), at + bytes == 407);
      at += bytes;
      test.rounds();
    }
    REQUIRE(test.upper.reads.size() == 3);
    at = 0;
    for (const auto& one : test.destinations) {
      CHECK(std::memcmp(one->bytes().data(), data.data() + at, one->bytes().size()) == 0);
      at += one->bytes().size();
    }
  }
  SECTION("across an end: that is against the rules") {
    test.fragment(sequence, std::span(data).first(101), false);
    test.rounds();
    test.check_protocol_error("answered a read request");
    REQUIRE(test.upper.reads.size() == 3);
    for (const auto& one : test.upper.reads) CHECK(one.status == Status::kProtocolError);
  }
  CHECK(test.logged("register") == test.logged("unregister"));
}

TEST_CASE("reads that were asked for together are lost one by one", "[read][loss]") {
  Joined test;
  test.order({100, 7, 300});
  test.rounds();
  test.channel().fail(Status::kPeerFailed, "gone");
  test.rounds();
  REQUIRE(test.upper.reads.size() == 3);
  for (const auto& one : test.upper.reads) CHECK(one.status == Status::kPeerFailed);
  CHECK(test.logged("register") == test.logged("unregister"));
}

// ---- the responding side, over a port that holds parts

// Side 1 reads `count` sources of side 0, whose port holds up to four parts.
struct Parts : RendezvousPair {
  explicit Parts(std::size_t count, std::size_t bytes)
      : RendezvousPair({Arrival::kInOrder, Arrival::kInOrder}, one_phase()) {
    side[0].port.parts_max = 4;
    for (std::uint32_t n = 0; n < count; ++n) {
      from.push_back(std::make_unique<Vector>(std::vector<std::size_t>{bytes}, n));
      to.push_back(std::make_unique<Vector>(std::vector<std::size_t>{bytes}, 1000));
      read(1, advertise(0, *from.back(), from.back().get()), 0, *to.back(), true);
    }
  }
  void check() {
    settle_reads();
    for (std::size_t n = 0; n < from.size(); ++n) CHECK(to[n]->bytes() == from[n]->bytes());
    check_nothing_left();
  }
  std::vector<WriteUse> uses() const {
    std::vector<WriteUse> found;
    for (const FakePort::Write& one : side[0].port.writes)
      if (is_data(one.use)) found.push_back(one.use);
    return found;
  }
  std::vector<std::unique_ptr<Vector>> from, to;
};

TEST_CASE("the data of several reads goes as parts, and sources are given back when all is written",
          "[read][pair][R3]") {
  Parts test(6, 10'000);
  test.side[0].port.completes = false;
  test.rounds(5);
  constexpr auto kMore = WriteUse::kMoreData;
  CHECK(test.uses() == std::vector{kMore, kMore, kMore, kMore, kMore, WriteUse::kLastData});
  CHECK(test.side[0].port.posted() == 2);  // four parts, and two
  CHECK(test.side[1].upper.reads.size() == 6);
  CHECK(test.side[0].upper.releases.empty());
  test.side[0].port.complete(1);
  test.rounds();
  CHECK(test.side[0].upper.releases.size() == 4);
  test.side[0].port.complete(1);
  test.rounds();
  CHECK(test.side[0].upper.releases.size() == 6);
  test.side[0].port.completes = true;
  test.check();
}

// As many sources as limit_sources() lets be registered at once.
constexpr std::ptrdiff_t kSourcesAtOnce = 2;

void limit_sources(FakePort& port) {
  port.refuses_user_memory = [&port](MemoryUse use, std::size_t) {
    const auto logged = [&port](const char* word) {
      return std::ranges::count_if(port.log, [=](const std::string& line) { return line.starts_with(word); });
    };
    return use == MemoryUse::kSource && logged("register") - logged("unregister") >= kSourcesAtOnce;
  };
}

// Two peers read two sources each, which are registrations of their own, in one request.
void ask_for_two_each(RendezvousFixture& test, const Vector& source, FakeFabric::Memory& room) {
  std::size_t advertised = 0;
  for (const std::uint32_t peer : {1u, 2u}) {
    test.connect(peer);
    std::uint32_t one = 0, two = 0;
    for (std::uint32_t* handle : {&one, &two}) {
      const iovec part{const_cast<std::byte*>(source.bytes().data()) + 1000 * advertised++, 1000};
      REQUIRE(test.channel(peer).advertise(std::span(&part, 1), nullptr, *handle) == Status::kOk);
    }
    const ReadDestination to{room.address + 2000 * (peer - 1), room.key, 2000};
    test.ask({{0, one, 1000}, {0, two, 1000}}, {to}, 5, kReadLast, peer);
  }
}

TEST_CASE("sources that cannot all be registered at once do not wait for each other", "[read][pair][loss]") {
  SECTION("of one response: it goes in fragments") {
    Parts test(6, 10'000);
    limit_sources(test.side[0].port);
    test.check();
    CHECK(test.counters(1).fragment_bytes == 60'000);
    CHECK(test.counters(0).refused == 1);
  }
  SECTION("of responses to two peers: one of them waits") {
    RendezvousFixture test(settings(one_phase()), 3);
    test.port.completes = false;
    limit_sources(test.port);
    FakeFabric::Memory& room = test.room(4000);
    const Vector source({4000}, 3);
    ask_for_two_each(test, source, room);
    for (unsigned tries = 0; test.upper.releases.size() < 4; ++tries) {
      REQUIRE(tries < 100);
      test.port.complete(1);
      test.rounds();
    }
    CHECK(std::memcmp(room.data(), source.bytes().data(), 4000) == 0);
    CHECK(test.context.core().rendezvous.fragment_bytes == 0);
  }
}

TEST_CASE("parts are held up to half of the largest write", "[read][pair][R3]") {
  Parts test(2, kDataWriteBytesMax / 4 + 1);
  test.check();
  CHECK(test.uses() == std::vector{WriteUse::kMoreData, WriteUse::kLastData});
  Vector source({kDataWriteBytesMax / 2 + 1, 9, kDataWriteBytesMax / 2 - 8, 1}, 3);
  Vector destination({source.bytes().size()}, 4);
  test.side[0].port.writes.clear();
  test.read(1, test.advertise(0, source, &source), 0, destination, true);
  test.check();
  CHECK(destination.bytes() == source.bytes());
  CHECK(test.uses() ==
        std::vector{WriteUse::kData, WriteUse::kMoreData, WriteUse::kData, WriteUse::kLastData});
}

TEST_CASE("a part that is refused for now comes again", "[read][pair]") {
  for (std::size_t refused = 0; refused < 6; ++refused) {
    Parts test(6, 10'000);
    std::size_t seen = 0;
    test.side[0].port.rule = [&](const FakePort::Write& write) -> std::optional<WriteResult> {
      if (write.use < WriteUse::kData) return std::nullopt;
      if (seen++ >= refused && seen <= refused + 3) return WriteResult::kAgain;
      return std::nullopt;
    };
    test.send_all(0, Vector({700, 9}));
    test.check();
    CHECK(seen == 9);
  }
}

TEST_CASE("what a port holds is forgotten with its link", "[read][loss]") {
  Parts test(6, 10'000);
  std::size_t seen = 0;
  test.side[0].port.rule = [&](const FakePort::Write& write) -> std::optional<WriteResult> {
    if (is_data(write.use) && ++seen > 2) return WriteResult::kAgain;
    return std::nullopt;
  };
  test.rounds(5);
  CHECK(test.uses().size() == 2);
  test.side[0].channel().fail(Status::kPeerFailed, "gone");
  test.rounds(5);
  REQUIRE(test.side[0].upper.releases.size() == 6);
  for (const auto& one : test.side[0].upper.releases) CHECK(one.status == Status::kPeerFailed);
  CHECK(test.logged(0, "register") == test.logged(0, "unregister"));
  CHECK(test.side[0].context.core().sources.size() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
