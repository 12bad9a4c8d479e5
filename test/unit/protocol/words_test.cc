// SPDX-License-Identifier: MIT
#include "protocol/words.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace bufenlarge::test {
namespace {

TEST_CASE("a grant word reads as the position that was granted", "[words]") {
  for (const std::uint64_t consumed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, std::uint64_t{1} << 62, UINT64_MAX})
    CHECK(read_grant(make_grant(consumed)) == consumed);
}

TEST_CASE("a repeat word reads as the request it repeats", "[words][E8]") {
  const auto request = read_repeat(make_repeat({7, 2}));
  REQUIRE(request);
  CHECK(request->number == 7);
  CHECK(request->phase == 2);
}

TEST_CASE("the check is that of MurmurHash3, inverted", "[words]") {  // computed by another program
  CHECK(word_check(0) == UINT64_MAX);
  CHECK(word_check(1) == 0x4ba94303cb3d34d3u);
  CHECK(word_check(0x123456789abcdef0u) == 0xe7473f9d090bdc67u);
}

TEST_CASE("zeroed memory holds no word", "[words]") {
  CHECK_FALSE(read_grant(GrantWord{}));
  CHECK_FALSE(read_repeat(RepeatWord{}));
}

// Places every front and every back of `word` over `before`: the result reads as a word only if it equals one of
// the two.
template <class Word, class Read>
void tear(const Word& before, const Word& word, Read read) {
  for (std::size_t cut = 0; cut <= sizeof word; ++cut) {
    for (const bool front : {true, false}) {
      Word seen = before;
      auto* to = reinterpret_cast<unsigned char*>(&seen);
      const auto* from = reinterpret_cast<const unsigned char*>(&word);
      if (front)
        std::memcpy(to, from, cut);
      else
        std::memcpy(to + cut, from + cut, sizeof word - cut);
      const bool is_old = std::memcmp(&seen, &before, sizeof seen) == 0;
      const bool is_new = std::memcmp(&seen, &word, sizeof seen) == 0;
      INFO("cut at " << cut << (front ? " from the front" : " from the back"));
      CHECK(read(seen).has_value() == (is_new || (is_old && read(before).has_value())));
    }
  }
}

// The same with both 8-byte halves torn independently.
template <class Word, class Read>
void tear_halves(const Word& before, const Word& word, Read read) {
  const auto* old_bytes = reinterpret_cast<const unsigned char*>(&before);
  const auto* new_bytes = reinterpret_cast<const unsigned char*>(&word);
  for (unsigned cut = 0; cut < 9 * 9 * 2 * 2; ++cut) {
    const std::size_t cuts[2] = {cut % 9, cut / 9 % 9};
    const bool front[2] = {cut / 81 % 2 == 0, cut / 162 == 0};
    Word seen;
    auto* to = reinterpret_cast<unsigned char*>(&seen);
    for (std::size_t place = 0; place < 16; ++place) {
      const std::size_t half = place / 8;
      to[place] = (place % 8 < cuts[half]) == front[half] ? new_bytes[place] : old_bytes[place];
    }
    const bool is_old = std::memcmp(&seen, &before, sizeof seen) == 0;
    const bool is_new = std::memcmp(&seen, &word, sizeof seen) == 0;
    INFO("halves cut at " << cuts[0] << " and " << cuts[1] << ", kind " << cut / 81);
    CHECK(read(seen).has_value() == (is_new || (is_old && read(before).has_value())));
  }
}

TEST_CASE("a torn word reads as none", "[words]") {
  const auto grant = [](const GrantWord& word) { return read_grant(word); };
  tear(GrantWord{}, make_grant(0x0102030405060708u), grant);
  tear(make_grant(0x1112131415161718u), make_grant(0x0102030405060708u), grant);
  const auto repeat = [](const RepeatWord& word) { return read_repeat(word); };
  tear(RepeatWord{}, make_repeat({0x01020304, 5}), repeat);
  tear(make_repeat({0x11121314, 0x21222324}), make_repeat({0x01020304, 0x05060708}), repeat);
  tear_halves(make_repeat({0x11121314, 0x21222324}), make_repeat({0x01020304, 0x05060708}), repeat);
  for (const std::uint64_t old_grant : {0xffu, 0x1fffu, 5u}) {
    for (const std::uint64_t new_grant : {0x100u, 0x2000u, 0x10001u}) {
      tear_halves(make_grant(old_grant), make_grant(new_grant), grant);
      tear_halves(GrantWord{}, make_grant(new_grant), grant);
    }
  }
}

TEST_CASE("a word with any flipped bit reads as none", "[words]") {
  for (std::size_t bit = 0; bit < 128; ++bit) {
    GrantWord grant = make_grant(77);
    reinterpret_cast<unsigned char*>(&grant)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    CHECK_FALSE(read_grant(grant));
    RepeatWord repeat = make_repeat({3, 1});
    reinterpret_cast<unsigned char*>(&repeat)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    CHECK_FALSE(read_repeat(repeat));
  }
}

}  // namespace
}  // namespace bufenlarge::test
