// SPDX-License-Identifier: MIT
// Being refused, losing, failing and closing.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "channel/channel.h"

namespace bufenlarge {

template <class PortT>
void Channel<PortT>::on_rejected(std::span<const std::byte> data) {
  if (failed()) return;
  const auto reject = decode_reject(data);
  if (!reject && data.empty()) {  // refused below us: nobody listens, or not yet
    on_lost("the connection was refused");
    return;
  }
  const RejectReason reason = reject ? static_cast<RejectReason>(reject->reason) : RejectReason::kUnauthorized;
  const std::string why = reject ? describe_reject(*reject, core_.expected)
                                 : std::string("the peer does not take this process for one of its job");
  const Connect::Action action = connect_.on_rejected(reason, core_.port.now_us(), core_.random());
  if (action == Connect::Action::kFail && reason != RejectReason::kStale)
    fail(Status::kProtocolError, why);
  else
    act(action, why);
}

// What the peer wrote before it went lies in the ring: an established connection ends only when it
// has been read.
template <class PortT>
void Channel<PortT>::on_lost(std::string_view why) {
  if (failed() || loss_due_) return;
  if (connect_.established()) {
    loss_due_ = true;
    core_.port_drained = false;  // what matters is a look at the queue after the loss
    loss_ = why;
    want_service();
  } else {
    act(connect_.on_lost(core_.port.now_us(), core_.random()), why);
  }
}

template <class PortT>
void Channel<PortT>::lose() {
  while (receive() != 0) continue;
  if (failed()) return;
  loss_due_ = false;
  act(connect_.on_lost(core_.port.now_us(), core_.random()), loss_, Status::kPeerFailed);
}

template <class PortT>
void Channel<PortT>::close_link() {
  if (attempt_counted_) --core_.attempts_out;
  attempt_counted_ = false;
  loss_due_ = false;
  link_ = typename Port::Link();
}

template <class PortT>
void Channel<PortT>::fail(Status status, std::string_view text) {
  if (failed()) return;
  failure_ = status;
  error_ = text;
  release_due_ = true;
  want_service();
  core_.upper.failed(core_.upper.user, peer_, status, error_.c_str());
}

template <class PortT>
void Channel<PortT>::release() {
  release_due_ = false;
  close_link();
  if (rendezvous_) rendezvous_->lost(failure_);  // nothing reads or writes the user's memory any more
  if (poll_listed()) core_.rings.remove(std::exchange(poll_index_, PollSet<Channel>::kNone));
  send_ring_ = Ring();
  receive_ring_ = Ring();
  core_.control.give_back(std::exchange(control_, {}));
}

}  // namespace bufenlarge
