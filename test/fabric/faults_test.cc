// SPDX-License-Identifier: MIT
// Every call of libfabric that a scenario makes fails once: what is asked for arrives, or those who wait are told.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "fabric/faulty_libfabric.h"
#include "fabric/job.h"

namespace bufenlarge::test {
namespace {

constexpr std::chrono::seconds kPatience{8};

// Of calls that are made in each round only some fail.
constexpr std::uint32_t kNthMax = 24;

// Three processes. 0 and 1 talk while a call fails; afterwards 2 talks to both.
class Scene {
 public:
  Scene() : job_(3, {{"CONNECT_TIMEOUT", "300ms"}, {"IDLE_CLOSE", "20ms"}, {"REGISTRATION_CACHE", "off"}}) {}

  // Returns what went wrong, or nothing.
  std::string talk() {
    for (const auto& [name, step] : steps_) {
      if (const std::string wrong = (this->*step)(); !wrong.empty()) return std::string(name) + ": " + wrong;
      if (lost()) break;
    }
    return {};
  }

  // What is left of a job after it: nothing that waits for the third process.
  std::string talk_to_the_third() {
    plan_nothing();
    for (const std::uint32_t rank : {0u, 1u}) {
      if (const std::string wrong = send(2, rank, {8}); !wrong.empty()) return "of the third: " + wrong;
      if (const std::string wrong = send(rank, 2, {8}); !wrong.empty()) return "to the third: " + wrong;
    }
    return {};
  }

  [[nodiscard]] bool lost() {
    return !job_[0].failures.empty() || !job_[1].failures.empty() || !job_[2].failures.empty();
  }

 private:
  using Step = std::string (Scene::*)();

  // Whether a process that has lost the other has been told so, with a text.
  std::string told(std::uint32_t rank, std::uint32_t peer) {
    for (const Process::Failure& failure : job_[rank].failures)
      if (failure.peer == peer) return failure.text.empty() ? "a failure without a text" : "";
    return std::to_string(rank) + " waits for ever";
  }

  template <class Done>
  bool wait(Done done) {
    return comes_true(done, [this] { job_.progress(); }, kPatience);
  }

  // Both sides are told of the loss of a connection that is in use; of an attempt that fails, or of an end that fails
  // while it is agreed on, one.
  template <class Done>
  std::string until(std::uint32_t from, std::uint32_t to, Done done) {
    const auto over = [&] {
      const bool first = told(from, to).empty();
      const bool second = told(to, from).empty();
      return done() || (first && second) || (!in_use_ && (first || second));
    };
    if (wait(over)) return {};
    const std::string first = told(from, to);
    return first.empty() ? told(to, from) : first;
  }

  std::string send(std::uint32_t from, std::uint32_t to, std::initializer_list<std::size_t> sizes) {
    const Vector vector(sizes);
    const std::size_t total = vector.bytes().size();
    const std::size_t before = job_[to].messages[from].size();
    std::size_t sent = 0;
    const std::string wrong = until(from, to, [&] {
      if (sent < total && !told(from, to).empty()) sent += job_[from].send(to, vector.rest(sent));
      return job_[to].messages[from].size() > before;
    });
    const bool came = job_[to].messages[from].size() > before;
    return came && job_[to].messages[from].back() != vector.bytes() ? "wrong bytes" : wrong;
  }

  std::string connect() {
    const std::string wrong = send(0, 1, {8});
    return wrong.empty() ? send(1, 0, {200, 40}) : wrong;
  }
  std::string grow() {
    in_use_ = true;
    return send(0, 1, {3000, 3000});
  }

  // 1 reads 200,000 bytes of 0.
  std::string read() {
    const Vector source({200'000});
    Vector destination({200'000}, 99);
    std::uint32_t handle = 0;
    const auto advertised =
        bufenlarge_channel_advertise(job_[0].channel(1), source.all().data(), 1, 0, nullptr, &handle);
    if (advertised != BUFENLARGE_OK) return told(0, 1);
    const std::size_t ends = job_[1].reads.size();
    const std::size_t releases = job_[0].releases.size();
    const auto asked = bufenlarge_channel_read(job_[1].channel(0), handle, 0, destination.all().data(), 1, 200'000,
                                               BUFENLARGE_READ_LAST, &destination);
    if (asked != BUFENLARGE_OK) return until(0, 1, [] { return false; });
    const auto over = [&] { return job_[1].reads.size() > ends && job_[0].releases.size() > releases; };
    if (!wait(over)) return "the read does not end";
    const bool right = job_[1].reads.back().status != BUFENLARGE_OK || destination.bytes() == source.bytes();
    return right ? "" : "wrong bytes were read";
  }

  // The connection is not used, ends, and is made again.
  std::string rest() {
    in_use_ = false;
    const auto closed = [this] { return job_[0].stats().connections == 0 || lost(); };
    if (!wait(closed)) return "the connection does not end";
    return send(1, 0, {8});
  }

  static constexpr std::array<std::pair<const char*, Step>, 4> steps_{{{"connect", &Scene::connect},
                                                                       {"grow", &Scene::grow},
                                                                       {"read", &Scene::read},
                                                                       {"rest", &Scene::rest}}};
  Job job_;
  bool in_use_ = false;
};

// What libfabric keeps for ever, and what it was told twice.
struct Kept {
  const std::int64_t objects = open_objects();
  const std::int64_t requests = open_requests();
  const std::uint32_t misused = requests_misused();

  // What has come since, or nothing.
  [[nodiscard]] std::string more() const {
    if (open_objects() != objects) return std::to_string(open_objects() - objects) + " objects stay open";
    if (open_requests() != requests) return std::to_string(open_requests() - requests) + " requests stay open";
    return requests_misused() == misused ? "" : "a request was accepted or rejected twice";
  }
};

// Runs the scene with one fault. Returns what went wrong, or nothing.
std::string run(const Fault& fault) {
  const Kept kept;
  std::string wrong;
  {
    Scene scene;
    plan(fault);
    wrong = scene.talk();
    if (wrong.empty()) wrong = scene.talk_to_the_third();
    plan_nothing();
  }
  return wrong.empty() ? kept.more() : wrong;
}

std::string text_of(const Fault& fault) {
  const std::string name = kCallNames[static_cast<std::size_t>(fault.call)];
  const char* const which = fault.for_ever ? " and all later: " : ": ";
  return name + " " + std::to_string(fault.nth) + which + fi_strerror(fault.error);
}

void check(const Fault& fault, const std::string& wrong) {
  if (!wrong.empty()) UNSCOPED_INFO(text_of(fault) << " -> " << wrong);
  CHECK(wrong.empty());
}

std::array<std::uint32_t, kCalls> calls_of_the_scene() {
  Scene scene;
  plan_nothing();
  REQUIRE(scene.talk().empty());
  REQUIRE_FALSE(scene.lost());
  for (const Call call : {Call::kEndpoint, Call::kConnect, Call::kAccept, Call::kInjectWrite, Call::kWriteMessage,
                          Call::kCompletionRead, Call::kEventRead})
    REQUIRE(calls_of(call) > 0);
  std::array<std::uint32_t, kCalls> counts{};
  for (std::size_t call = 0; call < kCalls; ++call) counts[call] = calls_of(static_cast<Call>(call));
  return counts;
}

TEST_CASE("whichever call of libfabric fails, all arrives or those who wait are told", "[faults][F8]") {
  const FaultyLibfabric libfabric;
  const auto counts = calls_of_the_scene();
  const int error = GENERATE(FI_EIO, FI_ENOMEM, FI_EAGAIN);
  for (std::size_t call = 0; call < kCalls; ++call)
    for (std::uint32_t nth = 1; nth <= std::min(counts[call], kNthMax); ++nth) {
      const Fault fault{static_cast<Call>(call), nth, error};
      check(fault, run(fault));
    }
}

// Fails to open a context, with a text, which `refused` counts, or opens it all the same. Returns what went wrong, or
// nothing.
std::string open_with(const Fault& fault, std::uint32_t& refused) {
  const Options options = make_options({});
  bufenlarge_context_config_t config{};
  config.options = options.get();
  config.size = 2;
  config.deliver = [](void*, std::uint32_t, const void*, std::size_t, unsigned) {};
  config.failed = [](void*, std::uint32_t, bufenlarge_status_t, const char*) {};
  char message[BUFENLARGE_MESSAGE_BYTES] = "";
  bufenlarge_context_t* context = nullptr;
  const Kept kept;
  plan(fault);
  const auto status = bufenlarge_context_open(&config, &context, message, sizeof message);
  bufenlarge_context_close(context);
  plan_nothing();
  refused += status != BUFENLARGE_OK;
  if (status != BUFENLARGE_OK && context != nullptr) return "a context that failed to open is there";
  if (status != BUFENLARGE_OK && message[0] == 0) return "no text";
  return kept.more();
}

TEST_CASE("whichever call of libfabric fails while a context opens or closes, nothing of it stays", "[faults][F8]") {
  const FaultyLibfabric libfabric;
  plan_nothing();
  std::uint32_t refused = 0;
  REQUIRE(open_with({}, refused).empty());
  REQUIRE(refused == 0);
  for (const int error : {FI_EIO, FI_ENOMEM, FI_ENOSYS})
    for (std::size_t call = 0; call < kCalls; ++call)
      for (std::uint32_t nth = 1; nth <= 3; ++nth) {
        const Fault fault{static_cast<Call>(call), nth, error};
        check(fault, open_with(fault, refused));
      }
  CHECK(refused >= 30);  // at least ten calls that open cannot do without
}

TEST_CASE("whichever call of libfabric fails for ever, nobody waits for ever", "[faults][F8]") {
  const FaultyLibfabric libfabric;
  const auto counts = calls_of_the_scene();
  for (std::size_t call = 0; call < kCalls; ++call) {
    if (counts[call] == 0) continue;
    for (const std::uint32_t nth : {1u, counts[call] / 2 + 1}) {
      const Fault fault{static_cast<Call>(call), nth, FI_EIO, true};
      check(fault, run(fault));
    }
  }
}

}  // namespace
}  // namespace bufenlarge::test
