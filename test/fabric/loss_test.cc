// SPDX-License-Identifier: MIT
// Peers that do not exist, do not respond, or end.
#include <catch2/catch.hpp>

#include <chrono>

#include "fabric/deaf_listener.h"
#include "fabric/job.h"
#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

using Catch::Matchers::Contains;
using Clock = std::chrono::steady_clock;

void add_address(Bytes& addresses, const SocketAddress& address) {
  const auto* bytes = reinterpret_cast<const std::byte*>(address.data());
  addresses.insert(addresses.end(), bytes, bytes + address.bytes());
}

SocketAddress unused_address() {
  const PortSide gone;
  return gone.port.address();
}

TEST_CASE("a port that nobody listens on is an error after the connect time limit, with address and reason",
          "[loss][connect]") {
  Process process({{"CONNECT_TIMEOUT", "200ms"}}, 0, 2, 7);
  Bytes addresses = process.address;
  add_address(addresses, unused_address());
  REQUIRE(bufenlarge_context_set_addresses(process.context(), addresses.data(), 2) == BUFENLARGE_OK);
  const auto begin = Clock::now();
  CHECK(process.send(1, Vector({8}).all()) == 0);
  CHECK(process.last_status == BUFENLARGE_OK);
  REQUIRE(comes_true([&] { return !process.failures.empty(); }, [&] { process.progress(); }));
  const auto took = Clock::now() - begin;
  CHECK(took >= std::chrono::milliseconds(200));
  CHECK(took < std::chrono::seconds(5));
  CHECK(process.failures[0].peer == 1);
  CHECK(process.failures[0].status == BUFENLARGE_ERR_TIMEOUT);
  CHECK_THAT(process.failures[0].text, Contains("rank 1 at 127.0.0.1:") && Contains("200 ms") && Contains("refused"));
  CHECK(process.send(1, Vector({8}).all()) == 0);
  CHECK(process.last_status == BUFENLARGE_ERR_TIMEOUT);
  CHECK_THAT(process.failures[0].text, Contains(bufenlarge_channel_error(process.channel(1))));
  CHECK(process.stats().channels_failed == 1);
  process.progress();
  CHECK(process.stats().registered_bytes == 4096);  // the page of control blocks stays
  CHECK(process.failures.size() == 1);
}

TEST_CASE("a host that does not respond is an error after the connect time limit", "[loss][connect][S4]") {
  const DeafListener deaf;
  Process process({{"CONNECT_TIMEOUT", "200ms"}}, 0, 2, 7);
  Bytes addresses = process.address;
  add_address(addresses, deaf.address());
  REQUIRE(bufenlarge_context_set_addresses(process.context(), addresses.data(), 2) == BUFENLARGE_OK);
  const auto begin = Clock::now();
  CHECK(process.send(1, Vector({8}).all()) == 0);
  REQUIRE(comes_true([&] { return !process.failures.empty(); }, [&] { process.progress(); }));
  const auto took = Clock::now() - begin;
  CHECK(took >= std::chrono::milliseconds(200));
  CHECK(took < std::chrono::seconds(5));
  CHECK(process.failures[0].status == BUFENLARGE_ERR_TIMEOUT);
  CHECK_THAT(process.failures[0].text, Contains("200 ms") && Contains("no response from its host"));
}

TEST_CASE("a channel waits beyond the time limit for a peer that does not respond: it may be computing",
          "[loss][connect]") {
  Job job(2, {{"CONNECT_TIMEOUT", "50ms"}});
  CHECK(job[0].send(1, Vector({8}).all()) == 0);
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  while (Clock::now() < end) job[0].progress();  // rank 1 makes no progress
  CHECK(job[0].failures.empty());
  job.send(0, 1, Vector({8}));
}

TEST_CASE("a process that ends is a lost peer, reported once to every peer, and its memory is freed", "[loss]") {
  Job job(4);
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    job.send(0, rank, Vector({100}));
    job.send(rank, (rank % 3) + 1, Vector({100}));
  }
  job.wait_idle();
  const std::uint64_t before = job[0].stats().registered_bytes;
  // event
  job[2].close();
  REQUIRE(job.until([&] {
    return !job[0].failures.empty() && !job[1].failures.empty() && !job[3].failures.empty();
  }));
  job.rounds(200);
  // Expect
  for (const std::uint32_t rank : {0u, 1u, 3u}) {
    REQUIRE(job[rank].failures.size() == 1);
    CHECK(job[rank].failures[0].peer == 2);
    CHECK(job[rank].failures[0].status == BUFENLARGE_ERR_PEER);
    CHECK_FALSE(job[rank].failures[0].text.empty());
    CHECK(job[rank].stats().channels_failed == 1);
  }
  CHECK(job[0].stats().registered_bytes == before - 16 * 1024);
  CHECK(job[0].stats(2).connected == 0);
  CHECK(job[0].stats(2).registered_bytes == 0);
  CHECK(job[0].stats(2).registered_bytes_max == 16 * 1024);
  // Expect: the others are unharmed, and may grow
  job.send(0, 1, Vector({5000}));
  job.send(1, 3, Vector({5000}));
  job.send(3, 0, Vector({100}));
}

TEST_CASE("a process that ends while it is asked to enlarge is a lost peer", "[loss][E6]") {
  Job job(2);
  job.send(0, 1, Vector({100}));
  CHECK(job[0].send(1, Vector({5000}).all()) == 0);
  job[1].close();
  REQUIRE(job.until([&] { return !job[0].failures.empty(); }));
  CHECK(job[0].failures[0].status == BUFENLARGE_ERR_PEER);
  CHECK(job[0].send(1, Vector({5000}).all()) == 0);
  CHECK(job[0].last_status == BUFENLARGE_ERR_PEER);
}

TEST_CASE("a process that ends with data on its way does not harm the receiver", "[loss]") {
  Job job(2);
  job.send(0, 1, Vector({100}));
  for (int i = 0; i < 10; ++i) (void)job[0].send(1, Vector({400}).all());
  job[0].close();
  REQUIRE(job.until([&] { return !job[1].failures.empty(); }));
  CHECK(job[1].messages[0].size() <= 11);
  for (const Bytes& message : job[1].messages[0]) CHECK((message.size() == 100 || message.size() == 400));
}

TEST_CASE("data that a peer has sent before it ends is delivered before its loss is reported", "[loss]") {
  Job job(2);
  job.send(0, 1, Vector({100}));
  for (std::uint32_t n = 0; n < 5; ++n) CHECK(job[0].send(1, Vector({60}, n).all()) == 60);
  REQUIRE(comes_true([&] { return job[0].idle(); }, [&] { job[0].progress(); }));
  job[0].close();
  REQUIRE(job.until([&] { return !job[1].failures.empty(); }));
  CHECK(job[1].messages[0].size() == 6);
}

}  // namespace
}  // namespace bufenlarge::test
