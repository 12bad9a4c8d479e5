// SPDX-License-Identifier: MIT
// Which of many completion queues a round reads. The test plays the provider: an eventfd(2) stands for each queue's
// descriptor, and `things` for what a read finds.
#include "fabric/ready_queues.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace bufenlarge::test {
namespace {

class ReadyFixture {
 public:
  ReadyFixture() {
    for (CompletionQueue& queue : queues) {
      queue.number = static_cast<std::uint32_t>(&queue - queues.data());
      queue.descriptor = eventfd(0, EFD_NONBLOCK);
      REQUIRE(queue.descriptor >= 0);
      REQUIRE(ready.watch(queue));
    }
  }
  ReadyFixture(const ReadyFixture&) = delete;
  ReadyFixture& operator=(const ReadyFixture&) = delete;
  ~ReadyFixture() {
    for (CompletionQueue& queue : queues) ::close(queue.descriptor);
  }

  // Something comes for a queue; its descriptor is ready until a read has found it.
  void arrive(std::uint32_t number, unsigned count = 1) {
    things[number] += count;
    REQUIRE(eventfd_write(queues[number].descriptor, 1) == 0);
  }
  // One round, `ticks` after the one before it. Returns the numbers of the queues that it read.
  std::vector<std::uint32_t> round(std::uint64_t ticks = ReadyQueues::kTicksUnasked) {
    now += ticks;
    std::vector<std::uint32_t> reads;
    ready.poll(
        [&](CompletionQueue& queue) {
          reads.push_back(queue.number);
          if (on_read) on_read(queue);
          if (things[queue.number] == 0) return 0u;
          if (--things[queue.number] == 0) {
            eventfd_t value = 0;
            REQUIRE(eventfd_read(queue.descriptor, &value) == 0);
          }
          return 1u;
        },
        now);
    return reads;
  }
  // Rounds until no queue is read any more.
  void cool() {
    for (unsigned n = 0; n < 2 * ReadyQueues::kQuietReads; ++n) (void)round();
    REQUIRE(round().empty());
  }

  std::array<CompletionQueue, 64> queues;
  std::array<unsigned, 64> things{};
  std::uint64_t now = 0;
  std::function<void(CompletionQueue&)> on_read;
  ReadyQueues ready;
};

using Numbers = std::vector<std::uint32_t>;

TEST_CASE("a round over idle queues reads none, and one that is ready is read in the next round",
          "[ready_queues][S1]") {
  ReadyFixture fixture;
  CHECK(fixture.round().empty());
  fixture.arrive(41);
  CHECK(fixture.round() == Numbers{41});
  CHECK(fixture.things[41] == 0);
}

TEST_CASE("rounds that follow each other at once ask the epoll set once in some ticks, and hot queues are read in each",
          "[ready_queues][S1]") {
  ReadyFixture fixture;
  CHECK(fixture.round().empty());
  fixture.arrive(41);
  for (unsigned n = 0; n < 4; ++n) CHECK(fixture.round(ReadyQueues::kTicksUnasked / 8).empty());
  CHECK(fixture.round(ReadyQueues::kTicksUnasked / 2) == Numbers{41});
  CHECK(fixture.round(0) == Numbers{41});
}

TEST_CASE("a queue that was read with success is read in each round, until 256 reads found nothing",
          "[ready_queues][S1]") {
  ReadyFixture fixture;
  fixture.arrive(7);
  (void)fixture.round();
  for (unsigned n = 0; n < ReadyQueues::kQuietReads; ++n) REQUIRE(fixture.round() == Numbers{7});
  CHECK(fixture.round().empty());
  fixture.arrive(7);
  CHECK(fixture.round() == Numbers{7});
}

TEST_CASE("a queue on which a write was posted is read once at least, however many are hot", "[ready_queues][S1]") {
  ReadyFixture fixture;
  for (unsigned n = 0; n < 20; ++n) fixture.ready.heat(fixture.queues[n]);
  fixture.ready.heat(fixture.queues[3]);  // a second write changes nothing
  CHECK(fixture.round().size() == 20);
  CHECK(fixture.round().size() <= ReadyQueues::kHotQueuesMax);
  fixture.cool();
  CHECK_FALSE(fixture.queues[3].hot);
}

TEST_CASE("a queue that was written to while it cooled is read again", "[ready_queues][S1]") {
  ReadyFixture fixture;
  fixture.ready.heat(fixture.queues[0]);
  for (unsigned n = 0; n < ReadyQueues::kQuietReads - 1; ++n) REQUIRE(fixture.round() == Numbers{0});
  fixture.ready.heat(fixture.queues[0]);
  CHECK(fixture.round() == Numbers{0});
  CHECK(fixture.round() == Numbers{0});
}

TEST_CASE("a queue that always has something does not keep others from being read", "[ready_queues][S1]") {
  ReadyFixture fixture;
  fixture.arrive(0, 1000);
  for (unsigned n = 0; n < 50; ++n) (void)fixture.round();
  for (std::uint32_t other = 1; other < 64; ++other) fixture.arrive(other);
  for (unsigned n = 0; n < 4 * ReadyQueues::kRoundsUnasked; ++n) (void)fixture.round();
  for (std::uint32_t other = 1; other < 64; ++other) CHECK(fixture.things[other] == 0);
}

TEST_CASE("what one read leaves over is found by the next", "[ready_queues][S1]") {
  ReadyFixture fixture;
  for (std::uint32_t number = 0; number < 64; ++number) fixture.arrive(number, 5);
  for (unsigned n = 0; n < 100; ++n) (void)fixture.round();
  for (std::uint32_t number = 0; number < 64; ++number) CHECK(fixture.things[number] == 0);
  fixture.cool();
}

TEST_CASE("a queue heated by a read is read in the next round, and the round ends", "[ready_queues][S1]") {
  ReadyFixture fixture;
  fixture.arrive(1);
  fixture.on_read = [&](CompletionQueue& queue) {
    if (queue.number < 60) fixture.ready.heat(fixture.queues[queue.number + 1]);
  };
  CHECK(fixture.round() == Numbers{1});
  CHECK(fixture.round() == Numbers{2, 1});
  fixture.on_read = nullptr;
  fixture.cool();
}

bool readable(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

TEST_CASE("a queue that finds something again and again leaves the epoll set, and is back before the process sleeps",
          "[ready_queues][S1][S2]") {
  ReadyFixture fixture;
  fixture.arrive(5, ReadyQueues::kFindsToLeave + 1);
  for (unsigned n = 0; n < ReadyQueues::kFindsToLeave + 1; ++n) REQUIRE(fixture.round() == Numbers{5});
  CHECK(fixture.queues[5].away);
  CHECK_FALSE(readable(fixture.ready.descriptor()));
  CHECK_FALSE(fixture.queues[5].away);
  fixture.arrive(5);
  CHECK(readable(fixture.ready.descriptor()));
  CHECK(fixture.round() == Numbers{5});
}

TEST_CASE("what comes for a queue that had left the epoll set is found, while it is hot and when it has cooled",
          "[ready_queues][S1]") {
  ReadyFixture fixture;
  fixture.arrive(5, ReadyQueues::kFindsToLeave + 1);
  for (unsigned n = 0; n < ReadyQueues::kFindsToLeave + 1; ++n) (void)fixture.round();
  REQUIRE(fixture.queues[5].away);
  fixture.arrive(5);
  CHECK(fixture.round() == Numbers{5});
  fixture.cool();
  CHECK_FALSE(fixture.queues[5].away);
  fixture.arrive(5);
  CHECK(fixture.round() == Numbers{5});
  CHECK(fixture.things[5] == 0);
}

TEST_CASE("a queue that could not come back into the epoll set is read until it has", "[ready_queues][S1]") {
  ReadyFixture fixture;
  CompletionQueue& queue = fixture.queues[5];
  const auto find_much = [&fixture] {
    fixture.things[5] += ReadyQueues::kFindsToLeave + 1;
    for (unsigned n = 0; n < ReadyQueues::kFindsToLeave + 1; ++n) REQUIRE(fixture.round() == Numbers{5});
  };
  fixture.arrive(5);
  find_much();
  REQUIRE(queue.away);
  const int descriptor = std::exchange(queue.descriptor, -1);
  CHECK(fixture.ready.descriptor() == -1);
  CHECK(queue.away);
  find_much();
  CHECK(queue.away);
  queue.descriptor = descriptor;
  fixture.cool();
  fixture.arrive(5);
  CHECK(fixture.round() == Numbers{5});
}

TEST_CASE("a queue is watched once, and one without a descriptor is refused", "[ready_queues]") {
  ReadyFixture fixture;
  CHECK(fixture.ready.watch(fixture.queues[0]));
  CompletionQueue none;
  CHECK_FALSE(fixture.ready.watch(none));
  CHECK_FALSE(none.watched);
}

}  // namespace
}  // namespace bufenlarge::test
