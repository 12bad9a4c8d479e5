// SPDX-License-Identifier: MIT
// round_cost.cc: a hub and its peers, all in this process over a StillPort, for callgrind to count what one round of
// progress of the hub's channel layer does. All peers have connected and sent 8 bytes; then one of them is active and
// the others are idle. Only measured_round() is to be counted.
//
// It prints how many rounds there were, and how many messages they delivered: each round finds one message, or none.
#include <charconv>
#include <cstdio>
#include <string_view>

#include "channel/bodies.h"
#include "still_port.h"

namespace bufenlarge {

BUFENLARGE_INSTANTIATE_CHANNELS(bench::StillPort);

}  // namespace bufenlarge

using bufenlarge::Arrival;
using bufenlarge::bench::StillPort;
using HubContext = bufenlarge::Context<StillPort>;

extern "C" __attribute__((noinline)) void measured_round(HubContext& hub) { (void)hub.progress(); }

namespace {

constexpr std::uint64_t kJobKey = 0x5eed;
constexpr unsigned kRounds = 512;
std::uint64_t delivered = 0;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "round_cost: %s\n", what);
  std::exit(1);
}

void deliver(void* /*user*/, std::uint32_t /*peer*/, const void* /*data*/, std::size_t /*bytes*/, unsigned /*marks*/) {
  ++delivered;
}
void failed(void* /*user*/, std::uint32_t /*peer*/, bufenlarge::Status /*status*/, const char* message) {
  die(message);
}

// The defaults of the knobs.
bufenlarge::ChannelSettings settings() {
  bufenlarge::ChannelSettings made;
  made.hot_max = 32;
  for (const std::uint32_t slot_bytes : {512u, 8256u}) {
    bufenlarge::Phase& phase = made.phases.phases[made.phases.count++];
    phase = {slot_bytes, 16, 0};
    phase.threshold_bytes = phase.capacity();
  }
  return made;
}

class World {
 public:
  World(Arrival arrival, std::uint32_t peers) {
    std::vector<std::uint32_t> addresses(peers + 1);
    for (std::uint32_t rank = 0; rank <= peers; ++rank) {
      addresses[rank] = rank;
      ports_.push_back(std::make_unique<StillPort>(ports_, arrival));
    }
    for (std::uint32_t rank = 0; rank <= peers; ++rank) {
      contexts_.push_back(std::make_unique<HubContext>(*ports_[rank], settings(), rank, peers + 1, kJobKey,
                                                       bufenlarge::UpperLayer{&deliver, &failed, nullptr}));
      contexts_[rank]->set_addresses(std::as_bytes(std::span(addresses)));
    }
    for (std::uint32_t rank = 1; rank <= peers; ++rank) connect(rank);
    // Channels that were active when they connected are idle in the end.
    const unsigned rounds = 2 * settings().quiet_rounds + settings().hot_max;
    for (unsigned i = 0; i < rounds; ++i) (void)hub().progress();
  }

  HubContext& hub() { return *contexts_[0]; }

  // 8 bytes to the hub; returns when the peer has handed them to its port.
  void send(std::uint32_t rank) {
    std::uint64_t word = rank;
    const iovec element{&word, sizeof word};
    for (std::size_t sent = 0; sent == 0;) {
      if (contexts_[rank]->channel(0)->send({&element, 1}, false, sent) == bufenlarge::Status::kFabricError)
        die("a message could not be sent");
      if (sent != 0) break;
      (void)contexts_[rank]->progress();
      (void)hub().progress();
    }
    (void)contexts_[rank]->progress();
  }

 private:
  void connect(std::uint32_t rank) {
    const std::uint64_t wanted = delivered + 1;
    send(rank);
    for (unsigned tries = 0; delivered < wanted; ++tries) {
      if (tries > 10000) die("a message does not arrive");
      (void)contexts_[rank]->progress();
      (void)hub().progress();
    }
  }

  std::vector<std::unique_ptr<StillPort>> ports_;
  std::vector<std::unique_ptr<HubContext>> contexts_;
};

Arrival arrival_of(std::string_view name) {
  if (name == "in-order") return Arrival::kInOrder;
  if (name == "polled") return Arrival::kChecked;
  if (name == "notified") return Arrival::kNotified;
  if (name == "mixed") return Arrival::kMixed;
  die("the arrival is one of in-order, polled, notified, mixed");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) die("usage: round_cost ARRIVAL PEERS message|nothing");
  std::uint32_t peers = 0;
  const std::string_view number = argv[2], what = argv[3];
  if (std::from_chars(number.data(), number.data() + number.size(), peers).ec != std::errc() || peers == 0)
    die("PEERS is a number from 1 on");
  if (what != "message" && what != "nothing") die("a round finds message or nothing");
  auto* const world = new World(arrival_of(argv[1]), peers);  // never freed: ends with the process
  if (what == "message") {
    for (unsigned i = 0; i < 64; ++i) {  // as many again as a ring and more: nothing is met for the first time below
      world->send(1);
      (void)world->hub().progress();
    }
  }
  const std::uint64_t before = delivered;
  for (unsigned round = 0; round < kRounds; ++round) {
    if (what == "message") world->send(1);
    measured_round(world->hub());
  }
  std::printf("%u %llu\n", kRounds, static_cast<unsigned long long>(delivered - before));
  return 0;
}
