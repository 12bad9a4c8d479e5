// SPDX-License-Identifier: MIT
// The part of the C boundary on the path of every message, together with the channels over libfabric, so that the
// compiler inlines one into the other. No exception passes it.
#include <cstddef>
#include <exception>
#include <new>
#include <span>

#include "c_objects.h"
#include "channel/bodies.h"

namespace bufenlarge {

BUFENLARGE_INSTANTIATE_CHANNELS(FabricPort);

}  // namespace bufenlarge

using bufenlarge::channel_of;
using bufenlarge::loopback_of;
using bufenlarge::SendTarget;
using bufenlarge::target_of;
using bufenlarge::translate;

namespace {

// Runs a call that makes progress. An exception out of it is the context's end.
template <class Call>
unsigned guarded(bufenlarge_context_t* context, Call call) {
  try {
    return call(context->context);
  } catch (const std::bad_alloc&) {
    context->fail(BUFENLARGE_ERR_MEMORY, "memory is exhausted");
  } catch (const std::exception& error) {
    context->fail(BUFENLARGE_ERR_FABRIC, error.what());
  }
  return 0;
}

}  // namespace

extern "C" {

unsigned bufenlarge_context_progress(bufenlarge_context_t* context) {
  return guarded(context, [](auto& channels) { return channels.progress(); });
}

int bufenlarge_context_enable_sleep(bufenlarge_context_t* context) {
  try {
    return context->port.enable_sleep() ? 1 : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

int bufenlarge_context_sleep(bufenlarge_context_t* context, uint32_t microseconds) {
  return guarded(context, [=](auto& channels) { return channels.sleep(microseconds) ? 1u : 0u; }) != 0 ? 1 : 0;
}

bufenlarge_status_t bufenlarge_channel_send(bufenlarge_channel_t* handle, const struct iovec* iov, int iov_count,
                                            unsigned flags, size_t* bytes_sent_p) {
  try {
    const std::span<const iovec> vector(iov, static_cast<std::size_t>(iov_count));
    const bool more = (flags & BUFENLARGE_MORE) != 0;
    SendTarget& target = target_of(handle);
    if (target.is_loopback) [[unlikely]] {
      *bytes_sent_p = loopback_of(target).send(vector, more);
      return BUFENLARGE_OK;
    }
    if ((flags & BUFENLARGE_FENCE) != 0) return translate(channel_of(target).send_fenced(vector, *bytes_sent_p));
    const bool corked = (flags & BUFENLARGE_CORK) != 0;
    return translate(channel_of(target).send(vector, more, *bytes_sent_p, corked));
  } catch (const std::exception&) {
    *bytes_sent_p = 0;
    return BUFENLARGE_ERR_MEMORY;
  }
}

void bufenlarge_channel_flush(bufenlarge_channel_t* handle) {
  SendTarget& target = target_of(handle);
  if (target.is_loopback) return;
  try {
    channel_of(target).post_staged();
  } catch (const std::exception& error) {
    channel_of(target).fail(bufenlarge::Status::kMemoryError, error.what());
  }
}

void bufenlarge_channel_fail(bufenlarge_channel_t* handle, bufenlarge_status_t status, const char* message) {
  SendTarget& target = target_of(handle);
  if (!target.is_loopback) channel_of(target).fail(bufenlarge::status_of(status), message);
}

}  // extern "C"
