// SPDX-License-Identifier: MIT
// The part of the C boundary that is about user memory: large data and memory that peers share. No exception passes it.
#include <exception>
#include <span>

#include "c_objects.h"

using bufenlarge::Status;
using bufenlarge::translate;

extern "C" {

size_t bufenlarge_context_rendezvous_min(const bufenlarge_context_t* context) { return context->rendezvous_min; }

bufenlarge_status_t bufenlarge_channel_expose(bufenlarge_channel_t* handle, const struct iovec* iov, int iov_count,
                                              void* cookie, uint32_t* exposure_p) {
  if (handle->context->upper.released == nullptr) return BUFENLARGE_ERR_ARGUMENT;
  try {
    const std::span<const iovec> segments(iov, static_cast<std::size_t>(iov_count));
    if (handle->channel == nullptr)
      return translate(handle->context->context.expose_to_self(segments, cookie, *exposure_p));
    return translate(handle->channel->expose(segments, cookie, *exposure_p));
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_channel_read(bufenlarge_channel_t* handle, uint32_t exposure, uint64_t offset,
                                            const struct iovec* iov, int iov_count, uint64_t bytes, unsigned flags,
                                            void* cookie) {
  const auto& upper = handle->context->upper;
  const std::span<const iovec> to(iov, static_cast<std::size_t>(iov_count));
  std::uint64_t room = 0;
  for (const iovec& one : to) room += one.iov_len;
  if (upper.read_done == nullptr || exposure == 0) return BUFENLARGE_ERR_ARGUMENT;
  if (to.empty() ? bytes != 0 && upper.piece == nullptr : room != bytes) return BUFENLARGE_ERR_ARGUMENT;
  try {
    const bufenlarge::ReadOrder order{to, cookie, offset, bytes, exposure, (flags & BUFENLARGE_READ_LAST) != 0};
    if (handle->channel != nullptr) return translate(handle->channel->read(order));
    handle->context->context.read_from_self(order);
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_context_share(bufenlarge_context_t* context, void* memory, size_t bytes,
                                             bufenlarge_shared_t* shared_p) {
  try {
    bufenlarge::Shared shared;
    if (!context->context.share(memory, bytes, shared)) return BUFENLARGE_ERR_MEMORY;
    *shared_p = {shared.address, shared.key, shared.name, shared.writable ? 1u : 0u, 0};
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

void bufenlarge_context_unshare(bufenlarge_context_t* context, uint32_t exposure) {
  context->context.unshare(exposure);
}

size_t bufenlarge_context_shared_read_min(const bufenlarge_context_t* context) {
  return context->shared_min(bufenlarge::shared_read_min);
}
size_t bufenlarge_context_shared_write_min(const bufenlarge_context_t* context) {
  return context->shared_min(bufenlarge::shared_write_min);
}

bufenlarge_status_t bufenlarge_channel_write(bufenlarge_channel_t* handle, const bufenlarge_shared_t* to,
                                             uint64_t offset, const void* data, size_t bytes, void* cookie) {
  if (handle->context->upper.written == nullptr || handle->channel == nullptr || to->writable == 0 || bytes == 0)
    return BUFENLARGE_ERR_ARGUMENT;
  try {
    const Status status =
        handle->channel->write({static_cast<const std::byte*>(data), cookie, to->address + offset, bytes, to->key});
    return status == Status::kAgain ? BUFENLARGE_ERR_MEMORY : translate(status);
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

}  // extern "C"
