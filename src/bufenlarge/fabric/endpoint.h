// SPDX-License-Identifier: MIT
// One endpoint of a FabricPort. The contexts of completions and events point to it.
//
// A completion may still name an endpoint that was closed a moment ago. So an Endpoint lives as long as its
// port, and closing it closes only libfabric's object. It serves another connection when the end of its completion
// queue was found and the event queue was seen empty since: then nothing can name the former one.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "fabric/fid.h"
#include "fabric/word_copies.h"

namespace bufenlarge {

struct CompletionQueue;
class FabricPort;

// One contiguous range of a write.
struct WritePart {
  const std::byte* from;
  void* descriptor;
  std::size_t bytes;
  std::uint64_t address;  // at the peer
  std::uint32_t key;
};
inline constexpr std::size_t kWritePartsMax = 4;

struct Endpoint {
  enum class Operation : std::uint8_t { kSlots, kWord, kData, kMessage, kReceive, kQuestion, kFence };
  // What the context of an operation points to.
  struct Tag {
    Endpoint* endpoint;  // nullptr: a receive that all endpoints share
    Operation operation;
    std::byte* received = nullptr;  // where such a receive places a message
  };

  Endpoint()
      : tags{{{this, Operation::kSlots},
              {this, Operation::kWord},
              {this, Operation::kData},
              {this, Operation::kMessage},
              {this, Operation::kReceive},
              {this, Operation::kQuestion},
              {this, Operation::kFence}}} {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] void* context(Operation operation) { return &tags[static_cast<std::size_t>(operation)]; }

  // What the peer's host was asked last (fabric_port_ask.cc).
  struct Question {
    bool posted = false;  // verbs: a read, in the send queue; otherwise that was full
    bool done = false;    // ... and the read has ended
    std::uint32_t mark = 0;  // of `completed`
    int socket = -1;         // tcp
    std::uint64_t asked_us = 0;
  };

  // Whether the peer's host has what was written (fabric_port_ask.cc).
  enum class Written : std::uint8_t {
    kAll,     // it has
    kMore,    // not known
    kFenced,  // ... but a fence was posted behind all writes, and has not ended
    kSent,    // ... and the fence has ended
  };

  std::array<Tag, 7> tags;
  EndpointFid fid;
  void* user = nullptr;  // of the link, handed to each callback; nullptr after it was closed
  FabricPort* port = nullptr;
  CompletionQueue* queue = nullptr;  // of the port
  WordCopies words;                  // empty where the device needs none (FabricPort::bind)
  std::array<WritePart, kWritePartsMax> held{};  // writes that wait for the next one (tcp): all slots, or all data
  std::uint32_t held_count = 0;
  bool holds_data = false;
  bool attempt = false;        // without an event yet, and not to be closed before (close_waits_for_answer())
  std::uint32_t received = 0;  // receives of this endpoint that have completed, modulo 2^32
  std::uint32_t posted = 0;    // entries of the send queue whose completion was not read yet
  std::uint32_t completed = 0;  // those whose completion was, modulo 2^32
  Question question;
  Written written = Written::kAll;
  bool fence = false;  // posted, and has not ended
  // When it was closed: its queue, a mark in that, and how often the event queue had been found empty.
  const CompletionQueue* closed_queue = nullptr;
  std::uint64_t closed_mark = 0;
  std::uint64_t events_empty = 0;

  void end_fence() {
    fence = false;
    if (written == Written::kFenced) written = Written::kSent;
  }

  // For another connection.
  void renew() {
    held_count = received = posted = completed = 0;
    question = {};
    written = Written::kAll;
    holds_data = fence = false;
  }
};

// Owns an endpoint's libfabric object and closes it. Its port outlives it.
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
