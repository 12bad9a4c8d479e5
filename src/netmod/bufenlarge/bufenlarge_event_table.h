/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_event_table.h: the events (MPI_T), one row each: name, data, what has happened; and the elements of each
 * kind of data. Names of events begin with "bufenlarge_". All elements are unsigned long long, in the order of the
 * rows.
 */
#ifndef BUFENLARGE_EVENT_TABLE_H_INCLUDED
#define BUFENLARGE_EVENT_TABLE_H_INCLUDED

/* *INDENT-OFF* */

#define MPIDI_BUFENLARGE_EVENTS(X)                                                                           \
    X(channel_grown, RING, "A direction of a channel has moved to a larger ring.")                           \
    X(channel_shrunk, RING, "A direction of a channel has gone back to a smaller ring.")                     \
    X(growth_refused, RING, "There was no memory for a ring that a direction wanted, here or at the peer.")  \
    X(peer_lost, LOSS, "A process has failed, or cannot be reached.")

#define MPIDI_BUFENLARGE_RING_ELEMENTS(X)                                                                    \
    X(peer, "The peer's rank in MPI_COMM_WORLD; of a process of another job a number from the size on.")     \
    X(vci, "The VCI of MPICH, which has channels of its own.")                                               \
    X(sends, "1: the direction of the own sends; 0: of the receives.")                                       \
    X(phase_before, "Phase of the ring before; 0 is the smallest. It is the receiver's ring at both ends.")  \
    X(phase, "Phase of the ring now.")                                                                       \
    X(phase_wanted, "Phase of the ring that was asked for.")                                                 \
    X(slot_bytes, "Bytes of a slot of the ring now.")                                                        \
    X(slots, "Slots of the ring now.")                                                                       \
    X(refusal, "0: nothing was refused; 1: there was no memory in this process; 2: its MEMORY_MAX forbade it; " \
      "3 and 4: the same at the peer.")                                                                      \
    X(ring_bytes, "Bytes of both rings of the channel that are registered now.")                             \
    X(pinned_bytes, "Bytes that the VCI has pinned now; on tcp registered only.")

#define MPIDI_BUFENLARGE_LOSS_ELEMENTS(X)                                                                    \
    X(peer, "The process's rank in MPI_COMM_WORLD; of a process of another job a number from the size on.")  \
    X(reason, "2: the fabric's error; 3: no memory; 4: it has ended, or its connection broke; 5: it broke the wire " \
      "protocol; 6: CONNECT_TIMEOUT passed.")

/* *INDENT-ON* */

#endif /* BUFENLARGE_EVENT_TABLE_H_INCLUDED */
