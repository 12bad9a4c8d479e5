// SPDX-License-Identifier: MIT
// A FakeFabric that checks at its end that nothing broke the contract of the port. It is a fixture's first member, so
// that it goes last, after all that has used it.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "support/fake_fabric.h"

namespace bufenlarge::test {

struct CheckedFabric : FakeFabric {
  ~CheckedFabric() { CHECK(violations == std::vector<std::string>{}); }
};

}  // namespace bufenlarge::test
