/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_disconnect.c: MPI_Finalize toward processes of other jobs. The process manager's barrier does not include them,
 * and one that was disconnected may go on for long. So each process takes leave of those it has a connection
 * to: it says so and waits for their answer, which tells that they have had all its messages. From then on that the
 * connection ends is no error to them. The wait is limited, since a process answers only while it makes progress;
 * what it was sent lies in its ring all the same.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

#define ANSWERS_WAIT_SECONDS 2.0

enum { FAREWELL = 0, ANSWER = 1 };

void MPIDI_BUFENLARGE_farewell_arrived(MPIDI_BUFENLARGE_peer_t * peer, uint32_t what)
{
    if (what == ANSWER) {
        peer->has_answered = true;
    } else {
        peer->has_left = true;
        MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_FAREWELL, ANSWER, NULL, 0);
    }
}

static bool is_connected(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    bufenlarge_channel_stats_t stats;
    return peer && !peer->lost_text
        && bufenlarge_context_channel_stats(vci->context, peer->number, &stats) && stats.connected;
}

/* Returns how many have not answered. */
static uint32_t count_missing(const MPIDI_BUFENLARGE_vci_t * vci)
{
    uint32_t count = 0;
    for (uint32_t number = (uint32_t) MPIR_Process.size; number < vci->peer_count; number++) {
        const MPIDI_BUFENLARGE_peer_t *peer = vci->peers[number];
        count += is_connected(vci, peer) && !peer->has_answered;
    }
    return count;
}

/* False when there is nobody to take leave of. */
bool MPIDI_BUFENLARGE_farewell_send(MPIDI_BUFENLARGE_vci_t * vci)
{
    bool any = false;
    for (uint32_t number = (uint32_t) MPIR_Process.size; number < vci->peer_count; number++) {
        MPIDI_BUFENLARGE_peer_t *peer = vci->peers[number];
        if (is_connected(vci, peer))
            any |= MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_FAREWELL, FAREWELL, NULL, 0);
    }
    return any;
}

/* Waiting for answers has come to its end. */
bool MPIDI_BUFENLARGE_farewell_done(const MPIDI_BUFENLARGE_vci_t * vci, const MPL_time_t * begin)
{
    return count_missing(vci) == 0 || MPIDI_BUFENLARGE_seconds_since(begin) >= ANSWERS_WAIT_SECONDS;
}
