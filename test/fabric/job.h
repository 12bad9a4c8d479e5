// SPDX-License-Identifier: MIT
// A job whose processes are all in this one: contexts of the C interface on the loopback interface, driven by the
// calling thread. The upper layer joins fragments to messages and sends again what was not taken.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bufenlarge.h"
#include "fabric/patience.h"
#include "support/builders.h"

namespace bufenlarge::test {

using KnobTexts = std::vector<std::pair<std::string, std::string>>;

struct OptionsDeleter {
  void operator()(bufenlarge_options_t* options) const { bufenlarge_options_destroy(options); }
};
using Options = std::unique_ptr<bufenlarge_options_t, OptionsDeleter>;

// Unless the test chooses, there are two phases, and the first element that does not fit makes a direction grow.
inline Options make_options(const KnobTexts& knobs) {
  Options options(bufenlarge_options_create());
  char message[BUFENLARGE_MESSAGE_BYTES] = "";
  const KnobTexts here{{"INTERFACE", "lo"}, {"PHASES", "512,8256"}, {"GROWTH", "first"}, {"SHRINK_AFTER", "off"}};
  for (const auto& [name, value] : here)
    REQUIRE(bufenlarge_options_set(options.get(), name.c_str(), value.c_str(), message, sizeof message) ==
            BUFENLARGE_OK);
  for (const auto& [name, value] : knobs) {
    const auto status = bufenlarge_options_set(options.get(), name.c_str(), value.c_str(), message, sizeof message);
    INFO(message);
    REQUIRE(status == BUFENLARGE_OK);
  }
  return options;
}

struct ContextDeleter {
  void operator()(bufenlarge_context_t* context) const { bufenlarge_context_close(context); }
};

// One process of the job.
class Process {
 public:
  struct Failure {
    std::uint32_t peer;
    bufenlarge_status_t status;
    std::string text;
  };

  // The end of a read, or the release of a source.
  struct End {
    std::uint32_t peer;
    void* cookie;
    bufenlarge_status_t status;
  };

  Process(const KnobTexts& knobs, std::uint32_t rank_in, std::uint32_t size, std::uint64_t job_key) : rank(rank_in) {
    const Options options = make_options(knobs);
    bufenlarge_context_config_t config{};
    config.options = options.get();
    config.rank = rank;
    config.size = size;
    config.job_key = job_key;
    config.deliver = &deliver;
    config.failed = &failed;
    config.user = this;
    config.read_done = &read_done;
    config.fragment = &fragment;
    config.source_released = &source_released;
    config.warn = &warn;
    char message[BUFENLARGE_MESSAGE_BYTES] = "";
    bufenlarge_context_t* opened = nullptr;
    const auto status = bufenlarge_context_open(&config, &opened, message, sizeof message);
    INFO(message);
    REQUIRE(status == BUFENLARGE_OK);
    context_.reset(opened);
    address.resize(bufenlarge_context_address_bytes(opened));
    bufenlarge_context_address(opened, address.data());
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] bufenlarge_context_t* context() const { return context_.get(); }
  unsigned progress() { return bufenlarge_context_progress(context()); }
  [[nodiscard]] bool idle() const { return bufenlarge_context_idle(context()) != 0; }
  [[nodiscard]] bufenlarge_channel_t* channel(std::uint32_t peer) {
    return bufenlarge_context_channel(context(), peer);
  }
  // Calls send once and returns how many bytes it took.
  std::size_t send(std::uint32_t peer, std::span<const iovec> vector, unsigned flags = 0) {
    std::size_t sent = 0;
    last_status = bufenlarge_channel_send(channel(peer), vector.data(), static_cast<int>(vector.size()), flags, &sent);
    return sent;
  }
  [[nodiscard]] bufenlarge_channel_stats_t stats(std::uint32_t peer) const {
    bufenlarge_channel_stats_t stats{};
    REQUIRE(bufenlarge_context_channel_stats(context(), peer, &stats) == 1);
    return stats;
  }
  [[nodiscard]] bufenlarge_context_stats_t stats() const {
    bufenlarge_context_stats_t stats{};
    bufenlarge_context_stats(context(), &stats);
    return stats;
  }

  const std::uint32_t rank;
  Bytes address;
  std::map<std::uint32_t, std::vector<Bytes>> messages;  // whole ones, by peer
  std::vector<Failure> failures;
  std::vector<std::string> warnings;
  std::vector<End> reads;
  std::vector<End> releases;  // of own sources
  std::map<void*, Bytes> handed_up;  // fragments of reads without a destination, by cookie
  bufenlarge_status_t last_status = BUFENLARGE_OK;

  void close() { context_.reset(); }

 private:
  static void deliver(void* user, uint32_t peer, const void* data, size_t bytes, unsigned marks) {
    auto* self = static_cast<Process*>(user);
    Bytes& open = self->open_[peer];
    if ((marks & BUFENLARGE_FIRST) != 0) open.clear();
    const auto* from = static_cast<const std::byte*>(data);
    open.insert(open.end(), from, from + bytes);
    if ((marks & BUFENLARGE_LAST) != 0) self->messages[peer].push_back(std::move(open)), open = Bytes();
  }
  static void failed(void* user, uint32_t peer, bufenlarge_status_t status, const char* message) {
    static_cast<Process*>(user)->failures.push_back({peer, status, message});
  }

  static void warn(void* user, const char* message) { static_cast<Process*>(user)->warnings.emplace_back(message); }
  static void read_done(void* user, uint32_t peer, void* cookie, bufenlarge_status_t status) {
    static_cast<Process*>(user)->reads.push_back({peer, cookie, status});
  }
  static void source_released(void* user, uint32_t peer, void* cookie, bufenlarge_status_t status) {
    static_cast<Process*>(user)->releases.push_back({peer, cookie, status});
  }
  static void fragment(void* user, uint32_t, void* cookie, const void* data, size_t bytes) {
    Bytes& all = static_cast<Process*>(user)->handed_up[cookie];
    const auto* from = static_cast<const std::byte*>(data);
    all.insert(all.end(), from, from + bytes);
  }

  std::unique_ptr<bufenlarge_context_t, ContextDeleter> context_;
  std::map<std::uint32_t, Bytes> open_;
};

inline void exchange_addresses(const std::vector<std::unique_ptr<Process>>& processes) {
  Bytes addresses;
  for (const auto& process : processes)
    addresses.insert(addresses.end(), process->address.begin(), process->address.end());
  for (const auto& process : processes)
    REQUIRE(bufenlarge_context_set_addresses(process->context(), addresses.data(), processes.size()) == BUFENLARGE_OK);
}

class Job {
 public:
  explicit Job(std::uint32_t size, const KnobTexts& knobs = {}, std::uint64_t job_key = 0x0123456789abcdefu) {
    for (std::uint32_t rank = 0; rank < size; ++rank)
      processes_.push_back(std::make_unique<Process>(knobs, rank, size, job_key));
    exchange_addresses(processes_);
  }

  Process& operator[](std::uint32_t rank) { return *processes_[rank]; }
  void progress() {
    for (const auto& process : processes_)
      if (process->context() != nullptr) process->progress();
  }
  // Makes progress until `done` returns true. Returns false if that takes too long.
  template <class Done>
  [[nodiscard]] bool until(Done done) {
    return comes_true(done, [this] { progress(); });
  }
  void rounds(unsigned count) {
    while (count-- > 0) progress();
  }

  // Sends a whole message and waits until it has arrived.
  void send(std::uint32_t from, std::uint32_t to, const Vector& vector) {
    const std::size_t total = vector.bytes().size();
    std::size_t sent = 0;
    const std::size_t before = (*this)[to].messages[from].size();
    REQUIRE(until([&] {
      if (sent < total) sent += (*this)[from].send(to, vector.rest(sent));
      REQUIRE((*this)[from].last_status == BUFENLARGE_OK);
      return sent == total && (*this)[to].messages[from].size() == before + 1;
    }));
    CHECK((*this)[to].messages[from].back() == vector.bytes());
  }
  // Waits until every process has nothing left to do.
  void wait_idle() {
    REQUIRE(until([this] {
      for (const auto& process : processes_)
        if (process->context() != nullptr && !process->idle()) return false;
      return true;
    }));
  }

 private:
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace bufenlarge::test
