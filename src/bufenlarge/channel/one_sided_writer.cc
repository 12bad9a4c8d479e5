// SPDX-License-Identifier: MIT
#include "channel/one_sided_writer.h"

#include <algorithm>
#include <span>
#include <utility>

namespace bufenlarge {

template <class PortT>
bool OneSidedWriter<PortT>::order(const WriteOrder& order) {
  const iovec whole{const_cast<std::byte*>(order.from), static_cast<std::size_t>(order.bytes)};
  Write write{order, UserMemory<Port>(std::span(&whole, 1))};
  const RegisterResult result =
      write.memory.register_all(link_.port(), MemoryUse::kSource, link_.core().source_registrations);
  if (result != RegisterResult::kDone) return false;
  writes_.push_back(std::move(write));
  link_.trace("write of ", order.bytes, " bytes into window memory");
  if (!post() || to_finish()) link_.want_service();
  return true;
}

template <class PortT>
bool OneSidedWriter<PortT>::post() {
  while (!all_posted())
    if (!link_.ready() || data_.full() || !post_part(writes_[next_])) return false;
  return true;
}

template <class PortT>
bool OneSidedWriter<PortT>::post_part(Write& write) {
  const auto place = write.memory.find(write.posted);
  const std::uint32_t bytes = data_write_bytes(place.bytes);
  const bool more_follows = next_ + 1 < writes_.size() || write.posted + bytes != write.order.bytes;
  const WriteResult result = data_.post({*place.region, place.at, bytes, write.order.address + write.posted,
                                         write.order.key, data_.use_of(bytes, more_follows)});
  if (result == WriteResult::kAgain || result == WriteResult::kFailed) return false;
  write.posted += bytes;
  write.in_flight += result != WriteResult::kCopied;
  if (write.posted == write.order.bytes) ++next_;
  link_.core().rendezvous.written_bytes += bytes;
  return true;
}

template <class PortT>
void OneSidedWriter<PortT>::on_written() {
  const auto first = std::ranges::find_if(writes_, [](const Write& one) { return one.in_flight != 0; });
  --first->in_flight;
}

template <class PortT>
void OneSidedWriter<PortT>::finish() {
  const UpperLayer& upper = link_.upper();
  while (to_finish()) {
    void* cookie = writes_.front().order.cookie;
    writes_.pop_front();  // its registration too
    --next_;
    ++link_.core().rendezvous.writes;
    upper.write_done(upper.user, link_.peer(), cookie, Status::kOk);
  }
}

template <class PortT>
void OneSidedWriter<PortT>::fail(Status status) {
  const UpperLayer& upper = link_.upper();
  std::deque<Write> writes = std::exchange(writes_, {});
  next_ = 0;
  for (Write& write : writes) {
    write.memory.unregister();
    upper.write_done(upper.user, link_.peer(), write.order.cookie, status);
  }
}

}  // namespace bufenlarge
