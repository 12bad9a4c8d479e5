// SPDX-License-Identifier: MIT
#include "fabric/completion_queues.h"

#include <algorithm>

#include "fabric/fabric_error.h"

namespace bufenlarge {

namespace {

// The size of a queue that has no bound.
constexpr std::size_t kUnboundedEntries = 1024;
// rdma_rxe allows 32,767 entries; larger queues would gain nothing.
constexpr std::size_t kEntriesMax = 16384;

}  // namespace

CompletionQueues::CompletionQueues(fid_domain* domain, fi_wait_obj wait, bool bounded, std::size_t endpoints,
                                   std::size_t per_endpoint, std::size_t shared)
    : domain_(domain), per_endpoint_(bounded ? per_endpoint : 0), shared_(shared), wait_(wait) {
  const std::size_t bounded_entries = std::min(std::max(per_endpoint, kEntriesMax), endpoints * per_endpoint);
  must("fi_cq_open", open(bounded ? bounded_entries : kUnboundedEntries));
}

int CompletionQueues::open(std::size_t entries) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = entries + shared_;
  attributes.wait_obj = wait_;
  fid_cq* fid = nullptr;
  const int code = fi_cq_open(domain_, &attributes, &fid, nullptr);
  if (code != 0) return code;
  auto queue = std::make_unique<CompletionQueue>();
  queue->fid.reset(fid);
  queue->entries = entries;
  queue->per_endpoint = per_endpoint_;
  queues_.push_back(std::move(queue));
  return 0;
}

CompletionQueue* CompletionQueues::reserve() {
  const auto has_room = [this](const auto& queue) { return queue->entries - queue->reserved >= per_endpoint_; };
  auto found = std::ranges::find_if(queues_, has_room);
  if (found == queues_.end()) {
    std::size_t entries = std::min(std::max(per_endpoint_, kEntriesMax), 2 * queues_.back()->entries);
    while (open(entries) != 0) {  // the device may not have as many
      if (entries == per_endpoint_) return nullptr;
      entries = std::max(per_endpoint_, entries / 2);
    }
    found = std::prev(queues_.end());
  }
  (*found)->reserved += per_endpoint_;
  return found->get();
}

}  // namespace bufenlarge
