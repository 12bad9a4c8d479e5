// SPDX-License-Identifier: MIT
// The one place of a channel that posts writes of user memory, and knows what each completion is for.
//
// Who may call it: RendezvousResponder and OneSidedWriter post; Rendezvous hands it the completions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "channel/peer_link.h"
#include "channel/source_table.h"
#include "protocol/read_request.h"

namespace bufenlarge {

// Writes of data that one channel keeps posted: few enough to leave room for slots in a verbs send queue, together long
// enough to keep a link busy.
inline constexpr std::size_t kDataWritesMax = 4;

template <class PortT>
class DataWriter {
 public:
  using Port = PortT;
  using Write = RdmaWrite<typename Port::Region>;

  explicit DataWriter(PeerLink<Port>& link) : link_(link) {}

  // No more data may be posted until some is complete.
  [[nodiscard]] bool full() const { return held_bytes_ == 0 && signaled_ == kDataWritesMax; }
  // The use of a write that ends nothing. The port may hold small ranges that follow each other; larger ones are writes
  // of their own. `more_follows`: the caller posts the next write at once.
  [[nodiscard]] WriteUse use_of(std::uint32_t bytes, bool more_follows) const {
    return more_follows && held_bytes_ + bytes <= kDataWriteBytesMax / 2 ? WriteUse::kMoreData : WriteUse::kData;
  }

  // Posts a part of a response: the source stays in use until the write is complete.
  [[nodiscard]] WriteResult post(const Write& write, Source<Port>& source);
  // Posts a part of an own write.
  [[nodiscard]] WriteResult post(const Write& write);

  // The oldest signaled write is complete, and with it those before it that had no completion of their own. Calls
  // `on_complete(source)` for each; the source is empty for an own write.
  template <class OnComplete>
  void on_written(OnComplete on_complete);
  // The endpoint is closed: forgets all writes, and calls `on_end(source)` for each source.
  template <class OnEnd>
  void forget(OnEnd on_end);

  [[nodiscard]] bool empty() const { return posted_.empty(); }

 private:
  // A write that is not complete. One that the port holds is not signaled: it is complete with the next that is.
  struct Posted {
    SourceRef<Port> source;
    bool signaled;
  };

  void note(SourceRef<Port> source, WriteResult result, std::size_t bytes);

  PeerLink<Port>& link_;
  std::deque<Posted> posted_;   // oldest first
  std::size_t signaled_ = 0;    // of these
  std::size_t held_bytes_ = 0;  // by the port
};

}  // namespace bufenlarge
