// SPDX-License-Identifier: MIT
#include "sim/sim_writes.h"

#include <algorithm>

#include "sim/sim_peer.h"

namespace bufenlarge::sim {

namespace {

constexpr std::byte kUnwritten{0x5a};
constexpr std::byte kGivenBack{0xc3};  // what the owner writes into memory that it has back

}  // namespace

void SimWrites::violate(const SimWrite& write, const std::string& text) {
  fabric_.violate("rank " + std::to_string(write.plan->writer) + " writes " + std::to_string(write.bytes.size()) +
                  " bytes of rank " + std::to_string(write.plan->target) + ": " + text);
}

std::uint64_t SimWrites::next_put_us() const {
  return all_put() ? ~std::uint64_t{0} : config_.start_us + config_.writes[put_].start_us;
}

void SimWrites::put_due() {
  for (; !all_put() && fabric_.clock.now_us() >= next_put_us(); ++put_) begin(config_.writes[put_]);
}

void SimWrites::begin(const SimWritePlan& plan) {
  SimPeer* writer = peer_of_(plan.writer);
  SimPeer* target = peer_of_(plan.target);
  if (writer == nullptr || target == nullptr) return;
  auto write = std::make_unique<SimWrite>();
  write->plan = &plan;
  write->bytes = message_bytes(static_cast<std::uint32_t>(put_) + 2'000'000, plan.bytes);
  write->from = std::make_unique<SimSegments>(std::vector{plan.bytes}, 0, fabric_.arena(plan.writer));
  write->from->fill(write->bytes);
  write->to.assign(plan.bytes, kUnwritten);
  fabric_.moved = true;
  if (!target->register_window(write->to, write->window)) return;
  const bool can = fabric_.arrival_of(plan.target) != Arrival::kChecked;
  if (write->window.writable != can)
    violate(*write, "a window is writable where its owner learns of no write, or not where it does");
  if (can) {
    ordering_ = true;
    const auto* from = static_cast<const std::byte*>(write->from->segments()[0].iov_base);
    const Status status =
        writer->write(plan.target, {from, write.get(), write->window.address, plan.bytes, write->window.key});
    ordering_ = false;
    write->ordered = status == Status::kOk;
  }
  if (write->ordered) {
    ++fabric_.totals.writes;
    writer->put_after_writes(plan.target, plan.after_bytes, write.get());
  } else {
    target->deregister_window(write->window);
  }
  writes_.push_back(std::move(write));
}

void SimWrites::written(std::uint32_t rank, std::uint32_t peer, SimWrite& write, Status status, bool peer_gone) {
  fabric_.moved = true;
  fabric_.trace.note("%lld>%lld  written: %lld bytes, status %lld", rank, peer, write.bytes.size(),
                     static_cast<std::uint64_t>(status));
  if (ordering_) violate(write, "write_done came from within the call");
  if (rank != write.plan->writer || peer != write.plan->target) violate(write, "its end was reported to another");
  if (!write.ordered || write.ends++ != 0) violate(write, "its end was reported twice, or of what was not ordered");
  if (status != Status::kOk && !peer_gone)
    violate(write, "ended with status " + std::to_string(static_cast<int>(status)));
  if (status != Status::kOk) ++fabric_.totals.writes_lost;
  if (write.from->joined() != write.bytes) violate(write, "its source has changed");
  write.from->give_back();
}

void SimWrites::arrived(SimWrite& write) {
  write.arrived = true;
  if (write.to != write.bytes) violate(write, "the message after it came before it, or it is wrong");
  fabric_.totals.bytes_written += write.bytes.size();
  peer_of_(write.plan->target)->deregister_window(write.window);
  std::ranges::fill(write.to, kGivenBack);
}

bool SimWrites::settled(const SimWrite& write) const {
  return peer_of_(write.plan->writer) == nullptr || !write.ordered || write.ends != 0;
}

// SimWorld waits for the message after it as for all messages.
bool SimWrites::done_of(std::uint32_t rank) const {
  return std::ranges::all_of(writes_,
                             [&](const auto& write) { return write->plan->writer != rank || settled(*write); });
}

bool SimWrites::done() const {
  return all_put() && std::ranges::all_of(writes_, [&](const auto& write) { return settled(*write); });
}

void SimWrites::check_end() {
  for (const auto& write : writes_) {
    const auto given_back = [](std::byte one) { return one == kGivenBack; };
    if (write->arrived && !std::ranges::all_of(write->to, given_back))
      violate(*write, "written after the message that followed it");
    if (write->ends != 0 && !write->from->untouched_since())
      violate(*write, "the source was changed after the end");
    SimPeer* target = peer_of_(write->plan->target);
    if (target != nullptr && write->ordered && !write->arrived) {
      target->deregister_window(write->window);
      write->arrived = true;
      std::ranges::fill(write->to, kGivenBack);
    }
  }
}

}  // namespace bufenlarge::sim
