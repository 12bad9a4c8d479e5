// SPDX-License-Identifier: MIT
// Who wants to know when a direction of a channel has got another ring, or was refused one.
#pragma once

#include <cstdint>

namespace bufenlarge {

// Why the ring that was wanted could not be had: there was no memory, or the limit on it forbade it.
enum class Refusal : std::uint8_t { kNone, kHere, kHereByLimit, kPeer, kPeerByLimit };

// The phases are those of the receive ring, so that both sides tell the same.
struct RingChange {
  bool sends = false;  // the own sends; else what the peer sends
  std::uint8_t former = 0;
  std::uint8_t phase = 0;
  std::uint8_t wanted = 0;
  Refusal refusal = Refusal::kNone;
  std::uint32_t peer = 0;
  std::uint64_t ring_bytes = 0;    // of both rings of the channel, now
  std::uint64_t pinned_bytes = 0;  // of the context, now
};

class ChangeSink {
 public:
  // Called from progress. It may not call the channel.
  virtual void changed(const RingChange& change) = 0;

 protected:
  ~ChangeSink() = default;
};

}  // namespace bufenlarge
