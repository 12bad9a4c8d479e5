// SPDX-License-Identifier: MIT
#include "sim/sim_link.h"

#include <algorithm>
#include <cstring>

#include "protocol/digest.h"
#include "sim/sim_port.h"

namespace bufenlarge::sim {

namespace {

// Of a real endpoint: the slot writes a channel keeps posted, and a few words.
constexpr std::uint32_t kQueueEntries = kWritesInFlightMax + 4;

constexpr std::uint64_t kNever = ~std::uint64_t{0};

}  // namespace

// ---- posting

WriteResult SimEndpoint::write(SimMemory::Block* source, const std::byte* from, std::size_t bytes,
                               std::uint64_t address, std::uint32_t key) {
  if (broken_ || other_ == nullptr) {
    // A device takes writes of a link that is no more, or says so: either is to be borne.
    const bool said = other_ == nullptr || fabric_.random.chance(500);
    return said ? WriteResult::kFailed : bytes <= kInlineBytes ? WriteResult::kCopied : WriteResult::kPosted;
  }
  if (incomplete_ >= kQueueEntries || fabric_.random.chance(fabric_.faults.write_again)) {
    ++fabric_.totals.agains;
    return WriteResult::kAgain;
  }
  const std::span<const std::byte> data(from, bytes);
  const WriteKind kind = rules_.kind_of(key, address, bytes);
  check(kind, data, address, key);
  note(kind, data);
  const bool copied = bytes <= kInlineBytes;
  Write write{kind, copied ? nullptr : source, from, address, key, digest32(from, bytes), 0, 0, 0, {}, {}};
  write.bytes.assign(from, from + bytes);
  write.read = copied;
  if (!copied) ++source->readers;
  if (kind == WriteKind::kAck) {
    std::memcpy(&write.ack, from, sizeof write.ack);
    other_->rules_.promise(write.ack);
  }
  plan(write);
  ++incomplete_;
  fabric_.moved = true;
  writes_.push_back(std::move(write));
  return copied ? WriteResult::kCopied : WriteResult::kPosted;
}

void SimEndpoint::check(WriteKind kind, std::span<const std::byte> data, std::uint64_t address,
                        std::uint32_t key) {
  const std::string who =
      "rank " + std::to_string(rank_) + " to rank " + std::to_string(other_->rank_) + ": ";
  if (!connected_) fabric_.violate(who + "write on a connection that is not there yet");
  if (!active_ && !spoken_to_) fabric_.violate(who + "the passive side wrote first");
  if (kind == WriteKind::kUnknown) fabric_.violate(who + "write to a place of the inbox that has no meaning");
  if (kind != WriteKind::kSlots) return;
  const RingConsumer* reader = other_->open() ? fabric_.consumer_of(other_->rank_, rank_) : nullptr;
  const std::string broken = rules_.check_slots(key, address, data, reader);
  if (!broken.empty()) fabric_.violate(who + broken);
}

void SimEndpoint::note(WriteKind kind, std::span<const std::byte> data) {
  const std::uint32_t to = other_->rank_;
  std::uint64_t words[8] = {};
  if (kind != WriteKind::kSlots) std::memcpy(words, data.data(), std::min(data.size(), sizeof words));
  switch (kind) {
    case WriteKind::kSlots:
      ++fabric_.totals.slot_writes;
      fabric_.totals.slots_written += rules_.next() - rules_.first();
      fabric_.trace.note("%lld>%lld  write: slots %lld to %lld of epoch %lld, %lld bytes", rank_, to,
                         rules_.first(), rules_.next() - 1, rules_.epoch(), data.size());
      return;
    case WriteKind::kGrant:
      ++fabric_.totals.grant_words;
      fabric_.trace.note("%lld>%lld  write: grant %lld", rank_, to, words[0]);
      return;
    case WriteKind::kRepeat:
      ++fabric_.totals.repeat_words;
      fabric_.trace.note("%lld>%lld  write: repeat %lld", rank_, to, words[0] & 0xffffffffu);
      return;
    case WriteKind::kAck: {
      EnlargeAck ack;
      std::memcpy(&ack, data.data(), sizeof ack);
      ++fabric_.totals.acks;
      const bool refused = ack.status == static_cast<std::uint8_t>(AckStatus::kRefused);
      fabric_.trace.note(
          "%lld>%lld  write: ack %lld %s, phase %lld, %lld slots of %lld, base %lld, epoch %lld", rank_, to,
          ack.number, refused ? "refused" : "provisioned", ack.phase, ack.slots, ack.slot_bytes, ack.base,
          ack.epoch);
      return;
    }
    case WriteKind::kUnknown:
      return;
  }
}

// ---- a write's way (planned in sim_way.cc)

void SimEndpoint::read(Write& write) {
  fabric_.moved = true;
  fabric_.totals.rereads += write.read;
  write.read = true;
  std::memcpy(write.bytes.data(), write.from, write.bytes.size());
  if (digest32(write.from, write.bytes.size()) != write.posted_digest)
    fabric_.violate("rank " + std::to_string(rank_) + " changed memory that a posted write had yet to read");
}

void SimEndpoint::complete(Write& write) {
  write.complete = true;
  --incomplete_;
  if (write.source == nullptr) return;
  --write.source->readers;
  if (digest32(write.from, write.bytes.size()) != write.posted_digest)
    fabric_.violate("rank " + std::to_string(rank_) + " changed memory before its write was complete");
}

void SimEndpoint::place(Write& write, const Piece& piece) {
  fabric_.moved = true;
  if (!other_->open()) return;  // nobody is there any more
  std::byte* to = other_->port_.memory().at(write.key, write.address, write.bytes.size());
  if (to == nullptr) {
    fabric_.violate("rank " + std::to_string(rank_) + " wrote into closed memory of rank " +
                    std::to_string(other_->rank_) + " (key " + std::to_string(write.key) + ")");
    return;
  }
  std::memcpy(to + piece.offset, write.bytes.data() + piece.offset, piece.bytes);
  other_->spoken_to_ = true;
  if (write.kind == WriteKind::kAck && std::memcmp(to, &write.ack, sizeof write.ack) == 0) {
    if (&piece == &write.pieces.back())
      fabric_.trace.note("%lld>%lld  ack %lld is there", rank_, other_->rank_, write.ack.number);
    other_->rules_.landed(write.ack);
  }
}

// ---- time

void SimEndpoint::advance() {
  const std::uint64_t now = fabric_.clock.now_us();
  if (!writes_.empty() && !broken_) {
    for (Write& write : writes_) {
      if (write.read_us > now) break;
      if (!write.read) read(write);
      if (write.reread_us != 0 && write.reread_us <= now) {
        write.reread_us = 0;
        read(write);
      }
    }
    if (!fabric_.ordered) place_due();
  }
  if (open() || told_ || other_ == nullptr || !writes_.empty()) return;
  told_ = true;
  other_->set_broken();
  port_.tell_lost(*other_, "the peer closed the connection");
}

void SimEndpoint::place_due() {
  const std::uint64_t now = fabric_.clock.now_us();
  for (Write& write : writes_) {
    while (write.read && write.placed < write.pieces.size() && write.pieces[write.placed].due_us <= now)
      place(write, write.pieces[write.placed++]);
    if (write.placed < write.pieces.size()) break;
  }
  drop_done();
}

void SimEndpoint::finish_placing(std::uint32_t key) {
  for (Write& write : writes_) {
    if (write.key != key || write.placed == 0) continue;
    while (write.placed < write.pieces.size()) place(write, write.pieces[write.placed++]);
  }
}

bool SimEndpoint::take_completion() {
  const std::uint64_t now = fabric_.clock.now_us();
  if (broken_) return false;
  for (Write& write : writes_) {
    if (write.complete) continue;
    if (!write.read || write.reread_us != 0 || write.complete_us > now) return false;
    const bool told = write.source != nullptr;
    complete(write);
    if (!told) continue;
    fabric_.moved = true;
    drop_done();
    return true;
  }
  drop_done();
  return false;
}

void SimEndpoint::drop_done() {
  while (!writes_.empty() && writes_.front().complete &&
         writes_.front().placed == writes_.front().pieces.size())
    writes_.pop_front();
}

std::uint64_t SimEndpoint::next_due_us() const {
  if (broken_ || other_ == nullptr) return kNever;
  if (!open() && writes_.empty()) return told_ ? kNever : 0;
  std::uint64_t due = kNever;
  for (const Write& write : writes_) {
    if (!write.read) due = std::min(due, write.read_us);
    if (write.reread_us != 0) due = std::min(due, write.reread_us);
  }
  for (const Write& write : writes_) {
    if (write.placed == write.pieces.size()) continue;
    return std::min(due, write.pieces[write.placed].due_us);
  }
  return due;
}

std::uint64_t SimEndpoint::next_completion_us() const {
  if (broken_) return kNever;
  for (const Write& write : writes_) {
    if (!write.complete) return write.complete_us;
  }
  return kNever;
}

// ---- opening and closing

void SimEndpoint::pair(SimEndpoint& other, bool active) {
  other_ = &other;
  active_ = active;
  Hello hello{};
  std::memcpy(&hello, other.greeting.data(), std::min(other.greeting.size(), kHelloBytes));
  rules_.announce(hello);
}

// Reads of the own memory end here; what was read goes on its way.
void SimEndpoint::drop_unread() {
  std::erase_if(writes_, [](const Write& write) {
    if (!write.read && !write.complete) --write.source->readers;
    return !write.read;
  });
  for (Write& write : writes_) {
    write.reread_us = 0;
    if (write.complete) continue;
    write.complete = true;
    if (write.source != nullptr) --write.source->readers;
  }
  incomplete_ = 0;
  if (other_ == nullptr || broken_) writes_.clear();
  drop_done();
}

void SimEndpoint::close() {
  user_ = nullptr;
  fabric_.moved = true;
  drop_unread();
}

void SimEndpoint::crash() {
  user_ = nullptr;
  drop_unread();
  if (fabric_.random.chance(500)) writes_.clear();
}

}  // namespace bufenlarge::sim
