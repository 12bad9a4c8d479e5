// SPDX-License-Identifier: MIT
#include "fabric/completion_queues.h"

#include <algorithm>

#include "fabric/fabric_error.h"

namespace bufenlarge {

namespace {

// The size of a queue that has no bound.
constexpr std::size_t kUnboundedEntries = 1024;
}  // namespace

CompletionQueues::CompletionQueues(fid_domain* domain, const QueuePlan& plan) : domain_(domain), plan_(plan) {
  plan_.entries_max = std::max(plan.per_endpoint, plan.entries_max);
  const std::size_t entries = std::min(plan_.entries_max, plan.endpoints * plan.per_endpoint);
  must("fi_cq_open", open(plan.per_endpoint == 0 ? kUnboundedEntries : entries));
}

int CompletionQueues::open(std::size_t entries) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = entries + plan_.shared;
  attributes.wait_obj = plan_.wait;
  fid_cq* fid = nullptr;
  const int code = fi_cq_open(domain_, &attributes, &fid, nullptr);
  if (code != 0) return code;
  auto queue = std::make_unique<CompletionQueue>();
  queue->fid.reset(fid);
  queue->entries = entries;
  queue->per_endpoint = plan_.per_endpoint;
  queue->number = static_cast<std::uint32_t>(queues_.size());
  if (plan_.wait == FI_WAIT_FD) {
    const int failed = fi_control(&fid->fid, FI_GETWAIT, &queue->descriptor);
    if (failed != 0) return failed;
  }
  queues_.push_back(std::move(queue));
  return 0;
}

bool CompletionQueues::full() const { return std::ranges::none_of(queues_, &CompletionQueue::has_room); }

CompletionQueue& CompletionQueues::crowd() {
  CompletionQueue& emptiest = **std::ranges::min_element(queues_, {}, &CompletionQueue::reserved);
  emptiest.reserved += plan_.per_endpoint;
  return emptiest;
}

CompletionQueue* CompletionQueues::reserve() {
  const std::size_t per_endpoint = plan_.per_endpoint;
  auto found = std::ranges::find_if(queues_, &CompletionQueue::has_room);
  if (found == queues_.end()) {
    std::size_t entries = std::min(plan_.entries_max, 2 * queues_.back()->entries);
    while (open(entries) != 0) {  // the device may not have as many
      if (entries == per_endpoint) return nullptr;
      entries = std::max(per_endpoint, entries / 2);
    }
    found = std::prev(queues_.end());
  }
  (*found)->reserved += per_endpoint;
  return found->get();
}

}  // namespace bufenlarge
