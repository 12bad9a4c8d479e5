// SPDX-License-Identifier: MIT
// What completions and events point to: one endpoint of a FabricPort.
//
// A completion may still name an endpoint that was closed a moment ago, so an Endpoint lives as long as
// its port; only libfabric's part of it is closed.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "fabric/fid.h"
#include "fabric/word_copies.h"

namespace bufenlarge {

struct CompletionQueue;
class FabricPort;

// One range of a write.
struct WritePart {
  const std::byte* from;
  void* descriptor;
  std::size_t bytes;
  std::uint64_t address;  // at the peer
  std::uint32_t key;
};
inline constexpr std::size_t kWritePartsMax = 4;

struct Endpoint {
  // An operation's context says whose it is, and what.
  enum class Operation : std::uint8_t { kSlots, kWord, kData, kMessage, kReceive };
  struct Tag {
    Endpoint* endpoint;            // nullptr: a receive that all endpoints share
    Operation operation;
    std::byte* received = nullptr; // where such a receive places a message
  };

  Endpoint()
      : tags{{{this, Operation::kSlots},
              {this, Operation::kWord},
              {this, Operation::kData},
              {this, Operation::kMessage},
              {this, Operation::kReceive}}} {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] void* context(Operation operation) { return &tags[static_cast<std::size_t>(operation)]; }

  std::array<Tag, 5> tags;
  EndpointFid fid;
  void* user = nullptr;              // nullptr once closed
  FabricPort* port = nullptr;
  CompletionQueue* queue = nullptr;  // the port's
  WordCopies words;                  // empty where the device needs none (FabricPort::bind)
  std::array<WritePart, kWritePartsMax> held{};  // writes that go with the next (tcp): all of slots, or all of data
  std::uint32_t held_count = 0;
  bool holds_data = false;
  std::uint32_t received = 0;        // own receives used up
  std::uint32_t posted = 0;          // entries of the send queue whose completion was not read yet
  bool connecting = false;           // an own attempt, not answered
};

// Owns an endpoint's libfabric part.
class EndpointLink {
 public:
  EndpointLink() = default;
  explicit EndpointLink(Endpoint* endpoint) : endpoint_(endpoint) {}
  EndpointLink(EndpointLink&& other) noexcept : endpoint_(std::exchange(other.endpoint_, nullptr)) {}
  EndpointLink& operator=(EndpointLink&& other) noexcept {
    if (this != &other) {
      close();
      endpoint_ = std::exchange(other.endpoint_, nullptr);
    }
    return *this;
  }
  ~EndpointLink() { close(); }
  explicit operator bool() const { return endpoint_ != nullptr; }
  [[nodiscard]] fid_ep* fid() const { return endpoint_->fid.get(); }
  [[nodiscard]] Endpoint* endpoint() const { return endpoint_; }

 private:
  void close();
  Endpoint* endpoint_ = nullptr;
};

}  // namespace bufenlarge
