// SPDX-License-Identifier: MIT
#include "protocol/phase_table.h"

#include <catch2/catch.hpp>
#include <set>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

TEST_CASE("a ring of 16 slots takes 8 KiB with slots of 512 bytes and 128 KiB with slots of 8192",
          "[phase_table][E1]") {
  const PhaseTable table = two_phases();
  CHECK(table.last() == 1);
  CHECK(table.at(0).ring_bytes() == 8 * 1024);
  CHECK(table.at(1).ring_bytes() == 128 * 1024);
  CHECK(table.at(0).capacity() == 488);
  CHECK(table.at(1).capacity() == 8168);
}

TEST_CASE("ring memory of the largest phase does not overflow 32 bits", "[phase_table]") {
  const PhaseTable table = phases({{kSlotBytesMax, kSlotsMax}});
  CHECK(table.at(0).ring_bytes() == std::size_t{kSlotBytesMax} * kSlotsMax);
}

TEST_CASE("an element needs the smallest phase that it fits, from the present one on", "[phase_table][E11]") {
  const PhaseTable table = phases({{128, 4, 100}, {512, 4, 400}, {2048, 4, 2000}});
  CHECK(table.phase_for(0, 0) == 0);
  CHECK(table.phase_for(100, 0) == 0);
  CHECK(table.phase_for(101, 0) == 1);
  CHECK(table.phase_for(400, 0) == 1);
  CHECK(table.phase_for(401, 0) == 2);
  CHECK(table.phase_for(5, 1) == 1);
  CHECK(table.phase_for(401, 1) == 2);
  CHECK(table.phase_for(2001, 0) == 2);
  CHECK(table.phase_for(SIZE_MAX, 2) == 2);
}

TEST_CASE("a message needs the smallest phase in which it takes one slot and its elements fit", "[phase_table][G1]") {
  const PhaseTable table = phases({{128, 4, 100}, {512, 4, 400}, {2048, 4, 2000}});
  CHECK(table.phase_for_message(104, 100) == 0);
  CHECK(table.phase_for_message(105, 100) == 1);
  CHECK(table.phase_for_message(104, 101) == 1);
  CHECK(table.phase_for_message(488, 1) == 1);
  CHECK(table.phase_for_message(489, 1) == 2);
  CHECK(table.phase_for_message(SIZE_MAX, 1) == 2);
  CHECK(table.phase_for_message(SIZE_MAX, SIZE_MAX) == 2);
}

TEST_CASE("geometries that differ in a slot size or a number of slots have different hashes", "[phase_table]") {
  std::set<std::uint32_t> hashes;
  const std::vector<PhaseTable> tables{
      phases({{512, 16}}),
      phases({{512, 16}, {8192, 16}}),
      phases({{520, 16}, {8192, 16}}),
      phases({{512, 15}, {8192, 16}}),
      phases({{512, 16}, {8200, 16}}),
      phases({{512, 16}, {8192, 17}}),
      phases({{512, 16}, {1024, 16}, {8192, 16}}),
      phases({{16, 512}, {8192, 16}}),
      phases({{8192, 16}, {512, 16}}),
      // The strides are equal to those of the second table, the sizes are not.
      phases({{505, 16}, {8192, 16}}),
  };
  for (const PhaseTable& table : tables) hashes.insert(geometry_hash(table));
  CHECK(hashes.size() == tables.size());
}

TEST_CASE("what stands behind the last phase is no phase", "[phase_table]") {
  PhaseTable table = two_phases();
  table.phases[2] = {1u << 20, 16, 1u << 19};
  CHECK(table.phase_for(10'000, 0) == 1);
  CHECK(geometry_hash(table) == geometry_hash(two_phases()));
}

TEST_CASE("the geometry's hash leaves out the thresholds, which each side may choose", "[phase_table][E3]") {
  CHECK(geometry_hash(phases({{512, 16, 400}, {8192, 16}})) == geometry_hash(phases({{512, 16}, {8192, 16, 600}})));
}

}  // namespace
}  // namespace bufenlarge::test
