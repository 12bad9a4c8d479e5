// SPDX-License-Identifier: MIT
#include "channel/connection.h"

#include <utility>

#include "protocol/handshake.h"

namespace bufenlarge {

template <class PortT>
Connection<PortT>::Connection(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring,
                              const void* address)
    : link_(link),
      send_ring_(send_ring),
      receive_ring_(receive_ring),
      connect_(link.core().rank, link.peer(), link.core().settings.connect_timeout_us),
      address_(address) {
  connect_.set_log(link.state_log());
}

// Of two that call each other at once, the one with the lower job id and rank wins.
template <class PortT>
Connection<PortT>::Connection(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring,
                              const OtherJobPeer& peer)
    : Connection(link, send_ring, receive_ring, nullptr) {
  const auto& core = link.core();
  const bool wins = std::pair(core.job_id, core.rank) < std::pair(peer.job_id, peer.rank);
  connect_ = Connect(wins ? 0 : 1, wins ? 1 : 0, core.settings.connect_timeout_us);
  connect_.set_log(link.state_log());
  other_job_ = &peer;
}

template <class PortT>
void Connection<PortT>::want_time() {
  link_.core().timed.add(link_.channel(), time_listed_);
}

template <class PortT>
void Connection<PortT>::want() {
  connect_.want(link_.port().now_us());
  if (connect_.timed()) want_time();
}

template <class PortT>
bool Connection<PortT>::tick(std::uint64_t now_us) {
  auto& core = link_.core();
  if (connect_.answer_due()) look_for_answer();
  act(connect_.tick(now_us, core.attempts.free(now_us) && core.has_room(first_rings())), "");
  if (connect_.state() == Connect::State::kWanted && !core.has_room(first_rings())) core.room_wanted = true;
  return !link_.failed() && connect_.timed();
}

template <class PortT>
void Connection<PortT>::end_attempt() {
  if (std::exchange(attempt_counted_, false)) link_.core().attempts.finish(attempt_);
}

template <class PortT>
void Connection<PortT>::close() {
  end_attempt();
  link_.close();
}

// After each event of the machine.
template <class PortT>
void Connection<PortT>::update_link() {
  using State = typename PeerLink<Port>::State;
  const bool ready = connect_.ready() && !held_;
  link_.set_state(ready ? State::kReady : connect_.established() ? State::kConnected : State::kClosed);
}

template <class PortT>
void Connection<PortT>::act(Connect::Action action, std::string_view why, Status if_it_fails) {
  update_link();
  switch (action) {
    case Connect::Action::kOpen:
      open();
      return;
    case Connect::Action::kSendHello:
      hello_due_ = true;
      return;
    case Connect::Action::kClose:
      close();
      if (is_to_release()) release_memory();
      if (connect_.timed()) want_time();
      return;
    case Connect::Action::kFail:
      give_up(why, if_it_fails);
      return;
    case Connect::Action::kRepeat:
      link_.repeat_word();
      return;
    case Connect::Action::kNone:
    case Connect::Action::kAccept:
    case Connect::Action::kReplace:
    case Connect::Action::kReject:
      return;
  }
}

template <class PortT>
void Connection<PortT>::give_up(std::string_view why, Status status) {
  if (status != Status::kTimedOut) {
    link_.fail(status, why);
    return;
  }
  link_.fail(status, "no connection after " + std::to_string(connect_.attempt()) + " attempts in " +
                         std::to_string(link_.core().settings.connect_timeout_us / 1000) +
                         " ms; the last one: " + std::string(why));
}

// ---- active side

// With the reason, where the port can tell it.
template <class PortT>
std::string Connection<PortT>::no_endpoint() const {
  if constexpr (requires { link_.port().last_error(); })
    return "no endpoint could be opened: " + link_.port().last_error();
  return "no endpoint could be opened";
}

template <class PortT>
void Connection<PortT>::open() {
  attempt_ = link_.core().attempts.start(link_.channel(), link_.port().now_us());
  attempt_counted_ = true;
  if (!find_room()) return;
  if (!prepare_memory()) {
    link_.fail(Status::kMemoryError, link_.no_memory("the rings of a new connection"));
    return;
  }
  if (other_job_ != nullptr && !other_job_->named()) {
    on_lost("its address is not known");
    return;
  }
  const HelloBytes hello = encode_hello(own_hello(connect_.attempt()), {called_key(), peer_rank()});
  const void* address = other_job_ != nullptr ? other_job_->address.data() : address_;
  if (!link_.open(address, std::span<const std::byte>(hello))) on_lost(no_endpoint());
}

// Says what is wrong with the Hello that answers the own one; empty when nothing is.
template <class PortT>
std::string Connection<PortT>::wrong_reply(std::span<const std::byte> data, Hello& hello) const {
  const HelloVerdict verdict = check_answer(data, link_.core().expected, called_key());
  if (!verdict.hello) return verdict.text;
  hello = *verdict.hello;
  const bool is_other_job = (hello.flags & kHelloOtherJob) != 0;
  const bool right = other_job_ != nullptr
                         ? is_other_job && hello.slot_bytes == other_job_->job_id && hello.rank == other_job_->rank
                         : !is_other_job && hello.rank == link_.peer();
  return right && hello.attempt == connect_.attempt() ? "" : "another process answered";
}

template <class PortT>
bool Connection<PortT>::check_reply(std::span<const std::byte> data) {
  if (connect_.state() != Connect::State::kConnecting) return true;  // the passive side has checked the request
  Hello hello{};
  if (const std::string wrong = wrong_reply(data, hello); !wrong.empty()) {
    link_.fail(Status::kProtocolError, wrong);
    return false;
  }
  adopt(hello);
  end_attempt();
  return true;
}

template <class PortT>
bool Connection<PortT>::on_connected() {
  act(connect_.on_connected(), "");
  if (hello_due_ && link_.port().first_write_may_stall()) {
    connect_.expect_answer(link_.port().now_us());
    want_time();
  }
  return hello_due_;
}

template <class PortT>
void Connection<PortT>::on_rejected(std::span<const std::byte> data) {
  const auto& core = link_.core();
  const auto reject = decode_reject(data);
  if (!reject && data.empty()) {  // refused below this layer: nobody listens, or not yet
    on_lost("the connection was refused");
    return;
  }
  const RejectReason reason = reject ? static_cast<RejectReason>(reject->reason) : RejectReason::kUnauthorized;
  const std::string why = reject ? describe_reject(*reject, core.expected)
                                 : std::string("the peer does not take this process for one of its job");
  const Connect::Action action = connect_.on_rejected(reason, core.port.now_us(), link_.core().random());
  update_link();
  if (action == Connect::Action::kFail && reason != RejectReason::kStale)
    link_.fail(Status::kProtocolError, why);
  else
    act(action, why);
}

template <class PortT>
void Connection<PortT>::on_lost(std::string_view why) {
  act(connect_.on_lost(link_.port().now_us(), link_.core().random()), why);
}

template <class PortT>
void Connection<PortT>::on_unreachable(std::string_view why) {
  act(connect_.on_unreachable(link_.port().now_us(), link_.core().random()), why);
}

template <class PortT>
void Connection<PortT>::on_interrupted(std::string_view why) {
  link_.trace("attempt ", connect_.attempt(), " is to be made again: ", why);
  act(connect_.on_interrupted(link_.port().now_us(), link_.core().random()), why);
}

// A peer whose host has responded computes; it is waited for.
template <class PortT>
void Connection<PortT>::on_overdue() {
  if (!link_.reached()) on_unreachable("no response from its host");
}

template <class PortT>
void Connection<PortT>::on_link_lost() {
  act(connect_.on_lost(link_.port().now_us(), link_.core().random()), link_.loss(), Status::kPeerFailed);
}

// ---- passive side

template <class PortT>
void Connection<PortT>::on_request(typename Port::Request& request, const Hello& hello) {
  auto& core = link_.core();
  const std::uint32_t crossings = connect_.crossings();
  const Connect::Action action = link_.failed() ? Connect::Action::kReject : connect_.on_request(hello.attempt);
  core.crossings += connect_.crossings() - crossings;
  if (action == Connect::Action::kReject) {
    const RejectReason reason = link_.failed() ? RejectReason::kStale : connect_.reject_reason();
    const Reject reject = make_reject(reason, core.expected, hello.attempt);
    link_.trace("request rejected: attempt ", hello.attempt, ", reason ", static_cast<unsigned>(reason));
    core.port.reject(request, std::as_bytes(std::span(&reject, 1)));
    return;
  }
  update_link();
  if (action == Connect::Action::kReplace) close();
  if (!core.has_memory(first_rings())) {
    turn_away(request, hello.attempt);
    on_lost("there is no room for the connection");
    return;
  }
  if (!prepare_memory()) {
    core.port.reject(request, {});
    link_.fail(Status::kMemoryError, link_.no_memory("the rings of a new connection"));
    return;
  }
  adopt(hello);
  const std::uint64_t key = key_for_callers(core.expected, other_job_ != nullptr);
  const HelloBytes own = encode_hello(own_hello(hello.attempt), {key, peer_rank(), true});
  if (!link_.accept(request, std::span<const std::byte>(own))) on_lost("the connection could not be accepted");
}

}  // namespace bufenlarge
