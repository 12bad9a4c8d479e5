// SPDX-License-Identifier: MIT
// The upper layer: writes down what the callbacks report, and joins fragments to messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "channel/core.h"
#include "support/builders.h"

namespace bufenlarge::test {

class UpperLog {
 public:
  struct Fragment {
    std::uint32_t peer;
    Bytes bytes;
    unsigned marks;
  };
  struct Failure {
    std::uint32_t peer;
    Status status;
    std::string text;
  };

  // The end of a read, a write or of a source.
  struct End {
    std::uint32_t peer;
    void* cookie;
    Status status;
  };

  UpperLog() = default;
  UpperLog(const UpperLog&) = delete;
  UpperLog& operator=(const UpperLog&) = delete;

  [[nodiscard]] UpperLayer layer() {
    return {&deliver, &failed, this, &read_done, &read_fragment, &release, &write_end};
  }

  // Returns the fragments that came since the last call.
  [[nodiscard]] std::vector<Fragment> take() { return std::exchange(fragments, {}); }

  std::vector<Fragment> fragments;
  std::map<std::uint32_t, std::vector<Bytes>> messages;  // whole ones, by peer
  std::vector<Failure> failures;
  std::vector<End> reads;
  std::vector<End> releases;
  std::vector<End> writes;
  std::map<void*, Bytes> handed_up;  // of reads without a destination, by cookie
  std::function<void(const Fragment&)> on_fragment;
  std::function<void(const End&)> on_read;
  std::function<void(const End&)> on_release;
  std::function<void(const End&)> on_write;
  std::function<void(const Failure&)> on_failure;

 private:
  static void deliver(void* user, std::uint32_t peer, const void* data, std::size_t bytes, unsigned marks) {
    auto* self = static_cast<UpperLog*>(user);
    const auto* from = static_cast<const std::byte*>(data);
    const Fragment fragment{peer, Bytes(from, from + bytes), marks};
    self->fragments.push_back(fragment);
    Bytes& open = self->open_[peer];
    if ((marks & kMarkFirst) != 0) open.clear();
    open.insert(open.end(), fragment.bytes.begin(), fragment.bytes.end());
    if ((marks & kMarkLast) != 0) self->messages[peer].push_back(open);
    if (self->on_fragment) self->on_fragment(fragment);
  }
  static void read_done(void* user, std::uint32_t peer, void* cookie, Status status) {
    auto* self = static_cast<UpperLog*>(user);
    self->reads.push_back({peer, cookie, status});
    if (self->on_read) self->on_read({peer, cookie, status});
  }
  static void read_fragment(void* user, std::uint32_t, void* cookie, const void* data, std::size_t bytes) {
    Bytes& all = static_cast<UpperLog*>(user)->handed_up[cookie];
    const auto* from = static_cast<const std::byte*>(data);
    all.insert(all.end(), from, from + bytes);
  }
  static void release(void* user, std::uint32_t peer, void* cookie, Status status) {
    auto* self = static_cast<UpperLog*>(user);
    self->releases.push_back({peer, cookie, status});
    if (self->on_release) self->on_release({peer, cookie, status});
  }
  static void write_end(void* user, std::uint32_t peer, void* cookie, Status status) {
    auto* self = static_cast<UpperLog*>(user);
    self->writes.push_back({peer, cookie, status});
    if (self->on_write) self->on_write({peer, cookie, status});
  }
  static void failed(void* user, std::uint32_t peer, Status status, const char* message) {
    auto* self = static_cast<UpperLog*>(user);
    const Failure failure{peer, status, message};
    self->failures.push_back(failure);
    if (self->on_failure) self->on_failure(failure);
  }

  std::map<std::uint32_t, Bytes> open_;
};

}  // namespace bufenlarge::test
