// SPDX-License-Identifier: MIT
// The sending half of a channel: the staging ring, which slots of it are filled and which are written, and the peer's
// ring they go to.
//
// Who may call it: Channel for messages, Enlargement to stage its request and to exchange the ring, RendezvousReader
// and RendezvousResponder to stage requests and fragments, Connection to start it. Slots go out in the order of
// staging.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "channel/in_flight.h"
#include "channel/peer_link.h"
#include "channel/ring_memory.h"
#include "channel/stats.h"
#include "protocol/ring_consumer.h"
#include "protocol/ring_producer.h"
#include "protocol/slot.h"

namespace bufenlarge {

template <class PortT>
class SendRing {
 public:
  using Port = PortT;
  using Region = typename Port::Region;

  // `consumer`: of the channel's receive ring; each slot carries its grant.
  SendRing(PeerLink<Port>& link, RingConsumer& consumer)
      : link_(link), consumer_(consumer), watches_use_(link.core().settings.shrink_after_us != 0) {
    set_phase(0);
  }

  // ---- life
  // Memory for a ring of this geometry in place of what there was. False, with the ring as it was, when none could be
  // registered.
  [[nodiscard]] bool provision(const Phase& geometry, Ledger::Use use = Ledger::Use::kBeginning) {
    RingMemory<Port> replaced;
    return link_.provision(ring_, replaced, geometry, use);
  }
  // The same, from the memory there is. False, with nothing done, when that is too small.
  [[nodiscard]] bool divide(const Phase& geometry) { return ring_.divide(geometry); }
  void drop() { link_.drop(ring_); }
  // The connection has ended: nothing of it is left, not the phase either.
  void end();
  // Begins with an empty ring: `base` is the position of slot 0.
  void start(std::uint64_t base, std::uint32_t slots, std::uint8_t phase, std::uint16_t epoch);
  // The peer's ring. The own slots are as long as the peer's, or shorter.
  void aim_at(std::uint64_t ring_address, std::uint32_t ring_key, std::uint32_t stride);
  void set_peer_wants(bool checks, bool notifications);

  // Nothing but the request is staged while the direction grows.
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  // Whether messages may be sent, as far as there is room.
  [[nodiscard]] bool open() const { return link_.ready() && !paused_; }

  // ---- messages
  // The common case: takes a whole message that fits one slot, with nothing staged before it. Writes what the steps for
  // any message write. Returns false, with nothing done, when it is not that case.
  [[nodiscard]] bool send_single_slot(std::span<const iovec> vector, std::size_t& sent);
  // Copies the elements, one after the other, into as many slots as there is room for, and adds the bytes to `sent`.
  // `ends`: the last of them ends the message.
  void stage(std::span<const iovec> elements, bool ends, std::size_t& sent);
  // Writes what is staged, as far as possible; the rest goes with service().
  void flush();
  // The next slots of this message are notified; returns what was so before, for restore().
  [[nodiscard]] std::uint64_t notify_all();
  void restore_notify(std::uint64_t before, bool sent);

  // ---- use, where rings shrink
  // Notes that this phase was needed.
  void note_use(std::uint8_t phase);
  // The same for what is sent now: the phase of its largest element.
  void note_use(std::span<const iovec> elements);
  // The largest phase that was needed since the last call of take_used_phase().
  [[nodiscard]] std::uint8_t used_phase() const { return used_phase_; }
  [[nodiscard]] std::uint8_t take_used_phase();

  // Nothing waits to go, and no message or growth is under way.
  [[nodiscard]] bool drained() const { return all_posted() && !hint_due_ && !message_open_ && !paused_; }

  // ---- slots that are no part of a message
  [[nodiscard]] bool may_stage() { return open() && room() != 0; }
  // Where the payload of the next slot, of so many bytes, belongs.
  [[nodiscard]] std::byte* begin_control(std::uint32_t bytes);
  // Seals the next slot, whose payload is in place.
  void stage_slot(SlotKind kind, std::uint32_t bytes, std::uint8_t marks);
  // Both steps at once.
  void stage_control(SlotKind kind, std::span<const std::byte> payload);

  // Free slots. Reads the peer's grant where there are fewer than are wanted.
  [[nodiscard]] std::uint32_t room(std::size_t wanted = 1) {
    const std::uint32_t slots = producer_.room();
    return slots >= wanted ? slots : room_by_grant();
  }
  // The oldest write in flight is complete.
  void on_written() { producer_.complete(in_flight_.completed()); }
  // The same for a grant that came with a slot. False when the peer grants what was never posted.
  [[nodiscard]] bool grant_low(std::uint32_t consumed_low) { return producer_.grant_low(consumed_low); }

  // The last slot of a message is not staged yet.
  [[nodiscard]] bool message_open() const { return message_open_; }
  [[nodiscard]] bool has_ring() const { return static_cast<bool>(ring_); }
  [[nodiscard]] std::size_t registered_bytes() const { return ring_.registered_bytes(); }
  [[nodiscard]] bool all_posted() const { return producer_.all_posted(); }
  // A hint could not be written.
  [[nodiscard]] bool hint_due() const { return hint_due_; }
  void tell_peer();
  [[nodiscard]] bool all_complete() const { return in_flight_.empty(); }
  [[nodiscard]] std::uint32_t capacity() const { return ring_.capacity(); }
  [[nodiscard]] std::uint8_t phase() const { return phase_; }
  // The largest element that goes without growing, in bytes.
  [[nodiscard]] std::uint32_t threshold_bytes() const { return threshold_bytes_; }
  [[nodiscard]] const RingProducer& producer() const { return producer_; }
  [[nodiscard]] DirectionCounters& counters() { return counters_; }
  [[nodiscard]] const DirectionCounters& counters() const { return counters_; }

 private:
  struct Target {
    std::uint64_t address = 0;  // where slot 0 would begin if it were as long as an own slot
    std::uint32_t key = 0;
    std::uint32_t stride = 0;
    bool wants_checks = false;
    bool wants_notifications = false;
  };

  [[nodiscard]] const PhaseTable& phases() const { return link_.core().settings.phases; }
  void set_phase(std::uint8_t phase);
  [[nodiscard]] std::uint32_t room_by_grant();
  [[nodiscard]] bool post_run();
  [[nodiscard]] bool write_run(std::uint32_t first, std::uint32_t begin, std::uint32_t count);
  [[nodiscard]] std::uint32_t run_length() const;
  [[nodiscard]] bool needs_notification(std::uint32_t first, std::uint32_t count) const;
  void mark_notified(std::uint32_t first, std::uint32_t count);
  void on_posted() {
    if (link_.peer_takes_hints() && !link_.peer_is_hot()) tell_peer();
  }

  PeerLink<Port>& link_;
  RingConsumer& consumer_;
  RingMemory<Port> ring_;
  RingProducer producer_;
  InFlight in_flight_;
  Target target_;
  DirectionCounters counters_;
  std::uint32_t threshold_bytes_ = 0;    // the largest element that fits the present phase
  std::uint32_t single_slot_bytes_ = 0;  // the largest message of one slot whose need of a phase is noted
  std::uint64_t notify_before_ = 0;  // slots of smaller positions are notified, where the peer wants that
  std::uint16_t epoch_ = 0;
  std::uint8_t phase_ = 0;
  std::uint8_t used_phase_ = 0;  // the largest that was needed in this period, where that is watched
  const bool watches_use_;
  bool message_open_ = false;  // its first slot is staged, its last is not
  bool paused_ = false;
  bool hint_due_ = false;
};

}  // namespace bufenlarge
