// SPDX-License-Identifier: MIT
#include "protocol/silence.h"

#include <catch2/catch.hpp>

namespace bufenlarge::test {
namespace {

using Order = Silence::Order;

constexpr std::uint32_t kTaken = 5;

// A machine that has just seen `kTaken` slots.
Silence heard() {
  Silence made;
  REQUIRE(made.look(kTaken, false) == Order::kNone);
  return made;
}

// The orders of so many looks that find nothing.
Order looks(Silence& silence, std::uint32_t count) {
  Order last = Order::kNone;
  while (count-- > 0) last = silence.look(kTaken, false);
  return last;
}

// One that has asked.
Silence asking() {
  Silence made = heard();
  REQUIRE(looks(made, Silence::kQuietLooks) == Order::kAsk);
  return made;
}

TEST_CASE("a host is asked once when nothing came for a quarter of the looks", "[silence][F5]") {
  Silence silence = heard();
  for (std::uint32_t i = 1; i < Silence::kQuietLooks; ++i) CHECK(silence.look(kTaken, false) == Order::kNone);
  CHECK_FALSE(silence.asked());
  CHECK(silence.look(kTaken, false) == Order::kAsk);
  CHECK(silence.asked());
  for (std::uint32_t i = Silence::kQuietLooks + 1; i <= Silence::kLooks; ++i)
    CHECK(silence.look(kTaken, false) == Order::kNone);
}

TEST_CASE("a connection is lost when the host has not responded until the last look", "[silence][F5]") {
  Silence silence = asking();
  CHECK(looks(silence, Silence::kLooks - Silence::kQuietLooks) == Order::kNone);
  CHECK(looks(silence, 1) == Order::kLose);
}

TEST_CASE("a response, or anything that comes, lets the looks begin anew", "[silence][F5]") {
  Silence silence = asking();
  (void)looks(silence, Silence::kLooks - Silence::kQuietLooks);
  SECTION("a response") { CHECK(silence.look(kTaken, true) == Order::kNone); }
  SECTION("a slot") { CHECK(silence.look(kTaken + 1, false) == Order::kNone); }
  SECTION("so many slots that the low half is smaller") { CHECK(silence.look(kTaken - 1, false) == Order::kNone); }
  SECTION("another connection") {
    silence.restart();
    CHECK(silence.look(kTaken, false) == Order::kNone);
  }
  CHECK_FALSE(silence.asked());
}

TEST_CASE("after a response the host is asked again as late as the first time", "[silence][F5]") {
  Silence silence = asking();
  REQUIRE(silence.look(kTaken, true) == Order::kNone);
  CHECK(looks(silence, Silence::kQuietLooks - 1) == Order::kNone);
  CHECK(looks(silence, 1) == Order::kAsk);
}

TEST_CASE("a response that belongs to no question changes nothing", "[silence][F5]") {
  Silence silence = heard();
  for (std::uint32_t i = 1; i < Silence::kQuietLooks; ++i) CHECK(silence.look(kTaken, true) == Order::kNone);
  CHECK(silence.look(kTaken, true) == Order::kAsk);
}

TEST_CASE("who cannot ask tries with each look, and loses nothing without a question", "[silence][F5]") {
  Silence silence = heard();
  (void)looks(silence, Silence::kQuietLooks - 1);
  for (std::uint32_t i = 0; i < 3 * Silence::kLooks; ++i) {
    CHECK(silence.look(kTaken, false) == Order::kAsk);
    silence.not_asked();
  }
  SECTION("a question that was asked late has its time") {
    CHECK(silence.look(kTaken, false) == Order::kAsk);
    CHECK(looks(silence, Silence::kLooks - Silence::kQuietLooks) == Order::kNone);
    CHECK(looks(silence, 1) == Order::kLose);
  }
}

}  // namespace
}  // namespace bufenlarge::test
