// SPDX-License-Identifier: MIT
#include "sim/sim_world.h"

#include <algorithm>
#include <array>

#include "sim/sim_arena.h"

namespace bufenlarge::sim {

namespace {

// A world that needs more is taken for one that never drains. Both are many times what a seed of a correct library
// needs for anything but its data. A step is the turn of one process, so the bound grows with their number beyond
// kPeersFew. Slots of few bytes in rings of few slots make data take many steps: each slot waits for its turn, and for
// the grant of one before it. So it also grows by kStepsPerSlot for each slot that the data would fill in a ring of the
// first phase, if all of it went through rings.
constexpr std::uint64_t kStepsMax = 1'000'000;
constexpr std::uint64_t kPeersFew = 10;
constexpr std::uint64_t kStepsPerSlot = 200;
constexpr std::uint64_t kVirtualUsMax = 600'000'000;

std::uint64_t steps_max(const SimConfig& config) {
  const std::uint64_t capacity = config.channel.phases.at(0).capacity();
  std::uint64_t slots = 0;
  const auto add = [&](std::uint64_t bytes) { slots += bytes / capacity + 1; };
  for (const SimMessagePlan& message : config.plan)
    for (const auto& chunk : message.chunks) std::ranges::for_each(chunk, add);
  for (const SimReadPlan& read : config.reads)
    for (const auto& part : read.parts) std::ranges::for_each(part.segments, add);
  for (const SimWritePlan& write : config.writes) add(write.bytes), add(write.after_bytes);
  return kStepsMax * std::max<std::uint64_t>(config.peers, kPeersFew) / kPeersFew + kStepsPerSlot * slots;
}

// With more of them time passes more slowly, and the whole world is looked at less often. Virtual time has no bound
// then: a process that seems to have nothing to do gets one turn of thousands, and between two turns time leaps.
constexpr std::uint32_t kPeersMany = 64;

constexpr std::uint64_t kLeapUsMin = 32;
constexpr std::uint64_t kLeapUsMax = 131'072;

// What the ports of a world have in common.
void set_up(SimFabric& fabric, const SimConfig& config) {
  fabric.arrival = config.arrival;
  fabric.arrival_odd = config.arrival_odd;
  fabric.any_order = config.any_order;
  fabric.black_hole = config.black_hole;
  fabric.unsignaled = config.unsignaled;
  fabric.writes = !config.writes.empty();
  fabric.inline_bytes = config.inline_bytes;
  fabric.poll_entries_max = config.poll_entries_max;
  fabric.connections_max = std::max(config.channel.connections_max, config.port_links_max);
  fabric.port_bounds = config.port_links_max != 0;
  fabric.poll_events_max = config.poll_events_max;
  for (std::uint8_t i = 0; i < config.channel.phases.count; ++i)
    fabric.receives = std::max(fabric.receives, config.channel.phases.at(i).slots);
  fabric.virtual_addresses = config.virtual_addresses;
  fabric.blind = config.blind;
  for (std::uint32_t rank = 0; config.kept_bytes != 0 && rank < config.peers; ++rank)
    fabric.arenas.push_back(std::make_unique<SimArena>(fabric, rank));
  fabric.scripted_acks.assign(config.scripted_acks.begin(), config.scripted_acks.end());
  if (config.stall) {
    fabric.stall = *config.stall;
    fabric.stall.until_us += config.start_us;
  }
}

}  // namespace

SimWorld::SimWorld(const SimConfig& config, TraceOutput output)
    : config_(config),
      steps_max_(steps_max(config)),
      virtual_us_max_(config.peers > kPeersMany ? ~std::uint64_t{0} : kVirtualUsMax),
      steps_per_look_(std::max(1u, config.peers / kPeersMany)),
      fabric_(config.seed, config.start_us, config.faults, output),
      forger_(~config.seed),
      shared_{fabric_,
              config_,
              flows_,
              config.responses_max,
              [this](std::uint32_t rank) { beside(rank); },
              0,
              std::vector<bool>(config.peers),
              sim_addresses(config.peers)},
      reads_(fabric_, config_, [this](std::uint32_t rank) {
        return rank < peers_.size() && peers_[rank]->alive() ? peers_[rank].get() : nullptr;
      }),
      writes_(fabric_, config_, [this](std::uint32_t rank) {
        return rank < peers_.size() && peers_[rank]->alive() ? peers_[rank].get() : nullptr;
      }) {
  shared_.reads = &reads_;
  shared_.writes = &writes_;
  unauthorized_left_ = config.unauthorized;
  set_up(fabric_, config);
  fabric_.active.watch(config.peers > kPeersMany ? config.peers : 0);
  for (std::uint32_t rank = 0; rank < config.peers; ++rank)
    peers_.push_back(std::make_unique<SimPeer>(shared_, rank));
  fabric_.consumer_of = [this](std::uint32_t owner, std::uint32_t writer) -> const RingConsumer* {
    const SimPeer::Channel* channel = peers_[owner]->find(writer);
    return channel == nullptr || channel->failed() ? nullptr : &channel->receive_ring().consumer();
  };
}

SimWorld::~SimWorld() = default;

SimResult SimWorld::run() {
  drain();
  if (ok() && !config_.close_early && !config_.leave) {
    settle();
    check_end();
  }
  collect();
  if (ok()) close();
  fabric_.totals.seeds = 1;
  fabric_.totals.virtual_ms = fabric_.clock.since_start_us() / 1000;
  return {fabric_.violation, fabric_.trace.hash(), fabric_.totals, fabric_.trace.text()};
}

// ---- steps

void SimWorld::step() {
  ++fabric_.totals.steps;
  const auto active = static_cast<std::uint32_t>(fabric_.active.count());
  if (active <= kPeersMany || fabric_.random.below(active) < kPeersMany) tick();
  peers_[next_turn()]->turn();
  if (config_.leave) leave_if_done();
  pass_time();
}

void SimWorld::tick() {
  fabric_.clock.advance(config_.in_turn ? 1 : fabric_.random.below(4));
  put_due_messages();
  reads_.put_due();
  writes_.put_due();
  if (unauthorized_left_ != 0 && fabric_.random.chance(20)) knock();
  die_if_due();
  fabric_.advance();
}

std::uint32_t SimWorld::next_turn() {
  if (config_.in_turn) return turn_++ % config_.peers;
  if (fabric_.active.count() != 0 && fabric_.random.chance(800)) return fabric_.active.take(fabric_.random);
  return fabric_.random.below(config_.peers);
}

// Leaps over time in which nothing can happen but a time limit passing in some channel.
void SimWorld::pass_time() {
  still_ = fabric_.moved ? 0 : still_ + 1;
  if (fabric_.moved) leap_us_ = kLeapUsMin;
  fabric_.moved = false;
  if (still_ < 3 * std::min<std::size_t>(config_.peers, kPeersMany + fabric_.active.count())) return;
  const std::uint64_t due = next_due_us();
  const std::uint64_t now = fabric_.clock.now_us();
  if (config_.peers > kPeersMany) still_ = 0;
  if (due <= now || !leaps_) return;
  still_ = 0;
  fabric_.clock.advance(std::min(due - now, leap_us_));
  leap_us_ = std::min(leap_us_ * 2, kLeapUsMax);
}

std::uint64_t SimWorld::next_due_us() const {
  std::uint64_t due = ~std::uint64_t{0};
  if (!fabric_.ordered()) due = fabric_.busy.next_due_us();
  for (const auto& peer : peers_) {
    if (!peer->alive()) continue;
    due = std::min(due, std::max(peer->port().next_due_us(), peer->paused_until_us()));
    if (peer->paused_until_us() > fabric_.clock.now_us()) due = std::min(due, peer->paused_until_us());
  }
  if (put_ < config_.plan.size()) due = std::min(due, config_.start_us + config_.plan[put_].start_us);
  due = std::min({due, reads_.next_put_us(), writes_.next_put_us()});
  if (config_.death && !dead_) due = std::min(due, config_.start_us + config_.death->at_us);
  return due;
}

void SimWorld::put_due_messages() {
  for (; put_ < config_.plan.size(); ++put_) {
    const SimMessagePlan& message = config_.plan[put_];
    if (fabric_.clock.since_start_us() < message.start_us) return;
    peers_[message.from]->put(message.to, message.chunks);
  }
}

// Random bytes, or a Hello of the job with one bit that is wrong: nobody may connect, and nobody be harmed.
void SimWorld::knock() {
  --unauthorized_left_;
  ++fabric_.totals.unauthorized;
  std::array<std::byte, kHelloBytes> bytes{};
  for (std::byte& one : bytes) one = static_cast<std::byte>(fabric_.random.below(256));
  std::uint32_t length = fabric_.random.below(kHelloBytes + 1);
  if (!fabric_.endpoints.empty() && forger_.chance(500)) {
    ++fabric_.totals.forged;
    const auto made = static_cast<std::uint32_t>(fabric_.endpoints.size());
    std::ranges::copy(fabric_.endpoints[forger_.below(made)]->hello, bytes.begin());
    bytes.at(forger_.below(kHelloBytes)) ^= std::byte{1} << forger_.below(8);
    length = kHelloBytes;
  }
  peers_[fabric_.random.below(config_.peers)]->port().knock(std::span(bytes).first(length));
}

void SimWorld::die_if_due() {
  if (!config_.death || dead_ || fabric_.clock.since_start_us() < config_.death->at_us) return;
  dead_ = true;
  ++fabric_.totals.deaths;
  for (auto& [direction, flow] : flows_)
    if (lost(direction.first) || lost(direction.second)) flow.abandoned = true;
  peers_[config_.death->rank]->die();
}

// A process leaves when it has got everything and everything it sent is under way: nobody may miss
// anything for that.
void SimWorld::leave_if_done() {
  if (put_ < config_.plan.size() || !reads_.all_put() || !writes_.all_put()) return;
  for (const auto& peer : peers_) {
    if (!peer->alive() || !peer->may_leave()) continue;
    const bool busy = std::any_of(flows_.begin(), flows_.end(), [&](const auto& entry) {
      const auto& [direction, flow] = entry;
      return (direction.first == peer->rank() && !flow.to_send.empty()) ||
             (direction.second == peer->rank() && !flow.expected.empty());
    });
    if (!busy && reads_.done_of(peer->rank()) && writes_.done_of(peer->rank())) peer->leave();
  }
}

// While `rank` is inside a callback: the device goes on writing, the others go on.
void SimWorld::beside(std::uint32_t rank) {
  if (beside_ || config_.in_turn || !fabric_.random.chance(150)) return;
  beside_ = true;
  for (std::uint32_t turns = fabric_.random.between(1, 12); turns > 0; --turns) {
    fabric_.clock.advance(fabric_.random.below(8));
    fabric_.advance();
    const std::uint32_t who = fabric_.random.below(config_.peers);
    if (who != rank) peers_[who]->turn();
  }
  beside_ = false;
}

// ---- the whole run

bool SimWorld::quiet() const {
  const bool travelling =
      std::ranges::any_of(fabric_.busy.all(), [](const auto& entry) {
        const SimEndpoint& one = *entry.second.endpoint;
        return one.open() && one.other() != nullptr && one.other()->open() && !one.quiet();
      });
  if (travelling || closing() || changing()) return false;
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
    return !peer->alive() || (peer->context()->written() && peer->port().next_due_us() == ~std::uint64_t{0});
  });
}

// Looks first from where something was not done the last time. A message that a channel took for a process that died is
// done: the channel may have agreed to the end of the connection after that, and then nobody asks for it again.
bool SimWorld::delivered() {
  const auto undone = [this](const auto& entry) {
    return !entry.second.done() && !(lost(entry.first.second) && entry.second.to_send.empty());
  };
  auto found = std::find_if(flows_.lower_bound(undone_), flows_.end(), undone);
  if (found == flows_.end()) found = std::ranges::find_if(flows_, undone);
  if (found == flows_.end()) return true;
  undone_ = found->first;
  return false;
}

bool SimWorld::drained() {
  if (fabric_.totals.steps % steps_per_look_ != 0) return false;
  if (put_ < config_.plan.size() || (config_.death && !dead_) || !reads_.done() || !writes_.done()) return false;
  if (!delivered()) return false;
  if (!config_.death) return config_.leave || quiet();
  // Who has asked for the dead one hears of it.
  return std::all_of(peers_.begin(), peers_.end(),
                     [&](const auto& peer) {
                       const auto flow = flows_.find({peer->rank(), config_.death->rank});
                       const bool asked = flow != flows_.end() && flow->second.wanted && peer->alive();
                       if (!asked || peer->find(config_.death->rank)->failed()) return true;
                       // Who had closed the connection to it before has nothing to hear.
                       const SimPeer::Channel& channel = *peer->find(config_.death->rank);
                       return closes() && channel.connection().state() == Connect::State::kIdle;
                     }) &&
         quiet();
}

void SimWorld::drain() {
  const std::uint64_t early = config_.close_early ? config_.plan.size() * 20 : steps_max_;
  while (ok() && !drained()) {
    if (fabric_.totals.steps >= early && config_.close_early) return;
    if (fabric_.totals.steps >= steps_max_ || fabric_.clock.since_start_us() >= virtual_us_max_)
      return fabric_.violate("does not drain:\n" + dump());
    step();
  }
}

// What is left to do without data: grants, acknowledgements nobody needs any more, released memory.
void SimWorld::settle() {
  leaps_ = !config_.in_turn;
  for (std::uint32_t round = 0; ok() && round < 64 * std::min(config_.peers, 16 * kPeersMany); ++round) step();
  const auto goes_on = [this] {
    return !quiet() || (config_.until_closed && !all_closed()) || (config_.until_small && !all_small());
  };
  while (ok() && goes_on()) {
    if (fabric_.totals.steps >= 2 * steps_max_) return fabric_.violate("does not come to rest:\n" + dump());
    for (std::uint32_t steps = 0; ok() && steps < steps_per_look_; ++steps) step();
  }
}

// One after the other; a process that is still there goes on while its peers leave.
void SimWorld::close() {
  for (const auto& peer : peers_) {
    if (peer->alive()) peer->leave();
    for (auto& [direction, flow] : flows_)
      if (direction.first == peer->rank() || direction.second == peer->rank()) flow.abandoned = true;
    const std::uint32_t steps = config_.peers <= kPeersMany ? 8 * config_.peers : kPeersMany;
    for (std::uint32_t round = 0; ok() && round < steps; ++round) step();
  }
  check_closed();
  reads_.check_end();
  writes_.check_end();
}

}  // namespace bufenlarge::sim
