// SPDX-License-Identifier: MIT
// Connections that end by agreement and are made again, over libfabric's tcp provider on loopback.
#include <catch2/catch.hpp>

#include <algorithm>

#include "fabric/job.h"
#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

bool all_closed(Job& job, std::uint32_t size) {
  for (std::uint32_t rank = 0; rank < size; ++rank)
    if (job[rank].stats().connections != 0) return false;
  return true;
}

void check_no_failure(Job& job, std::uint32_t size) {
  for (std::uint32_t rank = 0; rank < size; ++rank) CHECK(job[rank].failures.empty());
}

TEST_CASE("connections that are not used close and open again, over and over, in few endpoints", "[closing][S3]") {
  constexpr std::uint32_t kTimes = 20;
  Job job(2, {{"IDLE_CLOSE", "1ms"}});
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    job.send(i % 2, 1 - i % 2, Vector({i % 3 == 0 ? 20'000u : 8u}, i));
    job.send(1 - i % 2, i % 2, Vector({40}, i + 100));
    REQUIRE(job.until([&] { return all_closed(job, 2); }));
    CHECK(job[0].stats(1).send.phase == 0);
    CHECK(job[0].stats(1).registered_bytes == 0);
  }
  check_no_failure(job, 2);
  for (const std::uint32_t rank : {0u, 1u}) {
    CHECK(job[rank].messages[1 - rank].size() == kTimes);
    CHECK(job[rank].stats().connections_closed == kTimes);
    CHECK(job[rank].stats().connections_reopened == kTimes - 1);
    CHECK(job[rank].stats().endpoints <= 3);
  }
}

// The kernels take some of the messages while the peer does not look, and libfabric keeps the others.
TEST_CASE("a context that is idle can be closed, and its peer gets all messages", "[closing][F7]") {
  constexpr std::uint32_t kSent = 1000;
  for (const std::uint32_t bytes : {8u, 8'000u}) {
    INFO(bytes << " bytes");
    Job job(2, {{"PHASES", "8256"}, {"SLOTS", "1024"}});
    job.send(0, 1, Vector({bytes}, kSent));
    job.send(1, 0, Vector({bytes}, kSent));
    for (std::uint32_t i = 0; i < kSent; ++i) REQUIRE(job[0].send(1, Vector({bytes}, i).rest(0)) == bytes);
    if (bytes == 8) {
      REQUIRE(comes_true([&] { return job[0].idle(); }, [&] { job[0].progress(); }));
    } else {
      for (int round = 0; round < 1000; ++round) {
        REQUIRE_FALSE(job[0].idle());
        job[0].progress();
      }
      REQUIRE(job.until([&] { return job[0].idle(); }));
    }
    job[0].close();
    REQUIRE(job.until([&] { return !job[1].failures.empty(); }));
    REQUIRE(job[1].messages[0].size() == 1 + kSent);
    for (std::uint32_t i = 0; i < kSent; ++i) CHECK(job[1].messages[0][1 + i] == Vector({bytes}, i).bytes());
  }
}

TEST_CASE("with a bound of two connections five processes all talk to each other", "[closing][S3]") {
  constexpr std::uint32_t kSize = 5;
  constexpr std::uint32_t kRounds = 4;
  Job job(kSize, {{"CONNECTIONS", "2"}});
  const auto bytes_of = [](std::uint32_t from, std::uint32_t to, std::uint32_t round) {
    return Vector({round % 2 == 0 ? 16u : 3000u}, 1 + from + 10 * to + 100 * round);
  };
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    std::vector<std::size_t> sent(kSize * kSize);
    const auto over = [&] {
      bool all = true;
      for (std::uint32_t from = 0; from < kSize; ++from) {
        CHECK(job[from].stats().connections <= 2);
        for (std::uint32_t to = 0; to < kSize; ++to) {
          if (from == to) continue;
          const Vector vector = bytes_of(from, to, round);
          std::size_t& done = sent[from * kSize + to];
          if (done < vector.bytes().size()) done += job[from].send(to, vector.rest(done));
          all &= done == vector.bytes().size() && job[to].messages[from].size() == round + 1;
        }
      }
      return all;
    };
    REQUIRE(job.until(over));
  }
  check_no_failure(job, kSize);
  std::uint64_t closed = 0;
  for (std::uint32_t to = 0; to < kSize; ++to) {
    closed += job[to].stats().connections_closed;
    for (std::uint32_t from = 0; from < kSize; ++from)
      for (std::uint32_t round = 0; from != to && round < kRounds; ++round)
        CHECK(job[to].messages[from][round] == bytes_of(from, to, round).bytes());
  }
  CHECK(closed > 0);
}

TEST_CASE("a large transfer and a read of a source outlast the closing of connections", "[closing][S3]") {
  Job job(2, {{"IDLE_CLOSE", "1ms"}});
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Bytes from = pattern(300'000, i);
    Bytes to(from.size());
    const iovec source{const_cast<std::byte*>(from.data()), from.size()};
    const iovec destination{to.data(), to.size()};
    std::uint32_t handle = 0;
    REQUIRE(bufenlarge_channel_advertise(job[0].channel(1), &source, 1, 0, nullptr, &handle) == BUFENLARGE_OK);
    job.send(0, 1, Vector({4}, i));
    job.rounds(2000);
    REQUIRE(bufenlarge_channel_read(job[1].channel(0), handle, 0, &destination, 1, to.size(),
                                    BUFENLARGE_READ_LAST, nullptr) == BUFENLARGE_OK);
    REQUIRE(job.until([&] { return job[1].reads.size() == i + 1 && job[0].releases.size() == i + 1; }));
    CHECK(to == from);
    REQUIRE(job.until([&] { return all_closed(job, 2); }));
  }
  check_no_failure(job, 2);
}

TEST_CASE("an endpoint is used again only when no queue can name its former connection", "[closing][fabric_port]") {
  Connected pair;
  CHECK(pair.active.port.endpoints() == 1);
  pair.from = FabricPort::Link();
  FabricPort::Link other = pair.active.open(pair.passive, pattern(52));
  CHECK(pair.active.port.endpoints() == 2);  // nothing was polled in between
  other = FabricPort::Link();
  for (int i = 0; i < 4; ++i) pair.active.poll();
  for (int i = 0; i < 2; ++i) {
    FabricPort::Link again = pair.active.open(pair.passive, pattern(52));
    CHECK(pair.active.port.endpoints() == 2);
    again = FabricPort::Link();
    for (int polls = 0; polls < 4; ++polls) pair.active.poll();
  }
}

}  // namespace
}  // namespace bufenlarge::test
