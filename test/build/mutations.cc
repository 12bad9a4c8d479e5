// SPDX-License-Identifier: MIT
// What test/build/mutations.py changes: each kind of change that tools/mutate makes, and what stands around it.
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

enum class Kind : bool { kEven, kOdd };

struct Counter {
  int value = 3;  // a comment with == and 7
  int* place() { return &value; }
  [[nodiscard]] bool odd() const { return value % 2 != 0; }
};

int total;

void add(int what, const char* why) { total += what + (why[0] == '=' ? 1 : 0); }

constexpr int twice(int what) { return what * 2; }

int branches(const Counter& counter, bool flag) {
  if (counter.value == 3 || !flag)
    add(counter.value, "== 5");
  else
    add(100, "x");
  if (flag) total += 20;
  for (int i = 0; i < 4; ++i) {
    if (i > 2 && counter.odd() && flag) add(i, "&& 1");
    if (i < -3 || flag || counter.odd()) break;
  }
  total -= counter.value >= 3 ? 1000 : 500;
  switch (Kind{counter.odd()}) {
    case Kind::kOdd: total = total + 2; break;
    default: add(1, "else"); break;
  }
  return total;
}

int expressions(std::vector<Counter>& all) {
  const auto small = [&](const Counter& one) {
    return one.value <= static_cast<int>(all.size()) &&
           one.value != total;  // on two lines
  };
  int found = 0;
  for (const Counter& one : all) found += small(one) ? 1 : 0;
  ++all[0].value;
  (*all[1].place())--;
  all.back() = Counter{9};
  const bool known = !small(all[0]) && true;
  return twice(found - 1) + (known ? 7 : -7) + all[0].value - all[1].value;
}

}  // namespace

int main() {
  std::vector<Counter> all(4);
  all[2].value = 8;
  std::printf("%d\n", branches(all[0], true));
  std::printf("%d\n", branches(all[2], false));
  std::printf("%d\n", expressions(all));
  for (const Counter& one : all) std::printf("%d %d\n", one.value, total);
  std::quick_exit(std::fflush(nullptr));
}
