// SPDX-License-Identifier: MIT
// How a FabricPort posts writes: on tcp with as few system calls as possible, on verbs with a completion for each.
#include <array>
#include <cstring>

#include "fabric/fabric_port.h"

namespace bufenlarge {

// Posts the held writes as the parts of one. That write has a completion if `context` is not nullptr.
WriteResult FabricPort::post_held(Endpoint& endpoint, void* context, std::uint32_t sequence) const {
  std::uint32_t& count = endpoint.held_count;
  std::array<iovec, kWritePartsMax> from;
  std::array<fi_rma_iov, kWritePartsMax> to;
  std::array<void*, kWritePartsMax> descriptors;
  for (std::uint32_t i = 0; i < count; ++i) {
    const WritePart& one = endpoint.held[i];
    from[i] = {const_cast<std::byte*>(one.from), one.bytes};
    to[i] = {one.address, one.bytes, one.key};
    descriptors[i] = one.descriptor;
  }
  const fi_msg_rma message{from.data(), descriptors.data(), count, 0, to.data(), count, context, sequence};
  const std::uint64_t flags = (context != nullptr ? FI_COMPLETION : 0) | (sequence != 0 ? FI_REMOTE_CQ_DATA : 0);
  const WriteResult result = result_of(fi_writemsg(endpoint.fid.get(), &message, flags), context == nullptr);
  count = result == WriteResult::kAgain ? count - 1 : 0;  // the caller will try the last part again
  return result;
}

// Posts slots and words. Slots that do not lie next to each other go as the parts of one write: on tcp every write
// costs one system call, with any number of parts. None has a completion: the channel uses a slot again when the
// peer has granted it, and by then the write has arrived. A completion would cost this provider two more system
// calls.
WriteResult FabricPort::write_tcp_slots(Endpoint& endpoint, const WritePart& part, WriteUse use) const {
  std::uint32_t& count = endpoint.held_count;
  if (count == 0 && use != WriteUse::kMoreSlots && part.bytes <= inline_bytes_)
    return result_of(fi_inject_write(endpoint.fid.get(), part.from, part.bytes, 0, part.address, part.key), true);
  if (count != 0 && (use == WriteUse::kWord || endpoint.holds_data)) return WriteResult::kAgain;
  endpoint.holds_data = false;
  endpoint.held[count++] = part;
  if (use == WriteUse::kMoreSlots && count < parts_max_) return WriteResult::kCopied;
  return post_held(endpoint, nullptr, 0);
}

// Posts data, with a completion: only that says that the write no longer reads the user's memory.
WriteResult FabricPort::write_tcp_data(Endpoint& endpoint, const WritePart& part, WriteUse use,
                                       std::uint32_t sequence) const {
  std::uint32_t& count = endpoint.held_count;
  if (count != 0 && !endpoint.holds_data) return WriteResult::kAgain;
  endpoint.holds_data = true;
  endpoint.held[count++] = part;
  if (use == WriteUse::kMoreData && count < parts_max_) return WriteResult::kHeld;
  return post_held(endpoint, endpoint.context(Endpoint::Operation::kData), sequence);
}

// Sends the message that follows a notified write where there is no immediate data: an empty one for a
// notification, otherwise `sequence`. Returns false if the post fails.
bool FabricPort::post_message(Endpoint& endpoint, std::uint32_t sequence) const {
  std::array<std::byte, kWordBytes> word{};
  std::memcpy(word.data(), &sequence, sizeof sequence);
  const std::size_t bytes = sequence == 0 ? 0 : sizeof sequence;
  const ssize_t code = fi_send(endpoint.fid.get(), endpoint.words.copy(word.data()), bytes,
                               endpoint.words.region->descriptor(), 0, endpoint.context(Endpoint::Operation::kMessage));
  if (code == 0) ++endpoint.posted;
  return code == 0;
}

WriteResult FabricPort::write_verbs(Link& link, RdmaWrite<Region> write) const {
  using Operation = Endpoint::Operation;
  Endpoint& endpoint = *link.endpoint();
  const bool notifies = write.use == WriteUse::kNotifiedSlots || write.use == WriteUse::kLastData;
  const bool message = notifies && !immediate_data_;
  if (endpoint.posted + (message ? 2u : 1u) > info_->tx_attr->size) return WriteResult::kAgain;
  bool copied = write.bytes <= inline_bytes_;  // libfabric sends it inline then; it has a completion all the same
  const std::byte* from = write.from;
  void* descriptor = write.region.descriptor();
  if (!copied && write.use == WriteUse::kWord && write.bytes == kWordBytes) {
    from = endpoint.words.copy(from);
    descriptor = endpoint.words.region->descriptor();
    copied = true;
  }
  const bool word = copied || write.use == WriteUse::kWord || write.use == WriteUse::kHint;
  void* context = endpoint.context(word                 ? Operation::kWord
                                   : is_data(write.use) ? Operation::kData
                                                        : Operation::kSlots);
  const ssize_t code =
      notifies && immediate_data_
          ? fi_writedata(link.fid(), from, write.bytes, descriptor, write.sequence, 0, write.address, write.key,
                         context)
          : fi_write(link.fid(), from, write.bytes, descriptor, 0, write.address, write.key, context);
  if (code != 0) return result_of(code, copied);
  ++endpoint.posted;
  if (message && !post_message(endpoint, write.sequence)) return WriteResult::kFailed;  // there was room for it
  return result_of(0, copied);
}

}  // namespace bufenlarge
