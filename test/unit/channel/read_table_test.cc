// SPDX-License-Identifier: MIT
#include "channel/read_table.h"

#include <catch2/catch.hpp>

#include <set>

namespace bufenlarge::test {
namespace {

struct Owner {};
using Table = ReadTable<Owner, int>;

TEST_CASE("a read is found by its sequence while it is under way, and by no other", "[read_table][R3]") {
  Table table;
  Owner one, two;
  int first = 0, second = 0;
  const std::uint32_t a = table.add(&one, &first, 0);
  const std::uint32_t b = table.add(&two, &second, 0);
  CHECK(a != 0);
  CHECK(b != 0);
  CHECK(a != b);
  REQUIRE(table.find(a) != nullptr);
  CHECK(table.find(a)->reader == &one);
  CHECK(table.find(a)->read == &first);
  CHECK(table.find(b)->reader == &two);
  for (std::uint32_t other = 0; other < 1000; ++other)
    CHECK((table.find(other) != nullptr) == (other == a || other == b));
  table.remove(*table.find(a));
  CHECK(table.find(a) == nullptr);
  CHECK(table.find(b) != nullptr);
}

TEST_CASE("no more reads are under way than receives are posted for them", "[read_table][R3]") {
  Table table;
  Owner owner;
  std::set<std::uint32_t> sequences;
  for (std::uint32_t n = 0; n < kReadsPerPortMax; ++n) {
    CHECK_FALSE(table.full());
    CHECK(sequences.insert(table.add(&owner, nullptr, 0)).second);
  }
  CHECK(table.full());
  const std::uint32_t some = *sequences.begin();
  table.remove(*table.find(some));
  CHECK_FALSE(table.full());
  CHECK(sequences.insert(table.add(&owner, nullptr, 0)).second);
  CHECK(table.full());
}

TEST_CASE("the sequence of a read that is over names no later one", "[read_table][R3]") {
  Table table;
  Owner owner;
  std::set<std::uint32_t> sequences;
  for (unsigned n = 0; n < 10'000; ++n) {
    const std::uint32_t sequence = table.add(&owner, nullptr, 0);
    REQUIRE(sequences.insert(sequence).second);
    auto* entry = table.find(sequence);
    REQUIRE(entry != nullptr);
    CHECK(entry->arrived == 0);
    CHECK(entry->bytes == 0);
    entry->arrived = entry->bytes = 5;
    table.remove(*entry);
  }
  for (const std::uint32_t sequence : sequences)
    if (table.find(sequence) != nullptr) FAIL("an old sequence is found");
}

TEST_CASE("all reads of one owner go, and no others", "[read_table]") {
  Table table;
  Owner one, two;
  std::vector<std::uint32_t> of_one, of_two;
  for (unsigned n = 0; n < 30; ++n) {
    const bool third = n % 3 == 0;
    (third ? of_two : of_one).push_back(table.add(third ? &two : &one, nullptr, 0));
  }
  table.remove_all(&one);
  for (const std::uint32_t sequence : of_one) CHECK(table.find(sequence) == nullptr);
  for (const std::uint32_t sequence : of_two) CHECK(table.find(sequence) != nullptr);
  for (unsigned n = 0; n < kReadsPerPortMax - of_two.size(); ++n) (void)table.add(&one, nullptr, 0);
  CHECK(table.full());
}

}  // namespace
}  // namespace bufenlarge::test
