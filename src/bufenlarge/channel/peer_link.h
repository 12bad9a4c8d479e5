// SPDX-License-Identifier: MIT
// What all parts of a channel stand on: the endpoint to the peer, the control block, and the channel's failure.
//
// Who may call it: every part of the channel, and the channel. Connection alone opens and closes the endpoint and sets
// the state.
//
//  state        meaning
//  -----------  -----------------------------------------------------------------------------------
//  kClosed      no connection, or one is being made
//  kConnected   the peer's writes arrive; on iWARP the passive side may not write before the active one has
//  kReady       both sides may write
//  kFailed      the channel is of no more use
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "channel/core.h"
#include "channel/port.h"
#include "channel/ring_memory.h"
#include "channel/stats.h"
#include "protocol/state_log.h"
#include "status.h"

namespace bufenlarge {

template <class PortT>
class PeerLink final : private StateLog {
 public:
  using Port = PortT;
  using Region = typename Port::Region;
  using Core = bufenlarge::Core<Port>;
  enum class State : std::uint8_t { kClosed, kConnected, kReady, kFailed };

  PeerLink(Core& core, std::uint32_t peer, Channel<Port>& channel)
      : core_(core), port_(core.port), channel_(channel), peer_(peer) {}
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  [[nodiscard]] Core& core() const { return core_; }
  [[nodiscard]] Port& port() const { return port_; }
  [[nodiscard]] std::uint32_t peer() const { return peer_; }
  [[nodiscard]] Channel<Port>& channel() const { return channel_; }
  [[nodiscard]] const UpperLayer& upper() const { return core_.upper; }

  // ---- state
  [[nodiscard]] bool connected() const { return state_ == State::kConnected || state_ == State::kReady; }
  [[nodiscard]] bool ready() const { return state_ == State::kReady; }
  [[nodiscard]] bool failed() const { return state_ == State::kFailed; }
  void set_state(State state);

  // ---- endpoint
  [[nodiscard]] bool has_endpoint() const { return static_cast<bool>(endpoint_); }
  // Enters what the endpoint's queues pin in the ledger, until close(). False when the limit forbids it.
  [[nodiscard]] bool enter_queues();
  // Both return false when there is no endpoint then.
  [[nodiscard]] bool open(const void* address, std::span<const std::byte> hello);
  [[nodiscard]] bool accept(typename Port::Request& request, std::span<const std::byte> hello);
  // Returns true if the peer's host may have responded to the attempt that is under way.
  [[nodiscard]] bool reached() const { return port_.reached(endpoint_); }
  // All three as the port's. On iWARP the passive side may not ask before it may write.
  [[nodiscard]] bool ask() {
    return (ready() || !port_.first_write_may_stall()) && port_.ask(endpoint_, question());
  }
  [[nodiscard]] bool responded() { return port_.responded(endpoint_); }
  // Whether all that was written has reached the peer's host; asks where the port does not know.
  [[nodiscard]] bool settled() { return !ready() || port_.settled(endpoint_, question()); }
  void give_up() { port_.give_up(endpoint_); }
  // Ends the endpoint's completions and events.
  void close();
  // The group of the endpoint, by which the port reports arrivals.
  [[nodiscard]] std::uint32_t group() const { return endpoint_ ? port_.group(endpoint_) : 0; }
  // Posts a write. kFailed, once, means that the connection is lost: lose() has noted it.
  [[nodiscard]] WriteResult write(const RdmaWrite<Region>& write);

  // ---- control block
  // Takes one if there is none, else clears it. False when no memory could be registered.
  [[nodiscard]] bool take_control();
  void give_back_control();
  [[nodiscard]] bool has_control() const { return control_.block != nullptr; }
  [[nodiscard]] ControlInbox& inbox() const { return control_.block->inbox; }
  [[nodiscard]] ControlInbox& outbox() const { return control_.block->outbox; }
  [[nodiscard]] std::uint64_t inbox_address() const { return control_.inbox_address(); }
  [[nodiscard]] std::uint32_t inbox_key() const { return control_.region().remote_key(); }
  // Where the peer's hints are for: Hello::block.
  [[nodiscard]] std::uint8_t hint() const { return control_.hint(); }
  // The peer's inbox, where post_word() writes, and the number of its block, for post_hint().
  void aim_words(std::uint64_t address, std::uint32_t key, std::uint8_t block);
  // Writes a part of the outbox into the same place of the peer's inbox. The port copies words, so they may change at
  // once; an acknowledgement stays as it is until the peer has used it. False: to be tried again.
  [[nodiscard]] bool post_word(std::uint64_t offset, std::size_t bytes);
  // Writes a word that the peer has, for a peer that may not see what was written before it.
  void repeat_word();
  // Whether the peer looks at its ring in each round, as far as this side knows.
  [[nodiscard]] bool peer_is_hot() const { return __atomic_load_n(&inbox().hot.hot, __ATOMIC_RELAXED) != 0; }
  // Whether the peer wants hints while it is not hot.
  [[nodiscard]] bool peer_takes_hints() const { return hint_to_ != 0; }
  // Lets the peer look at its ring once. False: to be tried again.
  [[nodiscard]] bool post_hint();

  // ---- failure
  // The channel is of no more use. Tells the upper layer, once; service() releases the memory in the next round, so
  // that no slot vanishes under a callback that reads it.
  void fail(Status status, std::string_view text);
  // The connection is lost. What the peer wrote before is in the ring: it is read first (Channel::service).
  void lose(std::string_view why);
  [[nodiscard]] bool lost() const { return lost_; }
  // The completions from before the loss are read.
  [[nodiscard]] bool loss_is_read() const { return port_.completions_read(endpoint_, lost_mark_); }
  [[nodiscard]] const std::string& loss() const { return loss_; }
  [[nodiscard]] Status failure() const { return failure_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // An error text; with what the port knows of its memory, where it knows.
  [[nodiscard]] std::string no_memory(std::string_view what) const;

  // ---- log
  // For a machine's set_log(): nullptr where states are not logged.
  [[nodiscard]] StateLog* state_log() { return core_.log_level >= LogLevel::kState ? this : nullptr; }
  // One line of the log at level `trace`, made of texts and numbers.
  template <class... Parts>
  void trace(const Parts&... parts) const {
    if (core_.log_level == LogLevel::kTrace) [[unlikely]]
      write_line({text_of(parts)...});
  }

  // Puts the channel on the pending list: service() has something to do.
  void want_service() { core_.pending.add(channel_, pending_listed_); }
  [[nodiscard]] bool listed() const { return pending_listed_; }

  // ---- memory of the rings
  // Memory for a ring of this geometry in place of what there was, which goes to `replaced`. False, with the ring as it
  // was, when no memory could be registered.
  [[nodiscard]] bool provision(RingMemory<Port>& ring, RingMemory<Port>& replaced, const Phase& geometry,
                               Ledger::Use use);
  // Takes this memory for the ring. Returns what it had.
  RingMemory<Port> exchange(RingMemory<Port>& ring, RingMemory<Port> memory);
  void drop(RingMemory<Port>& ring);
  // Whether the limit on pinned memory is why provision() refuses a ring of this geometry now.
  [[nodiscard]] bool beyond_limit(const Phase& geometry, Ledger::Use use) const {
    const std::size_t bytes = geometry.ring_bytes();
    const bool is_part = from_slab(bytes, use);
    if (is_part && core_.slabs.has_free(1)) return false;
    return !core_.ledger.has_room(use, is_part ? core_.slabs.least_pinned() : pinned_bytes<Region>(bytes));
  }
  [[nodiscard]] const RingBytes& ring_bytes() const { return ring_bytes_; }

 private:
  struct Target {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
  };

  [[nodiscard]] HostQuestion<Region> question() const {
    return {control_.region(), reinterpret_cast<std::byte*>(&outbox().reserved),
            words_to_.address + offsetof(ControlInbox, reserved), words_to_.key, connected()};
  }
  [[nodiscard]] bool hold(typename Port::Link endpoint);
  // Empty where no memory could be registered.
  [[nodiscard]] RingMemory<Port> own_ring(const Phase& geometry, Ledger::Use use) const;
  // Whether a ring of so many bytes is cut from a slab.
  [[nodiscard]] bool from_slab(std::size_t bytes, Ledger::Use use) const {
    return use == Ledger::Use::kBeginning && core_.first_rings(peer_) == FirstRings::kSlab && core_.slabs.serves(bytes);
  }
  void state_changed(const char* machine, const char* from, const char* to, const char* why) override;
  void write_line(std::initializer_list<std::string> parts) const;
  static std::string text_of(std::uint64_t number) { return std::to_string(number); }
  static std::string text_of(std::string_view text) { return std::string(text); }

  Core& core_;
  Port& port_;
  Channel<Port>& channel_;
  Ledger::Entry queues_;
  typename Port::Link endpoint_;
  typename ControlSlab<Port>::Handle control_;
  Target words_to_;
  std::uint64_t hint_to_ = 0;  // 0: the peer wants none
  std::uint64_t lost_mark_ = 0;  // of completions_mark(), with lost_
  RingBytes ring_bytes_;
  std::string error_;
  std::string loss_;
  std::uint32_t peer_;
  Status failure_ = Status::kOk;
  State state_ = State::kClosed;
  bool lost_ = false;
  bool pending_listed_ = false;
};

}  // namespace bufenlarge
