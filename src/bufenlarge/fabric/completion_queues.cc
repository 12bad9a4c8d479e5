// SPDX-License-Identifier: MIT
#include "fabric/completion_queues.h"

#include <algorithm>

#include "fabric/fabric_error.h"

namespace bufenlarge {

namespace {

// Completions that may be unread at once where the number is no limit.
constexpr std::size_t kUnboundedEntries = 1024;
// rdma_rxe allows 32767 entries; nothing is gained by larger ones.
constexpr std::size_t kEntriesMax = 16384;

}  // namespace

CompletionQueues::CompletionQueues(fid_domain* domain, fi_wait_obj wait, bool bounded, std::size_t endpoints,
                                   std::size_t each, std::size_t shared)
    : domain_(domain), each_(bounded ? each : 0), shared_(shared), wait_(wait) {
  must("fi_cq_open", open(bounded ? std::min(std::max(each, kEntriesMax), endpoints * each) : kUnboundedEntries));
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
  queue->each = each_;
  queues_.push_back(std::move(queue));
  return 0;
}

CompletionQueue* CompletionQueues::reserve() {
  const auto has_room = [this](const auto& queue) { return queue->entries - queue->reserved >= each_; };
  auto found = std::ranges::find_if(queues_, has_room);
  if (found == queues_.end()) {
    std::size_t entries = std::min(std::max(each_, kEntriesMax), 2 * queues_.back()->entries);
    while (open(entries) != 0) {  // the device may have less
      if (entries == each_) return nullptr;
      entries = std::max(each_, entries / 2);
    }
    found = std::prev(queues_.end());
  }
  (*found)->reserved += each_;
  return found->get();
}

}  // namespace bufenlarge
