// SPDX-License-Identifier: MIT
#include "channel/ledger.h"

#include <catch2/catch.hpp>

#include <optional>
#include <utility>

namespace bufenlarge::test {
namespace {

using Use = Ledger::Use;

TEST_CASE("an entry counts its bytes while it lives", "[ledger][B2]") {
  Ledger ledger;
  {
    const Ledger::Entry rings = ledger.enter(Use::kBeginning, 100);
    Ledger::Entry grown = ledger.enter(Use::kGrown, 1000);
    const Ledger::Entry user = ledger.enter(Use::kUser, 10'000);
    CHECK(ledger.bytes() == 11'100);
    CHECK(ledger.bytes(Use::kGrown) == 1000);
    grown = ledger.enter(Use::kGrown, 2000);  // for a moment there are both
    CHECK(ledger.bytes() == 12'100);
    const Ledger::Entry moved = std::move(grown);
    CHECK(ledger.bytes() == 12'100);
  }
  CHECK(ledger.bytes() == 0);
  CHECK(ledger.most() == 13'100);
  CHECK(ledger.refusals() == 0);
  CHECK_FALSE(ledger.limited());
}

TEST_CASE("what a connection begins with may take all of the limit, and no more", "[ledger][B2]") {
  Ledger ledger;
  ledger.set_limits({1000, 600, 100});
  const Ledger::Entry all = ledger.enter(Use::kBeginning, 1000);
  CHECK(all);
  CHECK_FALSE(ledger.wanted());
  CHECK_FALSE(ledger.enter(Use::kBeginning, 1));
  CHECK(ledger.refusals() == 1);
  CHECK(ledger.wanted());
  ledger.satisfied();
  CHECK_FALSE(ledger.wanted());
  CHECK(ledger.most() == 1000);
}

TEST_CASE("large rings and user memory leave the reserve to beginnings, as far as these have not taken it",
          "[ledger][B2]") {
  const Use use = GENERATE(Use::kGrown, Use::kUser);
  Ledger ledger;
  ledger.set_limits({1000, 600, 100});
  CHECK(ledger.has_room(use, 400));
  CHECK_FALSE(ledger.has_room(use, 401));
  std::optional<Ledger::Entry> beginnings = ledger.enter(Use::kBeginning, 300);
  CHECK(ledger.has_room(use, 400));
  CHECK_FALSE(ledger.has_room(use, 401));
  beginnings = ledger.enter(Use::kBeginning, 550);  // 50 of the reserve are left, less than the spare
  CHECK(ledger.has_room(use, 350));
  CHECK_FALSE(ledger.has_room(use, 351));
  beginnings.reset();
  const Ledger::Entry large = ledger.enter(use, 400);
  CHECK(ledger.has_room(Use::kBeginning, 600));
  CHECK_FALSE(ledger.has_room(Use::kBeginning, 601));
}

TEST_CASE("numbers near the largest do not wrap", "[ledger][B2]") {
  Ledger ledger;
  CHECK(ledger.has_room(Use::kUser, Ledger::kNoLimit));
  const Ledger::Entry one = ledger.enter(Use::kUser, 1);
  CHECK_FALSE(ledger.has_room(Use::kUser, Ledger::kNoLimit));
  ledger.set_limits({0, 0, 0});  // what is there stays
  CHECK_FALSE(ledger.has_room(Use::kBeginning, 0));
}

struct Paged {
  static std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
};
struct Exact {};

TEST_CASE("a registration pins the pages that it touches", "[ledger][B2]") {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const std::byte*>(address); };
  CHECK(pinned_bytes<Paged>(1) == 4096);
  CHECK(pinned_bytes<Paged>(at(8192), 4096) == 4096);
  CHECK(pinned_bytes<Paged>(at(8191), 2) == 8192);
  CHECK(pinned_bytes<Paged>(at(8191), 4098) == 3 * 4096);
  CHECK(pinned_bytes<Exact>(10) == 10);
  CHECK(pinned_bytes<Exact>(at(8191), 10) == 10);
}

}  // namespace
}  // namespace bufenlarge::test
