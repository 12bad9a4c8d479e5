// SPDX-License-Identifier: MIT
#include "channel/closing.h"

#include <cstring>
#include <utility>

namespace bufenlarge {

template <class PortT>
Closing<PortT>::Closing(PeerLink<Port>& link, SendRing<Port>& send_ring, ReceiveRing<Port>& receive_ring)
    : link_(link), send_ring_(send_ring), receive_ring_(receive_ring), close_(link.core().rank < link.peer()) {
  close_.set_log(link.state_log());
}

template <class PortT>
void Closing<PortT>::stage(CloseStep step, std::uint32_t number, bool for_room) {
  const CloseMessage message{number, static_cast<std::uint8_t>(step), static_cast<std::uint8_t>(for_room), 0};
  send_ring_.stage_control(SlotKind::kClose, std::as_bytes(std::span(&message, 1)));
  if (step != CloseStep::kRequest) return;
  close_.requested(send_ring_.producer().staged());
  slots_seen_ = slots();  // a request is no use of the connection
}

template <class PortT>
void Closing<PortT>::ask(bool for_room) {
  if (!close_.may_ask() || !send_ring_.may_stage()) return;
  link_.trace("asks the peer to close", for_room ? ", for room" : "");
  stage(CloseStep::kRequest, close_.ask(), for_room);
  send_ring_.flush();
}

template <class PortT>
bool Closing<PortT>::on_watched_slot(std::uint8_t kind) {
  const bool resumed = close_.on_slot();
  resumed_ = resumed && kind == static_cast<std::uint8_t>(SlotKind::kClose);
  return resumed;
}

template <class PortT>
void Closing<PortT>::on_message(std::span<const std::byte> payload) {
  CloseMessage message{};
  const bool resumed = std::exchange(resumed_, false);
  if (payload.size() == sizeof message) std::memcpy(&message, payload.data(), sizeof message);
  if (!close_.on_message(message, resumed))
    link_.fail(Status::kProtocolError, "the peer broke the rules for closing the connection");
  else if (close_.pending())
    link_.want_service();
}

template <class PortT>
typename Closing<PortT>::Outcome Closing<PortT>::serve(bool drained, bool drained_for_room) {
  if (!send_ring_.may_stage()) return Outcome::kNothing;
  const std::uint32_t number = close_.number();
  switch (close_.next(drained, drained_for_room, send_ring_.producer().staged())) {
    case Close::Action::kNone:
      return Outcome::kNothing;
    case Close::Action::kEnd:
      return Outcome::kEnd;
    case Close::Action::kAgree:
      stage(CloseStep::kAgree, close_.peer_number());
      send_ring_.flush();
      return Outcome::kHeld;
    case Close::Action::kRefuse:
      stage(CloseStep::kRefuse, close_.peer_number());
      ++link_.core().closing.refused;
      break;
    case Close::Action::kGoOn:
      stage(CloseStep::kGoOn, number);
      ++link_.core().closing.taken_back;
      break;
  }
  send_ring_.flush();
  return Outcome::kNothing;
}

template <class PortT>
void Closing<PortT>::restart() {
  close_.restart();
  slots_seen_ = 0;
  idle_since_us_ = 0;
  resumed_ = false;
}

template <class PortT>
std::uint64_t Closing<PortT>::slots() const {
  return send_ring_.producer().staged() + receive_ring_.consumer().consumed();
}

template <class PortT>
void Closing<PortT>::note_use(std::uint64_t now_us) {
  if (idle_since_us_ != 0 && slots() == slots_seen_) return;
  slots_seen_ = slots();
  idle_since_us_ = now_us;
}

}  // namespace bufenlarge
