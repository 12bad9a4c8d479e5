// SPDX-License-Identifier: MIT
// A memory monitor by patched functions of the C library: munmap, mmap (MAP_FIXED), mremap, madvise (what drops
// pages), brk, and with it sbrk, shmdt and shmat (SHM_REMAP); so also what malloc(3) and free(3) do. A fork(2) counts
// as a change of all memory, for before Linux 5.12 the child may keep pages that are registered, and the parent get
// copies. The child has no use of a context.
//
// Not seen are calls that pass the C library (syscall(2), io_uring), and changes of a mapped file (ftruncate(2)). Nor
// is dlclose(3), which the dynamic linker does by itself: sees() is false for the memory of shared objects.
#pragma once

#include <string>

#include "channel/memory_monitor.h"

namespace bufenlarge {

// Returns the monitor of this process; the first call, of any thread, puts the hooks in, and they stay. nullptr when
// that cannot be, or when a trial shows that something passes them; `why` then says what. Throws std::bad_alloc.
[[nodiscard]] const MemoryMonitor* unmap_hooks(std::string& why);

}  // namespace bufenlarge
