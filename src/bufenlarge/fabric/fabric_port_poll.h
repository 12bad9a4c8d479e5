// SPDX-License-Identifier: MIT
// How a FabricPort hands completions and connection events to its handler: the bodies of its templates. Included by
// fabric_port.h only.
#pragma once

#include "fabric/fabric_port.h"

namespace bufenlarge {

template <class Handler>
unsigned FabricPort::poll(Handler& handler) {
  unsigned count = 0;
  if (verbs_) {
    for (std::size_t i = 0; i < completions_->size(); ++i) count += poll_queue(handler, (*completions_)[i]);
    return count;
  }
  const auto read = [&](CompletionQueue& queue) {
    const unsigned completions = poll_queue(handler, queue);
    count += completions;
    return completions + handler.on_placed(queue.number);
  };
  if (completions_->size() == 1)
    (void)read((*completions_)[0]);
  else
    ready_.poll(read);
  return count;
}

template <class Handler>
unsigned FabricPort::poll_queue(Handler& handler, CompletionQueue& queue) {
  std::array<fi_cq_data_entry, 16> entries;
  const ssize_t count = fi_cq_read(queue.fid.get(), entries.data(), entries.size());
  queue.note_read(count, entries.size());
  if (count == -FI_EAGAIN) [[likely]] return 0;
  if (count == -FI_EAVAIL) {
    std::string why;
    Endpoint* endpoint = failed_completion(queue, why);
    if (endpoint != nullptr && endpoint->user != nullptr) handler.on_lost(endpoint->user, why);
    return 1;
  }
  if (count < 0) lose_all(handler, &queue, "fi_cq_read: " + std::string(fi_strerror(static_cast<int>(-count))));
  for (ssize_t i = 0; i < count; ++i) on_entry(handler, entries[static_cast<std::size_t>(i)]);
  return count > 0 ? static_cast<unsigned>(count) : 0;
}

// Nothing is heard any more of the endpoints of a queue, or of any: they are lost. A queue that fails by itself, by an
// overrun say, has dropped what it does not tell.
template <class Handler>
void FabricPort::lose_all(Handler& handler, const CompletionQueue* of, const std::string& why) {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const Endpoint& endpoint = *endpoints_[i];
    const bool concerned = endpoint.queue != nullptr && (of == nullptr || endpoint.queue == of);
    if (concerned && endpoint.user != nullptr) handler.on_lost(endpoint.user, why);
  }
}

template <class Handler>
void FabricPort::on_entry(Handler& handler, const fi_cq_data_entry& entry) {
  using Operation = Endpoint::Operation;
  auto* tag = static_cast<Endpoint::Tag*>(entry.op_context);
  if (tag == nullptr) {  // tcp: a peer's write with immediate data
    ++ends_by_immediate_;
    handler.on_read_done(nullptr, static_cast<std::uint32_t>(entry.data));
    return;
  }
  if (tag->operation == Operation::kReceive) {
    on_received(handler, *tag, entry);
    return;
  }
  Endpoint& endpoint = *tag->endpoint;
  if (endpoint.user == nullptr) return;
  if (verbs_) --endpoint.posted, ++endpoint.completed;
  if (tag->operation == Operation::kSlots) handler.on_written(endpoint.user);
  if (tag->operation == Operation::kData) handler.on_data_written(endpoint.user);
  if (tag->operation == Operation::kQuestion) endpoint.question.done = true;
  if (tag->operation == Operation::kFence) endpoint.end_fence();
}

// A notification, or the end of a response. The receive is posted again before the peer can use it: the channel
// sends a grant or another read request only after this.
template <class Handler>
void FabricPort::on_received(Handler& handler, Endpoint::Tag& tag, const fi_cq_data_entry& entry) {
  Endpoint* endpoint = tag.endpoint;
  if (endpoint != nullptr && endpoint->user == nullptr) return;
  const std::size_t index = endpoint == nullptr ? 0 : endpoint->received++ % receives_;
  const bool immediate = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
  auto sequence = static_cast<std::uint32_t>(entry.data);
  if (!immediate) {
    sequence = 0;
    const std::byte* place = endpoint == nullptr ? tag.received : endpoint->words.receive_place(index);
    if (entry.len >= sizeof sequence) std::memcpy(&sequence, place, sizeof sequence);
  }
  void* user = endpoint == nullptr ? nullptr : endpoint->user;
  const bool posted = endpoint == nullptr ? post_shared_receive(tag) : post_receive(*endpoint, index);
  if (!posted && user != nullptr) {
    handler.on_lost(user, "libfabric could not post a receive (fi_recv)");
  } else if (sequence != 0) {
    ++(immediate ? ends_by_immediate_ : ends_by_message_);
    handler.on_read_done(user, sequence);
  } else if (user != nullptr) {
    handler.on_notification(user);
  }
}

// What is not read now stays in the queue: a storm of callers may not keep those waiting who are connected.
template <class Handler>
unsigned FabricPort::poll_events(Handler& handler) {
  if (verbs_ && !events_due()) return 0;
  unsigned requests = 0;
  unsigned count = 0;
  std::uint64_t since_us = 0;
  for (Event event = next_event(); event.kind != Event::Kind::kNone; event = next_event()) {
    if (count++ == 0) since_us = now_us();
    requests += event.kind == Event::Kind::kRequest;
    give(handler, event);
    if (events_failed_ >= kEventFailuresMax) lose_all(handler, nullptr, "fi_eq_read: " + event.why);
    if (enough_events(requests, since_us)) return count;
  }
  ++events_empty_;
  if (count == 0 && !verbs_) look_after_descriptors();
  return count;
}

template <class Handler>
void FabricPort::give(Handler& handler, Event& event) {
  if (event.kind == Event::Kind::kRequest) handler.on_request(event.request, event.data);
  if (event.kind == Event::Kind::kUnnamed) handler.on_unnamed_failure(event.why);
  if (event.endpoint == nullptr) return;
  const bool was_attempt = std::exchange(event.endpoint->attempt, false);
  if (event.endpoint->user == nullptr) {
    if (was_attempt) release(*event.endpoint);
    return;
  }
  void* const user = event.endpoint->user;
  if (!verbs_) ready_.heat(*event.endpoint->queue);  // something may have come before the event
  if (event.kind == Event::Kind::kConnected) handler.on_connected(user, event.data);
  if (event.kind == Event::Kind::kRejected) handler.on_rejected(user, event.data);
  if (event.kind == Event::Kind::kUnreachable) handler.on_unreachable(user, event.why);
  if (event.kind == Event::Kind::kLost) handler.on_lost(user, event.why);
}

}  // namespace bufenlarge
