// SPDX-License-Identifier: MIT
#include "channel/attempts.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace bufenlarge::test {
namespace {

struct Item {
  int number;
};
using List = Attempts<Item>;

constexpr std::uint64_t kNow = 1'000'000;

TEST_CASE("an attempt that has been out for long leaves its place to another", "[attempts][S4]") {
  List list;
  Item item{1};
  for (std::uint32_t i = 0; i < List::kYoungMax; ++i) {
    CHECK(list.free(kNow));
    (void)list.start(item, kNow);
  }
  CHECK_FALSE(list.free(kNow));
  CHECK_FALSE(list.free(kNow + List::kYoungUs - 1));
  CHECK(list.free(kNow + List::kYoungUs));
  CHECK(list.out() == List::kYoungMax);
  for (std::uint32_t i = 0; i < List::kYoungMax; ++i) (void)list.start(item, kNow + List::kYoungUs);
  CHECK_FALSE(list.free(kNow + List::kYoungUs));
  CHECK(list.out() == 2 * List::kYoungMax);
}

TEST_CASE("an attempt is overdue once, when it is as old as the limit", "[attempts][S4]") {
  List list;
  Item items[3] = {{0}, {1}, {2}};
  List::Place places[3];
  for (int i = 0; i < 3; ++i) places[i] = list.start(items[i], kNow + static_cast<std::uint64_t>(i));
  CHECK(list.next_overdue(kNow + 99, 100) == nullptr);
  CHECK(list.next_overdue(kNow + 101, 100) == &items[0]);
  list.finish(places[1]);  // before its time
  CHECK(list.next_overdue(kNow + 101, 100) == nullptr);
  CHECK(list.next_overdue(kNow + 1000, 100) == &items[2]);
  CHECK(list.next_overdue(kNow + 1000, 100) == nullptr);
  CHECK(list.out() == 2);
  places[1] = list.start(items[1], kNow + 1000);
  CHECK(list.next_overdue(kNow + 1100, 100) == &items[1]);
}

TEST_CASE("an attempt is suspect until events were read after its route was known", "[attempts][S4]") {
  List list;
  Item items[3] = {{0}, {1}, {2}};
  for (int i = 0; i < 3; ++i) (void)list.start(items[i], kNow + static_cast<std::uint64_t>(i) * 10);
  CHECK(list.suspects() == std::vector<Item*>{&items[0], &items[1], &items[2]});
  list.events_read(kNow + List::kRouteUs - 1);
  CHECK(list.suspects().size() == 3);
  list.events_read(kNow + List::kRouteUs);
  CHECK(list.suspects() == std::vector<Item*>{&items[1], &items[2]});
  list.events_read(kNow + 20 + List::kRouteUs);
  CHECK(list.suspects().empty());
}

// A failure without a name, as a context acts on it.
void fail_unnamed(List& list, std::vector<List::Place>& places) {
  const auto suspects = static_cast<std::uint32_t>(list.suspects().size());
  REQUIRE(suspects == places.size());
  for (const List::Place place : std::exchange(places, {})) list.finish(place);
  list.restarted(suspects);
}

// Begins attempts of different ages until no more may begin. None of them is young any more.
std::size_t start_all(List& list, std::vector<List::Place>& places, Item& item, std::uint64_t& now) {
  while (list.free(now) && places.size() < 1000) places.push_back(list.start(item, now)), now += List::kYoungUs;
  return places.size();
}

TEST_CASE("each failure without a name halves the suspects there may be", "[attempts][S4]") {
  List list;
  Item item{1};
  std::uint64_t now = kNow;
  std::vector<List::Place> places;
  CHECK(start_all(list, places, item, now) == 1000);
  for (const std::size_t most : {500u, 250u, 125u, 62u, 31u, 15u, 7u, 3u, 1u, 1u}) {
    fail_unnamed(list, places);
    CHECK(start_all(list, places, item, now) == most);
  }
}

TEST_CASE("a failure without a name while nothing is suspect changes nothing", "[attempts][S4]") {
  List list;
  Item item{1};
  std::uint64_t now = kNow;
  std::vector<List::Place> places;
  fail_unnamed(list, places);
  CHECK(start_all(list, places, item, now) == 1000);
}

TEST_CASE("an attempt that ends, or is no suspect any more, lets one more begin", "[attempts][S4]") {
  List list;
  Item item{1};
  std::uint64_t now = kNow;
  std::vector<List::Place> places{list.start(item, now), list.start(item, now)};
  fail_unnamed(list, places);
  REQUIRE(start_all(list, places, item, now) == 1);
  list.finish(places[0]);
  places.clear();
  REQUIRE(start_all(list, places, item, now) == 2);
  now += List::kRouteUs;
  CHECK_FALSE(list.free(now));
  list.events_read(now);
  CHECK(start_all(list, places, item, now) == 2 + 4);
}

// The same, the long way.
struct Model {
  struct Entry {
    Item* item;
    std::uint64_t began;
    bool told;
    List::Place place;
  };
  std::vector<Entry> entries;

  [[nodiscard]] bool free(std::uint64_t now) const {
    return std::ranges::count_if(entries, [now](const Entry& one) { return now - one.began < List::kYoungUs; }) <
           static_cast<std::ptrdiff_t>(List::kYoungMax);
  }
};

TEST_CASE("attempts that start and finish in any order are counted right", "[attempts][S4]") {
  List list;
  Model model;
  Item item{1};
  std::uint64_t now = kNow;
  std::uint32_t state = 7;
  const auto random = [&state](std::uint32_t below) { return (state = state * 1664525 + 1013904223) / 65536 % below; };
  bool was_full = false;
  for (int step = 0; step < 20'000; ++step) {
    now += random(40);
    const std::uint32_t what = random(8);
    if (what < 5 && list.free(now)) model.entries.push_back({&item, now, false, list.start(item, now)});
    if (what >= 6 && !model.entries.empty()) {
      const auto at = model.entries.begin() + random(static_cast<std::uint32_t>(model.entries.size()));
      list.finish(at->place);
      model.entries.erase(at);
    }
    constexpr std::uint64_t kLimit = 20'000;
    std::size_t overdue = 0;
    for (Model::Entry& one : model.entries)
      if (!one.told && now - one.began >= kLimit) one.told = true, ++overdue;
    while (list.next_overdue(now, kLimit) != nullptr) --overdue;
    REQUIRE(overdue == 0);
    REQUIRE(list.free(now) == model.free(now));
    REQUIRE(list.out() == model.entries.size());
    was_full = was_full || !model.free(now);
  }
  CHECK(was_full);
}

}  // namespace
}  // namespace bufenlarge::test
