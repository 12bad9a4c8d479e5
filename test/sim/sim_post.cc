// SPDX-License-Identifier: MIT
// A write as it is posted: whether it is taken, which rules it must keep, and what the trace notes of it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/digest.h"
#include "sim/sim_port.h"

namespace bufenlarge::sim {

namespace {

// Of a real endpoint: of tcp the slot writes a channel keeps posted, and a few words; of verbs fewer.
constexpr std::uint32_t kQueueEntries = kWritesInFlightMax + 4;
constexpr std::uint32_t kShortQueueEntries = 15;

}  // namespace

// A device takes writes of a link that is no more, or says so: a channel has to bear either.
std::optional<WriteResult> SimEndpoint::not_posted(WriteUse use, WriteResult taken) {
  const std::uint32_t entries = fabric_.ordered() ? kQueueEntries : kShortQueueEntries;
  if (gone_ || broken_) port_.follow_later();
  if (gone_) return ++writes_to_gone_ > entries ? refuse(use) : taken;
  if (broken_ || other_ == nullptr) {
    const bool said = other_ == nullptr || fabric_.random.chance(500);
    return said ? WriteResult::kFailed : taken;
  }
  const bool waits = (held_ != 0 && !is_data(use)) || (waiting_ != 0 && !is_slots(use));
  if (incomplete_ >= entries || waits || fabric_.random.chance(fabric_.faults.write_again)) return refuse(use);
  return std::nullopt;
}

WriteResult SimEndpoint::write(SimMemory::Block* source, const std::byte* from, std::size_t bytes,
                               std::uint64_t address, std::uint32_t key, WriteUse use, std::uint32_t sequence) {
  const bool carries_data = is_data(use);
  const bool unsignaled = fabric_.unsignaled && is_slots(use);
  const bool copied = (bytes <= fabric_.inline_bytes && !(carries_data && fabric_.ordered()) && !unsignaled) ||
                      (use == WriteUse::kWord && bytes == sizeof(GrantWord));
  const WriteResult taken = copied || unsignaled ? WriteResult::kCopied : WriteResult::kPosted;
  if (const auto refusal = not_posted(use, taken)) return *refusal;
  const std::span<const std::byte> data(from, bytes);
  const WriteKind kind = carries_data ? WriteKind::kData : rules_.kind_of(key, address, bytes);
  check(kind, data, address, key, use, sequence);
  note(kind, data);
  Write write{kind, copied ? nullptr : source, from, address, key, digest32(from, bytes), 0, 0, 0, {}, {}, {}};
  write.bytes.assign(from, from + bytes);
  write.read = copied;
  write.notifies = use == WriteUse::kNotifiedSlots || use == WriteUse::kLastData;
  write.sequence = sequence;
  write.next = rules_.next();
  write.held = holds(use);
  held_ = write.held ? held_ + 1 : 0;
  write.unsignaled = unsignaled;
  write.waits = unsignaled && waits(use);
  fabric_.totals.held += write.held;
  if (!copied) source->add_reader(from, 1);
  if (kind == WriteKind::kAck) {
    std::memcpy(&write.ack, from, sizeof write.ack);
    other_->rules_.promise(write.ack);
  }
  const bool held = write.held;
  post(std::move(write));
  if (kind == WriteKind::kHint && fabric_.random.chance(fabric_.faults.hint_twice)) repeat_hint();
  return held ? WriteResult::kHeld : taken;
}

void SimEndpoint::post(Write write) {
  plan(write);
  ++incomplete_;
  fabric_.moved = true;
  writes_.push_back(std::move(write));
  fabric_.busy.wake(*this);
  if (other_->connected_) stalled_ = false;
}

WriteResult SimEndpoint::refuse(WriteUse use) {
  ++fabric_.totals.agains;
  port_.follow_later();
  tried_notified_ |= use == WriteUse::kNotifiedSlots;  // its last slot has no check any more
  return WriteResult::kAgain;
}

// As on tcp: a few parts to a write, and now and then fewer than could be.
bool SimEndpoint::holds(WriteUse use) {
  constexpr std::uint32_t kHeldMax = 3;
  return use == WriteUse::kMoreData && fabric_.ordered() && held_ < kHeldMax && fabric_.random.chance(800);
}

// As on tcp, with one system call for all of them.
bool SimEndpoint::waits(WriteUse use) {
  constexpr std::uint32_t kWaitingMax = 3;
  const bool more = use == WriteUse::kMoreSlots && waiting_ < kWaitingMax;
  if (!more)
    for (Write& write : writes_) write.waits = false;
  waiting_ = more ? waiting_ + 1 : 0;
  fabric_.totals.waited += more;
  port_.followed(use == WriteUse::kMoreSlots ? this : nullptr);
  return more;
}

void SimEndpoint::check(WriteKind kind, std::span<const std::byte> data, std::uint64_t address,
                        std::uint32_t key, WriteUse use, std::uint32_t sequence) {
  const std::string who =
      "rank " + std::to_string(rank_) + " to rank " + std::to_string(other_->rank_) + ": ";
  if (rules_.holds(other_->rules_) && kind != WriteKind::kHint)  // the hint of the answer comes behind it
    fabric_.violate(who + "writes although it has agreed to close");
  if (!connected_) fabric_.violate(who + "write on a connection that is not there yet");
  if (!active_ && !spoken_to_) fabric_.violate(who + "the passive side wrote first");
  if (kind == WriteKind::kUnknown) fabric_.violate(who + "write to a place of the inbox that has no meaning");
  if ((sequence != 0) != (use == WriteUse::kLastData)) fabric_.violate(who + "sequence and use do not agree");
  if (kind == WriteKind::kData) {
    if (!other_->port_.alive() && !rules_.expects_data(key, address, data.size())) return;  // its windows went with it
    if (other_->port_.memory().is_window(key)) {
      if (sequence != 0) fabric_.violate(who + "a one-sided write that ends a response");
      return;
    }
    const std::string wrong = rules_.check_data(key, address, data.size(), sequence);
    if (!wrong.empty()) fabric_.violate(who + wrong);
    return;
  }
  const WriteUse fits = kind == WriteKind::kHint ? WriteUse::kHint : WriteUse::kWord;
  if ((kind != WriteKind::kSlots) != (use == fits)) fabric_.violate(who + "write of another use");
  if (kind == WriteKind::kHint && data[0] != std::byte{1}) fabric_.violate(who + "a hint that is not 1");
  if (kind != WriteKind::kSlots) return;
  const bool notified = use == WriteUse::kNotifiedSlots;
  const Arrival asked = fabric_.arrival_of(other_->rank_);
  if (asked != Arrival::kMixed && notified != (asked == Arrival::kNotified))
    fabric_.violate(who + (notified ? "notified without being asked" : "not notified"));
  if (asked == Arrival::kMixed) ++(notified ? fabric_.totals.mixed_notified : fabric_.totals.mixed_checked);
  const bool hot = looks_hot();
  if (polls(asked) && asked != Arrival::kInOrder) ++(hot ? fabric_.totals.hot_writes : fabric_.totals.cold_writes);
  const RingConsumer* reader = other_->open() ? fabric_.consumer_of(other_->rank_, rank_) : nullptr;
  const std::string broken = rules_.check_slots(key, address, data, notified, asked, hot, reader,
                                                fabric_.writes || std::exchange(tried_notified_, false));
  if (!broken.empty()) fabric_.violate(who + broken);
  other_->rules_.asked(rules_.requests());
  for (const ReadRequestParts& one : rules_.requests()) fabric_.totals.joined += one.sources.size() > 1;
  fabric_.totals.read_fragments += rules_.fragments();
  if (rules_.fragments() != 0) fabric_.read_fragments.emplace(rank_, other_->rank_);
}

// The word about hot channels in the own inbox.
bool SimEndpoint::looks_hot() const {
  const SimRules& own = other_->rules_;
  const std::byte* word = port_.memory().at(own.inbox_key(), own.inbox_address() + offsetof(ControlInbox, hot), 1);
  return word != nullptr && *word != std::byte{0};
}

void SimEndpoint::note(WriteKind kind, std::span<const std::byte> data) {
  const std::uint32_t to = other_->rank_;
  std::uint64_t words[8] = {};
  if (kind != WriteKind::kSlots && kind != WriteKind::kData)
    std::memcpy(words, data.data(), std::min(data.size(), sizeof words));
  switch (kind) {
    case WriteKind::kSlots:
      ++fabric_.totals.slot_writes;
      fabric_.totals.slots_written += rules_.next() - rules_.first();
      fabric_.trace.note("%lld>%lld  write: slots %lld to %lld of epoch %lld, %lld bytes", rank_, to,
                         rules_.first(), rules_.next() - 1, rules_.epoch(), data.size());
      return;
    case WriteKind::kData:
      ++fabric_.totals.data_writes;
      fabric_.trace.note("%lld>%lld  write: %lld bytes of data", rank_, to, data.size());
      return;
    case WriteKind::kGrant:
      ++fabric_.totals.grant_words;
      fabric_.trace.note("%lld>%lld  write: grant %lld", rank_, to, words[0]);
      return;
    case WriteKind::kRepeat:
      ++fabric_.totals.repeat_words;
      fabric_.trace.note("%lld>%lld  write: repeat %lld", rank_, to, words[0] & 0xffffffffu);
      return;
    case WriteKind::kHot:
      ++fabric_.totals.hot_words;
      fabric_.trace.note("%lld>%lld  write: hot %lld", rank_, to, words[0]);
      return;
    case WriteKind::kHint:
      ++fabric_.totals.hints;
      fabric_.trace.note("%lld>%lld  write: hint", rank_, to);
      return;
    case WriteKind::kAck:
      note_ack(data);
      return;
    case WriteKind::kUnknown:
      return;
  }
}

void SimEndpoint::note_ack(std::span<const std::byte> data) {
  const std::uint32_t to = other_->rank_;
  EnlargeAck ack;
  std::memcpy(&ack, data.data(), sizeof ack);
  ++fabric_.totals.acks;
  const bool refused = ack.status != static_cast<std::uint8_t>(AckStatus::kProvisioned);
  fabric_.trace.note(
      "%lld>%lld  write: ack %lld %s, phase %lld, %lld slots of %lld, base %lld, epoch %lld", rank_, to,
      ack.number, refused ? "refused" : "provisioned", ack.phase, ack.slots, ack.slot_bytes, ack.base,
      ack.epoch);
}

}  // namespace bufenlarge::sim
