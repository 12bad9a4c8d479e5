// SPDX-License-Identifier: MIT
// Opening; and the rounds in which what had to wait is done.
#pragma once

#include <cstring>
#include <utility>

#include "channel/channel.h"
#include "channel/channel_enlarge.h"
#include "channel/channel_lose.h"
#include "channel/channel_receive.h"
#include "channel/channel_send.h"
#include "channel/rendezvous_answer.h"

namespace bufenlarge {

template <class PortT>
Channel<PortT>::Channel(Core& core, std::uint32_t peer, const void* address)
    : core_(core),
      enlarge_sender_(core.settings.ack_timeout_us),
      connect_(core.rank, peer, core.settings.connect_timeout_us),
      address_(address),
      peer_(peer),
      send_limit_(core.settings.enlargement ? core.settings.phases.last() : std::uint8_t{0}) {}

// Of two that call each other at once, the one of the lower job_id and rank wins.
template <class PortT>
Channel<PortT>::Channel(Core& core, std::uint32_t peer, const OtherJobPeer& other_job)
    : Channel(core, peer, nullptr) {
  const bool wins = std::pair(core.job_id, core.rank) < std::pair(other_job.job_id, other_job.rank);
  connect_ = Connect(wins ? 0 : 1, wins ? 1 : 0, core.settings.connect_timeout_us);
  other_job_ = &other_job;
}

// ---- waiting work

template <class PortT>
void Channel<PortT>::want_service() {
  if (pending_listed_) return;
  pending_listed_ = true;
  core_.pending.push_back(this);
}

template <class PortT>
void Channel<PortT>::want_time() {
  if (time_listed_) return;
  time_listed_ = true;
  core_.timed.push_back(this);
}

template <class PortT>
void Channel<PortT>::list_notified() {
  if (notified_listed_) return;
  notified_listed_ = true;
  core_.notified.push_back(this);
}

template <class PortT>
bool Channel<PortT>::service(std::uint64_t now_us) {
  if (release_due_) release();
  // Notifications and ends of responses from before the loss are in the completion queue.
  const bool has_completions = has_notifications(core_.port.arrival()) || rendezvous_ != nullptr;
  if (loss_due_ && (!has_completions || core_.port_drained)) lose();
  if (failed() || !connect_.established()) return release_due_;
  if (hello_due_ && room() != 0) {
    hello_due_ = false;
    stage_slot(SlotKind::kHello, 0, 0);
  }
  flush();
  if (enlarge_sender_.state() == EnlargeSender::State::kRequestDue) serve_request();
  if (enlarge_sender_.waiting()) serve_acknowledgement(now_us);
  if (enlarge_sender_.state() == EnlargeSender::State::kSwapping) swap_send_ring(now_us);
  if (!failed() && enlarge_receiver_.acked()) serve_repeat_word();
  if (!failed() && ack_due_) {
    control_.block->outbox.ack = enlarge_receiver_.ack();
    ack_due_ = !post_word(offsetof(ControlInbox, ack), sizeof(EnlargeAck));
  }
  if (!failed() && repeat_due_)
    repeat_due_ = !post_word(offsetof(ControlInbox, repeat), sizeof(RepeatWord));
  if (!failed() && grant_due_) maybe_grant();
  const bool rendezvous_due = !failed() && rendezvous_ && rendezvous_->service();
  if (failed()) return release_due_;
  return rendezvous_due || loss_due_ || hello_due_ || !producer_.all_posted() || !enlarge_sender_.steady() ||
         enlarge_receiver_.acked() || ack_due_ || repeat_due_ || grant_due_;
}

template <class PortT>
bool Channel<PortT>::idle() const {
  return failed() || !connect_.established() ||
         (producer_.all_posted() && in_flight_.empty() && !hello_due_ && !ack_due_ && !repeat_due_ &&
          !grant_due_ && (!rendezvous_ || rendezvous_->idle()));
}

// ---- opening

template <class PortT>
bool Channel<PortT>::prepare_memory() {
  if (control_.block == nullptr) control_ = core_.control.take();
  const bool had = control_.block != nullptr && send_ring_ && receive_ring_;
  if (had) {  // an attempt before this one used it
    std::memset(control_.block, 0, sizeof *control_.block);
    std::memset(receive_ring_.slot(0), 0, core_.settings.phases.at(0).ring_bytes());
  }
  const bool have =
      had || (control_.block != nullptr && provision(send_ring_, core_.settings.phases.at(0)) &&
              provision(receive_ring_, core_.settings.phases.at(0)));
  if (have) {
    producer_.start(0, core_.settings.phases.at(0).slots);
    consumer_.start(0, core_.settings.phases.at(0).slots);
    in_flight_.clear();
    notifications_ = 0;
  }
  return have;
}

template <class PortT>
Hello Channel<PortT>::own_hello(std::uint16_t attempt, std::uint64_t job_key) const {
  const HelloExpectation& own = core_.expected;
  Hello hello{};
  hello.magic = kHelloMagic;
  hello.version = kWireVersion;
  const Arrival arrival = core_.port.arrival();
  const bool checks = arrival == Arrival::kChecked || arrival == Arrival::kMixed;
  hello.flags = static_cast<std::uint8_t>((checks ? kHelloVerifiesSlots : 0) |
                                          (has_notifications(arrival) ? kHelloWantsNotifications : 0));
  hello.rank = core_.rank;
  hello.job_key = job_key;
  hello.ring_address = receive_ring_.region().remote_address();
  hello.ring_key = receive_ring_.region().remote_key();
  hello.control_address = control_.inbox_address();
  hello.control_key = control_.region->remote_key();
  hello.slot_bytes = own.slot_bytes;
  hello.slots = own.slots;
  hello.attempt = attempt;
  hello.geometry = own.geometry;
  if (other_job_ != nullptr) {
    hello.flags |= kHelloOtherJob;
    hello.slot_bytes = core_.job_id;
    hello.slots = 0;
  }
  return hello;
}

template <class PortT>
void Channel<PortT>::adopt(const Hello& hello) {
  aim_at(hello.ring_address, hello.ring_key, core_.settings.phases.at(0).stride());
  remote_.control_address = hello.control_address;
  remote_.control_key = hello.control_key;
  remote_.wants_notifications = (hello.flags & kHelloWantsNotifications) != 0;
  remote_.wants_checks = (hello.flags & kHelloVerifiesSlots) != 0;
}

// Of a port that can say why, the reason too.
template <class PortT>
std::string Channel<PortT>::no_endpoint() const {
  if constexpr (requires { core_.port.last_error(); })
    return "no endpoint could be opened: " + core_.port.last_error();
  return "no endpoint could be opened";
}

template <class PortT>
void Channel<PortT>::open() {
  ++core_.attempts_out;
  attempt_counted_ = true;
  if (!prepare_memory()) {
    fail(Status::kMemoryError, no_memory("the rings of a new connection"));
    return;
  }
  if (other_job_ != nullptr && !other_job_->named()) {
    on_lost("its address is not known");
    return;
  }
  const HelloBytes hello = encode_hello(own_hello(connect_.attempt(), called_key()));
  link_ = core_.port.open(other_job_ != nullptr ? other_job_->address.data() : address_, std::span<const std::byte>(hello), this);
  if (!link_) on_lost(no_endpoint());
}

template <class PortT>
bool Channel<PortT>::tick(std::uint64_t now_us) {
  if (failed()) return false;
  act(connect_.tick(now_us, core_.attempts_out < Core::kAttemptsMax), "");
  return !failed() && connect_.timed();
}

template <class PortT>
void Channel<PortT>::act(Connect::Action action, std::string_view why, Status if_it_fails) {
  switch (action) {
    case Connect::Action::kOpen:
      open();
      return;
    case Connect::Action::kSendHello:
      hello_due_ = true;
      if (service(core_.port.now_us())) want_service();
      return;
    case Connect::Action::kClose:
      close_link();
      if (connect_.timed()) want_time();
      return;
    case Connect::Action::kFail:
      if (if_it_fails != Status::kTimedOut)
        fail(if_it_fails, why);
      else
        fail(if_it_fails, "no connection after " + std::to_string(connect_.attempt()) +
                                    " attempts in " +
                                    std::to_string(core_.settings.connect_timeout_us / 1000) +
                                    " ms; the last one: " + std::string(why));
      return;
    case Connect::Action::kNone:
    case Connect::Action::kAccept:
    case Connect::Action::kReplace:
    case Connect::Action::kReject:
      return;
  }
}

template <class PortT>
void Channel<PortT>::on_request(typename Port::Request& request, const Hello& hello) {
  const std::uint32_t crossings = connect_.crossings();
  const Connect::Action action = failed() ? Connect::Action::kReject : connect_.on_request(hello.attempt);
  core_.crossings += connect_.crossings() - crossings;
  if (action == Connect::Action::kReject) {
    const RejectReason reason = failed() ? RejectReason::kStale : connect_.reject_reason();
    const Reject reject = make_reject(reason, core_.expected, hello.attempt);
    core_.port.reject(request, std::as_bytes(std::span(&reject, 1)));
    return;
  }
  if (action == Connect::Action::kReplace) close_link();
  if (!prepare_memory()) {
    core_.port.reject(request, {});
    fail(Status::kMemoryError, no_memory("the rings of a new connection"));
    return;
  }
  adopt(hello);
  const HelloBytes own = encode_hello(own_hello(hello.attempt, core_.expected.job_key));
  link_ = core_.port.accept(request, std::span<const std::byte>(own), this);
  if (!link_) on_lost("the connection could not be accepted");
}

// What is wrong with the Hello that responses the own one; empty when nothing is.
template <class PortT>
std::string Channel<PortT>::wrong_reply(const HelloVerdict& verdict) const {
  if (!verdict.hello) return verdict.text;
  const Hello& hello = *verdict.hello;
  const bool is_other_job = (hello.flags & kHelloOtherJob) != 0;
  const bool right = other_job_ != nullptr
                         ? is_other_job && hello.slot_bytes == other_job_->job_id && hello.rank == other_job_->rank
                         : !is_other_job && hello.rank == peer_;
  return right && hello.attempt == connect_.attempt() ? "" : "another process answered";
}

template <class PortT>
void Channel<PortT>::on_connected(std::span<const std::byte> data) {
  if (failed()) return;
  const bool active = connect_.state() == Connect::State::kConnecting;
  if (active) {
    HelloExpectation expected = core_.expected;
    expected.job_key = called_key();
    const HelloVerdict verdict = check_hello(data, expected);
    if (const std::string wrong = wrong_reply(verdict); !wrong.empty()) {
      fail(Status::kProtocolError, wrong);
      return;
    }
    adopt(*verdict.hello);
    --core_.attempts_out;
    attempt_counted_ = false;
  }
  if (!poll_listed()) poll_index_ = core_.rings.add(this);
  watch_next_slot();
  if (notifications_ != 0) list_notified();  // some were read before this event
  if (rendezvous_) want_service();
  act(connect_.on_connected(), "");
}

}  // namespace bufenlarge
