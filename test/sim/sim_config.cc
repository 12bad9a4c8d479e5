// SPDX-License-Identifier: MIT
#include "sim/sim_config.h"

#include <algorithm>

#include "channel/ring_slabs.h"

namespace bufenlarge::sim {

namespace {

// Bytes of one seed's messages: enough to fill rings many times over, few enough to run thousands.
constexpr std::uint32_t kSeedBytes = 400'000;
constexpr std::uint32_t kRingBytesMax = 128 * 1024;
constexpr std::uint32_t kHubs = 64;  // of thousands of processes

class Draw {
 public:
  Draw(std::uint64_t seed, SimKind kind)
      : random_(seed * 16 + static_cast<std::uint64_t>(kind)),
        late_(~seed * 16 + static_cast<std::uint64_t>(kind)),
        kind_(kind) {}

  SimConfig make(std::uint64_t seed) {
    config_.seed = seed;
    config_.start_us = 1'000'000 + (random_.next() >> random_.between(20, 40));
    config_.peers = kind_ == SimKind::kConnections ? random_.between(2, 6) : one_of({2, 2, 3, 4, 5, 6});
    if (kind_ == SimKind::kStall) config_.peers = random_.between(3, 5);
    if (is(SimKind::kDeath) || is(SimKind::kSilence)) config_.peers = random_.between(2, 5);
    if (kind_ == SimKind::kBudget) config_.peers = random_.between(3, 8);
    if (kind_ == SimKind::kScarce) config_.peers = random_.between(3, 6);
    if (kind_ == SimKind::kRoom) config_.peers = random_.between(3, 10);
    if (kind_ == SimKind::kCrowd) config_.peers = random_.between(24, 64);
    if (kind_ == SimKind::kThousands) config_.peers = 4096;
    fabric();
    config_.virtual_addresses = random_.chance(500);
    settings();
    writes();
    special();
    messages();
    groups();
    return std::move(config_);
  }

 private:
  std::uint32_t one_of(std::initializer_list<std::uint32_t> values) {
    return values.begin()[random_.below(static_cast<std::uint32_t>(values.size()))];
  }
  [[nodiscard]] bool is(SimKind kind) const { return kind_ == kind; }
  [[nodiscard]] bool changes_often() const {
    return is(SimKind::kShrink) || is(SimKind::kEarned) || is(SimKind::kBudget);
  }

  void fabric();
  void settings();
  void phases();
  void threshold(std::uint8_t index, bool percent);
  void writes();
  void special();
  void acks();
  void connections();
  void memory();
  [[nodiscard]] std::uint32_t messages_max() const;
  void messages();
  void groups();
  [[nodiscard]] std::uint32_t element_bytes(bool may_grow);
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> chunks(bool may_grow);

  SimRandom random_;
  SimRandom late_;  // of what came to be drawn later: the rest of a seed's world stays what it was
  SimConfig config_;
  SimKind kind_;
};

// ---- fabric

void Draw::fabric() {
  static constexpr Arrival kArrivals[]{Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified,
                                       Arrival::kMixed};
  config_.arrival = kArrivals[random_.below(4)];
  const bool in_order = config_.arrival == Arrival::kInOrder;
  config_.any_order = !in_order && random_.chance(300);
  const bool crossed = !in_order && random_.chance(200);
  config_.arrival_odd = crossed ? kArrivals[random_.between(1, 3)] : config_.arrival;
  config_.poll_entries_max = is(SimKind::kLeave) ? one_of({1, 1, 2}) : one_of({1, 4, 16});
  config_.inline_bytes = in_order ? 2 * sizeof(EnlargeAck) : one_of({0, kInlineBytes});
}

// ---- rings

void Draw::settings() {
  phases();
  ChannelSettings& channel = config_.channel;
  channel.vector_mode = random_.chance(300) ? VectorMode::kWhole : VectorMode::kPartial;
  const bool always_grows = !is(SimKind::kMixed) && !is(SimKind::kTight);
  channel.enlargement = always_grows || random_.chance(900);
  channel.ack_timeout_us = one_of({200, 500, 1000, 5000});
}

void Draw::phases() {
  PhaseTable& table = config_.channel.phases;
  const bool grows =
      is(SimKind::kAcks) || is(SimKind::kMemory) || is(SimKind::kGrowth) || is(SimKind::kStall) || changes_often();
  const auto count = static_cast<std::uint8_t>(grows ? random_.between(2, 4) : random_.between(1, 4));
  const bool percent = random_.chance(500);
  std::uint32_t slot_bytes = is(SimKind::kTight) ? 64 : one_of({64, 100, 128, 200, 512, 513, 1000, 2000});
  for (std::uint8_t i = 0; i < count; ++i) {
    Phase& phase = table.phases[table.count++];
    phase.slot_bytes = slot_bytes;
    const std::uint32_t most = std::clamp(kRingBytesMax / slot_bytes, 1u, 32u);
    phase.slots =
        is(SimKind::kTight) ? one_of({1, 1, 1, 2, 3}) : std::min(most, one_of({1, 2, 3, 4, 8, 16, 32}));
    threshold(i, percent);
    const std::uint32_t room = 20'000 - slot_bytes;
    if (room < 64) return;
    slot_bytes += 16 + random_.below(random_.chance(500) ? std::min(room - 16, 800u) : room - 16);
  }
}

// Grows from phase to phase, as the knobs demand.
void Draw::threshold(std::uint8_t index, bool percent) {
  PhaseTable& table = config_.channel.phases;
  Phase& phase = table.phases[index];
  phase.threshold_bytes = phase.capacity();
  if (percent) phase.threshold_bytes = std::max(1u, phase.capacity() * one_of({50, 75, 100, 100}) / 100);
  if (index == 0 && !percent && random_.chance(300))
    phase.threshold_bytes = random_.between(1, phase.capacity());
  if (index > 0 && phase.threshold_bytes <= table.phases[index - 1u].threshold_bytes)
    phase.threshold_bytes = phase.capacity();
  if (index > 0 && phase.threshold_bytes <= table.phases[index - 1u].threshold_bytes) --table.count;
}

// ---- faults

void Draw::writes() {
  SimFaults& faults = config_.faults;
  faults.write_again = one_of({0, 20, 200});
  faults.tear = one_of({0, 100, 500});
  faults.tear_parts_max = random_.between(2, 8);
  faults.slow = one_of({0, 5, 50});
  faults.slow_us_max = one_of({50, 500, 5000});
  faults.delay_us_max = one_of({1, 4, 20});
  faults.read_again = one_of({0, 50, 300});
  faults.late_completion = one_of({0, 20, 200});
  faults.pause = one_of({0, 0, 1, 5});
  faults.pause_us_max = one_of({200, 2000, 20000});
  faults.connect_us_max = one_of({5, 50, 2000});
  faults.between_polls = one_of({0, 100, 900});
  if (is(SimKind::kLeave)) faults.pause = one_of({1, 5, 20});
}

void Draw::acks() {
  SimFaults& faults = config_.faults;
  faults.ack_torn = one_of({0, 200, 500});
  faults.ack_late = one_of({0, 200});
  faults.ack_corrupt = one_of({0, 300, 700});
  faults.ack_lost = one_of({0, 200});
  faults.ack_part_lost = one_of({0, 300});
  faults.ack_damage_max = random_.between(1, 4);
  faults.ack_hold_us_max = static_cast<std::uint32_t>(config_.channel.ack_timeout_us) * one_of({2, 5, 40});
}

void Draw::connections() {
  SimFaults& faults = config_.faults;
  faults.open_fails = one_of({0, 100});
  faults.connect_refused = one_of({0, 100, 300});
  faults.attempt_lost = one_of({0, 100, 300});
  faults.lost_unnamed = late_.chance(500) ? late_.between(1, 1000) : 0;
  faults.first_stalls = late_.chance(500) ? late_.between(1, 1000) : 0;
  faults.accept_fails = one_of({0, 50});
  faults.accept_lost = one_of({0, 100});
  faults.silent_lost = one_of({0, 500});
  faults.connect_us_max = one_of({5, 100, 5000, 200'000});
  config_.unauthorized = one_of({0, 0, 5, 20});
}

// Some processes cannot have rings of more than a certain size; the others now and then cannot.
void Draw::memory() {
  const PhaseTable& table = config_.channel.phases;
  config_.faults.allocation_fails = one_of({0, 100, 300});
  if (is(SimKind::kMixed) && random_.chance(700)) return;
  for (std::uint32_t rank = 0; rank < config_.peers; ++rank) {
    const bool is_poor = table.count > 1 && random_.chance(400);
    // Small slots, as many as the peer's ring has.
    std::size_t enough = least_slab_bytes(table.at(0).ring_bytes());
    for (std::uint8_t i = 1; i < table.count; ++i)
      enough = std::max<std::size_t>(enough, std::size_t{table.at(0).stride()} * table.at(i).slots);
    config_.block_bytes_max.push_back(is_poor ? enough : 0);
  }
}

void Draw::special() {
  if (closes(kind_) || changes_often()) {
    if (random_.chance(300)) acks();
    if (random_.chance(300)) connections();
    if (random_.chance(300)) memory();
  }
  if (is(SimKind::kMixed) || is(SimKind::kAcks) || is(SimKind::kGrowth)) acks();
  if (is(SimKind::kMixed) || is(SimKind::kConnections)) connections();
  if (is(SimKind::kMixed) || is(SimKind::kMemory)) memory();
  if (is(SimKind::kDeath)) {
    config_.death = SimDeath{random_.below(config_.peers), random_.between(20, 3000)};
    config_.black_hole = late_.chance(300);
  }
  if (is(SimKind::kMixed)) config_.close_early = random_.chance(100);
  if (is(SimKind::kLeave)) config_.leave = true;
  if (!is(SimKind::kLeave) && late_.chance(600)) config_.poll_events_max = late_.chance(500) ? 1 : 8;
  if (is(SimKind::kStall)) config_.stall = AckStall{0, 1, 3'000'000};
  config_.responses_max = one_of({0, 5, 30});
  if (is(SimKind::kStall) || is(SimKind::kLeave)) config_.responses_max = 0;
}

// ---- messages

std::uint32_t Draw::element_bytes(bool may_grow) {
  const PhaseTable& table = config_.channel.phases;
  const std::uint32_t first = table.at(0).threshold_bytes;
  if (!may_grow) return random_.between(1, first);
  const Phase& phase = table.at(static_cast<std::uint8_t>(random_.below(table.count)));
  switch (random_.below(8)) {
    case 0:
      return phase.threshold_bytes;
    case 1:
      return phase.threshold_bytes + 1;
    case 2:
      return std::max(1u, phase.threshold_bytes - 1);
    case 3:
      return random_.between(1, phase.threshold_bytes);
    case 4:
      return random_.chance(200) ? random_.between(1, 4 * table.at(table.last()).slot_bytes) : 8;
    default:
      return random_.between(1, std::min(first, 200u));
  }
}

std::vector<std::vector<std::uint32_t>> Draw::chunks(bool may_grow) {
  std::vector<std::vector<std::uint32_t>> made(random_.chance(150) ? random_.between(2, 4) : 1);
  for (std::vector<std::uint32_t>& chunk : made) {
    chunk.resize(random_.chance(500) ? 1 : random_.between(1, 6));
    for (std::uint32_t& element : chunk) element = element_bytes(may_grow);
  }
  return made;
}

std::uint32_t Draw::messages_max() const {
  switch (kind_) {
    case SimKind::kTight: return 60;
    case SimKind::kReads:
    case SimKind::kScarce:
    case SimKind::kKept: return 20;
    case SimKind::kCrowd: return 800;
    case SimKind::kEarned: return 400;
    default: return 120;
  }
}

void Draw::messages() {
  // Which directions may need larger rings: so that others are seen to stay small.
  std::vector<bool> grows(config_.peers * config_.peers);
  for (std::size_t i = 0; i < grows.size(); ++i)
    grows[i] = random_.chance(is(SimKind::kGrowth) ? 800 : 400);
  if (is(SimKind::kStall)) grows[1] = true;
  const bool thousands = is(SimKind::kThousands);
  const std::uint32_t count = thousands ? random_.between(2'000, 6'000) : random_.between(10, messages_max());
  const std::uint32_t bytes_max = thousands ? 20 * kSeedBytes : kSeedBytes;
  const std::uint32_t spread_us = one_of({0, 100, 3000});
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < count && bytes < bytes_max; ++i) {
    SimMessagePlan message;
    const bool hot = random_.chance(300) || is(SimKind::kStall);
    message.from = hot ? random_.below(2) : random_.below(config_.peers);
    message.to = hot ? 1 - message.from : random_.below(config_.peers - 1);
    if (!hot && message.to >= message.from) ++message.to;
    // More talk to some than these may have connections.
    if (thousands && random_.chance(400)) message.from = kHubs + random_.below(kHubs);
    if (thousands && message.from >= kHubs && random_.chance(700)) message.to = random_.below(kHubs);
    if (message.from == message.to) continue;
    if (is(SimKind::kStall) && random_.chance(600)) {
      message.from = random_.below(config_.peers);
      message.to = (message.from + random_.between(1, config_.peers - 1)) % config_.peers;
    }
    message.start_us = random_.below(spread_us + 1);
    message.chunks = chunks(grows[message.from * config_.peers + message.to]);
    for (const auto& chunk : message.chunks)
      for (const std::uint32_t element : chunk) bytes += element;
    config_.plan.push_back(std::move(message));
  }
  const Phase& first = config_.channel.phases.at(0);
  if (is(SimKind::kStall))
    config_.plan.insert(config_.plan.begin(), {0, 1, 0, {{first.threshold_bytes + 1}}});
  std::stable_sort(config_.plan.begin(), config_.plan.end(),
                   [](const SimMessagePlan& a, const SimMessagePlan& b) { return a.start_us < b.start_us; });
}

void Draw::groups() {
  config_.faults.group_late = one_of({0, 100, 700});
  config_.faults.group_idle = one_of({0, 50, 300});
}

}  // namespace

SimConfig draw_config(std::uint64_t seed, SimKind kind) {
  SimConfig config = Draw(seed, kind).make(seed);
  draw_reads(config, kind);
  draw_writes(config, kind);
  draw_closing(config, kind);
  draw_shrinking(config, kind);
  draw_budget(config, kind);
  draw_earning(config, kind);
  draw_hot_channels(config, kind);
  draw_slots(config, kind);
  draw_kept(config, kind);
  draw_silence(config, kind);
  return config;
}

}  // namespace bufenlarge::sim
