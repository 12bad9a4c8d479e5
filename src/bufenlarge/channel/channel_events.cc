// SPDX-License-Identifier: MIT
// Channel: what its endpoint and its attempts to connect report.
#include "channel/channel.h"

namespace bufenlarge {

template <class PortT>
void Channel<PortT>::on_data_written() {
  if (!failed()) rendezvous_->on_data_written();
}

template <class PortT>
void Channel<PortT>::on_connected(std::span<const std::byte> data) {
  if (failed() || !connection_.check_reply(data)) return;
  receive_ring_.watch();
  closing_.begin(core().port.now_us());
  silence_.restart();
  core().closing.reopened += ended_;
  ended_ = false;
  if (rendezvous_) link_.want_service();
  if (connection_.on_connected() && service(core().port.now_us())) link_.want_service();
}

template <class PortT>
void Channel<PortT>::on_rejected(std::span<const std::byte> data) {
  if (!failed()) connection_.on_rejected(data);
}

template <class PortT>
void Channel<PortT>::on_lost(std::string_view why) {
  if (failed() || link_.lost()) return;
  if (connected())
    link_.lose(why);
  else
    connection_.on_lost(why);
}

template <class PortT>
void Channel<PortT>::on_unreachable(std::string_view why) {
  if (!failed()) connection_.on_unreachable(why);
}

template <class PortT>
void Channel<PortT>::on_interrupted(std::string_view why) {
  if (!failed()) connection_.on_interrupted(why);
}

template <class PortT>
void Channel<PortT>::on_overdue() {
  if (!failed()) connection_.on_overdue();
}

template <class PortT>
bool Channel<PortT>::tick(std::uint64_t now_us) {
  if (failed()) return false;
  const std::uint16_t attempt = connection_.attempt();
  const bool goes_on = connection_.tick(now_us);
  if (connection_.attempt() != attempt) silence_.restart();
  return goes_on;
}

template <class PortT>
void Channel<PortT>::look_at_silence() {
  if (link_.lost() || failed() || !(connected() || connection_.waits_for_peer())) return;
  const auto taken = static_cast<std::uint32_t>(receive_ring_.consumer().consumed());
  const Silence::Order order = silence_.look(taken, silence_.asked() && link_.responded());
  if (order == Silence::Order::kAsk && !link_.ask()) silence_.not_asked();
  if (order != Silence::Order::kLose) return;
  link_.give_up();
  const std::uint64_t seconds = core().settings.peer_timeout_us / 1'000'000;
  const std::string why = "the peer's host has not responded for " + std::to_string(seconds) +
                          " s (MPIR_CVAR_BUFENLARGE_PEER_TIMEOUT)";
  if (connected())
    link_.lose(why);
  else
    link_.fail(Status::kPeerFailed, why);
}

}  // namespace bufenlarge
