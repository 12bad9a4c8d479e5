// SPDX-License-Identifier: MIT
// The memory that control words are copied to where a device cannot send inline.
#include "fabric/word_copies.h"

#include <catch2/catch.hpp>

#include <set>
#include <vector>

#include "fabric/port_side.h"

namespace bufenlarge::test {
namespace {

constexpr std::size_t kPlaces = 15;

class Slab {
 public:
  explicit Slab(std::size_t receives = 0) : receives_(receives) {}
  WordCopies take() {
    return slab_.take(kPlaces, receives_, [this](std::size_t bytes) { return port_.allocate(bytes); });
  }
  void give_back(const WordCopies& copies) { slab_.give_back(copies); }
  [[nodiscard]] std::uint64_t registrations() const { return port_.registrations().registrations; }

 private:
  FabricPort port_{{ProviderChoice::kTcp, "lo"}};
  WordCopySlab slab_;
  const std::size_t receives_;
};

TEST_CASE("a word's copy stays until as many others were copied as the queue has entries", "[word_copies]") {
  Slab slab;
  WordCopies copies = slab.take();
  REQUIRE(copies.places != nullptr);
  std::vector<const std::byte*> places;
  for (std::uint32_t n = 0; n < kPlaces; ++n) places.push_back(copies.copy(pattern(kWordBytes, n).data()));
  for (std::uint32_t n = 0; n < kPlaces; ++n)
    CHECK(std::memcmp(places[n], pattern(kWordBytes, n).data(), kWordBytes) == 0);
  CHECK(copies.copy(pattern(kWordBytes, 99).data()) == places[0]);
  CHECK(std::memcmp(places[1], pattern(kWordBytes, 1).data(), kWordBytes) == 0);
}

TEST_CASE("no two endpoints share a place, and all places are in registered memory", "[word_copies]") {
  Slab slab;
  std::set<const std::byte*> seen;
  for (unsigned endpoint = 0; endpoint < 100; ++endpoint) {
    WordCopies copies = slab.take();
    for (std::uint32_t n = 0; n < kPlaces; ++n) {
      const std::byte* place = copies.copy(pattern(kWordBytes, n).data());
      CHECK(seen.insert(place).second);
      CHECK(place >= copies.region->data());
      CHECK(place + kWordBytes <= copies.region->data() + copies.region->bytes());
    }
  }
}

TEST_CASE("received words have places behind the copies, which no other endpoint shares", "[word_copies]") {
  constexpr std::size_t kReceives = 9;
  Slab slab(kReceives);
  std::set<const std::byte*> seen;
  for (unsigned endpoint = 0; endpoint < 100; ++endpoint) {
    WordCopies copies = slab.take();
    for (std::uint32_t n = 0; n < 2 * kPlaces; ++n) {
      const std::byte* place = copies.copy(pattern(kWordBytes, n).data());
      CHECK(seen.insert(place).second == (n < kPlaces));
    }
    for (std::size_t n = 0; n < kReceives; ++n) {
      const std::byte* place = copies.receive_place(n);
      CHECK(seen.insert(place).second);
      CHECK(place >= copies.region->data());
      CHECK(place + kWordBytes <= copies.region->data() + copies.region->bytes());
    }
  }
}

TEST_CASE("places that were given back are taken again before more memory is registered", "[word_copies]") {
  Slab slab;
  const WordCopies first = slab.take();
  const std::uint64_t registered = slab.registrations();
  for (unsigned round = 0; round < 1000; ++round) slab.give_back(slab.take());
  CHECK(slab.registrations() == registered);
  slab.give_back(first);
}

TEST_CASE("without registered memory there are no places", "[word_copies]") {
  WordCopySlab slab;
  const WordCopies none = slab.take(kPlaces, 0, [](std::size_t) { return MemoryRegion(); });
  CHECK(none.places == nullptr);
  slab.give_back(none);
  CHECK(slab.take(kPlaces, 0, [](std::size_t) { return MemoryRegion(); }).places == nullptr);
}

}  // namespace
}  // namespace bufenlarge::test
