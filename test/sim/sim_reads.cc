// SPDX-License-Identifier: MIT
#include "sim/sim_reads.h"

#include <algorithm>

#include "sim/sim_peer.h"

namespace bufenlarge::sim {

// ---- ordering

SimReads::SimReads(SimFabric& fabric, const SimConfig& config, PeerOf peer_of)
    : fabric_(fabric), config_(config), peer_of_(std::move(peer_of)) {}

void SimReads::violate(const SimRead& read, const std::string& text) {
  fabric_.violate("rank " + std::to_string(read.plan->reader) + " reads " + std::to_string(read.bytes.size()) +
                  " bytes of rank " + std::to_string(read.plan->source) + ": " + text);
}

std::uint64_t SimReads::next_put_us() const {
  return all_put() ? ~std::uint64_t{0} : config_.start_us + config_.reads[put_].start_us;
}

void SimReads::put_due() {
  for (; !all_put() && fabric_.clock.now_us() >= next_put_us(); ++put_) advertise(config_.reads[put_]);
}

void SimReads::advertise(const SimReadPlan& plan) {
  SimPeer* source = peer_of_(plan.source);
  if (source == nullptr || peer_of_(plan.reader) == nullptr) return;
  auto read = std::make_unique<SimRead>();
  read->plan = &plan;
  std::size_t bytes = 0;
  for (const std::uint32_t size : plan.segments) bytes += size;
  if (const SimRead* same = find_same(plan)) {
    read->bytes = same->bytes;
    read->from = same->from;
    ++fabric_.totals.same_memory;
  } else {
    read->bytes = message_bytes(static_cast<std::uint32_t>(put_) + 1'000'000, bytes);
    read->from = std::make_shared<SimSegments>(plan.segments, plan.gap, fabric_.arena(plan.source));
    read->from->fill(read->bytes);
  }
  for (const SimReadPlan::Part& one : plan.parts) {
    auto part = std::make_unique<SimRead::Part>();
    part->of = read.get();
    part->offset = one.offset;
    for (const std::uint32_t size : one.segments) part->bytes += size;
    if (!one.handed_up)
      part->to = std::make_unique<SimSegments>(one.segments, plan.gap, fabric_.arena(plan.reader));
    read->parts.push_back(std::move(part));
  }
  fabric_.moved = true;
  const Status status = source->advertise(plan.reader, read->from->segments(), read.get(), read->handle);
  if (status != Status::kOk) {
    read->dropped = true;
    if (source->find(plan.reader) != nullptr && !source->find(plan.reader)->failed())
      violate(*read, "not advertised");
  }
  read->advertised = !read->dropped;
  if (read->advertised && read->handle == 0) violate(*read, "the source handle is 0");
  ++fabric_.totals.sources;
  reads_.push_back(std::move(read));
}

SimRead* SimReads::find_same(const SimReadPlan& plan) const {
  const auto found = std::ranges::find_if(reads_, [&](const auto& one) {
    return one->advertised && one->released == 0 && one->plan->source == plan.source && one->plan->gap == plan.gap &&
           one->plan->segments == plan.segments;
  });
  return found == reads_.end() ? nullptr : found->get();
}

bool SimReads::advertised_elsewhere(const SimRead& read) const {
  return std::ranges::any_of(reads_, [&](const auto& one) {
    return one.get() != &read && one->from == read.from && one->advertised && one->released == 0;
  });
}

void SimReads::order(std::uint32_t rank) {
  SimPeer* reader = peer_of_(rank);
  if (reader == nullptr) return;
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    SimRead& read = *reads_[i];
    const SimReadPlan& plan = *read.plan;
    if (plan.reader != rank || read.over || read.dropped || fabric_.random.chance(500)) continue;
    for (std::size_t n = 0; n < read.parts.size(); ++n) {
      SimRead::Part& part = *read.parts[n];
      const bool last = plan.by_flag && n + 1 == read.parts.size();
      const auto to = part.to ? std::span<const iovec>(part.to->segments()) : std::span<const iovec>();
      ordering_ = true;
      part.ordered =
          reader->read(plan.source, {to, &part, part.offset, part.bytes, read.handle, last}) == Status::kOk;
      ordering_ = false;
      fabric_.totals.reads += part.ordered;
    }
    if (!plan.by_flag) (void)reader->read(plan.source, {{}, nullptr, 0, 0, read.handle, true});
    read.over = true;
    fabric_.moved = true;
  }
}

// ---- callbacks

void SimReads::read_done(std::uint32_t rank, std::uint32_t peer, SimRead::Part& part, Status status,
                         bool peer_gone) {
  SimRead& read = *part.of;
  fabric_.moved = true;
  fabric_.trace.note("%lld<%lld  read done: %lld bytes, status %lld", rank, peer, part.bytes,
                     static_cast<std::uint64_t>(status));
  if (ordering_) violate(read, "read_done came from within the call");
  if (rank != read.plan->reader || peer != read.plan->source) violate(read, "its end was reported to another");
  if (!part.ordered || part.ends++ != 0) violate(read, "its end was reported twice, or of what was not ordered");
  if (status != Status::kOk && (!peer_gone || config_.leave))
    violate(read, "ended with status " + std::to_string(static_cast<int>(status)));
  if (status == Status::kOk) {
    const auto expected = std::span(read.bytes).subspan(part.offset, part.bytes);
    const std::vector<std::byte> found = part.to ? part.to->joined() : part.handed_up;
    if (!std::ranges::equal(found, expected)) violate(read, "other bytes than were advertised");
    if (part.to && !part.to->gaps_untouched()) violate(read, "bytes outside of the destination were written");
    fabric_.totals.bytes_read += part.bytes;
  } else {
    ++fabric_.totals.reads_lost;
  }
  if (part.to) part.to->give_back();
}

void SimReads::fragment(SimRead::Part& part, const std::byte* data, std::size_t bytes) {
  fabric_.moved = true;
  ++fabric_.totals.fragments_handed_up;
  if (part.to || part.ends != 0) violate(*part.of, "a fragment of a read that takes none");
  part.handed_up.insert(part.handed_up.end(), data, data + bytes);
}

void SimReads::released(std::uint32_t rank, std::uint32_t peer, SimRead& read, Status status, bool peer_gone) {
  fabric_.moved = true;
  fabric_.trace.note("%lld>%lld  released: %lld bytes, status %lld", rank, peer, read.bytes.size(),
                     static_cast<std::uint64_t>(status));
  if (rank != read.plan->source || peer != read.plan->reader) violate(read, "released to another");
  if (!read.advertised || read.released++ != 0) violate(read, "released twice");
  if (status != Status::kOk && !peer_gone)
    violate(read, "released with status " + std::to_string(static_cast<int>(status)));
  if (status == Status::kOk && !read.over) violate(read, "released before the reader said so");
  if (read.from->joined() != read.bytes) violate(read, "what was advertised has changed");
  if (!advertised_elsewhere(read)) read.from->give_back();
  if (fabric_.random.chance(300)) order(rank);
}

// ---- the end

// The source of a reader that is gone hears of it when it has a connection, or tries to connect.
bool SimReads::settled(const SimRead& read, std::uint32_t rank) const {
  const SimReadPlan& plan = *read.plan;
  SimPeer* reader = peer_of_(plan.reader);
  SimPeer* source = peer_of_(plan.source);
  if (rank == plan.reader && reader != nullptr) {
    if (read.advertised && !read.over) return false;
    for (const auto& part : read.parts)
      if (part->ordered && part->ends == 0) return false;
  }
  if (rank != plan.source || source == nullptr || !read.advertised || read.released != 0) return true;
  const SimPeer::Channel* channel = source->find(plan.reader);
  return reader == nullptr && channel->connection().state() == Connect::State::kIdle;
}

bool SimReads::done_of(std::uint32_t rank) const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const auto& read) { return settled(*read, rank); });
}

bool SimReads::done() const {
  return all_put() && std::all_of(reads_.begin(), reads_.end(), [&](const auto& read) {
    return settled(*read, read->plan->reader) && settled(*read, read->plan->source);
  });
}

void SimReads::check_end() {
  for (const auto& read : reads_) {
    if (read->released != 0 && !advertised_elsewhere(*read) && !read->from->untouched_since())
      violate(*read, "what was released has been written");
    for (const auto& part : read->parts)
      if (part->to && part->ends != 0 && !part->to->untouched_since())
        violate(*read, "the destination was written after the end of its read");
  }
}

}  // namespace bufenlarge::sim
