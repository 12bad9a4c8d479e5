// SPDX-License-Identifier: MIT
// The hooks run in any thread, inside of malloc(3) and in signal handlers: they record, and make the system call.
#include "unmap_hooks.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "function_patches.h"

namespace bufenlarge {

namespace {

// Values of newer kernels that headers may lack.
constexpr int kMremapDontUnmap = 4;
constexpr int kMadviseDontNeedLocked = 24;

class UnmapHooks final : public MemoryMonitor {
 public:
  // Returns why it does not work, or "".
  [[nodiscard]] std::string start();
  [[nodiscard]] bool works() const override { return patches_.in_place(); }
  [[nodiscard]] bool sees(const AddressRange& range) const override;
  void record(const void* begin, std::size_t bytes);
  void record_all() { ranges_.record(AddressRange::all()); }
  void*& end_of_heap() { return *end_of_heap_; }

 private:
  [[nodiscard]] std::string patch();
  [[nodiscard]] std::string try_out();
  [[nodiscard]] bool sees_free() const;
  template <class Call>
  [[nodiscard]] bool sees(const void* begin, std::size_t bytes, Call call) const;

  FunctionPatches patches_;
  void** end_of_heap_ = nullptr;  // the C library's
  std::size_t page_ = 4096;
};

struct ObjectSearch {
  AddressRange range;
  bool past_program = false;
};

// Never destroyed: calls come until the process has ended.
UnmapHooks& hooks() {
  static UnmapHooks* const one = new UnmapHooks;
  return *one;
}

// The kernel rounds to whole pages.
void UnmapHooks::record(const void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = address & ~(page_ - 1);
  const std::uintptr_t last = std::numeric_limits<std::uintptr_t>::max() - page_;
  const std::uintptr_t end = bytes > last - address ? last : address + bytes;
  ranges_.record({first, (end + page_ - 1) & ~(page_ - 1)});
}

// Called for each loaded object, the program itself first: it is never unmapped.
int find_in_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<ObjectSearch*>(data);
  if (!std::exchange(search.past_program, true)) return 0;
  for (const ElfW(Phdr)& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (search.range.overlaps({begin, begin + segment.p_memsz})) return 1;
  }
  return 0;
}

// dl_iterate_phdr(3) waits for nothing that calls the application: dladdr(3) would, for constructors of a dlopen(3).
bool UnmapHooks::sees(const AddressRange& range) const {
  ObjectSearch search{range};
  return dl_iterate_phdr(find_in_object, &search) == 0;
}

// ---- what takes the place of the C library's functions

int munmap_hook(void* begin, std::size_t bytes) {
  hooks().record(begin, bytes);
  return static_cast<int>(syscall(SYS_munmap, begin, bytes));
}

void* mmap_hook(void* begin, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_FIXED) != 0) hooks().record(begin, bytes);
  return reinterpret_cast<void*>(syscall(SYS_mmap, begin, bytes, protection, flags, file, offset));
}

// The caller gives `to` only with flags that need it.
void* mremap_hook(void* begin, std::size_t bytes, std::size_t new_bytes, int flags, void* to) {
  const bool has_to = (flags & (MREMAP_FIXED | kMremapDontUnmap)) != 0;
  if (has_to || (flags & MREMAP_MAYMOVE) != 0 || new_bytes < bytes) hooks().record(begin, bytes);
  if ((flags & MREMAP_FIXED) != 0) hooks().record(to, new_bytes);
  return reinterpret_cast<void*>(syscall(SYS_mremap, begin, bytes, new_bytes, flags, has_to ? to : nullptr));
}

int madvise_hook(void* begin, std::size_t bytes, int advice) {
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == kMadviseDontNeedLocked)
    hooks().record(begin, bytes);
  return static_cast<int>(syscall(SYS_madvise, begin, bytes, advice));
}

int brk_hook(void* end) {
  void*& current = hooks().end_of_heap();
  const auto* const to = static_cast<const char*>(end);
  const auto* const from = static_cast<const char*>(current);
  if (to != nullptr && to < from) hooks().record(to, static_cast<std::size_t>(from - to));
  current = reinterpret_cast<void*>(syscall(SYS_brk, end));
  if (current >= end) return 0;
  errno = ENOMEM;
  return -1;
}

// How long the segment is the kernel knows.
int shmdt_hook(const void* begin) {
  hooks().record(begin, std::numeric_limits<std::size_t>::max());
  return static_cast<int>(syscall(SYS_shmdt, begin));
}

void* shmat_hook(int segment, const void* begin, int flags) {
  if ((flags & SHM_REMAP) != 0) hooks().record(begin, std::numeric_limits<std::size_t>::max());
  return reinterpret_cast<void*>(syscall(SYS_shmat, segment, begin, flags));
}

// ---- start

template <class Function>
void (*plain(Function* function))() {
  return reinterpret_cast<void (*)()>(function);
}

std::string UnmapHooks::patch() {
  const struct {
    const char* name;
    void (*hook)();
  } all[] = {{"munmap", plain(munmap_hook)},   {"mmap", plain(mmap_hook)}, {"mremap", plain(mremap_hook)},
             {"madvise", plain(madvise_hook)}, {"brk", plain(brk_hook)},   {"shmdt", plain(shmdt_hook)},
             {"shmat", plain(shmat_hook)}};
  for (const auto& one : all) {
    const std::string why = patches_.add(one.name, one.hook);
    if (!why.empty()) return why;
  }
  void* const end = sbrk(0);  // this call may be the first, which sets it
  end_of_heap_ = static_cast<void**>(dlsym(RTLD_DEFAULT, "__curbrk"));
  if (end_of_heap_ == nullptr || *end_of_heap_ != end) return "the end of the heap is not where it should be";
  return patches_.put();
}

// Whether a call records all of this range.
template <class Call>
bool UnmapHooks::sees(const void* begin, std::size_t bytes, Call call) const {
  const std::uint64_t before = ranges_.recorded();
  if (!call()) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  bool found = false;
  (void)ranges_.look(before, [&](const AddressRange& range) {
    found = found || range.contains({address, address + bytes});
  });
  return found;
}

// Calls as the application makes them: a library between it and the C library may make the system calls itself.
std::string UnmapHooks::try_out() {
  const std::size_t bytes = 2 * page_;
  const auto map = [bytes](void* at, int fixed) {
    return static_cast<char*>(
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0));
  };
  char* const one = map(nullptr, 0);
  char* const two = map(nullptr, 0);
  if (one == MAP_FAILED || two == MAP_FAILED) return "there is no memory for a trial";
  const char* passed = nullptr;
  if (!sees(one, page_, [&] { return madvise(one, page_, MADV_DONTNEED) == 0; })) passed = "madvise";
  if (!sees(one, bytes, [&] { return map(one, MAP_FIXED) == one; })) passed = "mmap";
  *one = 1;
  const auto move = [&] { return mremap(one, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, two) == two; };
  if (!sees(one, bytes, move) || *two != 1) passed = "mremap";
  if (!sees(two, bytes, [&] { return munmap(two, bytes) == 0; })) passed = "munmap";
  if (!sees_free()) passed = "free";
  return passed == nullptr ? "" : "calls of " + std::string(passed) + " pass the C library";
}

// The allocator need not be the C library's. A block that it unmaps at once has to be seen; one that it keeps shows
// nothing.
bool UnmapHooks::sees_free() const {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  void* volatile block = std::malloc(kBytes);
  if (block == nullptr) return true;
  const auto middle = (reinterpret_cast<std::uintptr_t>(block) + kBytes / 2) & ~(page_ - 1);
  auto* const page = reinterpret_cast<void*>(middle);
  const bool seen = sees(page, page_, [&] { return std::free(block), true; });
  unsigned char resident = 0;
  return seen || mincore(page, page_, &resident) == 0;
}

std::string UnmapHooks::start() {
  page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::string why = patch();
  if (!why.empty()) return why;
  why = try_out();
  const auto around_fork = [] { hooks().record_all(); };
  if (why.empty() && pthread_atfork(around_fork, around_fork, nullptr) != 0)
    why = "there is no memory for a fork handler";
  if (!why.empty()) patches_.take_back();
  return why;
}

}  // namespace

const MemoryMonitor* unmap_hooks(std::string& why) {
  static const std::string wrong = hooks().start();
  why = wrong;
  return wrong.empty() ? &hooks() : nullptr;
}

}  // namespace bufenlarge
