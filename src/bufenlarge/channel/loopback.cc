// SPDX-License-Identifier: MIT
#include "channel/loopback.h"

#include <algorithm>
#include <utility>

#include "protocol/wire.h"

namespace bufenlarge {

template <class PortT>
std::size_t Loopback<PortT>::send(std::span<const iovec> vector, bool more) {
  Fragment fragment;
  for (const iovec& element : vector) {
    const auto* from = static_cast<const std::byte*>(element.iov_base);
    fragment.bytes.insert(fragment.bytes.end(), from, from + element.iov_len);
  }
  fragment.marks = static_cast<std::uint8_t>((message_open_ ? 0 : kMarkFirst) | (more ? 0 : kMarkLast));
  message_open_ = more;
  const std::size_t bytes = fragment.bytes.size();
  fragments_.push_back(std::move(fragment));
  return bytes;
}

template <class PortT>
Status Loopback<PortT>::advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& source) {
  source = core_.sources.add(segments, cookie, core_.rank);
  return source != 0 ? Status::kOk : Status::kMemoryError;
}

template <class PortT>
unsigned Loopback<PortT>::progress() {
  unsigned done = 0;
  if (!fragments_.empty()) deliver(), ++done;
  if (!reads_.empty()) serve_read(), ++done;
  return done;
}

template <class PortT>
void Loopback<PortT>::deliver() {
  const Fragment fragment = std::move(fragments_.front());
  fragments_.pop_front();
  const UpperLayer& upper = core_.upper;
  upper.deliver(upper.user, core_.rank, fragment.bytes.data(), fragment.bytes.size(), fragment.marks);
}

template <class PortT>
void Loopback<PortT>::copy(const Read& read, const Source<Port>& source) const {
  const ReadOrder& order = read.order;
  for (std::uint64_t done = 0; done < order.bytes;) {
    const auto place = source.memory.find(order.offset + done);
    const std::size_t bytes = std::min<std::uint64_t>(place.bytes, order.bytes - done);
    if (read.to.bytes() == 0)
      core_.upper.fragment(core_.upper.user, core_.rank, order.cookie, place.at, bytes);
    else
      read.to.copy_in(done, {place.at, bytes});
    done += bytes;
  }
}

template <class PortT>
void Loopback<PortT>::serve_read() {
  const Read read = std::move(reads_.front());
  reads_.pop_front();
  const ReadOrder& order = read.order;
  const UpperLayer& upper = core_.upper;
  const Source<Port>* source = core_.sources.find(order.source, core_.rank);
  const bool fits = source != nullptr && source->memory.contains(order.offset, order.bytes) &&
                    !(order.last && source->is_window());
  if (fits) copy(read, *source);
  if (!order.is_release())
    upper.read_done(upper.user, core_.rank, order.cookie, fits ? Status::kOk : Status::kProtocolError);
  if (fits && order.last) {
    void* cookie = source->cookie;
    core_.sources.remove(order.source);
    upper.source_released(upper.user, core_.rank, cookie, Status::kOk);
  }
}

}  // namespace bufenlarge
