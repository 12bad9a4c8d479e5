// SPDX-License-Identifier: MIT
// The summary's totals, and the tree by which they come to rank 0 (src/netmod/bufenlarge).
#include "bufenlarge_totals.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bufenlarge_tree.h"

namespace bufenlarge::test {
namespace {

using Distribution = MPIDI_BUFENLARGE_distribution_t;
using Totals = MPIDI_BUFENLARGE_totals_t;

// A channel that sent so much; every figure differs.
bufenlarge_channel_stats_t channel_of(std::uint64_t messages, std::uint64_t bytes, std::uint32_t phase) {
  bufenlarge_channel_stats_t channel{};
  channel.connected = 1;
  channel.send.messages = messages;
  channel.send.bytes = bytes;
  channel.send.phase = phase;
  channel.registered_bytes = 16384;
  channel.registered_bytes_max = 16384 + 1000 * phase;
  return channel;
}

// Process `rank` has rank % 5 channels.
Totals totals_of(std::uint64_t rank) {
  Totals totals{};
  for (std::uint64_t i = 0; i < rank % 5; ++i) {
    const auto channel = channel_of(rank * i, 100 * rank * i, static_cast<std::uint32_t>(i % 3));
    MPIDI_BUFENLARGE_totals_add_channel(&totals, &channel);
  }
  totals.counts.registrations = 3 * rank;
  totals.counts.deregistrations = 2 * rank;
  totals.counts.channels_failed = rank % 2;
  totals.counts.connects_refused = rank % 3;
  totals.counts.connects_crossed = rank % 7;
  totals.counts.connections_most = 100 - rank;
  totals.counts.connections_closed = 8 * rank;
  totals.counts.connections_reopened = 9 * rank;
  totals.counts.eager_limits = 2 * rank;
  totals.counts.unexpected_bytes_max = rank % 5 * 1024;
  totals.counts.rendezvous = {rank,     10 * rank, 20 * rank,   30 * rank, 4 * rank,
                              5 * rank, 6 * rank,  1000 - rank, 7 * rank,  8 * rank};
  MPIDI_BUFENLARGE_totals_end_process(&totals);
  return totals;
}

TEST_CASE("each value has one bucket, which ends at most a quarter above it", "[summary]") {
  std::uint32_t before = 0;
  for (const std::uint64_t value : {0ull, 1ull, 3ull, 4ull, 7ull, 8ull, 9ull, 10ull, 511ull, 512ull, 1ull << 40,
                                    (1ull << 63) - 1, 1ull << 63, ~0ull}) {
    const std::uint32_t bucket = MPIDI_BUFENLARGE_bucket_of(value);
    CAPTURE(value, bucket);
    REQUIRE(bucket < MPIDI_BUFENLARGE_BUCKETS);
    CHECK(bucket >= before);
    before = bucket;
    const std::uint64_t end = MPIDI_BUFENLARGE_bucket_end(bucket);
    CHECK(end >= value);
    CHECK(end - value <= value / 4);
    if (end != ~0ull) CHECK(MPIDI_BUFENLARGE_bucket_of(end + 1) == bucket + 1);
  }
  CHECK(MPIDI_BUFENLARGE_bucket_of(~0ull) == MPIDI_BUFENLARGE_BUCKETS - 1);
}

TEST_CASE("percentiles lie in the bucket of the value, and within least and most", "[summary]") {
  Distribution values{};
  CHECK(MPIDI_BUFENLARGE_percentile(&values, 50) == 0);
  for (std::uint64_t value = 1; value <= 1000; ++value) MPIDI_BUFENLARGE_distribution_add(&values, value);
  CHECK(values.least == 1);
  CHECK(values.most == 1000);
  CHECK(values.sum == 500'500);
  for (const std::uint32_t percent : {1u, 50u, 90u, 99u}) {
    const std::uint64_t found = MPIDI_BUFENLARGE_percentile(&values, percent);
    CAPTURE(percent, found);
    CHECK(found >= 10 * percent);
    CHECK(found <= 10 * percent * 5 / 4);
  }
  CHECK(MPIDI_BUFENLARGE_percentile(&values, 100) == 1000);
  Distribution one{};
  MPIDI_BUFENLARGE_distribution_add(&one, 1000);
  CHECK(MPIDI_BUFENLARGE_percentile(&one, 1) == 1000);
}

// Adds the totals of all processes on the way up the tree, as the processes do.
Totals totals_below(std::uint32_t rank, std::uint32_t size) {
  Totals totals = totals_of(rank);
  for (std::uint32_t i = 0; i < MPIDI_BUFENLARGE_tree_children(rank, size); ++i) {
    const Totals child = totals_below(rank + (1u << i), size);
    MPIDI_BUFENLARGE_totals_merge(&totals, &child);
  }
  return totals;
}

TEST_CASE("totals that come up the tree are those of all processes, whatever their order", "[summary]") {
  for (const std::uint32_t size : {1u, 2u, 3u, 7u, 8u, 100u}) {
    Totals forward{}, backward{};
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const Totals one = totals_of(rank), other = totals_of(size - 1 - rank);
      MPIDI_BUFENLARGE_totals_merge(&forward, &one);
      MPIDI_BUFENLARGE_totals_merge(&backward, &other);
    }
    const Totals tree = totals_below(0, size);
    CAPTURE(size);
    CHECK(std::memcmp(&forward, &backward, sizeof forward) == 0);
    CHECK(std::memcmp(&forward, &tree, sizeof forward) == 0);
    CHECK(tree.reports == size);
    CHECK(tree.process_channels.count == size);
    CHECK(tree.process_channels.sum == tree.channels);
    CHECK(tree.process_messages.sum == tree.messages);
    CHECK(tree.process_ring_bytes.sum == tree.ring_bytes_max);
    CHECK(tree.direction_messages.sum == tree.messages);
    CHECK(tree.direction_bytes.sum == tree.bytes);
  }
}

TEST_CASE("each figure of the totals is merged", "[summary]") {
  Totals totals = totals_of(4), other = totals_of(8);
  MPIDI_BUFENLARGE_totals_merge(&totals, &other);
  CHECK(totals.reports == 2);
  CHECK(totals.channels == 4 + 3);
  CHECK(totals.directions_enlarged == 2 + 2);
  CHECK(totals.directions_in_phase[0] == 4 + 2 + 3 + 1);
  CHECK(totals.directions_in_phase[1] == 2);
  CHECK(totals.directions_in_phase[2] == 2);
  CHECK(totals.messages == 4 * 6 + 8 * 3);
  CHECK(totals.bytes == 100 * totals.messages);
  CHECK(totals.ring_bytes == 7 * 16384);
  CHECK(totals.ring_bytes_max == 7 * 16384 + 6000);
  CHECK(totals.counts.registrations == 36);
  CHECK(totals.counts.deregistrations == 24);
  CHECK(totals.counts.channels_failed == 0);
  CHECK(totals.counts.connects_refused == 1 + 2);
  CHECK(totals.counts.connects_crossed == 4 + 1);
  CHECK(totals.counts.connections_most == 96);
  CHECK(totals.counts.connections_closed == 96);
  CHECK(totals.counts.connections_reopened == 108);
  CHECK(totals.counts.eager_limits == 24);
  CHECK(totals.counts.unexpected_bytes_max == 4096);
  CHECK(totals.counts.rendezvous.reads == 12);
  CHECK(totals.counts.rendezvous.read_bytes == 120);
  CHECK(totals.counts.rendezvous.response_bytes == 240);
  CHECK(totals.counts.rendezvous.fragment_bytes == 360);
  CHECK(totals.counts.rendezvous.by_immediate == 48);
  CHECK(totals.counts.rendezvous.by_message == 60);
  CHECK(totals.counts.rendezvous.registrations == 72);
  CHECK(totals.counts.rendezvous.registered_bytes_max == 996);
  CHECK(totals.counts.rendezvous.refused == 84);
  CHECK(totals.direction_messages.count == 3 + 2);  // those that sent nothing do not count
  CHECK(totals.direction_messages.least == 4);
  CHECK(totals.direction_messages.most == 16);
}

TEST_CASE("every rank has one parent, and few children", "[summary]") {
  for (const std::uint32_t size : {1u, 2u, 5u, 64u, 1000u}) {
    std::vector<unsigned> parents(size), below(size, 1);
    for (std::uint32_t rank = size; rank-- > 0;) {
      const std::uint32_t children = MPIDI_BUFENLARGE_tree_children(rank, size);
      CAPTURE(size, rank, children);
      CHECK((rank == 0 ? 1u << children : 2u << children) < 2 * size + 2);
      for (std::uint32_t i = 0; i < children; ++i) {
        const std::uint32_t child = rank + (1u << i);
        REQUIRE(child < size);
        CHECK(MPIDI_BUFENLARGE_tree_is_child(rank, child));
        CHECK(MPIDI_BUFENLARGE_tree_parent(child) == rank);
        ++parents[child];
        below[rank] += below[child];
      }
      CHECK(MPIDI_BUFENLARGE_tree_end(rank, size) == rank + below[rank]);
    }
    CHECK(below[0] == size);
    CHECK(parents[0] == 0);
    CHECK(std::count(parents.begin() + 1, parents.end(), 1u) == size - 1);
  }
  CHECK_FALSE(MPIDI_BUFENLARGE_tree_is_child(0, 0));
  CHECK_FALSE(MPIDI_BUFENLARGE_tree_is_child(1, 2));
  CHECK_FALSE(MPIDI_BUFENLARGE_tree_is_child(0, 3));
}

}  // namespace
}  // namespace bufenlarge::test
