/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pvar_table.h: the performance variables (MPI_T), one row each: name, class, where its value is, what it
 * is. Their names begin with "bufenlarge_". All are unsigned long long, read-only, counted from MPI_Init on, and sums
 * over the VCIs. They need not be started. COUNTER: only grows. LEVEL: as it is now.
 */
#ifndef BUFENLARGE_PVAR_TABLE_H_INCLUDED
#define BUFENLARGE_PVAR_TABLE_H_INCLUDED

/* *INDENT-OFF* */

/* Of the process; fields of MPIDI_BUFENLARGE_figures_t. */
#define MPIDI_BUFENLARGE_PVARS(X)                                                                            \
    X(channels, LEVEL, context.channels, "Peers that are connected.")                                        \
    X(channels_failed, COUNTER, context.channels_failed, "Channels that have failed.")                       \
    X(connections, LEVEL, context.connections, "Connections, those being made included.")                    \
    X(connections_most, LEVEL, context.connections_most, "The most connections at one time.")                \
    X(connections_closed, COUNTER, context.connections_closed,                                               \
      "Connections that ended by agreement (IDLE_CLOSE, CONNECTIONS).")                                      \
    X(connections_reopened, COUNTER, context.connections_reopened, "Of these, those that were made again.")  \
    X(connects_refused, COUNTER, context.connects_refused,                                                   \
      "Incoming connections that were refused because they are not of the job.")                             \
    X(connects_crossed, COUNTER, context.connects_crossed,                                                   \
      "Times that two processes connected to each other at once.")                                           \
    X(messages, COUNTER, channels.messages, "Messages sent through rings.")                                  \
    X(bytes, COUNTER, channels.bytes, "Bytes sent through rings.")                                           \
    X(messages_fragmented, COUNTER, channels.messages_fragmented, "Messages sent that took more than one slot.") \
    X(enlargements, COUNTER, channels.enlargements, "Times that the own sends moved to a larger ring.")      \
    X(shrinks, COUNTER, channels.shrinks, "Times that the own sends went back to a smaller ring.")           \
    X(requests_repeated, COUNTER, channels.requests_repeated,                                                \
      "Enlargement requests sent again because the acknowledgement was late, torn or corrupt.")              \
    X(enlargements_refused, COUNTER, channels.refused,                                                       \
      "Times that there was no memory for another ring of the own sends, here or at the peer.")              \
    X(ring_bytes, LEVEL, context.registered_bytes, "Bytes of rings and control blocks that are registered.") \
    X(ring_bytes_most, LEVEL, context.registered_bytes_max, "The most of them at one time.")                 \
    X(ring_registrations, COUNTER, context.registrations, "Registrations of rings and control blocks.")      \
    X(pinned_bytes, LEVEL, context.pinned_bytes,                                                             \
      "Bytes of rings, control blocks, queues and user memory that are pinned; on tcp registered only.")     \
    X(pinned_bytes_most, LEVEL, context.pinned_bytes_most, "The most of them at one time.")                  \
    X(pinned_refused, COUNTER, context.pinned_refused, "Times that MEMORY_MAX forbade something.")           \
    X(reads, COUNTER, context.reads, "Messages received without a copy (rendezvous).")                       \
    X(read_bytes, COUNTER, context.read_bytes, "Their bytes that arrived as RDMA writes.")                   \
    X(response_bytes, COUNTER, context.response_bytes, "Bytes sent without a copy, as RDMA writes.")         \
    X(fragment_bytes, COUNTER, context.fragment_bytes,                                                       \
      "Bytes of such messages that went through rings, in both directions.")                                 \
    X(window_writes, COUNTER, context.writes, "RDMA writes into windows of other processes.")                \
    X(window_bytes, COUNTER, context.written_bytes, "Bytes of these.")                                       \
    X(user_bytes, LEVEL, context.user_bytes, "Bytes of user memory that are registered.")                    \
    X(user_bytes_most, LEVEL, context.user_bytes_max, "The most of them at one time.")                       \
    X(user_registrations, COUNTER, context.user_registrations, "Registrations of user memory.")              \
    X(user_hits, COUNTER, context.user_hits, "Transfers that found their memory registered.")                \
    X(user_misses, COUNTER, context.user_misses, "Transfers that did not.")                                  \
    X(user_evictions, COUNTER, context.user_evictions, "Registrations that ended to make room.")             \
    X(user_invalidations, COUNTER, context.user_invalidations,                                               \
      "Registrations that ended because their memory was unmapped.")                                         \
    X(unexpected_bytes_most, LEVEL, unexpected_bytes_most,                                                   \
      "The most bytes of messages that no receive waited for, at one time.")                                 \
    X(eager_limits, COUNTER, eager_limits, "Times that a sender was told to send no eager data (UNEXPECTED).")

/* Of the channel to each rank of a communicator, to which the variable is bound; of an intercommunicator the remote
 * ranks. Fields of bufenlarge_channel_stats_t. */
#define MPIDI_BUFENLARGE_CHANNEL_PVARS(X)                                                                    \
    X(channel_sent_messages, COUNTER, send.messages, "Messages sent to each rank through rings.")            \
    X(channel_sent_bytes, COUNTER, send.bytes, "Bytes sent to each rank through rings.")                     \
    X(channel_received_messages, COUNTER, receive.messages, "Messages received from each rank through rings.") \
    X(channel_received_bytes, COUNTER, receive.bytes, "Bytes received from each rank through rings.")        \
    X(channel_send_phase, LEVEL, send.phase, "Phase of the ring for sends to each rank; 0 is the smallest.") \
    X(channel_receive_phase, LEVEL, receive.phase, "Phase of the ring for receives from each rank.")         \
    X(channel_enlargements, COUNTER, send.enlargements, "Times that sends to each rank moved to a larger ring.") \
    X(channel_shrinks, COUNTER, send.shrinks, "Times that sends to each rank went back to a smaller ring.")  \
    X(channel_ring_bytes, LEVEL, registered_bytes, "Bytes of both rings of the channel to each rank.")

/* *INDENT-ON* */

#endif /* BUFENLARGE_PVAR_TABLE_H_INCLUDED */
