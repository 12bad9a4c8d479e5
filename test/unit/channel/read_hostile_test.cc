// SPDX-License-Identifier: MIT
// A peer that asks for what it may not have, or responses what was not asked: its channel ends, and nothing else.
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
  // Of what is wrong nothing may be written; the second peer still reads, and is read.
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
  // One read of 100 bytes of the first peer, on its way.
  std::uint32_t begin_read() {
    read(destination, 8, true, 1);
    rounds(2);
    const auto asked = requests(1);
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

TEST_CASE("a request for what is not advertised to its peer ends the channel", "[read][hostile]") {
  Hostile test;
  SECTION("an unknown name") {
    test.ask({{0, test.mine + 17, 100}}, {test.to});
    test.check_asking();
  }
  SECTION("a name of another count") {
    test.ask({{0, test.mine + (1u << 20), 100}}, {test.to});
    test.check_asking();
  }
  SECTION("another peer's name") {
    test.ask({{0, test.other, 100}}, {test.to});
    test.check_asking();
  }
  SECTION("another peer's name behind an own one") {
    test.ask({{0, test.mine, 50}, {0, test.other, 50}}, {test.to});
    test.check_asking();
  }
  SECTION("another peer's name to be released") {
    test.ask({{0, test.other, 0}}, {}, 0, kReadLast);
    test.check_asking();
  }
  SECTION("one byte too many") {
    test.ask({{901, test.mine, 100}}, {test.to});
    test.check_asking();
  }
  SECTION("behind the end") {
    test.ask({{1001, test.mine, 100}}, {test.to});
    test.check_asking();
  }
  SECTION("an offset that comes round") {
    test.ask({{~std::uint64_t{0} - 49, test.mine, 100}}, {test.to});
    test.check_asking();
  }
  SECTION("a part too many, in fragments") {
    test.ask({{950, test.mine, 51}}, {}, 5, kReadThroughRing);
    test.check_asking();
  }
  SECTION("what is no request") {
    test.ask({{0, test.mine, 100}}, {});
    test.check_asking();
  }
  SECTION("an empty slot") {
    test.peer().write_slot(SlotKind::kReadRequest, {}, 0);
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

TEST_CASE("the end of a read that was not asked for ends the channel", "[read][hostile]") {
  Hostile test;
  SECTION("none is under way") {
    test.end_read(64);
    test.check_responding();
  }
  SECTION("another sequence") {
    const std::uint32_t sequence = test.begin_read();
    test.end_read(sequence + 1);
    test.check_responding();
    test.check_read_failed();
  }
  SECTION("another count of the same place") {
    const std::uint32_t sequence = test.begin_read();
    test.end_read(sequence + kReadsPerPortMax);
    test.check_responding();
    test.check_read_failed();
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
    test.read(theirs, 4, true, 2);
    test.rounds(2);
    const auto asked = test.requests(2);
    REQUIRE(asked.size() == 1);
    test.end_read(asked[0].head.sequence, 1);
    test.rounds(2);
    CHECK(test.upper.reads.empty());
    test.check_protocol_error("answered a read request");
    test.end_read(asked[0].head.sequence, 2);
    test.rounds(2);
    REQUIRE(test.upper.reads.size() == 1);
    CHECK(test.upper.reads[0].status == Status::kOk);
  }
  SECTION("an end after some fragments") {
    const std::uint32_t sequence = test.begin_read();
    test.fragment(sequence, pattern(50), false);
    test.rounds();
    test.end_read(sequence);
    test.check_responding();
    test.check_read_failed();
  }
  SECTION("an end of a read in fragments") {
    test.port.refuses_user_memory = [](MemoryUse, std::size_t) { return true; };
    const std::uint32_t sequence = test.begin_read();
    test.port.refuses_user_memory = nullptr;
    test.end_read(sequence);
    test.check_responding();
    test.check_read_failed();
  }
}

TEST_CASE("a fragment that was not asked for ends the channel", "[read][hostile]") {
  Hostile test;
  const Bytes data = pattern(400);
  const auto first = [&](std::size_t bytes) { return std::span(data).first(bytes); };
  SECTION("none is under way") {
    test.fragment(64, first(10), true);
    test.check_responding();
  }
  SECTION("of a read that is under way") {
    const std::uint32_t sequence = test.begin_read();
    SECTION("another sequence") {
      test.fragment(sequence + kReadsPerPortMax, first(100), true);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("too long") {
      test.fragment(sequence, first(101), true);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("too long, and not the last") {
      test.fragment(sequence, first(101), false);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("all, and not the last") {
      test.fragment(sequence, first(100), false);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("not all, and the last") {
      test.fragment(sequence, first(99), true);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("too long as the second") {
      test.fragment(sequence, first(60), false);
      test.fragment(sequence, first(41), true);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("one more") {
      test.fragment(sequence, first(100), true);
      test.rounds();
      REQUIRE(test.upper.reads.size() == 1);
      test.upper.reads.clear();
      test.fragment(sequence, first(1), true);
      test.check_responding();
    }
    SECTION("without data") {
      test.fragment(sequence, {}, false);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("with something where nothing belongs") {
      test.fragment(sequence, first(100), true, 1);
      test.check_responding();
      test.check_read_failed();
    }
    SECTION("without a head") {
      test.peer().write_slot(SlotKind::kReadFragment, first(4), kMarkLast);
      test.check_responding();
      test.check_read_failed();
    }
  }
}

TEST_CASE("fragments of another peer's read end the channel of who sent them", "[read][hostile]") {
  Hostile test;
  Vector theirs({30}, 6);
  test.read(theirs, 4, true, 2);
  test.rounds(2);
  const auto asked = test.requests(2);
  REQUIRE(asked.size() == 1);
  const Bytes before = theirs.bytes();
  test.fragment(asked[0].head.sequence, pattern(30, 1), true, 0, 1);
  test.rounds(3);
  test.check_protocol_error("answered a read request");
  CHECK(theirs.bytes() == before);
  test.fragment(asked[0].head.sequence, pattern(30, 2), true, 0, 2);
  test.rounds(3);
  CHECK(theirs.bytes() == pattern(30, 2));
}

// tcp tells no link with immediate data.
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
