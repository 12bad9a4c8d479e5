// SPDX-License-Identifier: MIT
#include "sim/sim_port.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "protocol/handshake.h"
#include "support/holds.h"

namespace bufenlarge::sim {

namespace {

std::vector<std::byte> copy(std::span<const std::byte> data) { return {data.begin(), data.end()}; }

}  // namespace

SimPort::SimPort(SimFabric& fabric, std::uint32_t rank)
    : fabric_(fabric), memory_(fabric, rank), rank_(rank) {}

// ---- connections

std::size_t SimPort::open_endpoints() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(endpoints_, [](const SimEndpoint* one) { return one->open(); }));
}

SimEndpoint& SimPort::make_endpoint(std::span<const std::byte> data, void* user) {
  if (fabric_.connections_max != 0 && open_endpoints() >= fabric_.connections_max)
    fabric_.violate("rank " + std::to_string(rank_) + " has more connections than it may");
  const auto number = static_cast<std::uint32_t>(fabric_.endpoints.size());
  fabric_.endpoints.push_back(std::make_unique<SimEndpoint>(fabric_, *this, number, rank_, user));
  SimEndpoint& endpoint = *fabric_.endpoints.back();
  endpoint.hello = copy(data);
  endpoints_.push_back(&endpoint);
  fabric_.moved = true;
  return endpoint;
}

void SimPort::push(EventKind kind, SimEndpoint* endpoint, std::vector<std::byte> data, const char* why) {
  std::uint64_t due = now_us() + fabric_.delay(fabric_.faults.connect_us_max);
  if (endpoint != nullptr && kind != EventKind::kRequest)
    due = endpoint->last_event_us = std::max(endpoint->last_event_us, due);
  events_.push_back({kind, endpoint, due, std::move(data), why});
  fabric_.active.note(rank_);
}

bool SimPort::has_room(RoomFor /*what*/) {
  const bool full = fabric_.port_bounds && open_endpoints() >= fabric_.connections_max;
  const bool room = !full && !fabric_.random.chance(fabric_.faults.open_fails / 2);
  fabric_.totals.descriptors_lacked += !room;
  return room;
}

SimPort::Link SimPort::open(const void* address, std::span<const std::byte> data, void* user) {
  std::uint32_t to = 0;
  std::memcpy(&to, address, sizeof to);
  Hello hello{};
  std::memcpy(&hello, data.data(), std::min(data.size(), kHelloBytes));
  if (fabric_.random.chance(fabric_.faults.open_fails)) {
    fabric_.trace.note("%lld>%lld  connect: attempt %lld has no endpoint", rank_, to, hello.attempt);
    return {};
  }
  SimEndpoint& endpoint = make_endpoint(data, user);
  fabric_.trace.note("%lld>%lld  connect: attempt %lld", rank_, to, hello.attempt);
  connect(endpoint, *fabric_.ports.at(to));
  return Link(&endpoint);
}

void SimPort::connect(SimEndpoint& active, SimPort& target) {
  SimRandom& random = fabric_.random;
  if (!target.alive_ && fabric_.black_hole) {
    ++fabric_.totals.attempts_unanswered;
    active.set_doomed();
    active.set_unreached();
    return;
  }
  if (!target.alive_ || random.chance(fabric_.faults.connect_refused)) {
    ++fabric_.totals.connects_refused;
    active.set_doomed();
    push(EventKind::kLost, &active, {}, "connection refused");
    return;
  }
  bool arrives = true;
  if (random.chance(fabric_.faults.attempt_lost)) {
    ++fabric_.totals.attempts_lost;
    active.set_doomed();
    lose_attempt(active);
    arrives = random.chance(500);
  }
  if (arrives) target.push(EventKind::kRequest, &active, active.hello, "");
}

// As verbs: now and then the event does not say which attempt was lost.
void SimPort::lose_attempt(SimEndpoint& active) {
  const bool unnamed = fabric_.random.chance(fabric_.faults.lost_unnamed);
  fabric_.totals.lost_unnamed += unnamed;
  push(unnamed ? EventKind::kUnnamed : EventKind::kLost, unnamed ? nullptr : &active, {}, "connection timed out");
}

void SimPort::knock(std::span<const std::byte> data) { push(EventKind::kRequest, nullptr, copy(data), ""); }

SimPort::Link SimPort::accept(Request& request, std::span<const std::byte> data, void* user) {
  request.answered = true;
  if (request.from == nullptr) {
    fabric_.violate("rank " + std::to_string(rank_) + " accepted an unauthorized caller");
    return {};
  }
  SimEndpoint& active = *request.from;
  if (fabric_.random.chance(fabric_.faults.accept_fails)) {
    fabric_.trace.note("%lld<%lld  connect: accept failed", rank_, active.rank());
    if (!active.doomed()) active.port().push(EventKind::kLost, &active, {}, "connection refused");
    active.set_doomed();
    return {};
  }
  SimEndpoint& passive = make_endpoint(data, user);
  fabric_.trace.note("%lld<%lld  connect: accepted", rank_, active.rank());
  const bool lost = !active.open() || active.doomed() || fabric_.random.chance(fabric_.faults.accept_lost);
  if (lost)
    lose(active, passive);
  else
    join(active, passive);
  return Link(&passive);
}

// Both sides get an event, in either order.
void SimPort::join(SimEndpoint& active, SimEndpoint& passive) {
  ++fabric_.totals.connections;
  active.pair(passive, true);
  passive.pair(active, false);
  active.port().push(EventKind::kConnected, &active, passive.hello, "");
  push(EventKind::kConnected, &passive, {}, "");
}

// The passive side may first get the event that it is connected.
void SimPort::lose(SimEndpoint& active, SimEndpoint& passive) {
  ++fabric_.totals.accepts_lost;
  if (active.open() && !active.doomed())
    active.port().push(EventKind::kLost, &active, {}, "connection reset");
  active.set_doomed();
  if (fabric_.random.chance(fabric_.faults.silent_lost)) push(EventKind::kConnected, &passive, {}, "");
  push(EventKind::kLost, &passive, {}, "connection reset");
}

void SimPort::reject(Request& request, std::span<const std::byte> data) {
  request.answered = true;
  ++fabric_.totals.rejections;
  const auto reject = decode_reject(data);
  fabric_.trace.note("%lld<%lld  connect: rejected, reason %lld", rank_,
                     request.from == nullptr ? fabric_.ports.size() : request.from->rank(),
                     reject ? reject->reason : 0);
  if (request.from == nullptr) {
    if (!data.empty()) fabric_.violate("rank " + std::to_string(rank_) + " gave an unauthorized caller a reason");
    return;
  }
  SimEndpoint& active = *request.from;
  if (!active.open() || active.doomed()) return;
  active.set_doomed();
  if (data.empty() && fabric_.random.chance(500))
    active.port().push(EventKind::kLost, &active, {}, "connection refused");
  else
    active.port().push(EventKind::kRejected, &active, copy(data), "");
}

void SimPort::push_lost(SimEndpoint& endpoint, const char* why) {
  endpoint.port().push(EventKind::kLost, &endpoint, {}, why);
}

void SimPort::stop_listening(bool told) {
  alive_ = false;
  for (const Event& event : events_) {
    if (event.kind != EventKind::kRequest || event.endpoint == nullptr) continue;
    if (!told) event.endpoint->set_gone();
    if (told && !event.endpoint->doomed()) push_lost(*event.endpoint, "connection refused");
    event.endpoint->set_doomed();
  }
  events_.clear();
}

void SimPort::leave() { stop_listening(true); }

void SimPort::crash() {
  stop_listening(true);
  for (SimEndpoint* endpoint : endpoints_) {
    if (endpoint->open()) endpoint->crash();
  }
}

void SimPort::vanish() {
  stop_listening(false);
  for (SimEndpoint* endpoint : endpoints_) {
    if (endpoint->open()) endpoint->vanish();
  }
}

// ---- writes and events

bool SimPort::ask(Link& link, const HostQuestion<Region>& question) {
  if (!test::holds(question.region, question.to, kQuestionBytes)) fabric_.violate("a question without memory");
  if (fabric_.random.chance(fabric_.faults.write_again)) return false;
  link.endpoint()->ask();
  return true;
}

WriteResult SimPort::write(Link& link, const RdmaWrite<Region>& write) {
  if (!link) return WriteResult::kFailed;
  const Region& region = write.region;
  if (!test::holds(region, write.from, write.bytes))
    fabric_.violate("rank " + std::to_string(rank_) + " writes from outside of its region");
  check_followed(link.endpoint());
  const std::byte* from = SimMemory::source(*region.block(), write.from, write.bytes);
  return link.endpoint()->write(region.block(), from, write.bytes, write.address, write.key, write.use,
                                write.sequence);
}

void SimPort::check_followed(const SimEndpoint* next) {
  if (unfollowed_ != nullptr && unfollowed_ != next && unfollowed_->open())
    fabric_.violate("rank " + std::to_string(rank_) + " wrote slots that more were to follow, and none did");
}

bool SimPort::next_event(Event& event) {
  auto next = events_.end();
  for (auto at = events_.begin(); at != events_.end(); ++at) {
    const bool due = at->due_us <= now_us() && (next == events_.end() || at->due_us < next->due_us);
    if (due) next = at;
  }
  if (next == events_.end()) return false;
  event = std::move(*next);
  events_.erase(next);
  return true;
}

std::uint64_t SimPort::next_due_us() const {
  std::uint64_t due = ~std::uint64_t{0};
  if (!alive_) return due;
  if (fabric_.ordered() && std::ranges::any_of(placed_, std::identity())) due = 0;
  for (const Event& event : events_) due = std::min(due, event.due_us);
  for (const SimEndpoint* endpoint : endpoints_) {
    if (!endpoint->open()) continue;
    due = std::min(due, endpoint->next_completion_us());
    if (endpoint->notified()) due = 0;
    if (fabric_.ordered() && endpoint->other() != nullptr)
      due = std::min(due, endpoint->other()->next_due_us());
  }
  return due;
}

}  // namespace bufenlarge::sim
