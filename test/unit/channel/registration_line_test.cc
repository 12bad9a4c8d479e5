// SPDX-License-Identifier: MIT
// The line of those that wait for registrations of user memory: a large transfer has its turn, however many small ones
// come after it, and nobody waits for one that could not go anyway.
#include "channel/registration_line.h"

#include <catch2/catch.hpp>

#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

using Turn = RegistrationLine::Turn;

TEST_CASE("those that wait have their turns in order, and who has none waits for all", "[registration_line]") {
  RegistrationLine line;
  Turn first, second;
  CHECK(line.is_first(&second));
  CHECK(line.is_first(nullptr));
  first.wait_in(line);
  second.wait_in(line);
  first.wait_in(line);
  CHECK(line.is_first(&first));
  CHECK_FALSE(line.is_first(&second));
  CHECK_FALSE(line.is_first(nullptr));
  first.leave();
  first.leave();
  CHECK(line.is_first(&second));
  first.wait_in(line);
  CHECK_FALSE(line.is_first(&first));
  second.leave();
  first.leave();
  CHECK(line.is_first(nullptr));
}

TEST_CASE("one that pauses lets the others pass and keeps its place", "[registration_line]") {
  RegistrationLine line;
  Turn first, second;
  first.wait_in(line);
  second.wait_in(line);
  first.pause();
  CHECK(line.is_first(&second));
  CHECK_FALSE(line.is_first(nullptr));
  first.resume();
  CHECK(line.is_first(&first));
  CHECK_FALSE(line.is_first(&second));
  first.pause();
  second.pause();
  CHECK(line.is_first(nullptr));
}

TEST_CASE("the end of one that waits is the end of its waiting", "[registration_line]") {
  RegistrationLine line;
  Turn second;
  {
    Turn first;
    first.wait_in(line);
    second.wait_in(line);
  }
  CHECK(line.is_first(&second));
}

// So many bytes of sources, and of destinations, can be registered at a time. Ranks 1 to 3 are connected.
constexpr std::uint32_t kMost = 1000;
constexpr std::initializer_list<std::size_t> kSmall = {500};

struct LineFixture : RendezvousFixture {
  LineFixture() {
    context.bound_transfers(kMost, kMost, kReadsPerPortMax);
    for (const std::uint32_t rank : {1u, 2u, 3u}) connect(rank);
  }
  // Lets a peer read all of a source, whose writes complete one by one as the test says.
  void ask_for(const Vector& source, std::uint32_t rank) {
    const auto bytes = static_cast<std::uint32_t>(source.bytes().size());
    const FakeFabric::Memory& to = room(bytes);
    ask({{0, advertise(source, rank), bytes}}, {{to.address, to.key, bytes}}, ++sequence, kReadLast, rank);
    rounds(2);
  }
  void complete_oldest() {
    port.complete(1);
    rounds(2);
  }
  [[nodiscard]] bool released(const Vector& source) const {
    return std::ranges::any_of(upper.releases, [&](const UpperLog::End& one) { return one.cookie == &source; });
  }
  // The requests that have come to this rank have their responses.
  void respond(std::uint32_t rank) {
    for (const ReadRequestParts& request : requests(rank)) {
      place(request, pattern(request.bytes));
      end_read(request.head.sequence, rank);
    }
    rounds(2);
  }
  [[nodiscard]] bool read_is_done(const Vector& destination) const {
    return std::ranges::any_of(upper.reads, [&](const UpperLog::End& one) { return one.cookie == &destination; });
  }

  std::uint32_t sequence = 0;
};

TEST_CASE("a large response is not overtaken for ever by small ones", "[registration_line][responder]") {
  LineFixture fixture;
  fixture.port.completes = false;
  const Vector large({kMost}, 1);
  std::deque<Vector> small;
  const auto ask_for_small = [&](std::uint32_t rank) { fixture.ask_for(small.emplace_back(kSmall, rank), rank); };
  ask_for_small(1);
  fixture.ask_for(large, 2);
  for (std::uint32_t n = 0; n < 10 && !fixture.released(large); ++n) {
    ask_for_small(n % 2 == 0 ? 3 : 1);
    fixture.complete_oldest();
  }
  CHECK(fixture.released(large));
  fixture.port.completes = true;
  fixture.rounds(8);
  CHECK(fixture.upper.releases.size() == small.size() + 1);
}

TEST_CASE("a response whose turn has not come does not go through the ring", "[registration_line][responder]") {
  LineFixture fixture;
  fixture.port.completes = false;
  const Vector held({500}, 1), large({kMost}, 2), small({400}, 3);
  fixture.port.rule = [](const FakePort::Write& write) {
    return write.use == WriteUse::kSlots ? std::optional(WriteResult::kAgain) : std::nullopt;
  };
  REQUIRE(fixture.send({100}, 3).bytes == 100);  // from now on rank 3 is served before rank 2
  fixture.ask_for(held, 1);
  fixture.ask_for(large, 2);
  fixture.ask_for(small, 3);
  fixture.port.rule = nullptr;
  for (int n = 0; n < 5; ++n) fixture.complete_oldest();
  CHECK(fixture.upper.releases.size() == 3);
  CHECK(fixture.context.core().rendezvous.refused == 0);
  CHECK(fixture.context.core().rendezvous.fragment_bytes == 0);
}

TEST_CASE("a large read is not overtaken for ever by small ones", "[registration_line][reader]") {
  LineFixture fixture;
  Vector large({kMost}, 1);
  std::deque<Vector> small;
  const auto read_small = [&](std::uint32_t rank) {
    fixture.read(small.emplace_back(kSmall, rank), 77, true, rank);
    fixture.rounds(2);
  };
  read_small(1);
  fixture.read(large, 77, true, 2);
  for (std::uint32_t n = 0; n < 10 && !fixture.read_is_done(large); ++n) {
    const std::uint32_t rank = n % 2 == 0 ? 3 : 1;
    read_small(rank);
    fixture.respond(4 - rank);
    fixture.respond(2);
  }
  CHECK(fixture.read_is_done(large));
}

TEST_CASE("a read that has no room for its request lets the others pass", "[registration_line][reader]") {
  LineFixture fixture;
  Vector first({600}, 1), large({kMost}, 2), behind({400}, 3);
  fixture.read(first, 77, true, 1);
  fixture.rounds(2);
  fixture.read(large, 77, true, 2);
  fixture.rounds(2);
  while (fixture.send({100}, 2).bytes != 0) continue;  // the ring of rank 2 is full
  fixture.rounds(2);
  fixture.read(behind, 77, true, 3);
  fixture.rounds(2);
  CHECK(fixture.requests(3).size() == 1);
}

TEST_CASE("the failure of a peer that is waited for in the line lets the next go", "[registration_line][loss]") {
  LineFixture fixture;
  fixture.port.completes = false;
  const Vector held({500}, 1), large({kMost}, 2), small({400}, 3);
  fixture.ask_for(held, 1);
  fixture.ask_for(large, 2);
  fixture.ask_for(small, 3);
  CHECK(fixture.port.posted() == 1);
  fixture.lose(2);
  fixture.rounds(2 * FakeContext::kEventRounds);
  CHECK(fixture.port.posted() == 2);
}

TEST_CASE("a write is not ordered past those that wait for memory", "[registration_line][write]") {
  LineFixture fixture;
  fixture.port.completes = false;
  const Vector held({500}, 1), large({kMost}, 2);
  const Bytes data = pattern(100);
  const FakeFabric::Memory& window = fixture.room(100);
  const WriteOrder order{data.data(), nullptr, window.address, 100, window.key};
  fixture.ask_for(held, 1);
  fixture.ask_for(large, 2);
  CHECK(fixture.channel(3).write(order) == Status::kAgain);
  fixture.port.completes = true;
  fixture.rounds(8);
  CHECK(fixture.released(large));
  CHECK(fixture.channel(3).write(order) == Status::kOk);
}

}  // namespace
}  // namespace bufenlarge::test
