// SPDX-License-Identifier: MIT
// What the hostile peer knows of reads and of enlargement, so that its lies come as near to the truth as they can: the
// sources it may read, what the process under test asks of it, and how it answers, rightly or with one thing wrong.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "protocol/read_request.h"
#include "support/fake_peer.h"
#include "support/fake_port.h"

namespace bufenlarge::test {

class HostileReads {
 public:
  HostileReads(FuzzedDataProvider& input, FakeFabric& fabric, FakePeer& peer)
      : input_(input), peer_(peer), room_(fabric.add(kRoomBytes)), fabric_(fabric) {}

  // A source that the peer may read; it learns of it by a message of the upper layer.
  void learn(std::uint32_t handle) { handles_.push_back(handle); }

  // Looks at what the process under test has written.
  void look() {
    while (auto arrival = peer_.next()) {
      if (arrival->kind() == SlotKind::kReadRequest) {
        if (auto parts = parse_read_request(arrival->payload); parts && parts->head.sequence != 0)
          asked_.push_back(std::move(*parts));
      } else if (arrival->kind() == SlotKind::kEnlargeRequest) {
        EnlargeRequest request{};
        std::memcpy(&request, arrival->payload.data(), sizeof request);
        growth_ = request;
      }
    }
  }

  // Asks to read known sources, in part or whole, into own memory.
  void ask() {
    ReadRequestParts parts;
    parts.head.sequence = input_.ConsumeBool() ? ++sequence_ : input_.ConsumeIntegralInRange<std::uint32_t>(0, 9);
    parts.head.flags = input_.ConsumeIntegralInRange<std::uint8_t>(0, 3);
    for (auto count = input_.ConsumeIntegralInRange<int>(1, 2); count > 0; --count) {
      const auto bytes = input_.ConsumeIntegralInRange<std::uint32_t>(1, kRoomBytes);
      parts.sources.push_back({input_.ConsumeIntegralInRange<std::uint64_t>(0, 64), handle(), bytes});
      parts.destinations.push_back(
          {room_.address + input_.ConsumeIntegralInRange<std::uint64_t>(0, 64), room_.key, bytes});
    }
    if ((parts.head.flags & kReadThroughRing) != 0) parts.destinations.clear();
    say(parts);
  }

  void release() {
    std::byte payload[64];
    const std::uint32_t bytes = encode_release(handle(), payload);
    peer_.write_slot(SlotKind::kReadRequest, std::span(payload, bytes), 0);
  }

  // Answers a read request of the process under test by writes, and says that it is done.
  void answer_by_writes(FakePort& port, FakePort::LinkState* link) {
    if (asked_.empty() || link == nullptr || link->user == nullptr) return;
    const ReadRequestParts request = take();
    for (const ReadDestination& to : request.destinations)
      (void)fabric_.place(to.key, to.address, Bytes(std::min(to.bytes, kRoomBytes)));
    port.end_read(link, request.head.sequence);
  }

  // The same by fragments, the last of which says so; what a fragment is said to be may be wrong.
  void answer_through_ring() {
    if (asked_.empty() || peer_.capacity() <= sizeof(ReadFragment)) return;
    const std::uint64_t missing = asked_.front().bytes - std::min(asked_.front().bytes, sent_);
    const auto bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(missing, input_.ConsumeIntegralInRange<std::uint32_t>(
                                             0, peer_.capacity() - static_cast<std::uint32_t>(sizeof(ReadFragment)))));
    const ReadFragment head{asked_.front().head.sequence + (lies() ? 1 : 0), 0};
    Bytes payload(sizeof head + bytes);
    std::memcpy(payload.data(), &head, sizeof head);
    const bool last = (bytes == missing) != lies();
    sent_ += bytes;
    if (bytes == missing) (void)take();
    peer_.write_slot(SlotKind::kReadFragment, payload, last ? kMarkLast : std::uint8_t{0});
  }

  // Acknowledges the request to enlarge that came last, rightly.
  void grow() {
    if (!growth_ || growth_->phase > 2) return;
    peer_.acknowledge(peer_.provision(static_cast<std::uint8_t>(growth_->phase), growth_->number));
    growth_.reset();
  }

 private:
  static constexpr std::uint32_t kRoomBytes = 4096;

  [[nodiscard]] bool lies() { return input_.ConsumeIntegralInRange<int>(0, 7) == 0; }
  [[nodiscard]] std::uint32_t handle() {
    if (handles_.empty() || lies()) return input_.ConsumeIntegral<std::uint32_t>();
    return handles_[input_.ConsumeIntegralInRange<std::size_t>(0, handles_.size() - 1)];
  }
  ReadRequestParts take() {
    ReadRequestParts first = std::move(asked_.front());
    if (!lies()) asked_.pop_front();
    sent_ = 0;
    return first;
  }
  void say(const ReadRequestParts& parts) {
    Bytes payload(1024);
    payload.resize(encode_request(parts, payload));
    if (lies()) payload[input_.ConsumeIntegralInRange<std::size_t>(0, payload.size() - 1)] ^= std::byte{1};
    peer_.write_slot(SlotKind::kReadRequest, payload, 0);
  }

  FuzzedDataProvider& input_;
  FakePeer& peer_;
  FakeFabric::Memory& room_;
  FakeFabric& fabric_;
  std::vector<std::uint32_t> handles_;
  std::deque<ReadRequestParts> asked_;
  std::uint64_t sent_ = 0;  // of the first of asked_
  std::optional<EnlargeRequest> growth_;
  std::uint32_t sequence_ = 0;
};

}  // namespace bufenlarge::test
