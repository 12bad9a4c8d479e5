// SPDX-License-Identifier: MIT
// Which completion queues of a tcp port have something to read.
//
// libfabric's tcp provider up to 1.17 walks all endpoints of a queue each time the queue is read (tcpx_progress), so a
// queue of a thousand endpoints takes tens of microseconds to say that nothing came. Here a queue has a few endpoints
// and a descriptor (FI_GETWAIT, fi_cq(3)), and one epoll set over the descriptors says which queues to read.
//
// A hot queue is read in each round: asking the epoll set about it would cost a message one more system call. A queue
// becomes hot when a read finds something, and when the port posts a write on one of its endpoints: an answer may come
// soon, and what stays in the provider's send buffer goes out by a later read, which also lets the descriptor tell of
// room in the socket (tcpx_update_epoll). A hot queue cools after `kQuietReads` reads that found nothing; after one
// such read while more than `kHotQueuesMax` are hot. While hot queues find something, the epoll set is asked every
// `kRoundsUnasked` rounds. While nothing is found, it is asked once in `kTicksUnasked` ticks of the processor's
// counter, which are some 0.2 us: that system call is three quarters of a round that finds nothing.
//
// What comes for a queue wakes the epoll set, which costs the arrival some 150 ns, though a hot queue is read without
// it. So a queue in which `kFindsToLeave` reads found something while it was hot leaves the set, until it cools or the
// process is to sleep.
//
// From libfabric 1.18 on the provider itself keeps a list of what is ready for a whole domain. Then a port has one
// queue, and nothing of this is used.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/completion_queues.h"

namespace bufenlarge {

class ReadyQueues {
 public:
  ReadyQueues() = default;
  ReadyQueues(const ReadyQueues&) = delete;
  ReadyQueues& operator=(const ReadyQueues&) = delete;
  ~ReadyQueues();

  // Watches a queue from now on, if it is not watched yet; it outlives this object's last poll(). Returns false, with
  // errno, if the system has no descriptor or no memory for it.
  [[nodiscard]] bool watch(CompletionQueue& queue);
  // Lets the next poll() read the queue.
  void heat(CompletionQueue& queue) {
    queue.quiet_reads = 0;
    if (!queue.hot) add_hot(queue);
  }
  // Calls `read(queue)` for each queue that is to be read at `now`, in ticks. It returns how many things it has found.
  template <class Read>
  void poll(Read read, std::uint64_t now);
  template <class Read>
  void poll(Read read) {
    poll(read, ticks());
  }

  // Puts every queue back into the epoll set. Returns its descriptor, which is readable while a queue is, until the
  // next poll(); -1 before the first is watched, or if the system has no memory for a queue that had left.
  [[nodiscard]] int descriptor();

  static constexpr std::uint32_t kHotQueuesMax = 2;
  static constexpr std::uint32_t kQuietReads = 256;
  static constexpr std::uint32_t kRoundsUnasked = 4;
  static constexpr std::uint32_t kFindsToLeave = 64;
  static constexpr std::uint64_t kTicksUnasked = 512;

 private:
  using Ready = std::array<CompletionQueue*, 32>;

  // The processor's counter. On one whose rate is not known here each round is late enough to ask.
  [[nodiscard]] std::uint64_t ticks() const {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return asked_at_ + kTicksUnasked;
#endif
  }
  [[nodiscard]] bool is_to_ask(bool found, std::uint64_t now) {
    return found ? ++rounds_unasked_ >= kRoundsUnasked : now - asked_at_ >= kTicksUnasked;
  }
  void add_hot(CompletionQueue& queue);
  void note_find(CompletionQueue& queue) {
    queue.quiet_reads = 0;
    if (++queue.finds == kFindsToLeave) leave(queue);
  }
  [[nodiscard]] bool add(CompletionQueue& queue) const;
  void leave(CompletionQueue& queue);
  [[nodiscard]] bool come_back(CompletionQueue& queue);
  // Asks the epoll set. Returns how many queues it has put into `ready`.
  [[nodiscard]] std::size_t ask(Ready& ready) const;

  int epoll_ = -1;
  std::uint32_t rounds_unasked_ = 0;
  std::uint64_t asked_at_ = 0;
  std::vector<CompletionQueue*> hot_;
};

template <class Read>
void ReadyQueues::poll(Read read, std::uint64_t now) {
  bool found = false;
  std::size_t end = hot_.size();  // `read` may heat other queues, which are read in the next round
  for (std::size_t i = 0; i < end;) {
    CompletionQueue& queue = *hot_[i];
    if (read(queue) != 0) {
      note_find(queue);
      found = true;
    } else if (++queue.quiet_reads >= (hot_.size() > kHotQueuesMax ? 1 : kQuietReads) && come_back(queue)) {
      queue.hot = false;
      hot_[i] = hot_[--end];
      hot_[end] = hot_.back();
      hot_.pop_back();
      continue;
    }
    ++i;
  }
  if (!is_to_ask(found, now)) return;
  rounds_unasked_ = 0;
  asked_at_ = now;
  Ready ready;
  for (CompletionQueue* queue : std::span(ready).first(ask(ready))) {
    if (queue->hot) continue;  // it was read above
    if (read(*queue) != 0 || hot_.size() < kHotQueuesMax) heat(*queue);
  }
}

}  // namespace bufenlarge
