// SPDX-License-Identifier: MIT
// The rules of docs/wire-protocol.md, section 10, as what crosses the wire shows them.
#include <algorithm>
#include <cstring>

#include "protocol/slot.h"
#include "sim/sim_rules.h"

namespace bufenlarge::sim {

void SimRules::asked(std::span<const ReadRequestParts> requests) {
  for (const ReadRequestParts& one : requests)
    if (one.head.sequence != 0) responses_.push_back({one});
}

std::string SimRules::check_read_slot(const SlotTrailer& trailer, const std::byte* end) {
  const std::span payload(end - sizeof trailer - align_up(trailer.bytes), trailer.bytes);
  if (trailer.kind == static_cast<std::uint8_t>(SlotKind::kReadRequest)) {
    auto parts = parse_read_request(payload);
    if (!parts) return "a read request that is none";
    requests_.push_back(std::move(*parts));
  }
  if (trailer.kind == static_cast<std::uint8_t>(SlotKind::kReadFragment)) {
    ++fragments_;
    return check_fragment(payload, (trailer.marks & kMarkLast) != 0);
  }
  return "";
}

std::string SimRules::check_fragment(std::span<const std::byte> payload, bool last) {
  if (responses_.empty()) return "a fragment that nobody asked for";
  ReadFragment head;
  if (payload.size() <= sizeof head) return "a fragment without data";
  std::memcpy(&head, payload.data(), sizeof head);
  Response& response = responses_.front();
  const std::uint64_t bytes = payload.size() - sizeof head;
  if (head.sequence != response.request.head.sequence) return "a fragment of another request than the oldest";
  if (response.done != 0 && !response.fragments) return "a fragment after writes";
  response.fragments = true;
  if (bytes > response.request.bytes - response.done) return "a fragment that is too long";
  response.done += bytes;
  if (last != (response.done == response.request.bytes)) return "a fragment whose mark is wrong";
  if (last) responses_.pop_front();
  return "";
}

bool SimRules::Response::goes_on(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const {
  if (fragments || (request.head.flags & kReadThroughRing) != 0) return false;
  const ReadDestination& to = request.destinations[segment];
  return key == to.key && address == to.address + in_segment && bytes <= to.bytes - in_segment && bytes != 0;
}

bool SimRules::expects_data(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const {
  return std::ranges::any_of(responses_, [&](const Response& one) { return one.goes_on(key, address, bytes); });
}

std::string SimRules::check_data(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                 std::uint32_t sequence) {
  // Fragments of a response before may still wait for their turn in the ring.
  auto found = responses_.begin();
  for (; found != responses_.end() && !found->goes_on(key, address, bytes); ++found) {
    if (found->done != 0 && !found->fragments) return "data that goes to another place than was asked";
    found->fragments = true;
  }
  if (found == responses_.end()) return "data that nobody asked for, or not there";
  Response& response = *found;
  const ReadDestination& to = response.request.destinations[response.segment];
  response.done += bytes;
  response.in_segment += static_cast<std::uint32_t>(bytes);
  if (response.in_segment == to.bytes) ++response.segment, response.in_segment = 0;
  const bool last = response.done == response.request.bytes;
  if (sequence != (last ? response.request.head.sequence : 0)) return "data whose sequence is wrong";
  if (last) responses_.erase(found);
  return "";
}

}  // namespace bufenlarge::sim
