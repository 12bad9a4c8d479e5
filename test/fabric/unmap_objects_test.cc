// SPDX-License-Identifier: MIT
// Which memory the hooks of this process see: dlclose(3) is not among the calls that they know.
#include <dlfcn.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "fabric/hooks.h"
#include "unmap_hooks.h"

namespace bufenlarge::test {
namespace {

std::array<char, 100'000> of_the_program;

AddressRange range(const void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return {address, address + bytes};
}

TEST_CASE("memory of the program and of the heap is seen, that of shared objects is not", "[hooks][K1]") {
  if (!has_hooks()) return;
  std::string why;
  const MemoryMonitor& monitor = *unmap_hooks(why);
  void* const block = std::malloc(100'000);
  CHECK(monitor.sees(range(block, 100'000)));
  CHECK(monitor.sees(range(of_the_program.data(), of_the_program.size())));
  CHECK(monitor.sees(range(&why, sizeof why)));  // the stack
  std::free(block);
  void* const object = dlopen("libm.so.6", RTLD_LAZY);
  REQUIRE(object != nullptr);
  const void* const inside = dlsym(object, "signgam");
  REQUIRE(inside != nullptr);
  CHECK_FALSE(monitor.sees(range(inside, 1)));
  CHECK_FALSE(monitor.sees(range(static_cast<const char*>(inside) - 1, 2)));
  CHECK_FALSE(monitor.sees(AddressRange::all()));
  CHECK(dlclose(object) == 0);
}

}  // namespace
}  // namespace bufenlarge::test
