// SPDX-License-Identifier: MIT
// A port over libfabric's tcp provider with many links: its queues, the groups of links it reports, and how it sleeps.
#include "fabric/fabric_port.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <thread>

#include "fabric/faulty_libfabric.h"
#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

// Two ports with this many links between them.
struct Links {
  explicit Links(unsigned links) {
    for (unsigned n = 0; n < links; ++n) {
      active.push_back(one.open(two, pattern(52)));
      REQUIRE(both_poll(one, two, [&] { return !two.requests.empty(); }));
      passive.push_back(two.accept(pattern(52)));
      REQUIRE(both_poll(one, two, [&] { return one.connected.size() == n + 1 && two.connected.size() == n + 1; }));
    }
  }
  PortSide one, two;
  std::vector<FabricPort::Link> active, passive;  // closed before the ports
};

// Groups are completion queues, of 16, 32, then 64 endpoints up to libfabric 1.17.
TEST_CASE("the poll that places data reports the group of its link, whichever of 40 links it came by",
          "[fabric_port][S1]") {
  Links pair(40);
  const FabricPort::Region from = pair.one.port.allocate(64), to = pair.two.port.allocate(64);
  for (unsigned n = 0; n < 2000; ++n) pair.two.poll();  // no queue is read for what came before
  for (std::uint8_t n = 0; n < 40; ++n) {
    std::memset(from.data(), n + 1, 64);
    REQUIRE(pair.one.port.write(pair.active[n], {from, from.data(), 64, to.remote_address(), to.remote_key(),
                                       WriteUse::kSlots}) != WriteResult::kFailed);
    pair.two.groups.clear();
    REQUIRE(both_poll(pair.one, pair.two, [&] { return std::to_integer<int>(to.data()[63]) == n + 1; }));
    CHECK(pair.two.groups.count(pair.two.port.group(pair.passive[n])) == 1);
  }
  CHECK(pair.two.port.group(pair.passive[39]) == (FI_VERSION_GE(fi_version(), FI_VERSION(1, 18)) ? 0 : 1));
}

TEST_CASE("what the socket does not take at once arrives, on a port with many idle links", "[fabric_port][S1]") {
  Links pair(20);
  constexpr std::size_t kBytes = 32 << 20;
  const FabricPort::Region from = pair.one.port.allocate(kBytes), to = pair.two.port.allocate(kBytes);
  std::memset(from.data(), 7, kBytes);
  for (unsigned n = 0; n < 2000; ++n) pair.one.poll();  // the queue cools before the write
  REQUIRE(pair.one.port.write(pair.active[3], {from, from.data(), kBytes, to.remote_address(), to.remote_key(),
                                     WriteUse::kData}) == WriteResult::kPosted);
  for (unsigned n = 0; n < 5000; ++n) pair.one.poll();  // the peer computes; the queue cools again
  REQUIRE(both_poll(pair.one, pair.two, [&] { return pair.one.data_written == 1; }));
  REQUIRE(both_poll(pair.one, pair.two, [&] { return std::to_integer<int>(to.data()[kBytes - 1]) == 7; }));
}

// So it is with a peer whose host has gone silent.
TEST_CASE("what is in a queue is read to its end, though nothing comes for the queue any more", "[fabric_port][F5]") {
  Links pair(20);
  const unsigned n = GENERATE(3u, 19u);                 // in the first queue, and in the last
  for (unsigned i = 0; i < 2000; ++i) pair.two.poll();  // the queues cool
  const std::uint64_t mark = pair.two.port.completions_mark(pair.passive[n]);
  CHECK(comes_true([&] { return pair.two.port.completions_read(pair.passive[n], mark); }, [&] { pair.two.poll(); }));
}

// Up to libfabric 1.17 the endpoint after 16 takes another queue.
TEST_CASE("where no further queue can be opened the endpoint is closed, and its caller is told", "[fabric_port][F8]") {
  if (FI_VERSION_GE(fi_version(), FI_VERSION(1, 18))) {
    SUCCEED("one queue is for all endpoints");
    return;
  }
  const FaultyLibfabric libfabric;
  Links pair(16);
  const FabricPort::Link caller = pair.one.open(pair.two, pattern(52));
  REQUIRE(both_poll(pair.one, pair.two, [&] { return !pair.two.requests.empty(); }));
  const std::int64_t before = open_objects();
  plan({Call::kCompletionQueue, 1, FI_ENOMEM, true});
  CHECK_FALSE(pair.two.accept(pattern(52)));
  CHECK_FALSE(pair.two.open(pair.one, pattern(52)));
  CHECK_FALSE(pair.two.open(pair.one, pattern(52)));
  CHECK(open_objects() == before);
  CHECK(pair.two.port.endpoints() == 17);
  CHECK(both_poll(pair.one, pair.two, [&] { return pair.one.lost.size() + pair.one.rejected.size() == 1; }));
}

// Sleeps on `side` for up to 2 s in another thread, which does `wake` after 20 ms. Returns the milliseconds it took.
double slept_ms(PortSide& side, const std::function<void()>& wake, SleepEnd& end) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    wake();
  });
  const auto begin = std::chrono::steady_clock::now();
  end = side.port.sleep(2'000'000);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  other.join();
  return spent.count();
}

TEST_CASE("a port sleeps for the time given, and data or a request of a peer wakes it before", "[fabric_port][S2]") {
  const unsigned links = GENERATE(1u, 40u);  // one completion queue, and several
  Links pair(links);
  for (unsigned n = 0; n < 1000; ++n) pair.two.poll();
  SleepEnd end = pair.two.port.sleep(1000);
  if (end == SleepEnd::kEvents) pair.two.poll();  // events that were read have left the descriptor readable
  const auto begin = std::chrono::steady_clock::now();
  CHECK(pair.two.port.sleep(50'000) == SleepEnd::kWoken);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(50));

  const FabricPort::Region from = pair.one.port.allocate(64), to = pair.two.port.allocate(64);
  const auto write = [&] {
    (void)pair.one.port.write(pair.active.back(), {from, from.data(), 64, to.remote_address(), to.remote_key(),
                                                   WriteUse::kSlots});
  };
  CHECK(slept_ms(pair.two, write, end) < 1500);
  CHECK(end == SleepEnd::kWoken);
  pair.two.poll();
  CHECK(slept_ms(pair.two, [&] { pair.active.push_back(pair.one.open(pair.two, pattern(52))); }, end) < 1500);
  CHECK(end == SleepEnd::kEvents);
  REQUIRE(both_poll(pair.one, pair.two, [&] { return !pair.two.requests.empty(); }));
  pair.two.port.reject(pair.two.requests.front().request, {});
}

}  // namespace
}  // namespace bufenlarge::test
