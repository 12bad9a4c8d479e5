// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "support/responder_fixture.h"

namespace bufenlarge::test {
namespace {

using Memory = FakeFabric::Memory;

TEST_CASE("a response is one write with the request's sequence, and registers the source", "[responder]") {
  ResponderFixture fixture;
  const Vector source({300}, 3);
  const Memory& to = fixture.request_all(source, fixture.advertise(source));
  CHECK(fixture.wants_service());
  CHECK(fixture.responder.pending());
  CHECK(fixture.logged("register") == 0);
  fixture.serve();
  CHECK_FALSE(fixture.responder.pending());
  CHECK(fixture.logged("register") == 1);
  REQUIRE(fixture.port.writes.size() == 1);
  CHECK(fixture.port.writes[0].use == WriteUse::kLastData);
  CHECK(fixture.port.writes[0].sequence == 5);
  CHECK(ResponderFixture::holds(to, source));
  CHECK(fixture.core.rendezvous.response_bytes == 300);
}

TEST_CASE("a source that is read for the last time is given back when the write is complete", "[responder]") {
  for (const bool last : {true, false}) {
    ResponderFixture fixture;
    fixture.port.completes = false;
    const Vector source({300}, 3);
    fixture.request_all(source, fixture.advertise(source), last ? kReadLast : std::uint8_t{0});
    fixture.serve();
    CHECK(fixture.upper.releases.empty());
    fixture.port.completes = true;
    fixture.poll();
    CHECK(fixture.upper.releases.size() == (last ? 1 : 0));
    CHECK(fixture.core.sources.size() == (last ? 0 : 1));
    CHECK(fixture.logged("unregister") == (last ? 1 : 0));
    if (!last) continue;
    CHECK(fixture.upper.releases[0].cookie == &source);
    CHECK(fixture.upper.releases[0].status == Status::kOk);
  }
}

TEST_CASE("a source that was copied whole is given back at once", "[responder]") {
  ResponderFixture fixture;
  const Vector source({40}, 3);
  const Memory& to = fixture.request_all(source, fixture.advertise(source), kReadLast);
  fixture.serve();
  CHECK(fixture.upper.releases.size() == 1);
  CHECK(ResponderFixture::holds(to, source));
}

TEST_CASE("a response goes range by range, and on where the port had no room", "[responder]") {
  ResponderFixture fixture;
  const Vector source({300}, 3);
  const std::uint32_t handle = fixture.advertise(source);
  const Memory& to = fixture.fabric.add(300);
  std::size_t room = 1;
  fixture.port.rule = [&](const FakePort::Write&) {
    return room-- == 0 ? (room = 0, std::optional(WriteResult::kAgain)) : std::nullopt;
  };
  fixture.request({{0, handle, 300}}, {{to.address, to.key, 100}, {to.address + 100, to.key, 200}}, kReadLast);
  fixture.serve();
  CHECK(fixture.responder.pending());
  CHECK(fixture.port.writes.size() == 1);
  fixture.poll();
  CHECK(fixture.upper.releases.empty());
  room = 1;
  fixture.serve();
  CHECK_FALSE(fixture.responder.pending());
  REQUIRE(fixture.port.writes.size() == 2);
  CHECK(fixture.port.writes[0].use == WriteUse::kMoreData);
  CHECK(fixture.port.writes[1].use == WriteUse::kLastData);
  fixture.poll();
  CHECK(ResponderFixture::holds(to, source));
  CHECK(fixture.upper.releases.size() == 1);
}

TEST_CASE("responses go in the order of the requests, no more writes at once than a channel may have", "[responder]") {
  ResponderFixture fixture;
  fixture.port.completes = false;
  const Vector source({300}, 3);
  const std::uint32_t handle = fixture.advertise(source);
  for (std::uint32_t sequence = 1; sequence <= 6; ++sequence) fixture.request_all(source, handle, 0, sequence);
  fixture.serve();
  CHECK(fixture.port.writes.size() == kDataWritesMax);
  CHECK(fixture.logged("register") == 1);
  fixture.port.complete(1);
  fixture.poll();
  fixture.serve();
  REQUIRE(fixture.port.writes.size() == kDataWritesMax + 1);
  for (std::uint32_t n = 0; n <= kDataWritesMax; ++n) CHECK(fixture.port.writes[n].sequence == n + 1);
}

TEST_CASE("one completion ends the uses of all held writes, and the source is given back once", "[responder]") {
  ResponderFixture fixture;
  fixture.port.parts_max = 4;
  const Vector first({300}, 3), second({200}, 4);
  const Memory& to = fixture.fabric.add(500);
  const std::uint32_t one = fixture.advertise(first), two = fixture.advertise(second);
  fixture.request({{0, one, 200}, {0, two, 200}, {200, one, 100}}, {{to.address, to.key, 500}}, kReadLast);
  fixture.serve();
  CHECK(fixture.port.posted() == 1);
  CHECK(fixture.port.writes.size() == 3);
  CHECK(fixture.upper.releases.empty());
  fixture.poll();
  CHECK(fixture.upper.releases.size() == 2);
  CHECK(fixture.core.sources.size() == 0);
  CHECK(fixture.data.empty());
}

TEST_CASE("a peer that asks for what it may not read breaks the protocol", "[responder][hostile]") {
  for (unsigned wrong = 0; wrong < 8; ++wrong) {
    ResponderFixture fixture;
    const Vector source({300}, 3);
    const std::uint32_t own = fixture.advertise(source), other = fixture.advertise(source, 2);
    const std::uint32_t window = fixture.advertise(source, kAnyPeer), done = fixture.advertise(source);
    fixture.core.sources.find(done, kPeerRank)->released = true;
    const Memory& to = fixture.fabric.add(400);
    const auto ask = [&](const ReadSource& from, std::uint8_t flags = 0) {
      fixture.request({{0, own, 1}, from}, {{to.address, to.key, from.bytes + 1}}, flags);
    };
    if (wrong == 0) ask({0, own + (1u << 20), 10});
    if (wrong == 1) ask({0, other, 10});
    if (wrong == 2) ask({291, own, 10});
    if (wrong == 3) ask({~std::uint64_t{0} - 5, own, 10});
    if (wrong == 4) ask({0, done, 10});
    if (wrong == 5) ask({0, window, 10}, kReadLast);
    if (wrong == 6) fixture.release(window);
    if (wrong == 7) fixture.responder.on_request(pattern(7));
    fixture.check_failure(Status::kProtocolError, "asked to read what it may not");
    CHECK_FALSE(fixture.responder.pending());
    CHECK(fixture.core.sources.find(own, kPeerRank)->uses == 0);
    CHECK_FALSE(fixture.core.sources.find(own, kPeerRank)->released);
    CHECK(fixture.core.sources.size() == 4);
    CHECK(fixture.port.writes.empty());
  }
}

TEST_CASE("a peer with more requests than it may have under way breaks the protocol", "[responder][hostile]") {
  ResponderFixture fixture;
  const Vector source({300}, 3);
  const std::uint32_t handle = fixture.advertise(source);
  for (std::uint32_t n = 1; n <= kReadsPerLinkMax; ++n) fixture.request_all(source, handle, 0, n);
  CHECK(fixture.upper.failures.empty());
  fixture.release(handle);  // no request that has a response
  CHECK(fixture.upper.failures.empty());
  CHECK(fixture.upper.releases.empty());
  const Vector another({10}, 4);
  fixture.request_all(another, fixture.advertise(another));
  fixture.check_failure(Status::kProtocolError, "asked to read what it may not");
}

TEST_CASE("a release gives the source back once, after the responses that use it", "[responder]") {
  ResponderFixture fixture;
  const Vector idle({100}, 3), busy({300}, 4);
  const std::uint32_t one = fixture.advertise(idle), two = fixture.advertise(busy);
  fixture.release(one);
  REQUIRE(fixture.upper.releases.size() == 1);
  CHECK(fixture.upper.releases[0].cookie == &idle);
  CHECK(fixture.port.writes.empty());
  fixture.request_all(busy, two);
  fixture.release(two);
  fixture.serve();
  CHECK(fixture.upper.releases.size() == 1);
  fixture.poll();
  CHECK(fixture.upper.releases.size() == 2);
  fixture.release(two);
  fixture.check_failure(Status::kProtocolError, "asked to read what it may not");
}

TEST_CASE("a window that has ended leaves with the last response, and nobody is told", "[responder][window]") {
  ResponderFixture fixture;
  const Vector memory({300}, 3);
  const std::uint32_t handle = fixture.advertise(memory, kAnyPeer);
  const Memory& to = fixture.request_all(memory, handle);
  fixture.core.sources.find(handle, kAnyPeer)->released = true;
  fixture.serve();
  CHECK(fixture.core.sources.size() == 1);
  fixture.poll();
  CHECK(fixture.core.sources.size() == 0);
  CHECK(fixture.upper.releases.empty());
  CHECK(ResponderFixture::holds(to, memory));
}

TEST_CASE("a source that cannot be registered goes through the ring as it is", "[responder][memory]") {
  ResponderFixture fixture(settings(three_phases()));
  fixture.refuse_user_memory();
  const Vector source({600}, 3);
  fixture.request_all(source, fixture.advertise(source), kReadLast);
  Bytes all;
  for (unsigned rounds = 0; fixture.responder.pending() && rounds < 10; ++rounds) {
    CHECK_FALSE(fixture.ended);
    fixture.serve();
    fixture.poll();
    const Bytes more = fixture.fragments();
    all.insert(all.end(), more.begin(), more.end());
  }
  CHECK(all == source.bytes());
  CHECK(fixture.ended);
  CHECK(fixture.core.rendezvous.refused == 1);
  CHECK(fixture.core.rendezvous.fragment_bytes == 600);
  CHECK(fixture.upper.releases.size() == 1);
  CHECK(fixture.logged("refuse") == 1);
}

TEST_CASE("before a response that the reader wants through the ring the ring grows", "[responder]") {
  ResponderFixture fixture(settings(three_phases()));
  const Vector source({1500}, 3);
  fixture.request({{0, fixture.advertise(source), 1500}}, {}, kReadThroughRing);
  fixture.serve();
  fixture.serve();
  const auto slots = fixture.arrived();
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].kind() == SlotKind::kEnlargeRequest);
  CHECK(fixture.responder.pending());
  fixture.poll();
  fixture.peer.acknowledge(fixture.peer.provision(2, 1));
  fixture.enlargement.service(fixture.port.now);
  fixture.serve();
  CHECK(fixture.fragments() == source.bytes());
  CHECK(fixture.ended);
  CHECK_FALSE(fixture.responder.pending());
  CHECK(fixture.logged("register") == 0);
}

TEST_CASE("a response waits for registrations and keeps none meanwhile", "[responder][memory]") {
  for (const bool others : {true, false}) {
    ChannelSettings fixed = settings(two_phases());
    fixed.enlargement = false;
    ResponderFixture fixture(fixed);
    auto& registrations = fixture.core.source_registrations;
    registrations.set_bytes_max(100);
    Bytes held = pattern(30);
    auto hold = registrations.hold(fixture.port, held.data(), held.size(), MemoryUse::kSource).value();
    const Vector first({60}, 3), second({60}, 4);
    const std::uint32_t one = fixture.advertise(first), two = fixture.advertise(second);
    const Memory& to = fixture.fabric.add(120);
    if (!others) registrations.release(hold);
    fixture.request({{0, one, 60}, {0, two, 60}}, {{to.address, to.key, 120}});
    fixture.serve();
    CHECK(fixture.port.writes.empty() == others);
    CHECK(registrations.bytes() == (others ? 30 : 0));
    CHECK(fixture.responder.pending() == others);
    if (others) registrations.release(hold);
    fixture.serve();
    CHECK(fixture.fragments().size() == 120);  // together they never fit: through the ring
    CHECK(registrations.bytes() == 0);
    CHECK_FALSE(fixture.responder.pending());
  }
}

TEST_CASE("a source that waits for the next request of its read gives way to one that is asked for",
          "[responder][memory][F7]") {
  ResponderFixture fixture;
  auto& registrations = fixture.core.source_registrations;
  registrations.set_bytes_max(1000);
  const Vector first({600}, 3), second({600}, 4);
  const std::uint32_t one = fixture.advertise(first), two = fixture.advertise(second);
  const Memory& to = fixture.fabric.add(600);
  fixture.port.completes = false;
  fixture.request({{0, one, 200}}, {{to.address, to.key, 200}});
  fixture.serve();
  REQUIRE(registrations.bytes() == 600);
  // event: another source is asked for while the device still reads the first
  const Memory& to_second = fixture.request_all(second, two, kReadLast, 6);
  fixture.serve();
  CHECK(fixture.responder.pending());
  CHECK(registrations.bytes() == 600);
  fixture.port.completes = true;
  fixture.poll();
  fixture.serve();
  CHECK_FALSE(fixture.responder.pending());
  CHECK(ResponderFixture::holds(to_second, second));
  fixture.poll();
  CHECK(registrations.bytes() == 0);
  // event: the next request of the first read
  fixture.request({{200, one, 400}}, {{to.address + 200, to.key, 400}}, kReadLast, 7);
  fixture.serve();
  fixture.poll();
  CHECK(ResponderFixture::holds(to, first));
  CHECK(fixture.upper.releases.size() == 2);
  CHECK(registrations.bytes() == 0);
}

TEST_CASE("at the loss all sources of the peer end once, and an ended window leaves", "[responder][loss]") {
  ResponderFixture fixture;
  fixture.port.completes = false;
  const Vector busy({300}, 3), idle({200}, 4), other({100}, 5), window({300}, 6);
  fixture.request_all(busy, fixture.advertise(busy), kReadLast, 1);
  (void)fixture.advertise(idle);
  const std::uint32_t others = fixture.advertise(other, 2), ended = fixture.advertise(window, kAnyPeer);
  fixture.request_all(window, ended, 0, 2);
  fixture.serve();
  fixture.request_all(window, ended, 0, 3);
  fixture.core.sources.find(ended, kAnyPeer)->released = true;
  fixture.link.close();
  fixture.responder.forget();
  CHECK_FALSE(fixture.responder.pending());
  CHECK(fixture.data.empty());
  CHECK(fixture.upper.releases.empty());
  CHECK(fixture.core.sources.find(ended, kAnyPeer) == nullptr);
  fixture.responder.end_sources(Status::kPeerFailed);
  REQUIRE(fixture.upper.releases.size() == 2);
  for (const UpperLog::End& end : fixture.upper.releases) CHECK(end.status == Status::kPeerFailed);
  CHECK(fixture.upper.releases[0].cookie != fixture.upper.releases[1].cookie);
  CHECK(fixture.core.sources.find(others, 2) != nullptr);
  CHECK(fixture.core.source_registrations.bytes() == 0);
}

}  // namespace
}  // namespace bufenlarge::test
