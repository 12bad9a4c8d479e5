// SPDX-License-Identifier: MIT
#include "channel/peer_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "check.h"

namespace bufenlarge {

template <class PortT>
bool PeerLink<PortT>::open(const void* address, std::span<const std::byte> hello) {
  return hold(port_.open(address, hello, &channel_));
}

template <class PortT>
bool PeerLink<PortT>::accept(typename Port::Request& request, std::span<const std::byte> hello) {
  return hold(port_.accept(request, hello, &channel_));
}

template <class PortT>
bool PeerLink<PortT>::hold(typename Port::Link endpoint) {
  endpoint_ = std::move(endpoint);
  if (has_endpoint()) core_.links.push_back(&channel_);
  core_.links_most = std::max(core_.links_most, core_.links.size());
  return has_endpoint();
}

template <class PortT>
void PeerLink<PortT>::close() {
  lost_ = false;
  if (has_endpoint()) std::erase(core_.links, &channel_);
  endpoint_ = typename Port::Link();
  queues_ = {};
}

template <class PortT>
bool PeerLink<PortT>::enter_queues() {
  if (!queues_) queues_ = core_.ledger.enter(Ledger::Use::kBeginning, core_.link_bytes());
  return static_cast<bool>(queues_);
}

template <class PortT>
inline WriteResult PeerLink<PortT>::write(const RdmaWrite<Region>& write) {
  const WriteResult result = port_.write(endpoint_, write);
  if (result == WriteResult::kFailed) [[unlikely]]
    lose("a write failed");
  return result;
}

template <class PortT>
bool PeerLink<PortT>::take_control() {
  if (control_.block == nullptr)
    control_ = core_.control.take(&channel_);
  else
    std::memset(control_.block, 0, sizeof *control_.block);
  if (has_control()) outbox().hint = 1;
  return has_control();
}

template <class PortT>
void PeerLink<PortT>::aim_words(std::uint64_t address, std::uint32_t key, std::uint8_t block) {
  words_to_ = {address, key};
  hint_to_ = block == 0 ? 0 : address - std::uint64_t{block} * sizeof(ControlBlock) + block;
}

template <class PortT>
void PeerLink<PortT>::give_back_control() {
  core_.control.give_back(std::exchange(control_, {}));
}

template <class PortT>
bool PeerLink<PortT>::post_word(std::uint64_t offset, std::size_t bytes) {
  const auto* from = reinterpret_cast<const std::byte*>(&control_.block->outbox) + offset;
  const WriteResult result =
      write({control_.region(), from, bytes, words_to_.address + offset, words_to_.key, WriteUse::kWord});
  BUFENLARGE_CHECK(result != WriteResult::kPosted || offset == offsetof(ControlInbox, ack));
  return result != WriteResult::kAgain;
}

template <class PortT>
void PeerLink<PortT>::repeat_word() {
  trace("no answer yet: a word is written again");
  (void)post_word(offsetof(ControlInbox, hot), sizeof(HotWord));
}

template <class PortT>
bool PeerLink<PortT>::post_hint() {
  const auto* from = reinterpret_cast<const std::byte*>(&outbox().hint);
  return write({control_.region(), from, 1, hint_to_, words_to_.key, WriteUse::kHint}) != WriteResult::kAgain;
}

template <class PortT>
void PeerLink<PortT>::set_state(State state) {
  if (!failed()) state_ = state;
}

template <class PortT>
void PeerLink<PortT>::state_changed(const char* machine, const char* from, const char* to, const char* why) {
  write_line({machine, " ", from, " -> ", to, ": ", why});
}

template <class PortT>
void PeerLink<PortT>::write_line(std::initializer_list<std::string> parts) const {
  std::string line;
  for (const std::string& part : parts) line += part;
  core_.log->line(peer_, line);
}

template <class PortT>
void PeerLink<PortT>::fail(Status status, std::string_view text) {
  if (failed()) return;
  if (core_.log_level >= LogLevel::kError) write_line({"failed: ", text_of(text)});
  state_ = State::kFailed;
  failure_ = status;
  error_ = text;
  want_service();
  core_.upper.failed(core_.upper.user, peer_, status, error_.c_str());
}

template <class PortT>
void PeerLink<PortT>::lose(std::string_view why) {
  if (failed() || lost_) return;
  lost_ = true;
  lost_mark_ = port_.completions_mark(endpoint_);
  loss_ = why;
  trace("connection lost: ", why, "; what came before is read first");
  want_service();
}

template <class PortT>
bool PeerLink<PortT>::provision(RingMemory<Port>& ring, RingMemory<Port>& replaced, const Phase& geometry,
                                Ledger::Use use) {
  RingMemory<Port> made = from_slab(geometry.ring_bytes(), use) ? RingMemory<Port>(core_.slabs.take(), geometry)
                                                                : own_ring(geometry, use);
  if (!made) return false;
  replaced = exchange(ring, std::move(made));
  return true;
}

template <class PortT>
RingMemory<PortT> PeerLink<PortT>::exchange(RingMemory<Port>& ring, RingMemory<Port> memory) {
  ring_bytes_.add(memory.registered_bytes());
  ring_bytes_.remove(ring.registered_bytes());
  return std::exchange(ring, std::move(memory));
}

template <class PortT>
RingMemory<PortT> PeerLink<PortT>::own_ring(const Phase& geometry, Ledger::Use use) const {
  const std::size_t bytes = geometry.ring_bytes();
  Ledger::Entry entry = core_.ledger.enter(use, pinned_bytes<Region>(bytes));
  if (!entry) return {};
  return {port_.allocate(bytes, PeerAccess::kWrite), geometry, std::move(entry)};
}

template <class PortT>
void PeerLink<PortT>::drop(RingMemory<PortT>& ring) {
  ring_bytes_.remove(ring.registered_bytes());
  ring = RingMemory<PortT>();
}

template <class PortT>
std::string PeerLink<PortT>::no_memory(std::string_view what) const {
  const std::string text = "no memory could be registered for " + std::string(what);
  if constexpr (requires { port_.memory_error(); }) return text + ": " + port_.memory_error();
  return text;
}

}  // namespace bufenlarge
