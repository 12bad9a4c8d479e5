// SPDX-License-Identifier: MIT
#include "channel/poll_set.h"

#include <catch2/catch.hpp>

#include <vector>

namespace bufenlarge::test {
namespace {

struct Member {
  std::size_t index = PollSet<Member>::kNone;
  void set_poll_index(std::size_t now) { index = now; }
};

TEST_CASE("a new entry sees no arrival before it is told where to look", "[poll_set]") {
  PollSet<Member> set;
  Member member;
  const std::size_t index = set.add(&member);
  CHECK(index == 0);
  CHECK(set.size() == 1);
  CHECK_FALSE(set[index].arrived());
}

TEST_CASE("an entry sees the commit word it expects and no other", "[poll_set]") {
  PollSet<Member> set;
  Member member;
  std::uint64_t commit = 0;
  const std::size_t index = set.add(&member);
  set.update(index, &commit, 5);
  for (const std::uint64_t word : {0u, 1u, 4u, 6u}) {
    commit = word;
    CHECK_FALSE(set[index].arrived());
  }
  commit = 5;
  CHECK(set[index].arrived());
  set.update(index, &commit, 6);
  CHECK_FALSE(set[index].arrived());
}

TEST_CASE("an entry that has an arrival again is named alone, and after three times all are looked at", "[poll_set]") {
  PollSet<Member> set;
  CHECK(set.same_again() == 0);
  Member members[3];
  std::uint64_t commits[3] = {0, 7, 7};
  for (std::size_t i = 0; i < 3; ++i) set.update(set.add(&members[i]), &commits[i], 7);
  CHECK(set.same_again() == 3);  // none was found before
  set.found(1);
  for (unsigned i = 0; i < PollSet<Member>::kAloneMax; ++i) CHECK(set.same_again() == 1);
  CHECK(set.same_again() == 3);
  CHECK(set.same_again() == 1);
  commits[1] = 6;
  CHECK(set.same_again() == 3);
  commits[1] = 7;
  set.found(2);
  set.remove(2);
  CHECK(set.same_again() == 2);  // what was found is no longer there
}

TEST_CASE("the last entry moves into a gap, and its channel learns its place", "[poll_set]") {
  PollSet<Member> set;
  Member members[4];
  for (Member& member : members) member.index = set.add(&member);
  set.remove(members[1].index);
  CHECK(set.size() == 3);
  CHECK(members[3].index == 1);
  CHECK(set[1].channel == &members[3]);
  CHECK(set[0].channel == &members[0]);
  CHECK(set[2].channel == &members[2]);
  set.remove(members[2].index);  // the last one leaves no gap
  CHECK(set.size() == 2);
  CHECK(set[1].channel == &members[3]);
  set.remove(0);
  set.remove(0);
  CHECK(set.size() == 0);
}

// Which members are hot, by their order in `members`.
std::vector<bool> hot(const PollSet<Member>& set, const std::vector<Member>& members) {
  std::vector<bool> is;
  for (const Member& member : members) {
    CHECK(set[member.index].channel == &member);
    is.push_back(member.index < set.hot());
  }
  return is;
}

TEST_CASE("hot entries come first, in any order of heating and cooling", "[poll_set][S1]") {
  PollSet<Member> set;
  std::vector<Member> members(5);
  for (Member& member : members) member.index = set.add(&member);
  CHECK(set.hot() == 0);
  set.heat(members[3].index);
  set.heat(members[1].index);
  set.heat(members[4].index);
  CHECK(hot(set, members) == std::vector<bool>{false, true, false, true, true});
  set.cool(members[3].index);
  CHECK(hot(set, members) == std::vector<bool>{false, true, false, false, true});
  set.heat(members[0].index);
  CHECK(hot(set, members) == std::vector<bool>{true, true, false, false, true});
}

TEST_CASE("an entry that is removed takes its heat with it", "[poll_set][S1]") {
  PollSet<Member> set;
  std::vector<Member> members(4);
  for (Member& member : members) member.index = set.add(&member);
  for (const std::size_t i : {0u, 1u, 2u}) set.heat(members[i].index);
  set.remove(members[0].index);
  CHECK(set.hot() == 2);
  CHECK(members[1].index < 2);
  CHECK(members[2].index < 2);
  CHECK(members[3].index == 2);
  CHECK(set[2].channel == &members[3]);
  set.remove(members[3].index);  // the last, which is cold
  CHECK(set.hot() == 2);
  set.remove(members[2].index);
  CHECK(set.hot() == 1);
  CHECK(set[0].channel == &members[1]);
}

}  // namespace
}  // namespace bufenlarge::test
