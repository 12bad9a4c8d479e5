// SPDX-License-Identifier: MIT
#include "function_patches.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace bufenlarge {

namespace {

#ifdef __x86_64__
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif

constexpr std::size_t kShortJump = 5;          // jmp rel32
constexpr std::array<unsigned char, 2> kLoad{0x49, 0xbb};        // movabs $target, %r11
constexpr std::array<unsigned char, 3> kFarJump{0x41, 0xff, 0xe3};  // jmp *%r11
constexpr std::size_t kFarJumpRoom = 16;
constexpr std::intptr_t kNear = std::intptr_t{1} << 30;  // a short jump reaches twice as far

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// As other libraries that patch functions begin them; no compiler does.
bool begins_with_jump(std::uint64_t word) {
  const auto first = static_cast<unsigned char>(word);
  const auto second = static_cast<unsigned char>(word >> 8);
  const bool load = (first == 0x49 && second == 0xbb) || (first == 0x48 && second == 0xb8);
  return load || first == 0xe9 || first == 0xeb || first == 0xcc || (first == 0xff && second == 0x25);
}

// An empty page that a short jump from `function` reaches; nullptr when there is none.
void* map_near(const void* function) {
  constexpr std::intptr_t kStep = std::intptr_t{1} << 20;
  const auto from = reinterpret_cast<std::intptr_t>(function) & -static_cast<std::intptr_t>(page_bytes());
  for (std::intptr_t away = kStep; away < kNear; away += kStep)
    for (const std::intptr_t at : {from - away, from + away}) {
      void* const wanted = reinterpret_cast<void*>(at);
      void* const got = mmap(wanted, page_bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wanted) return got;
      if (got != MAP_FAILED) munmap(got, page_bytes());  // a kernel that does not know the flag
    }
  return nullptr;
}

void write_far_jump(unsigned char* at, void (*target)()) {
  std::memcpy(at, kLoad.data(), kLoad.size());
  std::memcpy(at + kLoad.size(), &target, sizeof target);
  std::memcpy(at + kLoad.size() + sizeof target, kFarJump.data(), kFarJump.size());
}

// The first 8 bytes of a function, with a jump to a place nearby as the first of them.
std::uint64_t with_short_jump(const std::uint64_t* function, const unsigned char* place) {
  const auto* from = reinterpret_cast<const unsigned char*>(function);
  const auto distance = static_cast<std::int32_t>(place - (from + kShortJump));
  unsigned char bytes[sizeof *function];
  std::memcpy(bytes, function, sizeof bytes);
  bytes[0] = 0xe9;
  std::memcpy(bytes + 1, &distance, sizeof distance);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The thread sanitizer has no memory of its own for code.
__attribute__((no_sanitize("thread"))) bool store(std::uint64_t* function, std::uint64_t word) {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  void* const page = reinterpret_cast<void*>(address & ~(std::uintptr_t{page_bytes()} - 1));
  if (mprotect(page, page_bytes(), PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  __atomic_store_n(function, word, __ATOMIC_SEQ_CST);
  return mprotect(page, page_bytes(), PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

std::string FunctionPatches::add(const char* name, void (*replacement)()) {
  if (!kIsX86) return "not on this processor";
  // The library's own function, not one that another library has put before it.
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "there is no libc.so.6 in this process";
  auto* const function = static_cast<std::uint64_t*>(dlsym(library, name));
  dlclose(library);
  if (function == nullptr || reinterpret_cast<std::uintptr_t>(function) % sizeof *function != 0)
    return "libc.so.6 has no function " + std::string(name) + " that could be patched";
  if (begins_with_jump(*function)) return "another library has patched " + std::string(name);
  patches_.push_back({function, replacement, *function});
  return "";
}

__attribute__((no_sanitize("thread"))) bool FunctionPatches::in_place() const {
  for (const Patch& patch : patches_)
    if (__atomic_load_n(patch.function, __ATOMIC_RELAXED) != patch.after) return false;
  return true;
}

bool FunctionPatches::make_jumps() {
  auto* const jumps = static_cast<unsigned char*>(map_near(patches_.front().function));
  if (jumps == nullptr) return false;
  unsigned char* at = jumps;
  for (Patch& patch : patches_) {
    write_far_jump(at, patch.replacement);
    patch.after = with_short_jump(patch.function, at);
    at += kFarJumpRoom;
  }
  return mprotect(jumps, page_bytes(), PROT_READ | PROT_EXEC) == 0;
}

std::string FunctionPatches::put() {
  if (patches_.empty() || !make_jumps()) return "there is no memory near libc.so.6";
  for (std::size_t i = 0; i < patches_.size(); ++i) {
    if (store(patches_[i].function, patches_[i].after)) continue;
    const int why = errno;
    while (i-- > 0) (void)store(patches_[i].function, patches_[i].before);
    return "the code of libc.so.6 cannot be changed: " + std::string(strerror(why));
  }
  return "";
}

void FunctionPatches::take_back() {
  for (const Patch& patch : patches_) (void)store(patch.function, patch.before);
}

}  // namespace bufenlarge
