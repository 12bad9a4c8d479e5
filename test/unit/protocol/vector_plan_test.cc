// SPDX-License-Identifier: MIT
#include "protocol/vector_plan.h"

#include <catch2/catch.hpp>

#include <vector>

#include "support/builders.h"

namespace bufenlarge::test {
namespace {

// Thresholds of the phases: 400, 1000 and 8000 bytes.
PhaseTable table() { return phases({{512, 16, 400}, {2048, 16, 1000}, {8192, 16, 8000}}); }

struct PlanCase {
  const char* name;
  std::vector<std::size_t> elements;
  std::uint8_t present;
  std::uint8_t limit;
  VectorMode mode;
  VectorPlan plan;
};

constexpr VectorMode kPartial = VectorMode::kPartial;
constexpr VectorMode kWhole = VectorMode::kWhole;

const std::vector<PlanCase> kCases{
    // elements are compared one by one; the first is too large, or a later one
    {"all elements fit", {100, 400, 1}, 0, 2, kPartial, {3, 501, 0}},
    {"an element of just the threshold fits", {400}, 0, 2, kPartial, {1, 400, 0}},
    {"one byte more does not", {401}, 0, 2, kPartial, {0, 0, 1}},
    {"the first is too large: the channel grows", {500, 10, 10}, 0, 2, kPartial, {0, 0, 1}},
    {"a middle one is too large: those before it go", {10, 20, 500, 30}, 0, 2, kPartial, {2, 30, 0}},
    {"the last is too large: those before it go", {10, 20, 500}, 0, 2, kPartial, {2, 30, 0}},
    {"the sum does not matter, the elements do", {400, 400, 400, 400}, 0, 2, kPartial, {4, 1600, 0}},
    {"no elements", {}, 0, 2, kPartial, {0, 0, 0}},
    // zero-length elements are no data: only bytes count
    {"zero-length elements fit", {0, 0}, 0, 2, kPartial, {2, 0, 0}},
    {"zero-length elements before one that is too large: the channel grows", {0, 0, 500}, 0, 2, kPartial, {0, 0, 1}},
    {"zero-length elements between", {10, 0, 500}, 0, 2, kPartial, {2, 10, 0}},
    // phases: the smallest that takes the element
    {"the next phase is enough", {1000}, 0, 2, kPartial, {0, 0, 1}},
    {"the next phase is not enough: the third", {1001}, 0, 2, kPartial, {0, 0, 2}},
    {"it fits no phase: the last", {1'000'000}, 0, 2, kPartial, {0, 0, 2}},
    {"from the second phase to the third", {1001}, 1, 2, kPartial, {0, 0, 2}},
    {"in the second phase elements that fit it go", {1000, 900}, 1, 2, kPartial, {2, 1900, 1}},
    // at the limit nothing is too large
    {"at the last phase everything goes, in fragments", {1'000'000, 5}, 2, 2, kPartial, {2, 1'000'005, 2}},
    {"enlargement off: everything goes, in fragments", {500, 5000}, 0, 0, kPartial, {2, 5500, 0}},
    {"a lower limit is not passed", {5000}, 0, 1, kPartial, {0, 0, 1}},
    {"a lower limit that is reached: in fragments", {5000}, 1, 1, kPartial, {1, 5000, 1}},
    // VectorMode::kWhole: the whole vector waits for the larger ring if any element does not fit
    {"whole: all fit", {100, 200}, 0, 2, kWhole, {2, 300, 0}},
    {"whole: the first is too large", {500, 10}, 0, 2, kWhole, {0, 0, 1}},
    {"whole: a later one is too large, nothing goes", {10, 20, 500}, 0, 2, kWhole, {0, 0, 1}},
    {"whole: the largest element decides the phase", {10, 500, 5000, 900}, 0, 2, kWhole, {0, 0, 2}},
    {"whole: at the limit everything goes", {10, 50'000}, 2, 2, kWhole, {2, 50'010, 2}},
    {"whole: enlargement off", {10, 5000}, 0, 0, kWhole, {2, 5010, 0}},
};

TEST_CASE("a vector without bytes has the size 0, and so has its largest element", "[vector_plan]") {
  CHECK(size_of({}).bytes == 0);
  CHECK(size_of({}).largest == 0);
  const iovec empty{nullptr, 0};
  CHECK(size_of({&empty, 1}).largest == 0);
}

TEST_CASE("a vector goes up to its first element that is too large, and grows at the first", "[vector_plan][E3][E4]") {
  for (const PlanCase& one : kCases) {
    INFO(one.name);
    const Vector vector(one.elements);
    const VectorPlan plan = plan_vector(vector.all(), table(), one.present, one.limit, one.mode);
    CHECK(plan.elements == one.plan.elements);
    CHECK(plan.bytes == one.plan.bytes);
    CHECK(static_cast<int>(plan.phase) == static_cast<int>(one.plan.phase));
  }
}

TEST_CASE("each phase in turn is chosen by the element that just fits it", "[vector_plan][E11]") {
  const PhaseTable five = phases({{64, 4}, {128, 4}, {256, 4}, {512, 4}, {1024, 4}});
  for (std::uint8_t phase = 1; phase < five.count; ++phase) {
    const Vector just({five.at(phase).threshold_bytes});
    const Vector more({five.at(static_cast<std::uint8_t>(phase - 1)).threshold_bytes + 1u});
    CHECK(plan_vector(just.all(), five, 0, five.last(), kPartial).phase == phase);
    CHECK(plan_vector(more.all(), five, 0, five.last(), kPartial).phase == phase);
  }
}

}  // namespace
}  // namespace bufenlarge::test
