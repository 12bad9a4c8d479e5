// SPDX-License-Identifier: MIT
#include "channel/channel.h"

#include <algorithm>
#include <cstring>

#include "protocol/vector_plan.h"

namespace bufenlarge {

template <class PortT>
Channel<PortT>::Channel(Core& core, std::uint32_t peer, const void* address)
    : SendTarget{core.upper.user, false},
      link_(core, peer, *this),
      receive_ring_(link_),
      send_ring_(link_, receive_ring_.consumer()),
      enlargement_(link_, send_ring_, receive_ring_),
      connection_(link_, send_ring_, receive_ring_, address),
      closing_(link_, send_ring_, receive_ring_) {}

template <class PortT>
Channel<PortT>::Channel(Core& core, std::uint32_t peer, const OtherJobPeer& other_job)
    : SendTarget{core.upper.user, false},
      link_(core, peer, *this),
      receive_ring_(link_),
      send_ring_(link_, receive_ring_.consumer()),
      enlargement_(link_, send_ring_, receive_ring_),
      connection_(link_, send_ring_, receive_ring_, other_job),
      closing_(link_, send_ring_, receive_ring_) {}

// The endpoint is closed before the memory goes that its writes read.
template <class PortT>
Channel<PortT>::~Channel() {
  link_.close();
  rendezvous_.reset();
  receive_ring_.drop();
  send_ring_.drop();
  link_.give_back_control();
}

// ---- orders of the upper layer

template <class PortT>
Status Channel<PortT>::send(std::span<const iovec> vector, bool more, std::size_t& sent, bool corked) {
  sent = 0;
  if (!send_ring_.open()) [[unlikely]]
    return not_open();
  if (!more && !corked && send_ring_.send_single_slot(vector, sent)) [[likely]]
    return Status::kOk;
  const VectorPlan plan = enlargement_.plan(vector);
  if (plan.phase != send_ring_.phase()) [[unlikely]] {
    enlargement_.begin(plan.phase);
    return failed() ? failure() : Status::kAgain;
  }
  send_ring_.stage(vector.first(plan.elements), !more && plan.elements == vector.size(), sent);
  if (!corked)
    send_ring_.flush();
  else if (!send_ring_.all_posted())
    link_.want_service();
  if (failed()) [[unlikely]]
    return failure();
  if (sent != 0) return Status::kOk;
  enlargement_.on_full(vector);
  return Status::kAgain;
}

template <class PortT>
Status Channel<PortT>::not_open() {
  if (failed()) return failure();
  if (!link_.ready()) connection_.want();
  return Status::kAgain;
}

template <class PortT>
void Channel<PortT>::post_staged() {
  if (connected()) send_ring_.flush();
}

// On a fabric that reorders, only a completion at the peer shows that data written before it is placed: a notification.
template <class PortT>
Status Channel<PortT>::send_fenced(std::span<const iovec> vector, std::size_t& sent) {
  sent = 0;
  if (!link_.ready()) return not_open();
  if ((rendezvous_ && !rendezvous_->one_sided.all_posted()) || !takes_whole(vector))
    return failed() ? failure() : Status::kAgain;
  const std::uint64_t before = send_ring_.notify_all();
  const Status status = send(vector, false, sent);
  send_ring_.restore_notify(before, sent != 0);
  return status;
}

// The message was made for one slot, but the ring may have become smaller since. Then the direction grows first, by
// either rule (GROWTH); where it may not, the message waits for several slots, and, when they are too small together,
// until it may grow again.
template <class PortT>
bool Channel<PortT>::takes_whole(std::span<const iovec> vector) {
  if (!send_ring_.open()) return false;
  const std::uint8_t present = send_ring_.phase();
  const VectorPlan plan =
      plan_vector(vector, core().settings.phases, present, enlargement_.limit(), VectorMode::kWhole);
  const std::uint32_t capacity = send_ring_.capacity();
  if (plan.phase == present) return plan.bytes <= std::size_t{send_ring_.room(plan.bytes / capacity + 1)} * capacity;
  enlargement_.begin(plan.phase);
  return false;
}

template <class PortT>
Rendezvous<PortT>& Channel<PortT>::rendezvous() {
  if (!rendezvous_) rendezvous_ = std::make_unique<Rendezvous<Port>>(link_, send_ring_, enlargement_);
  return *rendezvous_;
}

template <class PortT>
Status Channel<PortT>::advertise(std::span<const iovec> segments, void* cookie, std::uint32_t& source,
                                 bool persistent) {
  if (failed()) return failure();
  (void)rendezvous();  // which ends the source when the channel fails
  source = core().sources.add(segments, cookie, peer(), persistent);
  if (source == 0) return Status::kMemoryError;
  link_.trace("source ", source, " is advertised");
  return Status::kOk;
}

template <class PortT>
Status Channel<PortT>::read(const ReadOrder& order) {
  if (failed()) return failure();
  rendezvous().reader.order(order);
  link_.want_service();
  if (!link_.ready()) (void)not_open();
  return Status::kOk;
}

template <class PortT>
Status Channel<PortT>::write(const WriteOrder& order) {
  if (!link_.ready()) return not_open();
  return rendezvous().one_sided.order(order) ? Status::kOk : Status::kAgain;
}

// ---- arrival

template <class PortT>
unsigned Channel<PortT>::receive() {
  unsigned taken = 0;
  if (!connected()) return taken;
  // One ring full at most: a fast peer may not keep the others waiting.
  RingConsumer& consumer = receive_ring_.consumer();
  for (std::uint32_t budget = consumer.slots(); budget > 0 && !failed(); --budget) {
    const std::byte* slot = receive_ring_.next_slot();
    SlotTrailer trailer;
    const SlotState state = receive_ring_.look(slot, trailer);
    if (state == SlotState::kEmpty) break;
    ++taken;
    if (state == SlotState::kInvalid || consumer.credit_used_up() || !send_ring_.grant_low(trailer.grant)) {
      fail(Status::kProtocolError, "the peer wrote a slot that breaks the wire protocol");
      break;
    }
    receive_ring_.take_notification(trailer);
    connection_.on_slot();
    enlargement_.on_slot();
    if (closing_.on_slot(trailer.kind)) [[unlikely]]
      go_on();
    if (!take_slot(slot, trailer)) break;
  }
  if (taken != 0 && !failed()) {
    receive_ring_.watch_next_slot();
    receive_ring_.maybe_grant();
  }
  return taken;
}

// Returns false when the ring was exchanged: what follows lies in the new one, which is empty.
template <class PortT>
inline bool Channel<PortT>::take_slot(const std::byte* slot, const SlotTrailer& trailer) {
  const std::byte* at = slot + payload_offset(receive_ring_.stride(), trailer.bytes);
  const std::span<const std::byte> payload(at, trailer.bytes);
  RingConsumer& consumer = receive_ring_.consumer();
  switch (static_cast<SlotKind>(trailer.kind)) {
    case SlotKind::kPayload:
      receive_ring_.deliver(at, trailer);
      break;
    case SlotKind::kHello:
      break;
    case SlotKind::kReadRequest:
      rendezvous().responder.on_request(payload);
      break;
    case SlotKind::kReadFragment:
      rendezvous().reader.on_fragment(payload, (trailer.marks & kMarkLast) != 0);
      break;
    case SlotKind::kClose:
      closing_.on_message(payload);
      break;
    case SlotKind::kEnlargeRequest:
      take_enlarge_request(payload);
      return false;
  }
  consumer.consume();
  return true;
}

template <class PortT>
void Channel<PortT>::take_enlarge_request(std::span<const std::byte> payload) {
  EnlargeRequest request{};
  std::memcpy(&request, payload.data(), std::min(sizeof request, payload.size()));
  receive_ring_.consumer().consume();
  enlargement_.on_request(request);
}

// ---- rounds

template <class PortT>
bool Channel<PortT>::service(std::uint64_t now_us) {
  if (failed()) release();
  // Notifications and ends of responses from before the loss are in the completion queue.
  const bool has_completions = has_notifications(core().port.arrival()) || rendezvous_ != nullptr;
  if (link_.lost() && (!has_completions || link_.loss_is_read())) lose();
  if (!connected()) return failed() && !released_;
  connection_.serve_hello();
  send_ring_.flush();
  enlargement_.service(now_us);
  serve_words();
  const bool rendezvous_due = !failed() && rendezvous_ && rendezvous_->service();
  if (closing_.pending() && !link_.lost()) serve_closing();
  if (failed()) return true;
  if (!connected()) return false;
  return closing_.pending() || rendezvous_due || link_.lost() || connection_.hello_due() || !send_ring_.all_posted() ||
         enlargement_.pending() || words_due();
}

// A direction in the middle of a message, or of its end, is looked at later.
template <class PortT>
void Channel<PortT>::look_at_use(std::uint64_t now_us) {
  if (may_change_rings()) enlargement_.look_at_use(now_us);
}

template <class PortT>
bool Channel<PortT>::may_change_rings() const {
  return link_.ready() && !link_.lost() && closing_.state() == Close::State::kOpen && send_ring_.drained() &&
         !enlargement_.pending();
}

template <class PortT>
bool Channel<PortT>::may_give_back() const {
  return (send_ring_.phase() != 0 && may_change_rings()) || (receive_ring_.phase() != 0 && may_close(true));
}

template <class PortT>
void Channel<PortT>::give_back() {
  if (send_ring_.phase() != 0)
    enlargement_.give_back();
  else
    ask_to_close(true);
}

// What is written beside slots.
template <class PortT>
void Channel<PortT>::serve_words() {
  if (!failed() && receive_ring_.grant_due()) receive_ring_.maybe_grant();
  if (!failed() && receive_ring_.hot_due()) receive_ring_.tell_hot();
  if (!failed() && send_ring_.hint_due()) send_ring_.tell_peer();
}

template <class PortT>
bool Channel<PortT>::words_due() const {
  return receive_ring_.grant_due() || receive_ring_.hot_due() || send_ring_.hint_due();
}

template <class PortT>
bool Channel<PortT>::idle() const {
  return !connected() ||
         (send_ring_.all_posted() && send_ring_.all_complete() && !connection_.hello_due() &&
          !enlargement_.words_due() && !words_due() && (!rendezvous_ || rendezvous_->idle()));
}

template <class PortT>
bool Channel<PortT>::settled() {
  return idle() && (!connected() || link_.settled());
}

template <class PortT>
bool Channel<PortT>::unused() const {
  const bool listed = link_.listed() || connection_.listed() || receive_ring_.listed();
  const bool over = failed() ? released_ : !rendezvous_ && connection_.state() == Connect::State::kIdle;
  return over && !listed && !holds_link();
}

// What the peer wrote before it went lies in the ring: an established connection ends only when that has been read. A
// peer that breaks the rules may have begun something after it had agreed to the end.
template <class PortT>
void Channel<PortT>::lose() {
  while (receive() != 0) continue;
  if (failed()) return;
  const bool quiet = !enlargement_.pending() && !receive_ring_.message_open() && (!rendezvous_ || rendezvous_->idle());
  if (closing_.on_lost(quiet))
    end_connection();
  else
    connection_.on_link_lost();
}

template <class PortT>
void Channel<PortT>::release() {
  if (released_) return;
  released_ = true;
  connection_.close();
  if (rendezvous_) rendezvous_->end(failure());  // nothing reads or writes the user's memory any more
  receive_ring_.unwatch();
  enlargement_.release();
  send_ring_.drop();
  receive_ring_.drop();
  link_.give_back_control();
}

}  // namespace bufenlarge
