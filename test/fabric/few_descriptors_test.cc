// SPDX-License-Identifier: MIT
// A process that has few file descriptors, in a process of its own as they count per process, and many callers.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>

#include "fabric/job.h"
#include "fabric/soft_limit.h"

namespace bufenlarge::test {
namespace {

constexpr std::uint64_t kJobKey = 0x600d;
constexpr std::uint32_t kMessages = 3;  // of each caller
constexpr unsigned kSpare = 20;

// What the process that is called has seen when all messages are there, or when it has waited too long.
struct Seen {
  std::uint32_t messages;
  std::uint32_t wrong;
  std::uint32_t failures;
  std::uint32_t warnings;
  std::uint32_t connections_max;
  std::uint32_t closed;
};

bool read_all(int from, void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = read(from, static_cast<char*>(to) + done, bytes - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

Vector message_of(std::uint32_t caller, std::uint32_t number) { return Vector({8}, caller * kMessages + number); }

Seen look_at(const Process& called, std::uint32_t callers) {
  Seen seen{};
  for (std::uint32_t rank = 1; rank <= callers; ++rank) {
    const auto all = called.messages.find(rank);
    if (all == called.messages.end()) continue;
    seen.messages += static_cast<std::uint32_t>(all->second.size());
    for (std::uint32_t i = 0; i < all->second.size(); ++i) seen.wrong += all->second[i] != message_of(rank, i).bytes();
  }
  seen.failures = static_cast<std::uint32_t>(called.failures.size());
  seen.warnings = static_cast<std::uint32_t>(called.warnings.size());
  seen.closed = static_cast<std::uint32_t>(called.stats().connections_closed);
  return seen;
}

// The process that is called. It makes progress until the other end of the pipe is closed.
void be_called(std::uint32_t callers, int from, int to) {
  Process called({}, 0, callers + 1, kJobKey);
  Bytes addresses((callers + 1) * called.address.size());
  bool right = write(to, called.address.data(), called.address.size()) == ssize_t(called.address.size());
  right = right && read_all(from, addresses.data(), addresses.size());
  right = right && bufenlarge_context_set_addresses(called.context(), addresses.data(), callers + 1) == BUFENLARGE_OK;
  const SoftLimit few(limit_with_spare(kSpare));
  Seen seen{};
  std::uint32_t most = 0;
  const auto all_there = [&] {
    std::size_t messages = 0;
    for (const auto& [rank, all] : called.messages) messages += all.size();
    return messages >= callers * kMessages;
  };
  const auto progress = [&] {
    for (int i = 0; i < 100; ++i) called.progress();
    most = std::max(most, called.stats().connections);
  };
  right = right && comes_true(all_there, progress, 2 * kPatience);
  seen = look_at(called, callers);
  seen.connections_max = most;
  right = write(to, &seen, sizeof seen) == sizeof seen && right;
  pollfd end{from, POLLIN, 0};
  while (poll(&end, 1, 0) == 0) called.progress();
  _exit(right ? 0 : 1);
}

// The same, in a child of this process.
class Called {
 public:
  explicit Called(std::uint32_t callers) {
    int there[2], back[2];
    REQUIRE(pipe(there) == 0);
    REQUIRE(pipe(back) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(there[1]), close(back[0]);
      be_called(callers, there[0], back[1]);
    }
    close(there[0]), close(back[1]);
    to = there[1], from = back[0];
  }
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;
  ~Called() { (void)end(); }

  // Lets it end. Returns true if it has said that all was right.
  bool end() {
    if (pid_ < 0) return false;
    close(to), close(from);
    int status = 0;
    pollfd none{-1, 0, 0};
    for (int i = 0; waitpid(pid_, &status, WNOHANG) == 0; ++i) {
      if (i == 500) kill(pid_, SIGKILL);
      poll(&none, 1, 10);
    }
    pid_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  [[nodiscard]] bool has_said_something() const {
    pollfd said{from, POLLIN, 0};
    return poll(&said, 1, 0) != 0;
  }

  int to = -1, from = -1;

 private:
  pid_t pid_ = -1;
};

// Connections to a process over which nothing is said.
class Strangers {
 public:
  Strangers(std::uint32_t count, const std::byte* address) {
    for (std::uint32_t i = 0; i < count; ++i) {
      sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      REQUIRE(sockets_.back() >= 0);
      (void)connect(sockets_.back(), reinterpret_cast<const sockaddr*>(address), sizeof(sockaddr_in));
    }
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;
  ~Strangers() {
    for (const int one : sockets_) close(one);
  }

 private:
  std::vector<int> sockets_;
};

void run(std::uint32_t callers, std::uint32_t strangers = 0) {
  Called called(callers);
  Bytes addresses(16);  // of IPv4
  REQUIRE(read_all(called.from, addresses.data(), addresses.size()));
  const Strangers silent(strangers, addresses.data());
  std::vector<std::unique_ptr<Process>> calling;
  for (std::uint32_t rank = 1; rank <= callers; ++rank) {
    calling.push_back(std::make_unique<Process>(KnobTexts{{"CONNECT_TIMEOUT", "5s"}}, rank, callers + 1, kJobKey));
    addresses.insert(addresses.end(), calling.back()->address.begin(), calling.back()->address.end());
  }
  for (const auto& one : calling)
    REQUIRE(bufenlarge_context_set_addresses(one->context(), addresses.data(), callers + 1) == BUFENLARGE_OK);
  REQUIRE(write(called.to, addresses.data(), addresses.size()) == ssize_t(addresses.size()));
  std::vector<std::uint32_t> sent(callers);
  const auto send_and_progress = [&] {
    for (std::uint32_t i = 0; i < callers; ++i) {
      if (sent[i] < kMessages) sent[i] += calling[i]->send(0, message_of(i + 1, sent[i]).all()) != 0;
      calling[i]->progress();
    }
  };
  CHECK(comes_true([&] { return called.has_said_something(); }, send_and_progress, 3 * kPatience));
  Seen seen{};
  REQUIRE(read_all(called.from, &seen, sizeof seen));
  CHECK(seen.messages == callers * kMessages);
  CHECK(seen.wrong == 0);
  CHECK(seen.failures == 0);
  CHECK(seen.warnings <= 1);
  CHECK(seen.connections_max < kSpare);
  CHECK(seen.closed > callers - kSpare);
  for (const auto& one : calling) CHECK(one->failures.empty());
  CHECK(called.end());
}

TEST_CASE("all of 40 callers are served by a process with 20 descriptors to spare", "[descriptors][S4]") { run(40); }

TEST_CASE("all of 400 callers are served by a process with 20 descriptors to spare", "[descriptors][S4]") { run(400); }

TEST_CASE("callers are served by a process with 20 descriptors, though 100 strangers call and say nothing",
          "[descriptors][F6]") {
  run(40, 100);
}

}  // namespace
}  // namespace bufenlarge::test
