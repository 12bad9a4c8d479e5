// SPDX-License-Identifier: MIT
// The rules of docs/wire-protocol.md, section 10, as what crosses the wire shows them.
#include <cstring>

#include "protocol/slot.h"
#include "sim/sim_rules.h"

namespace bufenlarge::sim {

void SimRules::asked(std::span<const ReadRequestParts> requests) {
  for (const ReadRequestParts& one : requests)
    if (one.head.sequence != 0) answers_.push_back({one});
}

std::string SimRules::check_read_slot(const SlotTrailer& trailer, const std::byte* end) {
  const std::span payload(end - sizeof trailer - align_up(trailer.bytes), trailer.bytes);
  if (trailer.kind == static_cast<std::uint8_t>(SlotKind::kReadRequest)) {
    auto parts = parse_read_request(payload);
    if (!parts) return "a read request that is none";
    requests_.push_back(std::move(*parts));
  }
  if (trailer.kind == static_cast<std::uint8_t>(SlotKind::kReadPiece)) {
    ++pieces_;
    return check_piece(payload, (trailer.marks & kMarkLast) != 0);
  }
  return "";
}

std::string SimRules::check_piece(std::span<const std::byte> payload, bool last) {
  if (answers_.empty()) return "a piece that nobody asked for";
  ReadPiece head;
  if (payload.size() <= sizeof head) return "a piece without data";
  std::memcpy(&head, payload.data(), sizeof head);
  Answer& answer = answers_.front();
  const std::uint64_t bytes = payload.size() - sizeof head;
  if (head.sequence != answer.request.head.sequence) return "a piece of another request than the oldest";
  if (answer.done != 0 && !answer.pieces) return "a piece after writes";
  answer.pieces = true;
  if (bytes > answer.request.bytes - answer.done) return "a piece that is too long";
  answer.done += bytes;
  if (last != (answer.done == answer.request.bytes)) return "a piece whose mark is wrong";
  if (last) answers_.pop_front();
  return "";
}

std::string SimRules::check_data(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                 std::uint32_t sequence) {
  // Pieces of an answer before may still wait for their turn in the ring.
  const auto fits = [&](const Answer& one) {
    if (one.pieces || (one.request.head.flags & kReadInPieces) != 0) return false;
    const ReadDestination& to = one.request.destinations[one.segment];
    return key == to.key && address == to.address + one.in_segment && bytes <= to.bytes - one.in_segment && bytes != 0;
  };
  auto found = answers_.begin();
  for (; found != answers_.end() && !fits(*found); ++found) {
    if (found->done != 0 && !found->pieces) return "data that goes to another place than was asked";
    found->pieces = true;
  }
  if (found == answers_.end()) return "data that nobody asked for, or not there";
  Answer& answer = *found;
  const ReadDestination& to = answer.request.destinations[answer.segment];
  answer.done += bytes;
  answer.in_segment += static_cast<std::uint32_t>(bytes);
  if (answer.in_segment == to.bytes) ++answer.segment, answer.in_segment = 0;
  const bool last = answer.done == answer.request.bytes;
  if (sequence != (last ? answer.request.head.sequence : 0)) return "data whose sequence is wrong";
  if (last) answers_.erase(found);
  return "";
}

}  // namespace bufenlarge::sim
