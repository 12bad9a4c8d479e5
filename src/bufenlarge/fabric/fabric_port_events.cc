// SPDX-License-Identifier: MIT
// How a FabricPort waits, and reads connection events and failed completions.
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "fabric/fabric_port.h"

namespace bufenlarge {

namespace {

std::span<const std::byte> trailing(const std::array<std::byte, 512>& bytes, ssize_t read) {
  const auto total = static_cast<std::size_t>(read);
  const std::size_t head = sizeof(fi_eq_cm_entry);
  return std::span(bytes).subspan(head, total > head ? total - head : 0);
}

// What connect(2) of tcp ends with when no packet of the peer's host comes.
bool is_unreachable(int error) {
  return error == FI_ETIMEDOUT || error == FI_EHOSTUNREACH || error == FI_ENETUNREACH || error == FI_EHOSTDOWN;
}

}  // namespace

std::uint64_t FabricPort::now_us() const {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

bool FabricPort::enable_sleep() {
  if (!verbs_ || sleeps_) return true;
  const bool may_notify = arrival_choice_ == ArrivalChoice::kAuto || arrival_choice_ == ArrivalChoice::kNotified;
  if (!may_notify || !immediate_data_ || !endpoints_.empty()) return false;
  CompletionQueues queues(domain_.get(), plan_queues(FI_WAIT_FD));
  completions_.emplace(std::move(queues));
  arrival_ = {Arrival::kNotified, "immediate data, so that a process that waits can sleep"};
  sleeps_ = true;
  return true;
}

bool FabricPort::arm_queues() {
  waited_.clear();
  watched_.assign(1, {events_descriptor_, POLLIN, 0});
  if (verbs_ && !sleeps_) return true;
  if (!verbs_) {
    watched_.push_back({completions_->size() == 1 ? (*completions_)[0].descriptor : ready_.descriptor(), POLLIN, 0});
    return true;
  }
  for (std::size_t i = 0; i < completions_->size(); ++i) {
    waited_.push_back(&(*completions_)[i].fid->fid);
    watched_.push_back({(*completions_)[i].descriptor, POLLIN, 0});
  }
  return fi_trywait(fabric_.get(), waited_.data(), static_cast<int>(waited_.size())) == 0;
}

// Data that a device places wakes nobody: then a sleep is short.
SleepEnd FabricPort::sleep(std::uint32_t timeout_us) {
  constexpr std::uint32_t kUnwokenUsMax = 100;
  if (verbs_ && !sleeps_) timeout_us = std::min(timeout_us, kUnwokenUsMax);
  if (!arm_queues()) return SleepEnd::kWoken;
  const timespec timeout{timeout_us / 1'000'000, static_cast<long>(timeout_us % 1'000'000) * 1000};
  if (ppoll(watched_.data(), watched_.size(), &timeout, nullptr) <= 0 || watched_[0].revents == 0)
    return SleepEnd::kWoken;
  events_read_us_ = 0;
  // The tcp provider leaves the descriptor of an event queue readable after its events were read: fi_trywait(3) resets
  // it, and the events are read after that.
  fid* events = &events_->fid;
  if (!verbs_) (void)fi_trywait(fabric_.get(), &events, 1);
  return SleepEnd::kEvents;
}

// Reading the connection events of a verbs device is a system call, even when there are none. A connection takes
// some milliseconds, so its events can wait for this pause.
bool FabricPort::events_due() {
  constexpr std::uint64_t kPauseUs = 50;
  const std::uint64_t now = now_us();
  if (now - events_read_us_ < kPauseUs) return false;
  events_read_us_ = now;
  return true;
}

// Accepting a caller takes some 20 to 60 us.
bool FabricPort::enough_events(unsigned requests, std::uint64_t since_us) {
  constexpr unsigned kRequestsMax = 8;
  constexpr std::uint64_t kTimeMaxUs = 200;
  const bool enough = requests == kRequestsMax || now_us() - since_us >= kTimeMaxUs;
  if (enough) events_read_us_ = 0;  // the next call goes on at once
  return enough;
}

FabricPort::Event FabricPort::next_event() {
  std::uint32_t kind = 0;
  const ssize_t read = fi_eq_read(events_.get(), &kind, event_bytes_.data(), event_bytes_.size(), 0);
  const bool failed = read < 0 && read != -FI_EAVAIL && read != -FI_EAGAIN;
  events_failed_ = failed ? events_failed_ + 1 : 0;
  if (read == -FI_EAVAIL) return decode_error();
  if (failed) {
    Event event;
    event.kind = Event::Kind::kUnnamed;
    event.why = fi_strerror(static_cast<int>(-read));
    return event;
  }
  if (read < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return {};
  fi_eq_cm_entry entry;
  std::memcpy(&entry, event_bytes_.data(), sizeof entry);
  Event event;
  event.data = trailing(event_bytes_, read);
  if (kind == FI_CONNREQ) {
    event.kind = Event::Kind::kRequest;
    event.request.info.reset(entry.info);
    return event;
  }
  event.endpoint = static_cast<Endpoint*>(entry.fid->context);
  event.kind = kind == FI_CONNECTED ? Event::Kind::kConnected : Event::Kind::kLost;
  event.why = "the peer closed the connection";
  return event;
}

FabricPort::Event FabricPort::decode_error() {
  fi_eq_err_entry error{};
  Event event;
  if (fi_eq_readerr(events_.get(), &error, 0) < 0) return event;
  event.why = fi_strerror(error.err);
  event.kind = Event::Kind::kUnnamed;
  if (error.fid == nullptr) {
    end_unnamed_attempt();
    return event;
  }
  event.endpoint = static_cast<Endpoint*>(error.fid->context);
  event.kind = !verbs_ && is_unreachable(error.err) ? Event::Kind::kUnreachable : Event::Kind::kLost;
  if (error.err == FI_ECONNREFUSED && error.err_data != nullptr && error.err_data_size != 0) {
    const std::size_t bytes = std::min(error.err_data_size, event_bytes_.size());
    std::memcpy(event_bytes_.data(), error.err_data, bytes);
    event.data = std::span(event_bytes_).first(bytes);
    event.kind = Event::Kind::kRejected;
  }
  return event;
}

void FabricPort::end_unnamed_attempt() {
  Endpoint* only = nullptr;
  for (const std::unique_ptr<Endpoint>& endpoint : endpoints_) {
    if (!endpoint->attempt) continue;
    if (only != nullptr) return;
    only = endpoint.get();
  }
  if (only == nullptr) return;
  only->attempt = false;
  if (only->user == nullptr) release(*only);
}

FabricPort::Endpoint* FabricPort::failed_completion(const CompletionQueue& queue, std::string& why) const {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(queue.fid.get(), &error, 0) < 0 || error.op_context == nullptr) return nullptr;
  why = fi_strerror(error.err);
  auto* tag = static_cast<Endpoint::Tag*>(error.op_context);
  if (tag->endpoint == nullptr) {
    (void)post_shared_receive(*tag);  // a connection that is lost had used it
    return nullptr;
  }
  // The operation failed with its connection. Notifications that arrived before may still be unread.
  if (verbs_ && tag->operation != Endpoint::Operation::kReceive) --tag->endpoint->posted;
  return tag->endpoint;
}

}  // namespace bufenlarge
