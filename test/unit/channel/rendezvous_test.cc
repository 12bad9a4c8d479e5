// SPDX-License-Identifier: MIT
#include "channel/rendezvous.h"

#include <catch2/catch.hpp>

#include "support/part_fixture.h"

namespace bufenlarge::test {
namespace {

struct RendezvousParts : RingsFixture {
  RendezvousParts() : enlargement(link, send_ring, receive_ring), rendezvous(link, send_ring, enlargement) {
    data_written = [this] { rendezvous.on_data_written(); };
  }
  ~RendezvousParts() {
    link.close();
    rendezvous.end(Status::kPeerFailed);
  }
  // Writes into the peer; the data is the cookie.
  bool write(Bytes& data) {
    return rendezvous.one_sided.order(
        {data.data(), &data, peer.ring().address, data.size(), peer.ring().key});
  }

  Enlargement<FakePort> enlargement;
  Rendezvous<FakePort> rendezvous;
};

TEST_CASE("a write that is ordered while another one ends is posted later when there is no room", "[rendezvous]") {
  RendezvousParts parts;
  Bytes first = pattern(40, 1), second = pattern(40, 2);
  parts.upper.on_write = [&](const UpperLog::End& end) {
    if (end.cookie != &first) return;
    parts.answer(WriteResult::kAgain);
    CHECK(parts.write(second));
  };
  REQUIRE(parts.write(first));  // the port copies it, so it is complete
  CHECK(parts.upper.writes.empty());
  CHECK(parts.wants_service());
  CHECK(parts.rendezvous.service());  // or nobody would call it again
  CHECK(parts.upper.writes.size() == 1);
  parts.answer_as_usual();
  CHECK_FALSE(parts.rendezvous.service());
  CHECK(parts.upper.writes.size() == 2);
  CHECK(parts.rendezvous.idle());
}

}  // namespace
}  // namespace bufenlarge::test
