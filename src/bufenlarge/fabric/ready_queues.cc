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
  if (epoll_ < 0) return false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &queue;
  queue.watched = epoll_ctl(epoll_, EPOLL_CTL_ADD, queue.descriptor, &event) == 0;
  return queue.watched;
}

void ReadyQueues::add_hot(CompletionQueue& queue) {
  queue.hot = true;
  hot_.push_back(&queue);
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
