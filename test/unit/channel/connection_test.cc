// SPDX-License-Identifier: MIT
#include "channel/connection.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

using State = Connect::State;

// The own rank is 0, below the peer's, or 2.
struct ConnectFixture : PartFixture {
  explicit ConnectFixture(std::uint32_t rank = 0, Arrival arrival = Arrival::kInOrder)
      : PartFixture(settings(two_phases()), arrival, rank),
        receive_ring(link),
        send_ring(link, receive_ring.consumer()),
        connection(link, send_ring, receive_ring, &kPeerRank) {
    written = [this] { send_ring.on_written(); };
  }
  ~ConnectFixture() {
    connection.close();
    receive_ring.drop();
    send_ring.drop();
    CHECK(core.attempts.out() == 0);
  }

  // Gives the connection its time as Context does; true while it waits for more.
  bool tick() { return connection.tick(port.now); }
  // Wanted, up to the endpoint that it opens.
  FakePort::LinkState* open() {
    const std::size_t before = port.opened.size();
    connection.want();
    CHECK_FALSE(tick());
    REQUIRE(port.opened.size() == before + 1);
    peer.meet(port.opened.back()->data);
    return port.opened.back();
  }
  // The peer accepts the attempt.
  bool reply(const Hello& hello) {
    port.opened.back()->connected = true;
    return connection.check_reply(peer.sealed(hello, true));
  }
  void connect() {
    open();
    REQUIRE(reply(peer.hello(peer.theirs().attempt)));
    REQUIRE(connection.on_connected());
  }
  // The peer asks for a connection. Returns true if it was accepted.
  bool request(std::uint16_t attempt = 1) {
    FakePort::Request asked{peer.hello_bytes(attempt)};
    connection.on_request(asked, peer.hello(attempt));
    CHECK(asked.answered);
    const bool accepted = !port.accepted.empty() && port.accepted.back()->user != nullptr;
    if (accepted) peer.meet(port.accepted.back()->data);
    return accepted;
  }
  void accept() {
    REQUIRE(request());
    port.accepted.back()->connected = true;
    REQUIRE(connection.check_reply({}));
    CHECK_FALSE(connection.on_connected());
  }
  void reject(RejectReason reason) {
    const Reject data = make_reject(reason, core.expected, 1);
    connection.on_rejected(std::as_bytes(std::span(&data, 1)));
  }
  [[nodiscard]] RejectReason last_rejection() const {
    return static_cast<RejectReason>(decode_reject(port.rejections.back()).value().reason);
  }

  ReceiveRing<FakePort> receive_ring;
  SendRing<FakePort> send_ring;
  Connection<FakePort> connection;
};

TEST_CASE("nothing is opened before it is wanted, and then one attempt at a time", "[connection]") {
  ConnectFixture fixture;
  CHECK_FALSE(fixture.tick());
  CHECK(fixture.port.news().empty());
  fixture.connection.want();
  CHECK(fixture.listed_as_timed());
  fixture.open();
  fixture.connection.want();
  CHECK_FALSE(fixture.tick());
  CHECK(fixture.port.opened.size() == 1);
  CHECK(fixture.core.attempts.out() == 1);
  CHECK_FALSE(fixture.link.connected());
}

TEST_CASE("the Hello names the receive ring, the inbox and what this side wants", "[connection]") {
  for (const Arrival arrival : {Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified, Arrival::kMixed}) {
    ConnectFixture fixture(0, arrival);
    fixture.open();
    const Hello& hello = fixture.peer.theirs();
    CHECK(fixture.fabric.at(hello.ring_key, hello.ring_address, 8192) == fixture.receive_ring.next_slot());
    CHECK(hello.control_address == fixture.link.inbox_address());
    CHECK(hello.rank == 0);
    CHECK(hello.attempt == 1);
    const bool checks = arrival == Arrival::kChecked || arrival == Arrival::kMixed;
    CHECK(((hello.flags & kHelloVerifiesSlots) != 0) == checks);
    CHECK(((hello.flags & kHelloWantsNotifications) != 0) == has_notifications(arrival));
  }
}

TEST_CASE("an attempt waits while the context has as many as it may", "[connection]") {
  ConnectFixture fixture;
  using Attempts = PartFixture::FakeCore::Attempts;
  std::vector<Attempts::Place> others(Attempts::kYoungMax);
  for (auto& place : others) place = fixture.core.attempts.start(fixture.channel, fixture.port.now);
  fixture.connection.want();
  CHECK((fixture.tick() && fixture.port.opened.empty()));
  for (const auto place : others) fixture.core.attempts.finish(place);
  CHECK((!fixture.tick() && fixture.port.opened.size() == 1));
}

TEST_CASE("an attempt that is accepted is ready, and owes the peer a Hello slot", "[connection]") {
  ConnectFixture fixture;
  fixture.connect();
  CHECK(fixture.link.ready());
  CHECK(fixture.core.attempts.out() == 0);
  CHECK(fixture.connection.hello_due());
  std::size_t sent = 0;
  fixture.send_ring.stage(Vector({16 * 488}).all(), true, sent);
  fixture.send_ring.flush();
  fixture.poll();
  fixture.connection.serve_hello();
  CHECK(fixture.connection.hello_due());  // no room
  while (fixture.peer.next()) continue;
  fixture.peer.grant_all();
  fixture.connection.serve_hello();
  CHECK_FALSE(fixture.connection.hello_due());
  fixture.connection.serve_hello();
  fixture.send_ring.flush();
  CHECK(fixture.peer.next().value().kind() == SlotKind::kHello);
  CHECK_FALSE(fixture.peer.next());
}

TEST_CASE("another process, another attempt or no Hello at all is not the answer", "[connection]") {
  for (unsigned wrong = 0; wrong < 4; ++wrong) {
    ConnectFixture fixture;
    fixture.open();
    Hello hello = fixture.peer.hello(1);
    if (wrong == 0) hello.rank = 2;
    if (wrong == 1) hello.attempt = 2;
    if (wrong == 2) hello.flags |= kHelloOtherJob;
    if (wrong == 3) hello.magic = 0;
    CHECK_FALSE(fixture.reply(hello));
    fixture.check_failure(Status::kProtocolError, "");
    CHECK_FALSE(fixture.send_ring.open());
  }
}

TEST_CASE("an attempt that is refused is made again after a pause, with the memory of the first", "[connection]") {
  ConnectFixture fixture;
  fixture.open();
  (void)fixture.port.news();
  fixture.peer.send(pattern(8));  // late, of the old attempt
  fixture.connection.on_rejected({});
  CHECK(fixture.connection.state() == State::kBackoff);
  CHECK(fixture.core.attempts.out() == 0);
  CHECK(fixture.listed_as_timed());
  CHECK(fixture.tick());
  fixture.port.now += 2 * Connect::kPauseMinUs;
  CHECK_FALSE(fixture.tick());
  CHECK(fixture.port.news() == std::vector<std::string>{"close", "open"});
  SlotTrailer trailer;
  CHECK(fixture.receive_ring.look(fixture.receive_ring.next_slot(), trailer) == SlotState::kEmpty);
  fixture.peer.meet(fixture.port.opened.back()->data);
  CHECK(fixture.peer.theirs().attempt == 2);
  CHECK(fixture.core.attempts.out() == 1);
}

TEST_CASE("attempts end with the time limit, and the error says why the last one failed", "[connection]") {
  ConnectFixture fixture;
  fixture.port.refuses_open = true;
  fixture.connection.want();
  CHECK(fixture.tick());
  CHECK(fixture.upper.failures.empty());
  fixture.port.now += fixture.core.settings.connect_timeout_us;
  CHECK_FALSE(fixture.tick());
  fixture.check_failure(Status::kTimedOut, "no endpoint could be opened");
  CHECK_THAT(fixture.link.error(), Catch::Matchers::Contains("2 attempts"));
}

TEST_CASE("a rejection for good fails the channel at once, and one in passing does not", "[connection]") {
  for (const RejectReason reason : {RejectReason::kVersion, RejectReason::kGeometry}) {
    ConnectFixture fixture;
    fixture.open();
    fixture.reject(reason);
    fixture.check_failure(Status::kProtocolError, "");
  }
  ConnectFixture unauthorized;
  unauthorized.open();
  const Reject nothing{};
  unauthorized.connection.on_rejected(std::as_bytes(std::span(&nothing, 1)));
  unauthorized.check_failure(Status::kProtocolError, "does not take this process");
  ConnectFixture fixture;
  fixture.open();
  fixture.reject(RejectReason::kStale);
  CHECK(fixture.connection.state() == State::kBackoff);
  CHECK(fixture.upper.failures.empty());
}

TEST_CASE("the side that lost a crossing closes its endpoint and waits for the peer's request", "[connection]") {
  ConnectFixture fixture(2);
  FakePort::LinkState* own = fixture.open();
  fixture.reject(RejectReason::kCrossing);
  CHECK(fixture.connection.state() == State::kYielding);
  CHECK(own->user == nullptr);
  CHECK(fixture.core.attempts.out() == 0);
  CHECK(fixture.tick());
  fixture.accept();
  CHECK(fixture.connection.state() == State::kSilent);
  CHECK_FALSE(fixture.tick());
}

TEST_CASE("of two attempts that cross, that of the lower rank stays", "[connection]") {
  ConnectFixture lower(0);
  FakePort::LinkState* own = lower.open();
  CHECK_FALSE(lower.request());
  CHECK(lower.last_rejection() == RejectReason::kCrossing);
  CHECK(own->user != nullptr);
  CHECK(lower.core.crossings == 1);

  ConnectFixture higher(2);
  own = higher.open();
  CHECK(higher.request());
  CHECK(own->user == nullptr);
  CHECK(higher.core.attempts.out() == 0);
  CHECK(higher.core.crossings == 1);
}

TEST_CASE("a request is accepted, and this side writes only after the peer's first slot", "[connection]") {
  ConnectFixture fixture;
  fixture.accept();
  CHECK(fixture.link.connected());
  CHECK_FALSE(fixture.link.ready());
  CHECK_FALSE(fixture.send_ring.open());
  fixture.connection.on_slot();
  CHECK(fixture.link.ready());
  std::size_t sent = 0;
  CHECK(fixture.send_ring.send_single_slot(Vector({100}).all(), sent));
  CHECK(fixture.peer.next().value().payload == pattern(100));
  (void)fixture.request(2);
  CHECK(fixture.last_rejection() == RejectReason::kStale);
  CHECK(fixture.port.accepted.size() == 1);
}

TEST_CASE("a newer request replaces the connection that the peer has not used, an older one does not", "[connection]") {
  ConnectFixture fixture;
  REQUIRE(fixture.request(5));
  FakePort::LinkState* first = fixture.port.accepted.back();
  CHECK(fixture.request(4));  // the first one stays
  CHECK(fixture.last_rejection() == RejectReason::kStale);
  CHECK(first->user != nullptr);
  CHECK(fixture.request(6));
  CHECK(first->user == nullptr);
  CHECK(fixture.port.accepted.size() == 2);
  CHECK(fixture.peer.theirs().attempt == 6);
}

TEST_CASE("a channel that has failed rejects every request", "[connection]") {
  ConnectFixture fixture;
  fixture.link.fail(Status::kPeerFailed, "gone");
  CHECK_FALSE(fixture.request());
  CHECK(fixture.last_rejection() == RejectReason::kStale);
  CHECK(fixture.port.accepted.empty());
}

TEST_CASE("without memory for the rings neither side of a connection comes about", "[connection][memory]") {
  ConnectFixture active;
  active.port.refuses_memory = [&](std::size_t bytes) { return bytes == 16384; };
  active.connection.want();
  CHECK_FALSE(active.tick());
  active.check_failure(Status::kMemoryError, "the rings of a new connection");
  CHECK(active.port.opened.empty());

  ConnectFixture passive;
  passive.refuse_memory();
  CHECK_FALSE(passive.request());
  passive.check_failure(Status::kMemoryError, "the rings of a new connection");
  REQUIRE(passive.port.rejections.size() == 1);
  CHECK(passive.port.rejections[0].empty());
}

TEST_CASE("a request that cannot be accepted leaves the channel as it was, or wanted", "[connection]") {
  for (const bool wanted : {false, true}) {
    ConnectFixture fixture;
    if (wanted) fixture.connection.want();
    (void)fixture.listed_as_timed();
    fixture.port.refuses_accept = true;
    CHECK_FALSE(fixture.request());
    CHECK(fixture.connection.state() == (wanted ? State::kWanted : State::kIdle));
    CHECK(fixture.listed_as_timed() == wanted);
    CHECK(fixture.upper.failures.empty());
  }
}

TEST_CASE("a loss fails a connection that is in use; one that is not can be made again", "[connection][loss]") {
  ConnectFixture used;
  used.connect();
  used.link.lose("the link broke");
  used.connection.on_link_lost();
  used.check_failure(Status::kPeerFailed, "the link broke");

  ConnectFixture unused;
  unused.accept();
  unused.link.lose("the link broke");
  unused.connection.on_link_lost();
  CHECK(unused.upper.failures.empty());
  CHECK(unused.connection.state() == State::kIdle);
  CHECK_FALSE(unused.link.connected());
  CHECK_FALSE(unused.link.lost());
  CHECK(unused.request(2));
}

}  // namespace
}  // namespace bufenlarge::test
