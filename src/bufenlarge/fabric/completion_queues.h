// SPDX-License-Identifier: MIT
// The completion queues of a port.
//
// verbs has no flow control between an endpoint and its completion queue: a queue that overflows loses
// completions and cannot be used any more. libfabric counts the entries in use up to 1.18; later versions leave
// that to the application. So each endpoint reserves as many entries as it can ever have unread, and when no
// queue has that many left, another is opened. Queues double in size, so thousands of endpoints share a few,
// and a round of progress reads a few.
//
// tcp keeps in a list of its own what does not fit into a queue, so one queue holds any number of endpoints. Where
// ready_queues.h chooses which to read, a queue has a group of endpoints, and counts these: a read walks all of them,
// and a queue takes descriptors and, in libfabric 1.17, 381 KB (docs/decisions/0036-tcp-groups.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fid.h"

namespace bufenlarge {

// The endpoints of the first group and of the largest; each group has twice as many as the one before.
inline constexpr std::uint64_t kGroupEndpoints = 16;
inline constexpr std::uint64_t kGroupEndpointsMax = 64;

// Returns how many groups so many endpoints take; there is always one.
constexpr std::uint64_t group_count(std::uint64_t endpoints) {
  std::uint64_t groups = 1, size = kGroupEndpoints;
  for (std::uint64_t room = size; room < endpoints; ++groups) {
    if (size == kGroupEndpointsMax) return groups + (endpoints - room + size - 1) / size;
    size = std::min(2 * size, kGroupEndpointsMax);
    room += size;
  }
  return groups;
}

struct CompletionQueue {
  // Called when an endpoint of this queue was closed. (libfabric moves the completions it has left to a list of
  // its own.)
  void give_back() { reserved -= per_endpoint; }
  // A read of it has returned `count`, or an error's code, where it might have returned `asked`. A read of fewer has
  // found the queue's end, unless it stopped at a failed completion, which the next read reports. A queue that fails by
  // itself has nothing more to read.
  void note_read(ssize_t count, std::size_t asked) {
    ends_ += short_read_ && count != -FI_EAVAIL;
    ends_ += count < 0 && count != -FI_EAVAIL;
    short_read_ = count > 0 && static_cast<std::size_t>(count) < asked;
  }
  // Returns a mark: what is in the queue now is read when its end was found after it.
  [[nodiscard]] std::uint64_t mark() const { return ends_ + short_read_; }
  [[nodiscard]] bool read_to(std::uint64_t mark) const { return ends_ > mark; }
  // Returns true if it has entries for one more endpoint.
  [[nodiscard]] bool has_room() const { return reserved + per_endpoint <= entries; }

  QueueFid fid;
  std::size_t entries = 0;
  std::size_t reserved = 0;
  std::size_t per_endpoint = 0;  // entries that each endpoint reserves
  std::uint32_t number = 0;      // of the queue in its port, from 0
  int descriptor = -1;           // libfabric's; with FI_WAIT_FD
  // ReadyQueues keeps these.
  bool watched = false;
  bool hot = false;
  bool away = false;              // hot, and not in the epoll set
  std::uint32_t quiet_reads = 0;  // reads since the last that found something
  std::uint32_t finds = 0;        // reads that found something, since it is hot

 private:
  std::uint64_t ends_ = 0;   // times that the queue's end was found
  bool short_read_ = false;  // the last read may have found it, too
};

// How the endpoints of a port share queues.
struct QueuePlan {
  fi_wait_obj wait = FI_WAIT_NONE;
  std::size_t per_endpoint = 0;  // entries that each endpoint reserves; 0: a queue has no bound
  std::size_t endpoints = 1;     // of the first queue
  std::size_t entries_max = 0;   // that endpoints reserve of one queue, at least those of one endpoint
  std::size_t shared = 0;        // further entries of each queue
};

class CompletionQueues {
 public:
  // Opens the first queue. Throws FabricError.
  CompletionQueues(fid_domain* domain, const QueuePlan& plan);

  // Reserves the entries of one more endpoint and returns their queue, or nullptr if none could be opened.
  [[nodiscard]] CompletionQueue* reserve();
  // Returns true if the next endpoint needs another queue.
  [[nodiscard]] bool full() const;
  // Where a queue has no bound (tcp): one more endpoint for the queue that has the fewest, full or not.
  [[nodiscard]] CompletionQueue& crowd();

  [[nodiscard]] std::size_t size() const { return queues_.size(); }
  // Returns the entries that each endpoint reserves; 0 where the queue has no bound.
  [[nodiscard]] std::size_t per_endpoint() const { return plan_.per_endpoint; }
  [[nodiscard]] CompletionQueue& operator[](std::size_t index) { return *queues_[index]; }
  [[nodiscard]] const CompletionQueue& operator[](std::size_t index) const { return *queues_[index]; }

 private:
  // Opens another queue, of `entries` and the shared entries. Returns libfabric's code.
  [[nodiscard]] int open(std::size_t entries);

  fid_domain* domain_;
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  QueuePlan plan_;
};

}  // namespace bufenlarge
