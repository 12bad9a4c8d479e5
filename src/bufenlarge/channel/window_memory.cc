// SPDX-License-Identifier: MIT
#include "channel/window_memory.h"

#include <sys/uio.h>

#include <span>
#include <utility>

namespace bufenlarge {

// Where only a check in the slot tells of its arrival, nothing would tell that data written before it is placed: such
// windows are read only.
template <class PortT>
bool WindowMemory<PortT>::add(Core& core, void* memory, std::size_t bytes, Window& window) {
  if (bytes == 0 || registrations_.beyond(bytes)) return false;
  const iovec whole{memory, bytes};
  const bool writable = core.port.arrival() != Arrival::kChecked;
  Source<PortT> source;
  source.memory = UserMemory<PortT>(std::span(&whole, 1));
  source.peer = kAnyPeer;
  if (source.memory.register_all(core.port, writable ? MemoryUse::kWindow : MemoryUse::kSource, registrations_) !=
      RegisterResult::kDone)
    return false;
  if (writable) {
    const ReadDestination to = source.memory.destinations().front();
    window.address = to.address;
    window.key = to.key;
  }
  window.writable = writable;
  window.source = core.sources.add(std::move(source));
  return window.source != 0;
}

template <class PortT>
void WindowMemory<PortT>::remove(Core& core, std::uint32_t handle) {
  Source<PortT>* source = core.sources.find(handle, kAnyPeer);
  if (source == nullptr) return;
  source->released = true;
  if (source->done()) core.sources.remove(handle);
}

}  // namespace bufenlarge
