// SPDX-License-Identifier: MIT
// Functions of the C library that are replaced in this process: the first instruction of each becomes a jump. So all
// calls are caught, those from within the C library too, which an interposed symbol would not catch.
//
// On x86-64 only. The jump is one store of 8 aligned bytes, of which the first 5 change, and it goes to a page nearby,
// so a thread that is inside of the function meanwhile goes on in it unharmed, but for one that was interrupted right
// before an instruction that begins within these 5 (of the functions of unmap_hooks.h mmap and mremap have one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bufenlarge {

class FunctionPatches {
 public:
  FunctionPatches() = default;
  FunctionPatches(const FunctionPatches&) = delete;
  FunctionPatches& operator=(const FunctionPatches&) = delete;

  // Notes a function of libc.so.6 by its name, and what takes its place. Returns why that cannot be, "" if it can:
  // there is no such function, or somebody else has patched it.
  [[nodiscard]] std::string add(const char* name, void (*replacement)());
  // Patches them all; or none, and returns why.
  [[nodiscard]] std::string put();
  // Lets the functions be as they were. What takes their place may still run in another thread.
  void take_back();
  // Returns false when somebody else has patched one of them since.
  [[nodiscard]] bool in_place() const;

 private:
  struct Patch {
    std::uint64_t* function;  // its first 8 bytes
    void (*replacement)();
    std::uint64_t before;
    std::uint64_t after = 0;
  };

  [[nodiscard]] bool make_jumps();

  std::vector<Patch> patches_;
};

}  // namespace bufenlarge
