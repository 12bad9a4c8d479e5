// SPDX-License-Identifier: MIT
#include "channel/rendezvous_reader.h"

#include <catch2/catch.hpp>

#include <deque>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kSource = 77;

struct ReaderFixture : RingsFixture {
  explicit ReaderFixture(const ChannelSettings& settings_in = settings(two_phases()))
      : RingsFixture(settings_in), reader(link, send_ring) {}

  // Reads into `to`, which is the cookie.
  void read(Vector& to, bool last = false, std::uint64_t offset = 0) {
    reader.order({to.all(), &to, offset, to.bytes().size(), kSource, last});
  }
  // Serves the reader and returns the requests that have arrived, whose slots are granted.
  std::vector<ReadRequestParts> serve() {
    reader.service();
    send_ring.flush();
    poll();
    std::vector<ReadRequestParts> found;
    for (const auto& slot : arrived()) {
      REQUIRE(slot.kind() == SlotKind::kReadRequest);
      found.push_back(parse_read_request(slot.payload).value());
    }
    peer.grant_all();
    return found;
  }
  void done(const ReadRequestParts& request) { reader.on_read_done(*core.reads.find(request.head.sequence)); }
  void fragment(std::uint32_t sequence, std::span<const std::byte> data, bool last, std::uint32_t reserved = 0) {
    const ReadFragment head{sequence, reserved};
    Bytes payload(sizeof head + data.size());
    std::memcpy(payload.data(), &head, sizeof head);
    std::ranges::copy(data, payload.begin() + sizeof head);
    reader.on_fragment(payload, last);
  }
  [[nodiscard]] bool nothing_registered() const { return core.destination_registrations.bytes() == 0; }
  void check_refused() const { check_failure(Status::kProtocolError, "in a way that was not asked for"); }

  RendezvousReader<FakePort> reader;
};

TEST_CASE("a read is asked for when the reader is served, and names where its data goes", "[reader]") {
  ReaderFixture fixture;
  Vector to({100, 50});
  fixture.read(to, true, 30);
  CHECK(fixture.reader.asks());
  CHECK(fixture.arrived().empty());
  CHECK(fixture.nothing_registered());
  const auto requests = fixture.serve();
  REQUIRE(requests.size() == 1);
  CHECK_FALSE(fixture.reader.asks());
  CHECK(requests[0].head.flags == kReadLast);
  REQUIRE(requests[0].sources.size() == 1);
  CHECK(requests[0].sources[0].handle == kSource);
  CHECK(requests[0].sources[0].offset == 30);
  CHECK(requests[0].sources[0].bytes == 150);
  REQUIRE(requests[0].destinations.size() == 2);
  const ReadDestination& second = requests[0].destinations[1];
  CHECK(fixture.fabric.at(second.key, second.address, 50) == to.bytes().data() + 100);
  CHECK(fixture.serve().empty());
}

TEST_CASE("a read ends once, after its registration", "[reader]") {
  ReaderFixture fixture;
  Vector to({100});
  fixture.read(to);
  const auto request = fixture.serve().at(0);
  fixture.upper.on_read = [&](const UpperLog::End&) { CHECK(fixture.nothing_registered()); };
  CHECK(fixture.upper.reads.empty());
  fixture.done(request);
  REQUIRE(fixture.upper.reads.size() == 1);
  CHECK(fixture.upper.reads[0].peer == kPeerRank);
  CHECK(fixture.upper.reads[0].cookie == &to);
  CHECK(fixture.upper.reads[0].status == Status::kOk);
  CHECK(fixture.reader.empty());
  CHECK(fixture.core.reads.find(request.head.sequence) == nullptr);
  CHECK(fixture.core.rendezvous.reads == 1);
  CHECK(fixture.core.rendezvous.read_bytes == 100);
}

TEST_CASE("a read with many segments takes several requests, and only its last one releases", "[reader]") {
  ReaderFixture fixture;
  Vector to(std::vector<std::size_t>(40, 10));
  fixture.read(to, true);
  const auto requests = fixture.serve();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].head.flags == 0);
  CHECK(requests[1].head.flags == kReadLast);
  CHECK(requests[0].bytes + requests[1].bytes == 400);
  CHECK(requests[1].sources[0].offset == requests[0].bytes);
  fixture.done(requests[1]);
  CHECK(fixture.upper.reads.empty());
  fixture.done(requests[0]);
  CHECK(fixture.upper.reads.size() == 1);
}

TEST_CASE("only so many requests are under way, and the next go when half of them are done", "[reader]") {
  ReaderFixture fixture;
  std::deque<Vector> to;
  for (unsigned n = 0; n < 12; ++n) fixture.read(to.emplace_back(std::vector<std::size_t>{100}), n % 2 != 0);
  const auto first = fixture.serve();
  REQUIRE(first.size() == kReadsPerLinkMax);
  for (unsigned n = 0; n < kReadsPerLinkMax / 2; ++n) {
    CHECK(fixture.reader.asks());
    CHECK(fixture.serve().empty());
    fixture.done(first[n]);
  }
  const auto next = fixture.serve();
  CHECK(next.size() == 4);
  CHECK_FALSE(fixture.reader.asks());
  for (unsigned n = 0; n < 4; ++n) CHECK(fixture.upper.reads[n].cookie == &to[n]);
}

TEST_CASE("small reads that wait share a request, and end together in their order", "[reader][joined]") {
  ReaderFixture fixture;
  Vector first({100}), second({50, 50}), third({7});
  for (Vector* to : {&first, &second, &third}) fixture.read(*to);
  const auto requests = fixture.serve();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].sources.size() == 3);
  CHECK(requests[0].destinations.size() == 4);
  fixture.done(requests[0]);
  REQUIRE(fixture.upper.reads.size() == 3);
  CHECK(fixture.upper.reads[0].cookie == &first);
  CHECK(fixture.upper.reads[1].cookie == &second);
  CHECK(fixture.upper.reads[2].cookie == &third);
  CHECK(fixture.reader.empty());
}

TEST_CASE("reads that release do not join those that do not, nor do they beyond the bound", "[reader][joined]") {
  ReaderFixture fixture;
  Vector fits({kJoinedBytesMax - 1}), one({1}), two({2});
  fixture.read(fits);
  fixture.read(one);
  fixture.read(one, true);
  CHECK(fixture.serve().size() == 2);
  ReaderFixture full;
  full.read(fits);
  full.read(two);
  CHECK(full.serve().size() == 2);
}

TEST_CASE("what can be registered later waits, and what never can goes through the ring", "[reader][memory]") {
  ReaderFixture fixture;
  fixture.core.destination_registrations.set_bytes_max(100);
  Vector first({100}), second({60});
  fixture.read(first);
  fixture.read(second);
  const auto requests = fixture.serve();
  REQUIRE(requests.size() == 1);
  CHECK(fixture.reader.asks());
  fixture.done(requests[0]);
  CHECK(fixture.serve().size() == 1);
  CHECK(fixture.core.rendezvous.refused == 0);

  ReaderFixture refused;
  refused.refuse_user_memory();
  refused.read(second);
  const auto request = refused.serve().at(0);
  CHECK(request.head.flags == kReadThroughRing);
  CHECK(request.destinations.empty());
  CHECK(refused.core.rendezvous.refused == 1);
  const Bytes data = pattern(60, 5);
  refused.fragment(request.head.sequence, std::span(data).first(23), false);
  CHECK(refused.upper.reads.empty());
  refused.fragment(request.head.sequence, std::span(data).subspan(23), true);
  CHECK(second.bytes() == data);
  CHECK(refused.upper.reads.size() == 1);
  CHECK(refused.core.rendezvous.fragment_bytes == 60);
}

TEST_CASE("fragments of a read without a destination are handed up in order", "[reader]") {
  ReaderFixture fixture;
  int cookie = 0;
  fixture.reader.order({{}, &cookie, 0, 60, kSource, true});
  const auto request = fixture.serve().at(0);
  CHECK(request.head.flags == (kReadThroughRing | kReadLast));
  const Bytes data = pattern(60, 5);
  fixture.fragment(request.head.sequence, std::span(data).first(1), false);
  fixture.fragment(request.head.sequence, std::span(data).subspan(1), true);
  CHECK(fixture.upper.handed_up[&cookie] == data);
  CHECK(fixture.upper.reads.size() == 1);
}

TEST_CASE("a release goes in its turn and ends nothing", "[reader]") {
  ReaderFixture fixture;
  Vector to({100});
  fixture.read(to);
  fixture.reader.order(ReadOrder::release(5));
  const auto requests = fixture.serve();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].head.sequence != 0);
  CHECK(requests[1].head.sequence == 0);
  CHECK(requests[1].head.flags == kReadLast);
  CHECK(requests[1].sources[0].handle == 5);
  CHECK(fixture.upper.reads.empty());
  fixture.done(requests[0]);
  CHECK(fixture.reader.empty());
  CHECK(fixture.upper.reads.size() == 1);
}

TEST_CASE("a request waits while the ring is full or grows, and while the context has too many", "[reader]") {
  ReaderFixture fixture(settings(phases({{128, 4}})));
  Vector to({100});
  fixture.read(to);
  fixture.send_ring.pause();
  CHECK(fixture.serve().empty());
  fixture.send_ring.resume();
  CHECK(fixture.stage(4 * 104) == 4 * 104);
  fixture.reader.service();
  CHECK(fixture.reader.asks());
  fixture.send_ring.flush();
  fixture.poll();
  CHECK(fixture.arrived().size() == 4);
  fixture.peer.grant_all();
  RendezvousReader<FakePort> other(fixture.link, fixture.send_ring);
  while (!fixture.core.reads.full()) (void)fixture.core.reads.add(&other, nullptr, 0);
  CHECK(fixture.serve().empty());
  CHECK(fixture.nothing_registered());
  fixture.core.reads.remove_all(&other);
  CHECK(fixture.serve().size() == 1);
}

TEST_CASE("a peer may respond through the ring to a request for writes, also for joined reads", "[reader][joined]") {
  ReaderFixture fixture;
  Vector first({40}), second({60});
  fixture.read(first);
  fixture.read(second);
  const std::uint32_t sequence = fixture.serve().at(0).head.sequence;
  const Bytes data = pattern(100, 5);
  fixture.fragment(sequence, std::span(data).first(40), false);
  fixture.fragment(sequence, std::span(data).subspan(40, 10), false);
  fixture.fragment(sequence, std::span(data).subspan(50), true);
  CHECK(std::ranges::equal(first.bytes(), std::span(data).first(40)));
  CHECK(std::ranges::equal(second.bytes(), std::span(data).subspan(40)));
  CHECK(fixture.upper.reads.size() == 2);

  ReaderFixture over;
  over.read(first);
  over.read(second);
  over.fragment(over.serve().at(0).head.sequence, std::span(data).first(41), false);
  over.check_refused();
}

TEST_CASE("a fragment that does not fit its request breaks the protocol and changes nothing", "[reader][hostile]") {
  for (unsigned wrong = 0; wrong < 7; ++wrong) {
    ReaderFixture fixture;
    Vector to({60});
    const Bytes before = to.bytes();
    fixture.refuse_user_memory();
    fixture.read(to);
    const std::uint32_t sequence = fixture.serve().at(0).head.sequence;
    RendezvousReader<FakePort> other(fixture.link, fixture.send_ring);
    const Bytes data = pattern(61, 5);
    const std::span<const std::byte> all(data);
    if (wrong == 0) fixture.fragment(sequence, all, true);
    if (wrong == 1) fixture.fragment(sequence, all.first(59), true);
    if (wrong == 2) fixture.fragment(sequence, all.first(60), false);
    if (wrong == 3) fixture.fragment(sequence + 1, all.first(60), true);
    if (wrong == 4) fixture.fragment(sequence, all.first(60), true, 1);
    if (wrong == 5) fixture.fragment(sequence, {}, false);
    if (wrong == 6) fixture.fragment(fixture.core.reads.add(&other, nullptr, 0), all.first(60), true);
    fixture.check_refused();
    CHECK(to.bytes() == before);
    CHECK(fixture.upper.reads.empty());
  }
}

TEST_CASE("the end of writes is no answer to a request through the ring, nor after a fragment", "[reader][hostile]") {
  for (const bool direct : {false, true}) {
    ReaderFixture fixture;
    Vector to({60});
    if (!direct) fixture.refuse_user_memory();
    fixture.read(to);
    const auto request = fixture.serve().at(0);
    if (direct) fixture.fragment(request.head.sequence, pattern(10), false);
    fixture.done(request);
    fixture.check_refused();
    CHECK(fixture.upper.reads.empty());
    fixture.done(request);  // a channel that has failed looks at no response
    CHECK(fixture.upper.failures.size() == 1);
  }
}

TEST_CASE("at the loss every read ends once with the status, and a release does not", "[reader][loss]") {
  ReaderFixture fixture;
  Vector first({100}), second({60}), third({8});
  fixture.read(first);
  const auto request = fixture.serve().at(0);
  fixture.read(second);
  fixture.reader.order(ReadOrder::release(5));
  fixture.read(third);
  fixture.link.close();
  auto reads = fixture.reader.take_all();
  CHECK(fixture.reader.empty());
  CHECK(fixture.core.reads.find(request.head.sequence) == nullptr);
  fixture.upper.on_read = [&](const UpperLog::End& end) {
    if (end.cookie == &first) CHECK(fixture.nothing_registered());
  };
  fixture.reader.end(reads, Status::kPeerFailed);
  REQUIRE(fixture.upper.reads.size() == 3);
  CHECK(fixture.upper.reads[0].cookie == &first);
  CHECK(fixture.upper.reads[1].cookie == &second);
  CHECK(fixture.upper.reads[2].cookie == &third);
  for (const UpperLog::End& end : fixture.upper.reads) CHECK(end.status == Status::kPeerFailed);
  CHECK(fixture.core.rendezvous.reads == 0);
}

}  // namespace
}  // namespace bufenlarge::test
