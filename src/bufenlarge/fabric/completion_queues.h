// SPDX-License-Identifier: MIT
// The completion queues of a port.
//
// verbs has no flow control between an endpoint and its completion queue: a queue that overflows loses
// completions and cannot be used any more. libfabric counts the entries in use up to 1.18; later versions leave
// that to the application. So each endpoint reserves as many entries as it can ever have unread, and when no
// queue has that many left, another is opened. Queues double in size, so thousands of endpoints share a few,
// and a round of progress reads a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fid.h"

namespace bufenlarge {

struct CompletionQueue {
  // Called when an endpoint of this queue was closed. (libfabric moves the completions it has left to a list of
  // its own.)
  void give_back() { reserved -= per_endpoint; }

  QueueFid fid;
  std::size_t entries = 0;
  std::size_t reserved = 0;
  std::size_t per_endpoint = 0;  // entries that each endpoint reserves
};

class CompletionQueues {
 public:
  // Opens the first queue, for `endpoints` endpoints of `per_endpoint` entries each. Every queue has `shared` more
  // entries, for receives that all endpoints share. `bounded` is false on tcp: its provider keeps in a list of its
  // own what does not fit, so one queue is enough. Throws FabricError.
  CompletionQueues(fid_domain* domain, fi_wait_obj wait, bool bounded, std::size_t endpoints,
                   std::size_t per_endpoint, std::size_t shared);

  // Reserves the entries of one more endpoint and returns their queue, or nullptr if none could be opened.
  [[nodiscard]] CompletionQueue* reserve();

  [[nodiscard]] std::size_t size() const { return queues_.size(); }
  // Returns the entries that each endpoint reserves; 0 where the queue has no bound.
  [[nodiscard]] std::size_t per_endpoint() const { return per_endpoint_; }
  [[nodiscard]] CompletionQueue& operator[](std::size_t index) { return *queues_[index]; }
  [[nodiscard]] const CompletionQueue& operator[](std::size_t index) const { return *queues_[index]; }

 private:
  // Opens another queue, of `entries` and the shared entries. Returns libfabric's code.
  [[nodiscard]] int open(std::size_t entries);

  fid_domain* domain_;
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  std::size_t per_endpoint_;
  std::size_t shared_;
  fi_wait_obj wait_;
};

}  // namespace bufenlarge
