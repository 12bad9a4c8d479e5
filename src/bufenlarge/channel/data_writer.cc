// SPDX-License-Identifier: MIT
#include "channel/data_writer.h"

namespace bufenlarge {

template <class PortT>
WriteResult DataWriter<PortT>::post(const Write& write, Source<Port>& source) {
  const WriteResult result = link_.write(write);
  if (result == WriteResult::kPosted || result == WriteResult::kHeld) {
    ++source.writes;
    note(SourceRef<Port>(source), result, write.bytes);
  }
  return result;
}

template <class PortT>
WriteResult DataWriter<PortT>::post(const Write& write) {
  const WriteResult result = link_.write(write);
  if (result == WriteResult::kPosted || result == WriteResult::kHeld) note({}, result, write.bytes);
  return result;
}

template <class PortT>
void DataWriter<PortT>::note(SourceRef<Port> source, WriteResult result, std::size_t bytes) {
  const bool signaled = result == WriteResult::kPosted;
  posted_.push_back({std::move(source), signaled});
  held_bytes_ = signaled ? 0 : held_bytes_ + bytes;
  signaled_ += signaled;
}

template <class PortT>
template <class OnComplete>
void DataWriter<PortT>::on_written(OnComplete on_complete) {
  --signaled_;
  for (bool signaled = false; !signaled && !posted_.empty();) {
    Posted done = std::move(posted_.front());
    posted_.pop_front();
    signaled = done.signaled;
    if (done.source) --done.source->writes;
    on_complete(std::move(done.source));
  }
}

template <class PortT>
template <class OnEnd>
void DataWriter<PortT>::forget(OnEnd on_end) {
  for (Posted& one : std::exchange(posted_, {})) {
    if (!one.source) continue;
    --one.source->writes;
    on_end(std::move(one.source));
  }
  signaled_ = 0;
  held_bytes_ = 0;
}

}  // namespace bufenlarge
