// SPDX-License-Identifier: MIT
// Two connected channels that advertise and read.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <string>

#include "support/context_fixture.h"

namespace bufenlarge::test {

// The smallest slots there are: a read of several segments takes as many requests.
inline PhaseTable smallest_phases() { return phases({{64, 4}, {512, 4}}); }

class RendezvousPair : public ContextPair {
 public:
  explicit RendezvousPair(std::array<Arrival, 2> arrivals = {Arrival::kInOrder, Arrival::kInOrder},
                   const PhaseTable& table = two_phases())
      : ContextPair(hot_settings(table, 1)) {
    side[0].port.arrives = arrivals[0];
    side[1].port.arrives = arrivals[1];
    open();
  }

  std::uint32_t advertise(std::uint32_t who, const Vector& source, const void* cookie) {
    std::uint32_t handle = 0;
    REQUIRE(side[who].channel().advertise(source.all(), const_cast<void*>(cookie), handle) == Status::kOk);
    REQUIRE(handle != 0);
    return handle;
  }
  // Orders a read with `destination` as the cookie.
  void read(std::uint32_t who, std::uint32_t handle, std::uint64_t offset, Vector& destination, bool last) {
    const ReadOrder order{destination.all(), &destination, offset, destination.bytes().size(), handle, last};
    REQUIRE(side[who].channel().read(order) == Status::kOk);
    ++ordered_;
  }
  void release(std::uint32_t who, std::uint32_t handle) {
    REQUIRE(side[who].channel().read(ReadOrder::release(handle)) == Status::kOk);
  }
  // Lets side 1 read all of what side 0 advertises.
  void read_all(const Vector& source, Vector& destination) {
    read(1, advertise(0, source, &source), 0, destination, true);
    settle_reads();
    REQUIRE(side[1].upper.reads.size() == 1);
    CHECK(side[1].upper.reads[0].cookie == &destination);
    CHECK(side[1].upper.reads[0].status == Status::kOk);
    REQUIRE(side[0].upper.releases.size() == 1);
    CHECK(side[0].upper.releases[0].cookie == &source);
    CHECK(side[0].upper.releases[0].status == Status::kOk);
  }
  // Makes progress until every read that was ordered is done.
  void settle_reads() {
    for (unsigned tries = 0; side[0].upper.reads.size() + side[1].upper.reads.size() < ordered_; ++tries) {
      REQUIRE(tries < 10'000);
      rounds();
    }
    settle();
  }

  [[nodiscard]] const RendezvousCounters& counters(std::uint32_t who) const {
    return side[who].context.core().rendezvous;
  }
  [[nodiscard]] std::size_t logged(std::uint32_t who, const std::string& word) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        side[who].port.log, [&](const std::string& line) { return line.starts_with(word); }));
  }
  void check_nothing_left() const {
    for (const std::uint32_t who : {0u, 1u}) {
      CHECK(side[who].upper.failures.empty());
      CHECK(side[who].context.core().sources.size() == 0);
      CHECK(logged(who, "register") == logged(who, "unregister"));
      CHECK(side[who].context.written());
    }
  }

 private:
  std::size_t ordered_ = 0;
};

}  // namespace bufenlarge::test
