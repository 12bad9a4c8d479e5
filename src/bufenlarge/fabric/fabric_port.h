// SPDX-License-Identifier: MIT
// The Port of channel/port.h over one libfabric domain: one listener, one event queue and one
// completion queue for all endpoints.
//
// A completion may still name an endpoint that was closed a moment ago, so what completions point to
// (Endpoint) lives as long as the port; only libfabric's part of it is closed.
#pragma once

#include <netinet/in.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "channel/port.h"
#include "fabric/fid.h"
#include "fabric/memory_region.h"
#include "fabric/provider.h"

namespace bufenlarge {

class FabricPort {
 public:
  struct Endpoint {
    EndpointFid fid;
    void* user = nullptr;  // nullptr once closed
  };

  class Link {
   public:
    Link() = default;
    explicit Link(Endpoint* endpoint) : endpoint_(endpoint) {}
    Link(Link&& other) noexcept : endpoint_(std::exchange(other.endpoint_, nullptr)) {}
    Link& operator=(Link&& other) noexcept {
      if (this != &other) {
        close();
        endpoint_ = std::exchange(other.endpoint_, nullptr);
      }
      return *this;
    }
    ~Link() { close(); }
    explicit operator bool() const { return endpoint_ != nullptr; }
    [[nodiscard]] fid_ep* fid() const { return endpoint_->fid.get(); }
    [[nodiscard]] Endpoint* endpoint() const { return endpoint_; }

   private:
    void close() {
      if (endpoint_ == nullptr) return;
      endpoint_->user = nullptr;
      endpoint_->fid.reset();
    }
    Endpoint* endpoint_ = nullptr;
  };

  struct Request {
    InfoPtr info;
  };

  using Region = MemoryRegion;

  // Throws FabricError.
  explicit FabricPort(const ProviderRequest& request);

  [[nodiscard]] Region allocate(std::size_t bytes);
  [[nodiscard]] Link open(const void* card, std::span<const std::byte> data, void* user);
  [[nodiscard]] Link accept(Request& request, std::span<const std::byte> data, void* user);
  void reject(Request& request, std::span<const std::byte> data);

  [[nodiscard]] WriteResult write(Link& link, const Region& region, const std::byte* from,
                                  std::size_t bytes, std::uint64_t address, std::uint32_t key) {
    if (!link) [[unlikely]] return WriteResult::kFailed;
    const bool copied = bytes <= inline_bytes_;
    const ssize_t code =
        copied ? fi_inject_write(link.fid(), from, bytes, 0, address, key)
               : fi_write(link.fid(), from, bytes, region.descriptor(), 0, address, key, link.endpoint());
    if (code == 0) [[likely]] return copied ? WriteResult::kCopied : WriteResult::kPosted;
    return code == -FI_EAGAIN ? WriteResult::kAgain : WriteResult::kFailed;
  }

  [[nodiscard]] std::uint64_t now_us() const;
  [[nodiscard]] bool ordered() const { return ordered_; }

  template <class Handler>
  unsigned poll(Handler& handler);
  template <class Handler>
  unsigned poll_events(Handler& handler);

  [[nodiscard]] const sockaddr_in& address() const { return address_; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] const RegistrationCounters& registrations() const { return registrations_; }

 private:
  // One event, decoded; the texts and data live until the next read.
  struct Event {
    enum class Kind : std::uint8_t { kNone, kRequest, kConnected, kRejected, kLost };
    Kind kind = Kind::kNone;
    Endpoint* endpoint = nullptr;
    Request request;
    std::span<const std::byte> data;
    std::string why;
  };

  [[nodiscard]] Endpoint* make_endpoint(fi_info* info, void* user);
  [[nodiscard]] Event next_event();
  [[nodiscard]] Event decode_error();
  // The endpoint a failed completion belongs to; nullptr when it tells none.
  [[nodiscard]] Endpoint* failed_completion(std::string& why);
  void listen();

  RegistrationCounters registrations_;
  InfoPtr info_;
  FabricFid fabric_;
  DomainFid domain_;
  EventQueueFid events_;
  QueueFid completions_;
  ListenerFid listener_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::array<std::byte, 512> event_bytes_{};
  sockaddr_in address_{};
  std::size_t inline_bytes_ = 0;
  std::uint32_t next_key_ = 1;
  bool virtual_addresses_ = false;
  bool ordered_ = false;
};

static_assert(Port<FabricPort>);

template <class Handler>
unsigned FabricPort::poll(Handler& handler) {
  std::array<fi_cq_entry, 16> entries;
  const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) [[likely]] return 0;
  if (count == -FI_EAVAIL) {
    std::string why;
    Endpoint* endpoint = failed_completion(why);
    if (endpoint != nullptr && endpoint->user != nullptr) handler.on_lost(endpoint->user, why);
    return 1;
  }
  for (ssize_t i = 0; i < count; ++i) {
    const auto* endpoint = static_cast<Endpoint*>(entries[static_cast<std::size_t>(i)].op_context);
    if (endpoint != nullptr && endpoint->user != nullptr) handler.on_written(endpoint->user);
  }
  return count > 0 ? static_cast<unsigned>(count) : 0;
}

template <class Handler>
unsigned FabricPort::poll_events(Handler& handler) {
  for (unsigned count = 0;; ++count) {
    Event event = next_event();
    if (event.kind == Event::Kind::kNone) return count;
    if (event.kind == Event::Kind::kRequest) {
      handler.on_request(event.request, event.data);
      continue;
    }
    if (event.endpoint == nullptr || event.endpoint->user == nullptr) continue;
    if (event.kind == Event::Kind::kConnected) handler.on_connected(event.endpoint->user, event.data);
    if (event.kind == Event::Kind::kRejected) handler.on_rejected(event.endpoint->user, event.data);
    if (event.kind == Event::Kind::kLost) handler.on_lost(event.endpoint->user, event.why);
  }
}

}  // namespace bufenlarge
