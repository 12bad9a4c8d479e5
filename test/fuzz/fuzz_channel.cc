// SPDX-License-Identifier: MIT
// A process whose peer holds the job's key and keeps no rule: it writes what it likes, where the fabric lets it, when
// it likes. It may lose its own channel. Nothing may be read or written outside of rings and control blocks, no other
// channel may be harmed, and memory must not be given back while a posted write reads it.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "channel/context.h"
#include "fuzz/hostile_reads.h"
#include "fuzz/promise.h"
#include "support/builders.h"
#include "support/fake_peer.h"
#include "support/fake_port.h"
#include "support/upper_log.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint32_t kSize = 3;
constexpr std::uint32_t kHostile = 1;
constexpr std::uint32_t kBystander = 2;
constexpr int kStepsMax = 300;

Bytes addresses() {
  Bytes made(kSize * sizeof(std::uint32_t));
  for (std::uint32_t rank = 0; rank < kSize; ++rank) std::memcpy(made.data() + rank * sizeof rank, &rank, sizeof rank);
  return made;
}

class World {
 public:
  explicit World(FuzzedDataProvider& input)
      : input_(input),
        port_(fabric_),
        context_(port_, settings_from(input), 0, kSize, kJobKey, upper_.layer()),
        hostile_(fabric_, kHostile, kSize, three_phases()),
        reads_(input, fabric_, hostile_),
        bystander_(fabric_, kBystander, kSize, three_phases()) {
    static constexpr Arrival kArrivals[] = {Arrival::kInOrder, Arrival::kChecked, Arrival::kNotified, Arrival::kMixed};
    port_.arrives = kArrivals[input.ConsumeIntegralInRange<std::size_t>(0, 3)];
    port_.completes = input.ConsumeBool();
    port_.names_ends = port_.arrives != Arrival::kInOrder;
    hostile_.on_notified = [this] { notify(hostile_link_); };
    bystander_.on_notified = [this] { notify(bystander_link_); };
    fabric_.peers_lie = true;
    context_.set_addresses(addresses());
    call(bystander_, bystander_link_);
    PROMISE(bystander_link_ != nullptr);
    bystander_link_->responds = true;
    call(hostile_, hostile_link_);
    PROMISE(hostile_link_ != nullptr);
  }

  void run() {
    for (int i = 0; i < kStepsMax && input_.remaining_bytes() != 0; ++i) {
      try {
        step();
      } catch (const std::runtime_error&) {  // of the FakePeer: what it wanted to write to is not there
      }
      rounds(1);
    }
    check_bystander();
  }

  // Prints what was wrong.
  [[nodiscard]] bool kept_the_contract() const {
    for (const std::string& violation : fabric_.violations) std::fprintf(stderr, "%s\n", violation.c_str());
    return fabric_.violations.empty();
  }

 private:
  static ChannelSettings settings_from(FuzzedDataProvider& input) {
    ChannelSettings made = hot_settings(three_phases(), input.ConsumeIntegralInRange<std::uint32_t>(0, 2));
    made.growth = input.ConsumeBool() ? GrowthRule::kEarned : GrowthRule::kFirst;
    made.idle_close_us = input.ConsumeBool() ? 500 : 0;
    made.shrink_after_us = input.ConsumeBool() ? 500 : 0;
    made.peer_timeout_us = input.ConsumeBool() ? 16'000 : 0;
    return made;
  }

  void rounds(unsigned count) {
    while (count-- > 0) (void)context_.progress();
  }
  void notify(FakePort::LinkState* link) {
    if (link != nullptr && link->user != nullptr) port_.notify(link);
  }
  // A peer connects, and says Hello when it is accepted. `link` is of its last connection.
  void call(FakePeer& peer, FakePort::LinkState*& link) {
    const std::size_t before = port_.accepted.size();
    port_.request(peer.hello_bytes(static_cast<std::uint16_t>(++attempts_)));
    rounds(Context<FakePort>::kEventRounds);
    if (port_.accepted.size() == before) return;
    link = port_.accepted.back();
    peer.meet(link->data);
    port_.connected(link, {});
    rounds(Context<FakePort>::kEventRounds);
    peer.send_hello();
    rounds(2);
  }

  void step();
  void say();
  void scribble();
  void answer();
  void exchange();
  void events();
  void orders();
  void check_bystander();
  Bytes bytes(std::size_t most) {
    const std::vector<std::byte> made =
        input_.ConsumeBytes<std::byte>(input_.ConsumeIntegralInRange<std::size_t>(0, most));
    return Bytes(made.begin(), made.end());
  }

  // All sides have their keys from one FakeFabric; a key that is a lie must be that of nobody.
  void keep_apart(Hello& hello) const {
    constexpr std::uint32_t kNobody = 0x80000000u;
    const Hello truth = hostile_.hello(1);
    if (hello.ring_key != truth.ring_key) hello.ring_key |= kNobody;
    if (hello.control_key != truth.control_key) hello.control_key |= kNobody;
  }

  FuzzedDataProvider& input_;
  FakeFabric fabric_;
  std::array<std::byte, 4096> user_memory_{};
  UpperLog upper_;
  FakePort port_;
  Context<FakePort> context_;
  FakePeer hostile_;
  HostileReads reads_;
  FakePeer bystander_;
  FakePort::LinkState* hostile_link_ = nullptr;
  FakePort::LinkState* bystander_link_ = nullptr;
  std::uint32_t attempts_ = 0;
};

void World::step() {
  switch (input_.ConsumeIntegralInRange<int>(0, 12)) {
    case 0: call(hostile_, hostile_link_); break;
    case 1:
    case 2:
    case 3: say(); break;
    case 4: scribble(); break;
    case 5: answer(); break;
    case 6: events(); break;
    case 7: orders(); break;
    case 8: port_.now += input_.ConsumeIntegralInRange<std::uint64_t>(0, 40'000'000); break;
    case 9:
    case 10:
    case 11: exchange(); break;
    default: rounds(Context<FakePort>::kEventRounds); break;
  }
}

// A slot that is sealed as the receiver wants it, of any kind and content.
void World::say() {
  const auto kind = static_cast<SlotKind>(input_.ConsumeIntegralInRange<int>(1, 7));
  const auto marks = input_.ConsumeIntegral<std::uint8_t>();
  if (input_.ConsumeBool()) hostile_.granted_low = input_.ConsumeIntegral<std::uint32_t>();
  if (input_.ConsumeIntegralInRange<int>(0, 7) == 0) hostile_.epoch = input_.ConsumeIntegral<std::uint16_t>();
  if (input_.ConsumeIntegralInRange<int>(0, 7) == 0) hostile_.claimed = input_.ConsumeIntegral<std::uint32_t>();
  const Bytes payload = bytes(hostile_.capacity());
  hostile_.write_slot(kind, payload, marks);
  hostile_.granted_low.reset();
  hostile_.epoch.reset();
  hostile_.claimed.reset();
}

// Any bytes anywhere in the ring or in the inbox.
void World::scribble() {
  const bool ring = input_.ConsumeBool();
  const Hello& theirs = hostile_.theirs();
  const auto offset = input_.ConsumeIntegralInRange<std::uint64_t>(0, 8192);
  if (ring)
    (void)fabric_.place(theirs.ring_key, theirs.ring_address + offset, bytes(64));
  else
    (void)fabric_.place(theirs.control_key, theirs.control_address + offset % 128, bytes(64));
}

void World::answer() {
  const auto number = input_.ConsumeIntegralInRange<std::uint32_t>(0, 4);
  const auto phase = input_.ConsumeIntegralInRange<std::uint8_t>(0, 2);
  switch (input_.ConsumeIntegralInRange<int>(0, 7)) {
    case 0: hostile_.grant(input_.ConsumeIntegral<std::uint64_t>()); break;
    case 1: hostile_.grant_all(); break;
    case 2: hostile_.repeat({number, phase}); break;
    case 3: hostile_.set_hot(input_.ConsumeBool()); break;
    case 4: {
      const auto status = static_cast<AckStatus>(input_.ConsumeIntegralInRange<int>(0, 4));
      EnlargeAck ack = hostile_.provision(phase, number, status);
      if (input_.ConsumeBool()) ack.base = input_.ConsumeIntegral<std::uint64_t>();
      if (input_.ConsumeBool()) ack.slots = input_.ConsumeIntegral<std::uint32_t>();
      hostile_.acknowledge(ack);
      break;
    }
    case 5: hostile_.follow_ack(); break;
    case 6: hostile_.ask({number, input_.ConsumeIntegralInRange<std::uint32_t>(0, 4)}); break;
    default: (void)hostile_.next(); break;
  }
}

// A part of a read or of an enlargement, much as a peer would do it that keeps the rules.
void World::exchange() {
  switch (input_.ConsumeIntegralInRange<int>(0, 7)) {
    case 0: reads_.look(); break;
    case 1: hostile_.grant_all(); break;
    case 2: reads_.ask(); break;
    case 3: reads_.release(); break;
    case 4: reads_.answer_by_writes(port_, hostile_link_); break;
    case 5: reads_.answer_through_ring(); break;
    case 6: reads_.grow(); break;
    default: {
      const bool refuses = input_.ConsumeBool();
      port_.refuses_user_memory = [refuses](MemoryUse, std::size_t) { return refuses; };
      break;
    }
  }
}

void World::events() {
  const auto open = [](FakePort::LinkState* link) { return link != nullptr && link->user != nullptr; };
  FakePort::LinkState* const opened = port_.opened.empty() ? nullptr : port_.opened.back();
  FakePort::LinkState* const link = input_.ConsumeBool() ? opened : hostile_link_;
  switch (input_.ConsumeIntegralInRange<int>(0, 5)) {
    case 0: notify(hostile_link_); break;
    case 1:
      if (open(hostile_link_)) port_.end_read(hostile_link_, input_.ConsumeIntegralInRange<std::uint32_t>(1, 70));
      break;
    case 2:
      if (open(link)) port_.lost(link, "lost");
      break;
    case 3:
      if (open(opened)) port_.connected(opened, input_.ConsumeBool() ? hostile_.answer_bytes(1) : bytes(60));
      break;
    case 4:
      if (open(opened)) port_.rejected(opened, bytes(20));
      break;
    default: {
      Hello hello = hostile_.hello(input_.ConsumeIntegralInRange<std::uint16_t>(0, 9));
      const std::size_t at = input_.ConsumeIntegralInRange<std::size_t>(offsetof(Hello, ring_address), kHelloBytes - 1);
      reinterpret_cast<std::byte*>(&hello)[at] = static_cast<std::byte>(input_.ConsumeIntegral<std::uint8_t>());
      keep_apart(hello);
      port_.request(hostile_.sealed(hello, false));
      break;
    }
  }
}

// What the own upper layer wants of the hostile peer.
void World::orders() {
  auto& channel = *context_.channel(kHostile);
  std::size_t sent = 0;
  std::uint32_t source = 0;
  iovec whole{user_memory_.data(), input_.ConsumeIntegralInRange<std::size_t>(1, user_memory_.size())};
  switch (input_.ConsumeIntegralInRange<int>(0, 4)) {
    case 0: (void)channel.send(std::span(&whole, 1), input_.ConsumeBool(), sent); break;
    case 1: (void)channel.send_fenced(std::span(&whole, 1), sent); break;
    case 2:
      if (channel.advertise(std::span(&whole, 1), this, source) == Status::kOk) reads_.learn(source);
      break;
    case 3:
      (void)channel.read({input_.ConsumeBool() ? std::span<const iovec>(&whole, 1) : std::span<const iovec>(), this, 0,
                          whole.iov_len, input_.ConsumeIntegral<std::uint32_t>(), input_.ConsumeBool()});
      break;
    default:
      (void)channel.write({user_memory_.data(), this, input_.ConsumeIntegral<std::uint64_t>(), whole.iov_len, 7});
      break;
  }
}

// The channel to a peer that keeps the rules works as before.
void World::check_bystander() {
  for (const UpperLog::Failure& failure : upper_.failures) PROMISE(failure.peer != kBystander);
  const Bytes message = pattern(16);
  bystander_.send(message);
  rounds(2 * Context<FakePort>::kEventRounds);
  PROMISE(upper_.messages[kBystander] == std::vector<Bytes>{message});
}

}  // namespace
}  // namespace bufenlarge::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace bufenlarge::test;
  FuzzedDataProvider input(data, bytes);
  World world(input);
  world.run();
  PROMISE(world.kept_the_contract());
  return 0;
}
