// SPDX-License-Identifier: MIT
// Addresses that contexts share, and what a context takes for peers that it never talks to.
#include <catch2/catch.hpp>

#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bufenlarge.h"
#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

constexpr std::size_t kStride = 24;

// In use, as the allocator counts it; a sanitizer's allocator counts nothing.
std::size_t heap_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// The heap that a context of so many processes takes, which share one table of addresses.
std::size_t context_heap_bytes(std::uint32_t size, const Bytes& shared) {
  const std::size_t before = heap_bytes();
  Process process({}, 0, size, 7);
  REQUIRE(bufenlarge_context_share_addresses(process.context(), shared.data(), kStride, size) == BUFENLARGE_OK);
  REQUIRE(process.channel(1) != nullptr);
  return heap_bytes() - before;
}

TEST_CASE("processes that share one table of addresses reach each other", "[c_api]") {
  Process one({}, 0, 2, 7), other({}, 1, 2, 7);
  Bytes shared(2 * kStride, std::byte{0xee});
  for (const Process* process : {&one, &other})
    std::memcpy(shared.data() + process->rank * kStride, process->address.data(), process->address.size());
  for (const Process* process : {&one, &other}) {
    CHECK(bufenlarge_context_share_addresses(process->context(), shared.data(), kStride, 1) ==
          BUFENLARGE_ERR_ARGUMENT);
    CHECK(bufenlarge_context_share_addresses(process->context(), shared.data(), 15, 2) == BUFENLARGE_ERR_ARGUMENT);
    REQUIRE(bufenlarge_context_share_addresses(process->context(), shared.data(), kStride, 2) == BUFENLARGE_OK);
  }
  CHECK(bufenlarge_context_local_processes(one.context()) == 2);
  const Vector vector({8});
  std::size_t sent = 0;
  REQUIRE(comes_true([&] { return !other.messages[0].empty(); }, [&] {
    if (sent == 0) sent = one.send(1, vector.all());
    one.progress();
    other.progress();
  }));
  CHECK(other.messages[0][0] == vector.bytes());
}

TEST_CASE("rendezvous begins later where processes share processors", "[c_api]") {
  const auto processors = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  for (const std::uint32_t local : {processors, processors + 1}) {
    Process automatic({}, 0, local, 7), set({{"RENDEZVOUS", "100000"}}, 0, local, 7);
    const bool shares = local > processors;
    for (const auto& [process, expected] :
         {std::pair{&automatic, shares ? 131'072u : 65'536u}, std::pair{&set, 100'000u}}) {
      Bytes addresses;
      for (std::uint32_t rank = 0; rank < local; ++rank)
        addresses.insert(addresses.end(), process->address.begin(), process->address.end());
      REQUIRE(bufenlarge_context_set_addresses(process->context(), addresses.data(), local) == BUFENLARGE_OK);
      CHECK(bufenlarge_context_shares_processors(process->context()) == (shares ? 1 : 0));
      bufenlarge_limits_t limits;
      bufenlarge_context_limits(process->context(), &limits);
      CHECK(limits.rendezvous_min == expected);
    }
  }
}

TEST_CASE("a peer without a channel takes less than a byte of a context", "[c_api]") {
  constexpr std::uint32_t kMany = 100'000;
  const Bytes shared(kMany * kStride);
  (void)context_heap_bytes(64, shared);  // what is made once in a process
  const std::size_t few = context_heap_bytes(64, shared);
  const std::size_t many = context_heap_bytes(kMany, shared);
  CHECK(many < few + kMany);
}

TEST_CASE("the peers with a channel are listed in order", "[c_api]") {
  Job job(5);
  std::vector<std::uint32_t> peers(4, 99);
  CHECK(bufenlarge_context_channels(job[0].context(), nullptr, 0) == 0);
  for (const std::uint32_t peer : {3u, 1u, 4u}) REQUIRE(job[0].channel(peer) != nullptr);
  CHECK(bufenlarge_context_channels(job[0].context(), nullptr, 0) == 3);
  CHECK(bufenlarge_context_channels(job[0].context(), peers.data(), peers.size()) == 3);
  CHECK(peers == std::vector<std::uint32_t>{1, 3, 4, 99});
}

TEST_CASE("a peer has no name before the addresses are known", "[c_api]") {
  Process process({}, 0, 2, 7);
  Bytes name(BUFENLARGE_NAME_BYTES);
  CHECK(bufenlarge_context_name(process.context(), 1, name.data()) == BUFENLARGE_ERR_ARGUMENT);
}

}  // namespace
}  // namespace bufenlarge::test
