// SPDX-License-Identifier: MIT
#include "fabric/ready_queues.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "fabric/fabric_error.h"

namespace bufenlarge {

ReadyQueues::~ReadyQueues() {
  if (epoll_ >= 0) ::close(epoll_);
}

bool ReadyQueues::watch(CompletionQueue& queue) {
  if (queue.watched) return true;
  if (epoll_ < 0) epoll_ = epoll_create1(EPOLL_CLOEXEC);
  queue.watched = epoll_ >= 0 && add(queue);
  return queue.watched;
}

bool ReadyQueues::add(CompletionQueue& queue) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &queue;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, queue.descriptor, &event) == 0;
}

void ReadyQueues::add_hot(CompletionQueue& queue) {
  queue.hot = true;
  hot_.push_back(&queue);
}

void ReadyQueues::leave(CompletionQueue& queue) {
  queue.away = queue.away || epoll_ctl(epoll_, EPOLL_CTL_DEL, queue.descriptor, nullptr) == 0;
}

// What came meanwhile makes the set readable at once. A queue that cannot come back stays hot.
bool ReadyQueues::come_back(CompletionQueue& queue) {
  queue.finds = 0;
  if (queue.away) queue.away = !add(queue);
  return !queue.away;
}

int ReadyQueues::descriptor() {
  for (CompletionQueue* queue : hot_)
    if (!come_back(*queue)) return -1;
  return epoll_;
}

std::size_t ReadyQueues::ask(Ready& ready) const {
  std::array<epoll_event, std::tuple_size_v<Ready>> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  if (count <= 0) return 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    ready[i] = static_cast<CompletionQueue*>(events[i].data.ptr);
  return static_cast<std::size_t>(count);
}

}  // namespace bufenlarge
