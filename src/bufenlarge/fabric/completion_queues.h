// SPDX-License-Identifier: MIT
// The completion queues of a port.
//
// verbs has no flow control between an endpoint and its completion queue: what does not fit is lost,
// and with it the queue. Until 1.18 libfabric counts, later it leaves that to the application. So each
// endpoint reserves all entries it can ever have unread, and a queue is opened when none has that many
// left. Queues double in size, so thousands of endpoints share a few, and a round reads a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fid.h"

namespace bufenlarge {

struct CompletionQueue {
  // An endpoint of this queue was closed. (libfabric moves what it left there to a list of its own.)
  void give_back() { reserved -= each; }

  QueueFid fid;
  std::size_t entries = 0;
  std::size_t reserved = 0;
  std::size_t each = 0;  // an endpoint reserves
};

class CompletionQueues {
 public:
  // Opens the first queue, for `endpoints` endpoints of `each` entries; every queue has `shared` entries besides,
  // for receives of any endpoint. `bounded` is false on tcp, whose
  // provider keeps what does not fit in a list of its own: one queue does for all. Throws FabricError.
  CompletionQueues(fid_domain* domain, fi_wait_obj wait, bool bounded, std::size_t endpoints, std::size_t each,
                   std::size_t shared);

  // A queue with room for one more endpoint, reserved; nullptr when none could be opened.
  [[nodiscard]] CompletionQueue* reserve();

  [[nodiscard]] std::size_t size() const { return queues_.size(); }
  // Entries an endpoint reserves; 0 where the number is no limit.
  [[nodiscard]] std::size_t each() const { return each_; }
  [[nodiscard]] CompletionQueue& operator[](std::size_t index) { return *queues_[index]; }
  [[nodiscard]] const CompletionQueue& operator[](std::size_t index) const { return *queues_[index]; }

 private:
  [[nodiscard]] int open(std::size_t entries);

  fid_domain* domain_;
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  std::size_t each_;
  std::size_t shared_;
  fi_wait_obj wait_;
};

}  // namespace bufenlarge
