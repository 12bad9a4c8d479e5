/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_disconnect.c: MPI_Finalize toward processes of other jobs. The process manager's barrier does not include
 * them, and a process that was disconnected may run on for long. So each process sends a disconnect request to those it
 * has a connection to, and waits for their replies, which show that they have had all its messages. After a disconnect
 * request the end of the connection is no error. The wait is limited, because a process replies only while it makes
 * progress; what was sent to it lies in its ring all the same. There is no limit while it has data to read from here:
 * MPI_Finalize is collective over connected processes.
 */
#include "mpidimpl.h"
#include "bufenlarge_end.h"

#define REPLIES_WAIT_SECONDS 2.0

enum { REQUEST = 0, REPLY = 1 };

void MPIDI_BUFENLARGE_disconnect_arrived(MPIDI_BUFENLARGE_peer_t * peer, uint32_t what)
{
    if (what == REPLY) {
        peer->disconnect_replied = true;
    } else {
        peer->disconnect_received = true;
        MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_DISCONNECT, REPLY, NULL, 0);
    }
}

static bool is_connected(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    bufenlarge_channel_stats_t stats;
    return peer && !peer->lost_text
        && bufenlarge_context_channel_stats(vci->context, peer->number, &stats) && stats.connected;
}

/* Sends the requests. Returns false when there is nobody to send one to. */
bool MPIDI_BUFENLARGE_disconnect_send(MPIDI_BUFENLARGE_vci_t * vci)
{
    bool any = false;
    for (uint32_t number = (uint32_t) MPIR_Process.size; number < vci->peer_count; number++) {
        MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
        if (is_connected(vci, peer))
            any |= MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_DISCONNECT, REQUEST, NULL, 0);
    }
    return any;
}

/* Returns whether all replies are there, or the time for them is over, and no process has data to read from here. */
bool MPIDI_BUFENLARGE_disconnect_done(const MPIDI_BUFENLARGE_vci_t * vci, const MPL_time_t * begin)
{
    const bool is_over = MPIDI_BUFENLARGE_seconds_since(begin) >= REPLIES_WAIT_SECONDS;
    for (uint32_t number = (uint32_t) MPIR_Process.size; number < vci->peer_count; number++) {
        const MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
        if (is_connected(vci, peer) && ((!peer->disconnect_replied && !is_over) || peer->sources > 0))
            return false;
    }
    return true;
}
