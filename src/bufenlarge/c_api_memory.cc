// SPDX-License-Identifier: MIT
// The part of the C boundary for user memory: sources, reads, window memory and writes into it. No exception passes it.
#include <algorithm>
#include <exception>
#include <span>

#include "c_objects.h"
#include "unmap_hooks.h"

using bufenlarge::channel_of;
using bufenlarge::context_of;
using bufenlarge::loopback_of;
using bufenlarge::SendTarget;
using bufenlarge::Status;
using bufenlarge::target_of;
using bufenlarge::translate;

namespace {

bufenlarge_status_t order_read(bufenlarge_channel_t* handle, const bufenlarge::ReadOrder& order) {
  SendTarget& target = target_of(handle);
  try {
    if (!target.is_loopback) return translate(channel_of(target).read(order));
    loopback_of(target).read(order);
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

}  // namespace

std::string bufenlarge_context::keep_registrations(const bufenlarge::Knobs::Values& values) {
  using Choice = bufenlarge::MonitorChoice;
  const bool wanted = registration_cache.value_or(bufenlarge::registration_cache_bytes(port.info(), 1, 1)) != 0;
  monitor_why = "MEMORY_MONITOR=none";
  if (wanted && values.memory_monitor != Choice::kNone) monitor = bufenlarge::unmap_hooks(monitor_why);
  if (wanted && monitor == nullptr && values.memory_monitor == Choice::kHooks)
    return "MPIR_CVAR_BUFENLARGE_MEMORY_MONITOR='hooks': " + monitor_why;
  port.set_give_way([this](std::size_t bytes) { return context.give_way(bytes); });
  return "";
}

void bufenlarge_context::share_registrations() {
  const std::uint32_t contexts = std::max(1u, upper.contexts);
  const std::uint64_t bytes =
      registration_cache ? *registration_cache / contexts
                         : bufenlarge::registration_cache_bytes(port.info(), local_processes, contexts);
  context.keep_registrations(bytes, monitor);
  const std::string up_to = "up to " + std::to_string(bytes);
  kept = bytes == 0           ? "none stay"
         : monitor != nullptr ? up_to + " bytes stay"
                              : up_to + " bytes of MPI_Alloc_mem and persistent requests stay: " + monitor_why;
  if (bytes != 0 && log_level >= bufenlarge::LogLevel::kState)
    log.line(upper.rank, "registrations of user memory: " + kept);
}

extern "C" {

void bufenlarge_context_limits(const bufenlarge_context_t* context, bufenlarge_limits_t* limits_p) {
  const std::optional<std::uint64_t>& set = context->rendezvous;
  const fi_info& info = context->port.info();
  const bool shared = bufenlarge_context_shares_processors(context) != 0;
  limits_p->rendezvous_min = set.value_or(shared ? bufenlarge::kRendezvousMinShared : bufenlarge::kRendezvousMin);
  limits_p->window_read_min = set.value_or(bufenlarge::window_read_min(info));
  limits_p->window_write_min = set.value_or(bufenlarge::window_write_min(info));
}

bufenlarge_status_t bufenlarge_channel_advertise(bufenlarge_channel_t* handle, const struct iovec* iov, int iov_count,
                                                 unsigned flags, void* cookie, uint32_t* source_p) {
  SendTarget& target = target_of(handle);
  if (context_of(target).upper.source_released == nullptr) return BUFENLARGE_ERR_ARGUMENT;
  try {
    const std::span<const iovec> segments(iov, static_cast<std::size_t>(iov_count));
    const bool persistent = (flags & BUFENLARGE_PERSISTENT) != 0;
    return translate(target.is_loopback ? loopback_of(target).advertise(segments, cookie, *source_p)
                                        : channel_of(target).advertise(segments, cookie, *source_p, persistent));
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_channel_read(bufenlarge_channel_t* handle, uint32_t source, uint64_t offset,
                                            const struct iovec* iov, int iov_count, uint64_t bytes, unsigned flags,
                                            void* cookie) {
  const auto& upper = context_of(target_of(handle)).upper;
  const std::span<const iovec> to(iov, static_cast<std::size_t>(iov_count));
  std::uint64_t room = 0;
  for (const iovec& one : to) room += one.iov_len;
  if (upper.read_done == nullptr || source == 0 || bytes == 0) return BUFENLARGE_ERR_ARGUMENT;
  if (to.empty() ? upper.fragment == nullptr : room != bytes) return BUFENLARGE_ERR_ARGUMENT;
  return order_read(handle, {to, cookie, offset, bytes, source, (flags & BUFENLARGE_READ_LAST) != 0,
                             (flags & BUFENLARGE_PERSISTENT) != 0});
}

bufenlarge_status_t bufenlarge_channel_release_source(bufenlarge_channel_t* handle, uint32_t source) {
  if (source == 0) return BUFENLARGE_ERR_ARGUMENT;
  return order_read(handle, bufenlarge::ReadOrder::release(source));
}

bufenlarge_status_t bufenlarge_context_register_window(bufenlarge_context_t* context, void* memory, size_t bytes,
                                                       bufenlarge_window_t* window_p) {
  try {
    bufenlarge::Window window;
    if (!context->context.register_window(memory, bytes, window)) return BUFENLARGE_ERR_MEMORY;
    *window_p = {window.address, window.key, window.source, window.writable ? BUFENLARGE_WINDOW_WRITABLE : 0u};
    return BUFENLARGE_OK;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

void bufenlarge_context_deregister_window(bufenlarge_context_t* context, uint32_t source) {
  context->context.deregister_window(source);
}

bufenlarge_status_t bufenlarge_context_keep_memory(bufenlarge_context_t* context, void* memory, size_t bytes,
                                                   unsigned flags) {
  if (memory == nullptr || bytes == 0) return BUFENLARGE_ERR_ARGUMENT;
  try {
    if ((flags & BUFENLARGE_PERSISTENT) != 0) {
      context->context.add_persistent(static_cast<std::byte*>(memory), bytes);
      return BUFENLARGE_OK;
    }
    return context->context.add_standing(static_cast<std::byte*>(memory), bytes) ? BUFENLARGE_OK
                                                                                 : BUFENLARGE_ERR_ARGUMENT;
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

bufenlarge_status_t bufenlarge_context_release_memory(bufenlarge_context_t* context, void* memory, size_t bytes,
                                                      unsigned flags) {
  auto* const begin = static_cast<std::byte*>(memory);
  const bool was = (flags & BUFENLARGE_PERSISTENT) != 0 ? context->context.end_persistent(begin, bytes)
                                                        : context->context.end_standing(begin);
  return was ? BUFENLARGE_OK : BUFENLARGE_ERR_ARGUMENT;
}

bufenlarge_status_t bufenlarge_channel_write(bufenlarge_channel_t* handle, const bufenlarge_window_t* to,
                                             uint64_t offset, const void* data, size_t bytes, void* cookie) {
  const bool writable = (to->flags & BUFENLARGE_WINDOW_WRITABLE) != 0;
  SendTarget& target = target_of(handle);
  if (context_of(target).upper.write_done == nullptr || target.is_loopback || !writable || bytes == 0)
    return BUFENLARGE_ERR_ARGUMENT;
  try {
    const Status status =
        channel_of(target).write({static_cast<const std::byte*>(data), cookie, to->address + offset, bytes, to->key});
    return status == Status::kAgain ? BUFENLARGE_ERR_MEMORY : translate(status);
  } catch (const std::exception&) {
    return BUFENLARGE_ERR_MEMORY;
  }
}

}  // extern "C"
