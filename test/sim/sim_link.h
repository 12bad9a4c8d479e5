// SPDX-License-Identifier: MIT
// One side of a connection, and the writes it has posted on their way into the other side's memory.
//
// A write is taken, read from its source at a random later time (now and then once more: from then on
// the later bytes count), placed in parts, and complete at a random time after its last read, which
// may be before or after it is placed. Reads, placing and completions are each in posting order.
//
// Unordered (as RDMA): the parts of a write appear in any order, while nobody looks, and after it and all
// before it, the notification that it was posted with. Ordered (as tcp): from front to back, and only when the
// target polls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "channel/port.h"
#include "sim/sim_memory.h"
#include "sim/sim_rules.h"

namespace bufenlarge::sim {

class SimEndpoint {
 public:
  SimEndpoint(SimFabric& fabric, SimPort& port, std::uint32_t number, std::uint32_t rank, void* user)
      : fabric_(fabric), port_(port), user_(user), number_(number), rank_(rank) {}
  SimEndpoint(const SimEndpoint&) = delete;
  SimEndpoint& operator=(const SimEndpoint&) = delete;

  // ---- the owner's calls
  [[nodiscard]] WriteResult write(SimMemory::Block* source, const std::byte* from, std::size_t bytes,
                                  std::uint64_t address, std::uint32_t key, WriteUse use,
                                  std::uint32_t sequence);
  // What was read from its source by now still arrives; then the other side sees the loss.
  void close();
  // Asks the other side's host, and says whether that has responded.
  void ask();
  [[nodiscard]] bool responded() const;
  // One completion that is due, of slots or data; nothing when there is none.
  [[nodiscard]] std::optional<WriteKind> take_completion();
  // What came with a write of the other side, whose receive is posted anew: the sequence of a response that has
  // ended, or 0 for a notification. Empty when nothing came.
  [[nodiscard]] std::optional<std::uint32_t> take_arrival();

  // ---- the fabric's
  void pair(SimEndpoint& other, bool active);
  void set_connected() { connected_ = true; }
  // The process is gone: nothing is read any more, and the other side sees the loss.
  void crash();
  // The process is gone with its host: nothing is read any more, and nothing tells the other side.
  void vanish();
  // Nothing gets through any more; an event will say so.
  void set_broken();
  // The event that says so was given to the owner.
  void set_lost() { lost_ = true; }
  // Does what is due.
  void advance();
  // Places what is due, as the target's poll does on an ordered fabric. Returns true if anything was placed.
  bool place_due();
  // Places the rest of a write into `key` of which a part is placed.
  void finish_placing(std::uint32_t key);
  // When advance() or, on an ordered fabric, the target's poll has something to do next; ~0: never.
  [[nodiscard]] std::uint64_t next_due_us() const;
  // When advance() has; it is at rest or not.
  [[nodiscard]] std::uint64_t next_advance_us() const;
  [[nodiscard]] std::uint64_t next_completion_us() const;
  [[nodiscard]] bool quiet() const { return writes_.empty(); }
  // What was written will be placed, even if the link is closed now.
  [[nodiscard]] bool all_read() const;
  // advance() has nothing to do until the next write, or the end.
  [[nodiscard]] bool at_rest() const {
    return writes_.empty() && (open() || closed_seen_ || other_ == nullptr);
  }
  // Notifications or ends of responses wait for the owner's poll.
  [[nodiscard]] bool notified() const { return !arrivals_.empty(); }
  // How many of them were read, and how many came.
  [[nodiscard]] std::uint64_t arrivals_read() const { return arrivals_read_; }
  [[nodiscard]] std::uint64_t arrivals_come() const { return arrivals_read_ + arrivals_.size(); }

  [[nodiscard]] bool open() const { return user_ != nullptr; }
  [[nodiscard]] void* user() const { return user_; }
  [[nodiscard]] SimPort& port() const { return port_; }
  [[nodiscard]] SimEndpoint* other() const { return other_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] SimRules& rules() { return rules_; }
  [[nodiscard]] bool doomed() const { return doomed_; }
  void set_doomed() { doomed_ = true; }
  // The attempt's packets get lost: there will be no event.
  [[nodiscard]] bool unreached() const { return unreached_; }
  void set_unreached() { unreached_ = true; }
  // The other side's host vanishes.
  void set_gone() { gone_ = true; }

  std::vector<std::byte> hello;  // private data handed to open() or accept()
  std::uint64_t last_event_us = 0;  // events of one endpoint keep their order

 private:
  struct Part {
    std::uint32_t offset;
    std::uint32_t bytes;
    std::uint64_t due_us;
  };
  struct Write {
    WriteKind kind;
    SimMemory::Block* source;  // nullptr when it was copied
    const std::byte* from;
    std::uint64_t address;
    std::uint32_t key;
    std::uint32_t posted_digest;
    std::uint64_t read_us;
    std::uint64_t reread_us;  // 0: none
    std::uint64_t complete_us;
    std::vector<std::byte> bytes;  // as read
    std::vector<Part> parts;
    std::vector<std::uint32_t> flipped_bits;  // of what was read
    std::size_t placed = 0;  // parts
    bool read = false;
    bool complete = false;
    bool held = false;   // complete with the next of data that is not
    bool waits = false;  // is not sent before the slots that follow
    bool unsignaled = false;  // is complete when read
    bool notifies = false;  // its notification, or the end of its response, is still to come
    std::uint32_t sequence = 0;
    std::uint64_t notify_us = 0;
    std::uint64_t next = 0;  // position after the last slot that was written by then
    EnlargeAck ack{};  // kAck: as it was posted

    void flip() {
      for (const std::uint32_t bit : flipped_bits) bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    [[nodiscard]] bool placed_whole() const { return placed == parts.size(); }
    [[nodiscard]] bool overlaps(const Write& other) const {
      return key == other.key && address < other.address + other.bytes.size() &&
             other.address < address + bytes.size();
    }
  };

  // What becomes of a write that is not posted; nothing where it is. `taken`: what it is if the device takes it.
  [[nodiscard]] std::optional<WriteResult> not_posted(WriteUse use, WriteResult taken);
  [[nodiscard]] bool holds(WriteUse use);
  // The same for slots.
  [[nodiscard]] bool waits(WriteUse use);
  void check(WriteKind kind, std::span<const std::byte> data, std::uint64_t address, std::uint32_t key,
             WriteUse use, std::uint32_t sequence);
  [[nodiscard]] WriteResult refuse(WriteUse use);
  void note(WriteKind kind, std::span<const std::byte> data);
  void note_ack(std::span<const std::byte> data);
  [[nodiscard]] bool looks_hot() const;
  void post(Write write);
  void plan(Write& write);
  void spoil_hint(Write& write);
  void repeat_hint();
  void cut(Write& write);
  [[nodiscard]] std::uint64_t next_read_us() const;
  [[nodiscard]] std::uint64_t next_place_us() const;
  [[nodiscard]] std::uint64_t earliest_place_us(const Write& write) const;
  void damage(Write& write);
  [[nodiscard]] AckFate ack_fate(const EnlargeAck& ack);
  void note_fate(const EnlargeAck& ack, const AckFate& fate);
  void read(Write& write);
  void complete(Write& write);
  void place(Write& write, const Part& part);
  void notify_due();
  void drop_done();
  void drop_unread();
  void check_close() const;

  SimFabric& fabric_;
  SimPort& port_;
  void* user_;  // nullptr once closed
  SimEndpoint* other_ = nullptr;
  SimRules rules_;  // what may be written to the other side
  std::deque<Write> writes_;
  std::uint32_t held_ = 0;         // the last of writes_, for which the next has to come
  std::uint32_t waiting_ = 0;      // the same of slots
  std::uint64_t placed_us_ = 0;    // when the last write's last part is due
  std::uint64_t complete_us_ = 0;  // when the last write is complete
  std::uint64_t read_us_ = 0;
  std::uint32_t number_;
  std::uint32_t rank_;
  std::uint64_t notify_us_ = 0;  // when the last notification is due
  std::uint32_t incomplete_ = 0;
  std::deque<std::uint32_t> arrivals_;  // of the other side, not read yet: sequences; 0: a notification
  std::uint32_t notifications_ = 0;         // of these
  std::uint64_t arrivals_read_ = 0;
  std::uint32_t damaged_ack_ = 0;  // number of the request whose acknowledgements were damaged ...
  std::uint32_t damages_ = 0;      // ... this often
  bool tried_notified_ = false;  // a write to be notified was refused for now
  bool connected_ = false;
  bool active_ = false;
  bool stalled_ = false;  // what it has written waits for one more write
  bool spoken_to_ = false;  // something of the other side has been placed
  bool broken_ = false;
  bool gone_ = false;  // the other side's host has vanished
  std::uint32_t writes_to_gone_ = 0;
  std::uint64_t response_us_ = 0;  // when the other side's host responds
  bool lost_ = false;
  bool doomed_ = false;  // the attempt is lost, whatever the other side does
  bool unreached_ = false;
  bool closed_seen_ = false;  // the other side knows that this one is closed
};

}  // namespace bufenlarge::sim
