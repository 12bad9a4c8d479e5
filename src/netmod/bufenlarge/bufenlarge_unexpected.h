/* SPDX-License-Identifier: MIT */
/* bufenlarge_unexpected.h: the bound on unexpected data (bufenlarge_unexpected.c), and which ways messages may go. */
#ifndef BUFENLARGE_UNEXPECTED_H_INCLUDED
#define BUFENLARGE_UNEXPECTED_H_INCLUDED

#include "bufenlarge_impl.h"

/* To be called when the peer's backlog has begun or ended, or what it takes has changed. */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_peer_paths(MPIDI_BUFENLARGE_peer_t * peer)
{
    peer->direct = peer->lost_text || peer->backlog ? NULL : peer->channel;
    peer->eager = peer->no_eager_to ? NULL : peer->direct;
}

const MPIR_Request *MPIDI_BUFENLARGE_unexpected_last(const MPIDI_BUFENLARGE_vci_t * vci);
void MPIDI_BUFENLARGE_unexpected_begin(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number, const MPIR_Request * last_before,
                                       size_t bytes);
void MPIDI_BUFENLARGE_unexpected_end(MPIR_Request * rreq);
void MPIDI_BUFENLARGE_eager_limit_arrived(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer, bool no_eager);
bool MPIDI_BUFENLARGE_takes_no_eager(MPIR_Comm * comm, int rank, MPI_Aint count, MPI_Datatype datatype,
                                     const MPIDI_BUFENLARGE_vci_t * vci);
int MPIDI_BUFENLARGE_send_asking(MPIR_Comm * comm, int rank, const void *am_hdr, const void *data, MPI_Aint count,
                                 MPI_Datatype datatype, int vci, MPIR_Request * sreq);
/* bufenlarge_backlog.c */
void MPIDI_BUFENLARGE_ask(MPIR_Request * sreq, MPIDIG_hdr_t * hdr, const void *data, MPI_Aint count,
                          MPI_Datatype datatype);
void MPIDI_BUFENLARGE_backlog_overtake(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_deferred_t * limit);

/* Returns whether the peer wants to be asked before it is sent this. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_asks_first(MPIR_Comm * comm, int rank, int handler_id, MPI_Aint count,
                                                          MPI_Datatype datatype, int vci_number)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(vci_number);
    return unlikely(vci->no_eager_peers > 0) && handler_id == MPIDIG_SEND
        && MPIDI_BUFENLARGE_takes_no_eager(comm, rank, count, datatype, vci);
}

#endif /* BUFENLARGE_UNEXPECTED_H_INCLUDED */
