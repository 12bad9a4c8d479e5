// SPDX-License-Identifier: MIT
// Contexts of one process share nothing but the knobs: each thread drives its own.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

// Only one thread may use assertions of Catch2, so the threads count what is wrong.
struct Talk {
  std::atomic<int>& wrong;

  bool whole_message(Process& from, Process& to, std::uint32_t seed, std::size_t bytes) const {
    const Vector vector({bytes}, seed);
    std::size_t sent = 0;
    const std::size_t before = to.messages[from.rank].size();
    const bool came = comes_true(
        [&] {
          if (sent < bytes) sent += from.send(to.rank, vector.rest(sent));
          return to.messages[from.rank].size() > before;
        },
        [&] { from.progress(), to.progress(); });
    return came && to.messages[from.rank].back() == vector.bytes();
  }
};

TEST_CASE("four threads with two contexts each send at the same time", "[threads]") {
  constexpr std::uint32_t kThreads = 4;
  std::vector<std::unique_ptr<Job>> jobs;
  for (std::uint32_t n = 0; n < kThreads; ++n) jobs.push_back(std::make_unique<Job>(2, KnobTexts{}, 1000 + n));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t n = 0; n < kThreads; ++n) {
    threads.emplace_back([&wrong, &job = *jobs[n], n] {
      const Talk talk{wrong};
      for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint32_t from = i % 2;
        if (!talk.whole_message(job[from], job[1 - from], n * 1000 + i, 1 + i * 300)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  for (const auto& job : jobs) {
    CHECK((*job)[0].stats(1).send.phase == 1);
    CHECK((*job)[0].failures.empty());
  }
}

constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kMessages = 20;

// Bytes of the nth message; only those from rank 1 to rank 2 become large.
std::size_t message_bytes(std::uint32_t from, std::uint32_t to, std::uint32_t n) {
  return std::size_t{1} + (from == 1 && to == 2 ? n * 900 : n * 20);
}

// What the thread of one process sends to the others, message by message.
struct Sender {
  Process& self;
  std::vector<std::uint32_t> next = std::vector<std::uint32_t>(kRanks);  // message
  std::vector<std::size_t> sent = std::vector<std::size_t>(kRanks);      // bytes of it

  // Sends what can be sent. Returns true if all messages are sent and all of the others have arrived.
  bool done() {
    bool all = true;
    for (std::uint32_t peer = 0; peer < kRanks; ++peer) {
      if (peer == self.rank) continue;
      if (next[peer] < kMessages) {
        const Vector vector({message_bytes(self.rank, peer, next[peer])}, self.rank * 100 + next[peer]);
        sent[peer] += self.send(peer, vector.rest(sent[peer]));
        if (sent[peer] == vector.bytes().size()) ++next[peer], sent[peer] = 0;
      }
      all = all && next[peer] == kMessages && self.messages[peer].size() == kMessages;
    }
    return all && self.idle();
  }
};

TEST_CASE("in a job of four processes that are threads everyone sends to everyone, small and large",
          "[threads][E10]") {
  std::vector<std::unique_ptr<Process>> processes;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    processes.push_back(std::make_unique<Process>(KnobTexts{{"SLOTS", "4"}}, rank, kRanks, 99u));
  exchange_addresses(processes);
  std::atomic<std::uint32_t> done{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Sender sender{*processes[rank]};
      bool counted = false;
      const auto all_done = [&] {
        if (sender.done() && !counted) counted = true, ++done;
        return done == kRanks;  // the others may still need progress of this one
      };
      if (!comes_true(all_done, [&] { sender.self.progress(); })) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  for (std::uint32_t to = 0; to < kRanks; ++to) {
    for (std::uint32_t from = 0; from < kRanks; ++from) {
      if (from == to) continue;
      for (std::uint32_t n = 0; n < kMessages; ++n)
        CHECK(processes[to]->messages[from][n] == pattern(message_bytes(from, to, n), from * 100 + n));
      CHECK(processes[from]->stats(to).send.phase == (from == 1 && to == 2 ? 1 : 0));
    }
  }
}

TEST_CASE("several threads may open and close contexts at the same time", "[threads]") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t n = 0; n < 4; ++n) {
    threads.emplace_back([&wrong] {
      for (int i = 0; i < 5; ++i) {
        bufenlarge_options_t* options = bufenlarge_options_create();
        if (bufenlarge_options_set(options, "INTERFACE", "lo", nullptr, 0) != BUFENLARGE_OK) ++wrong;
        bufenlarge_context_config_t config{};
        config.options = options;
        config.size = 1;
        config.job_key = 5;
        config.deliver = [](void*, uint32_t, const void*, size_t, unsigned) {};
        config.failed = [](void*, uint32_t, bufenlarge_status_t, const char*) {};
        bufenlarge_context_t* context = nullptr;
        if (bufenlarge_context_open(&config, &context, nullptr, 0) != BUFENLARGE_OK) ++wrong;
        bufenlarge_options_destroy(options);
        if (context == nullptr) continue;
        bufenlarge_context_progress(context);
        bufenlarge_context_close(context);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace bufenlarge::test
