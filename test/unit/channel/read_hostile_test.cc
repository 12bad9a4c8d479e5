// SPDX-License-Identifier: MIT
// A peer asks for what it may not have, or responds to what was not asked: its channel ends, and nothing else.
#include <catch2/catch.hpp>

#include <functional>

#include "support/rendezvous_fixture.h"

namespace bufenlarge::test {
namespace {

// Two peers; the first breaks a rule.
struct Hostile : RendezvousFixture {
  Hostile() {
    connect(1);
    connect(2);
    mine = advertise(source, 1);
    other = advertise(source, 2);
    to = {memory.address, memory.key, 100};
  }
  // Nothing may be written for a wrong request; the second peer still reads, and is read.
  void check_asking() {
    rounds(3);
    check_protocol_error("asked to read what it may not");
    check_others();
  }
  void check_responding() {
    rounds(3);
    check_protocol_error("answered a read request");
    check_others();
  }
  void check_others() {
    const Bytes untouched(1000);
    CHECK(std::memcmp(memory.data(), untouched.data(), 1000) == 0);
    REQUIRE(upper.releases.size() == 1);
    CHECK(upper.releases[0].peer == 1);
    CHECK(upper.releases[0].status == Status::kProtocolError);
    ask({{0, other, 100}}, {to}, 5, 0, 2);
    rounds(3);
    CHECK(std::memcmp(memory.data(), source.bytes().data(), 100) == 0);
    Vector wanted({50}, 9);
    read(wanted, 3, true, 2);
    rounds(2);
    const auto asked = requests(2);
    REQUIRE(asked.size() == 1);
    place(asked[0], pattern(50, 2));
    end_read(asked[0].head.sequence, 2);
    rounds(2);
    REQUIRE_FALSE(upper.reads.empty());
    CHECK(upper.reads.back().status == Status::kOk);
    CHECK(wanted.bytes() == pattern(50, 2));
    CHECK(upper.failures.size() == 1);
  }
  // Begins a read of 100 bytes of the first peer, and returns its sequence.
  std::uint32_t begin_read() {
    read(destination, 8, true, 1);
    rounds(2);
    const auto asked = requests(1);
    REQUIRE(asked.size() == 1);
    return asked[0].head.sequence;
  }
  // Begins a read of all of `theirs` of the second peer, and returns its sequence.
  std::uint32_t begin_read_of_second(Vector& theirs) {
    read(theirs, 4, true, 2);
    rounds(2);
    const auto asked = requests(2);
    REQUIRE(asked.size() == 1);
    return asked[0].head.sequence;
  }
  void check_read_failed() {
    REQUIRE_FALSE(upper.reads.empty());
    CHECK(upper.reads[0].cookie == &destination);
    CHECK(upper.reads[0].status == Status::kProtocolError);
    CHECK(std::ranges::count_if(upper.reads, [&](const auto& end) { return end.cookie == &destination; }) == 1);
  }
  FakeFabric::Memory& memory = room(1000);
  const Vector source{{600, 400}, 3};
  Vector destination{{60, 40}, 4};
  std::uint32_t mine = 0, other = 0;
  ReadDestination to{};
};

struct WrongRequest {
  const char* name;
  std::function<void(Hostile&)> ask;
};

TEST_CASE("a request for what is not advertised to its peer ends the channel", "[read][hostile]") {
  using H = Hostile;
  const std::vector<WrongRequest> cases{
      {"an unknown handle", [](H& test) { test.ask({{0, test.mine + 17, 100}}, {test.to}); }},
      {"a handle of another count", [](H& test) { test.ask({{0, test.mine + (1u << 20), 100}}, {test.to}); }},
      {"another peer's handle", [](H& test) { test.ask({{0, test.other, 100}}, {test.to}); }},
      {"another peer's handle behind an own one",
       [](H& test) { test.ask({{0, test.mine, 50}, {0, test.other, 50}}, {test.to}); }},
      {"another peer's handle to be released", [](H& test) { test.ask({{0, test.other, 0}}, {}, 0, kReadLast); }},
      {"one byte too many", [](H& test) { test.ask({{901, test.mine, 100}}, {test.to}); }},
      {"behind the end", [](H& test) { test.ask({{1001, test.mine, 100}}, {test.to}); }},
      {"an offset that comes round", [](H& test) { test.ask({{~std::uint64_t{0} - 49, test.mine, 100}}, {test.to}); }},
      {"a byte too many, in fragments", [](H& test) { test.ask({{950, test.mine, 51}}, {}, 5, kReadThroughRing); }},
      {"what is no request", [](H& test) { test.ask({{0, test.mine, 100}}, {}); }},
      {"an empty slot", [](H& test) { test.peer().write_slot(SlotKind::kReadRequest, {}, 0); }},
  };
  for (const WrongRequest& one : cases) {
    INFO(one.name);
    Hostile test;
    one.ask(test);
    test.check_asking();
  }
}

TEST_CASE("a request for what was released ends the channel", "[read][hostile]") {
  Hostile test;
  const bool twice = GENERATE(false, true);
  test.port.completes = false;  // so that it is still there
  test.ask({{0, test.mine, 1000}}, {{test.room(1000).address, test.room(1000).key - 1, 1000}}, 5, kReadLast);
  test.rounds(3);
  REQUIRE(test.upper.releases.empty());
  if (twice)
    test.ask({{0, test.mine, 0}}, {}, 0, kReadLast);
  else
    test.ask({{0, test.mine, 100}}, {test.to});
  test.rounds(3);
  test.port.completes = true;
  test.check_asking();
}

TEST_CASE("a ninth request ends the channel, eight do not", "[read][hostile]") {
  Hostile test;
  test.port.rule = [](const FakePort::Write& write) -> std::optional<WriteResult> {
    if (is_data(write.use)) return WriteResult::kAgain;
    return std::nullopt;
  };
  for (std::uint32_t n = 1; n <= 8; ++n) test.ask({{0, test.mine, 100}}, {test.to}, n);
  test.rounds(2);
  CHECK(test.upper.failures.empty());
  test.ask({{0, test.mine, 100}}, {test.to}, 9);
  test.rounds(3);
  test.port.rule = nullptr;
  test.check_asking();
}

// What the first peer does wrong while a read of it is under way.
struct WrongResponse {
  const char* name;
  std::function<void(Hostile&, std::uint32_t sequence)> respond;
  bool through_ring = false;
};

void check_wrong_responses(const std::vector<WrongResponse>& cases) {
  for (const WrongResponse& one : cases) {
    INFO(one.name);
    Hostile test;
    if (one.through_ring) test.port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
    const std::uint32_t sequence = test.begin_read();
    test.port.refuses_user_memory = nullptr;
    one.respond(test, sequence);
    test.check_responding();
    test.check_read_failed();
  }
}

const std::vector<WrongResponse> kWrongEnds{
    {"another sequence", [](Hostile& test, std::uint32_t sequence) { test.end_read(sequence + 1); }},
    {"another count of the same place",
     [](Hostile& test, std::uint32_t sequence) { test.end_read(sequence + kReadsPerPortMax); }},
    {"an end after some fragments",
     [](Hostile& test, std::uint32_t sequence) {
       test.fragment(sequence, pattern(50), false);
       test.rounds();
       test.end_read(sequence);
     }},
    {"an end of a read in fragments", [](Hostile& test, std::uint32_t sequence) { test.end_read(sequence); }, true},
};

TEST_CASE("the end of a read that was not asked for ends the channel", "[read][hostile]") {
  Hostile test;
  SECTION("one is under way") { check_wrong_responses(kWrongEnds); }
  SECTION("none is under way") {
    test.end_read(64);
    test.check_responding();
  }
  SECTION("a second end") {
    const std::uint32_t sequence = test.begin_read();
    test.end_read(sequence);
    test.rounds();
    REQUIRE(test.upper.reads.size() == 1);
    test.end_read(sequence);
    test.check_responding();
    CHECK(test.upper.reads[0].status == Status::kOk);
  }
  SECTION("a read of another peer") {
    Vector theirs({30}, 6);
    const std::uint32_t sequence = test.begin_read_of_second(theirs);
    test.end_read(sequence, 1);
    test.rounds(2);
    CHECK(test.upper.reads.empty());
    test.check_protocol_error("answered a read request");
    test.end_read(sequence, 2);
    test.rounds(2);
    REQUIRE(test.upper.reads.size() == 1);
    CHECK(test.upper.reads[0].status == Status::kOk);
  }
}

// Returns the first bytes of data that is the same in all cases.
Bytes first(std::size_t bytes) {
  Bytes data = pattern(400);
  data.resize(bytes);
  return data;
}

const std::vector<WrongResponse> kWrongFragments{
    {"another sequence", [](Hostile& test, std::uint32_t s) { test.fragment(s + kReadsPerPortMax, first(100), true); }},
    {"too long", [](Hostile& test, std::uint32_t s) { test.fragment(s, first(101), true); }},
    {"too long, and not the last", [](Hostile& test, std::uint32_t s) { test.fragment(s, first(101), false); }},
    {"all, and not the last", [](Hostile& test, std::uint32_t s) { test.fragment(s, first(100), false); }},
    {"not all, and the last", [](Hostile& test, std::uint32_t s) { test.fragment(s, first(99), true); }},
    {"too long as the second",
     [](Hostile& test, std::uint32_t s) {
       test.fragment(s, first(60), false);
       test.fragment(s, first(41), true);
     }},
    {"without data", [](Hostile& test, std::uint32_t s) { test.fragment(s, {}, false); }},
    {"with something where nothing belongs",
     [](Hostile& test, std::uint32_t s) { test.fragment(s, first(100), true, 1); }},
    {"without a head",
     [](Hostile& test, std::uint32_t) { test.peer().write_slot(SlotKind::kReadFragment, first(4), kMarkLast); }},
};

TEST_CASE("a fragment that was not asked for ends the channel", "[read][hostile]") {
  Hostile test;
  SECTION("one is under way") { check_wrong_responses(kWrongFragments); }
  SECTION("none is under way") {
    test.fragment(64, first(10), true);
    test.check_responding();
  }
  SECTION("one more") {
    const std::uint32_t sequence = test.begin_read();
    test.fragment(sequence, first(100), true);
    test.rounds();
    REQUIRE(test.upper.reads.size() == 1);
    test.upper.reads.clear();
    test.fragment(sequence, first(1), true);
    test.check_responding();
  }
}

TEST_CASE("fragments of another peer's read end the channel of who sent them", "[read][hostile]") {
  Hostile test;
  Vector theirs({30}, 6);
  const std::uint32_t sequence = test.begin_read_of_second(theirs);
  const Bytes before = theirs.bytes();
  test.fragment(sequence, pattern(30, 1), true, 0, 1);
  test.rounds(3);
  test.check_protocol_error("answered a read request");
  CHECK(theirs.bytes() == before);
  test.fragment(sequence, pattern(30, 2), true, 0, 2);
  test.rounds(3);
  CHECK(theirs.bytes() == pattern(30, 2));
}

// tcp reports no link with immediate data.
TEST_CASE("an end that comes on nobody's link is taken for the read of that sequence, or for none", "[read]") {
  Hostile test;
  test.port.names_ends = false;
  const std::uint32_t sequence = test.begin_read();
  test.end_read(sequence + kReadsPerPortMax, 2);
  test.rounds(2);
  CHECK(test.upper.reads.empty());
  CHECK(test.upper.failures.empty());
  test.end_read(sequence, 1);
  test.rounds(2);
  CHECK(test.upper.reads.size() == 1);
}

}  // namespace
}  // namespace bufenlarge::test
