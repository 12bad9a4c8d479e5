// SPDX-License-Identifier: MIT
// The hooks of this process: which calls they see, and that these do what they did before.
#include "unmap_hooks.h"

#include <malloc.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "fabric/hooks.h"
#include "function_patches.h"

namespace bufenlarge::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = 16 * kPage;

const MemoryMonitor& monitor() {
  std::string why;
  const MemoryMonitor* const one = unmap_hooks(why);
  INFO(why);
  REQUIRE(one != nullptr);
  return *one;
}

// What is recorded from its beginning on.
struct Recorded {
  std::uint64_t begin = monitor().ranges().recorded();

  [[nodiscard]] bool has(const void* memory, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    bool found = false;
    (void)monitor().ranges().look(begin, [&](const AddressRange& range) {
      found = found || range.contains({address, address + bytes});
    });
    return found;
  }
  [[nodiscard]] bool nothing() const { return monitor().ranges().recorded() == begin; }
};

char* map(void* at = nullptr, int flags = 0, std::size_t bytes = kBytes) {
  void* const memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  std::memset(memory, 7, bytes);
  return static_cast<char*>(memory);
}

bool resident(std::uintptr_t page) {
  unsigned char is = 0;
  return mincore(reinterpret_cast<void*>(page), kPage, &is) == 0 && (is & 1) != 0;
}

// Pages that lose what they have are recorded.
class Watch {
 public:
  void add(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory) & ~(kPage - 1);
    for (std::uintptr_t page = begin; page < reinterpret_cast<std::uintptr_t>(memory) + bytes; page += kPage)
      if (resident(page)) pages_.push_back(page);
  }
  // Returns how many of them are gone.
  std::size_t check() const {
    std::vector<AddressRange> ranges;
    ranges.reserve(UnmappedRanges::kCapacity);
    (void)monitor().ranges().look(recorded_.begin, [&](const AddressRange& range) { ranges.push_back(range); });
    std::size_t gone = 0, missed = 0;
    for (const std::uintptr_t page : pages_) {
      if (resident(page)) continue;
      ++gone;
      missed += std::none_of(ranges.begin(), ranges.end(),
                             [&](const AddressRange& range) { return range.contains({page, page + kPage}); });
    }
    CHECK(missed == 0);
    return gone;
  }

 private:
  std::vector<std::uintptr_t> pages_;
  Recorded recorded_;
};

TEST_CASE("the hooks are one for the process, and work", "[hooks][K1]") {
  if (!has_hooks()) return;
  CHECK(&monitor() == &monitor());
  CHECK(monitor().works());
}

TEST_CASE("a function that is patched is not patched again", "[hooks][K1]") {
  if (!has_hooks()) return;
  (void)monitor();
  FunctionPatches patches;
  CHECK_THAT(patches.add("munmap", [] {}), Catch::Contains("another library has patched munmap"));
  CHECK_THAT(patches.add("no_such_function", [] {}), Catch::Contains("no_such_function"));
  CHECK_FALSE(patches.put().empty());
  CHECK(monitor().works());
}

TEST_CASE("unmapping is recorded", "[hooks][K1]") {
  if (!has_hooks()) return;
  char* const memory = map();
  Recorded part, all;
  CHECK(munmap(memory + kPage, 1) == 0);
  CHECK(part.has(memory + kPage, kPage));  // the kernel unmaps whole pages
  CHECK_FALSE(part.has(memory, kPage));
  CHECK_FALSE(resident(reinterpret_cast<std::uintptr_t>(memory + kPage)));
  CHECK(munmap(memory, kBytes) == 0);
  CHECK(all.has(memory, kBytes));
  errno = 0;
  CHECK(munmap(memory + 1, kBytes) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("mapping is recorded where it takes the place of something", "[hooks][K1]") {
  if (!has_hooks()) return;
  Recorded first;
  char* const memory = map();
  CHECK(first.nothing());
  Recorded again;
  CHECK(map(memory, MAP_FIXED, kPage) == memory);
  CHECK(again.has(memory, kPage));
  Recorded other;
  CHECK(mprotect(memory, kPage, PROT_READ) == 0);
  CHECK(madvise(memory, kPage, MADV_WILLNEED) == 0);
  CHECK(madvise(memory, kPage, MADV_DONTFORK) == 0);
  CHECK(other.nothing());
  errno = 0;
  CHECK(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  CHECK(errno == EINVAL);
  munmap(memory, kBytes);
}

TEST_CASE("dropping pages is recorded", "[hooks][K1]") {
  if (!has_hooks()) return;
  for (const int advice : {MADV_DONTNEED, MADV_FREE, MADV_REMOVE}) {
    const int sharing = advice == MADV_REMOVE ? MAP_SHARED : MAP_PRIVATE;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* const bytes = static_cast<char*>(memory);
    bytes[kPage] = 5;
    Recorded recorded;
    CHECK(madvise(bytes + kPage, kPage, advice) == 0);
    CHECK(recorded.has(bytes + kPage, kPage));
    if (advice != MADV_FREE) CHECK(bytes[kPage] == 0);
    munmap(memory, kBytes);
  }
}

TEST_CASE("moving is recorded, and moves", "[hooks][K1]") {
  if (!has_hooks()) return;
  char* memory = map();
  Recorded shrunk;
  CHECK(mremap(memory, kBytes, kBytes / 2, 0) == memory);
  CHECK(shrunk.has(memory + kBytes / 2, kBytes / 2));
  char* const to = map();
  std::memset(memory, 3, kBytes / 2);
  Recorded moved;
  CHECK(mremap(memory, kBytes / 2, kBytes / 2, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
  CHECK(moved.has(memory, kBytes / 2));
  CHECK(moved.has(to, kBytes / 2));
  CHECK(to[0] == 3);
  CHECK(to[kBytes / 2 - 1] == 3);
  CHECK(to[kBytes / 2] == 7);
  Recorded grown;
  auto* const larger = static_cast<char*>(mremap(to, kBytes / 2, 64 * kBytes, MREMAP_MAYMOVE));
  REQUIRE(larger != MAP_FAILED);
  CHECK(grown.has(to, kBytes / 2));
  CHECK(larger[0] == 3);
  munmap(larger, 64 * kBytes);
  munmap(to + kBytes / 2, kBytes / 2);
}

TEST_CASE("a segment of shared memory is recorded when it goes", "[hooks][K1]") {
  if (!has_hooks()) return;
  const int segment = shmget(IPC_PRIVATE, kBytes, 0600);
  REQUIRE(segment >= 0);
  void* const memory = shmat(segment, nullptr, 0);
  REQUIRE(memory != reinterpret_cast<void*>(-1));
  Recorded recorded;
  CHECK(shmdt(memory) == 0);
  CHECK(recorded.has(memory, kBytes));
  Recorded over;
  char* const at = map();
  CHECK(shmat(segment, at, SHM_REMAP) == at);
  CHECK(over.has(at, kBytes));
  shmdt(at);
  shmctl(segment, IPC_RMID, nullptr);
}

TEST_CASE("the end of the heap moves as it did before, and is recorded on its way back", "[hooks][K1]") {
  if (!has_hooks()) return;
  void* const before = sbrk(0);
  Recorded up;
  CHECK(sbrk(kBytes) == before);
  CHECK(up.nothing());
  CHECK(sbrk(0) == static_cast<char*>(before) + kBytes);
  Recorded down;
  CHECK(sbrk(-static_cast<intptr_t>(kBytes)) == static_cast<char*>(before) + kBytes);
  CHECK(sbrk(0) == before);
  CHECK(down.has(before, kBytes));
  errno = 0;
  CHECK(brk(reinterpret_cast<void*>(std::uintptr_t{1} << 60)) == -1);
  CHECK(errno == ENOMEM);
  CHECK(sbrk(0) == before);
}

// Takes `count` blocks of so many bytes, uses them, and gives them back in the order that `order` says.
template <class Order>
std::size_t churn(std::size_t count, std::size_t bytes, Order order) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = std::memset(std::malloc(bytes), 1, bytes);
  Watch watch;
  for (void* block : blocks) watch.add(block, bytes);
  for (std::size_t i = 0; i < count; ++i) std::free(blocks[order(i)]);
  malloc_trim(0);
  return watch.check();
}

// The sanitizers' allocators, and their stacks, keep what is freed.
bool is_plain() {
  void* const small = std::malloc(1);
  const bool plain = malloc_usable_size(small) > 1;
  std::free(small);
  return plain;
}

TEST_CASE("what malloc and free do with pages is recorded", "[hooks][K1]") {
  if (!has_hooks()) return;
  const auto churn_all = [] {
    std::size_t gone = churn(4, 8 << 20, [](std::size_t i) { return i; });         // mapped one by one
    gone += churn(300, 50'000, [](std::size_t i) { return 299 - i; });             // trimmed from the end
    gone += churn(300, 50'000, [](std::size_t i) { return (i * 7 + 3) % 300; });   // and in between
    return gone;
  };
  const bool plain = is_plain();
  std::size_t in_thread = 0;
  const std::size_t gone = churn_all();
  std::thread([&] { in_thread = churn_all(); }).join();  // in an arena of its own
  CHECK((gone != 0 || !plain));
  CHECK((in_thread != 0 || !plain));
}

TEST_CASE("a block that realloc moves is recorded", "[hooks][K1]") {
  if (!has_hooks()) return;
  constexpr std::size_t kSmall = 40 << 20;  // always mapped: more than DEFAULT_MMAP_THRESHOLD_MAX of malloc
  std::size_t gone = 0;
  for (int i = 0; i < 4; ++i) {
    void* block = std::malloc(kSmall);
    std::memset(block, 1, kSmall);
    Watch watch;
    watch.add(block, kSmall);
    block = std::realloc(block, 4 * kSmall);
    gone += watch.check();
    std::free(block);
    gone += watch.check();
  }
  CHECK((gone != 0 || !is_plain()));
}

TEST_CASE("a stack that ends with its thread is recorded", "[hooks][K1]") {
  if (!has_hooks()) return;
  constexpr int kThreads = 64;  // more than the C library keeps the stacks of
  Watch watch;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      volatile char place[1'000'000];
      for (std::size_t at = 0; at < sizeof place; at += kPage) place[at] = 1;
      const std::lock_guard lock(mutex);
      watch.add(const_cast<const char*>(place), sizeof place);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK((watch.check() != 0 || !is_plain()));
  CHECK(monitor().works());
}

TEST_CASE("a fork counts as a change of all memory", "[hooks][K1]") {
  if (!has_hooks()) return;
  Recorded recorded;
  const pid_t child = fork();
  if (child == 0) {
    char* const memory = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    _exit(munmap(memory, kBytes));
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(recorded.has(nullptr, ~std::size_t{0}));
}

TEST_CASE("threads that map and unmap at once are all seen", "[hooks][K1][threads]") {
  if (!has_hooks()) return;
  const std::uint64_t before = monitor().ranges().recorded();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 500; ++n) {
        void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memset(memory, n, kPage);
        munmap(memory, kBytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(monitor().ranges().recorded() - before >= 2000);
}

}  // namespace
}  // namespace bufenlarge::test
