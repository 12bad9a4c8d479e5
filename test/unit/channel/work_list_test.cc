// SPDX-License-Identifier: MIT
#include "channel/work_list.h"

#include <catch2/catch.hpp>

#include <vector>

namespace bufenlarge::test {
namespace {

struct Item {
  int number;
  bool listed = false;
};
using List = WorkList<Item>;

// Serves the list once and returns the numbers in the order in which they were served.
std::vector<int> serve(List& list, bool keep) {
  std::vector<int> served;
  list.serve([&](Item& item) {
    served.push_back(item.number);
    return keep;
  });
  return served;
}

TEST_CASE("an item stands in a list once, however often it is added", "[worklist]") {
  List list;
  Item item{7};
  CHECK(list.empty());
  list.add(item, item.listed);
  list.add(item, item.listed);
  CHECK(item.listed);
  CHECK_FALSE(list.empty());
  CHECK(serve(list, false) == std::vector{7});
  CHECK(list.empty());
}

TEST_CASE("an item that has more to do stays, and one that has not leaves and can come again", "[worklist]") {
  List list;
  Item item{7};
  list.add(item, item.listed);
  CHECK(serve(list, true) == std::vector{7});
  CHECK(item.listed);
  CHECK(serve(list, false) == std::vector{7});
  CHECK_FALSE(item.listed);
  CHECK(serve(list, false).empty());
  list.add(item, item.listed);
  CHECK(serve(list, false) == std::vector{7});
}

TEST_CASE("a round serves each item once, whichever of them leave", "[worklist]") {
  for (unsigned leaving = 0; leaving < 16; ++leaving) {
    List list;
    Item items[4] = {{0}, {1}, {2}, {3}};
    for (Item& item : items) list.add(item, item.listed);
    const auto leaves = [&](const Item& item) { return (leaving >> item.number & 1) != 0; };
    int served[4] = {};
    list.serve([&](Item& item) {
      ++served[item.number];
      return !leaves(item);
    });
    for (const Item& item : items) {
      CHECK(served[item.number] == 1);
      CHECK(item.listed == !leaves(item));
    }
    CHECK(list.empty() == (leaving == 15));
  }
}

TEST_CASE("an item that is added during a round is served in that round", "[worklist]") {
  List list;
  std::vector<Item> items(40);  // more than a list has room for without moving its entries
  for (int n = 0; n < 40; ++n) items[n].number = n;
  list.add(items[0], items[0].listed);
  std::vector<int> served;
  list.serve([&](Item& item) {
    served.push_back(item.number);
    if (item.number == 0)
      for (Item& other : items) list.add(other, other.listed);
    return false;
  });
  CHECK(served.size() == items.size());
  CHECK(list.empty());
  for (const Item& item : items) CHECK_FALSE(item.listed);
}

TEST_CASE("an item that is added while it is served itself stays only if its service says so", "[worklist]") {
  List list;
  Item item{7};
  for (const bool stays : {true, false}) {
    list.add(item, item.listed);
    unsigned count = 0;
    list.serve([&](Item& one) {
      ++count;
      list.add(one, one.listed);
      return stays;
    });
    CHECK(count == 1);
    CHECK(item.listed == stays);
    CHECK(list.empty() == !stays);
  }
}

}  // namespace
}  // namespace bufenlarge::test
