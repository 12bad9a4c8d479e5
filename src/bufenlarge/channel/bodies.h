// SPDX-License-Identifier: MIT
// The bodies of all templates of this folder. A file that instantiates them for a port includes this, and ends with
// BUFENLARGE_INSTANTIATE_CHANNELS(port). Everything that only uses them includes "channel/context.h".
//
// They stand in one translation unit, so that the compiler inlines the parts of a channel into its send() and
// receive().
#pragma once

#include "channel/channel.cc"
#include "channel/channel_closing.cc"
#include "channel/channel_events.cc"
#include "channel/closer.cc"
#include "channel/closing.cc"
#include "channel/connection.cc"
#include "channel/connection_end.cc"
#include "channel/connection_hello.cc"
#include "channel/context.cc"
#include "channel/data_writer.cc"
#include "channel/enlargement.cc"
#include "channel/enlargement_receive.cc"
#include "channel/hot_channels.cc"
#include "channel/loopback.cc"
#include "channel/one_sided_writer.cc"
#include "channel/peer_link.cc"
#include "channel/peer_table.cc"
#include "channel/receive_ring.cc"
#include "channel/rendezvous.cc"
#include "channel/rendezvous_reader.cc"
#include "channel/rendezvous_responder.cc"
#include "channel/send_ring.cc"
#include "channel/window_memory.cc"

#define BUFENLARGE_INSTANTIATE_CHANNELS(Port) \
  template class PeerLink<Port>;              \
  template class SendRing<Port>;              \
  template class ReceiveRing<Port>;           \
  template class Enlargement<Port>;           \
  template class Connection<Port>;            \
  template class Closing<Port>;               \
  template class Closer<Port>;                \
  template class HotChannels<Port>;           \
  template class DataWriter<Port>;            \
  template class OneSidedWriter<Port>;        \
  template class RendezvousReader<Port>;      \
  template class RendezvousResponder<Port>;   \
  template struct Rendezvous<Port>;           \
  template class Channel<Port>;               \
  template class Loopback<Port>;              \
  template class WindowMemory<Port>;          \
  template class PeerTable<Port>;             \
  template class Context<Port>
