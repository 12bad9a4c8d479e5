/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_unexpected.c: a bound on the memory that unexpected messages take.
 *
 * Eager data that no receive waits for is copied, and a process that is flooded before it receives would grow until
 * its memory ends. So each process counts, for each sender, what these messages take, and tells a sender that passes
 * UNEXPECTED to send no more of it. The sender then asks before each message (RTS), and the receiver has it sent (CTS)
 * when a receive matches: MPI_Send waits for that, as the standard allows. Messages that wait in the sender's backlog
 * ask, too, when their turn comes (bufenlarge_backlog.c). When half of the data is received the sender is told that it
 * may send eagerly again.
 *
 * What arrives on top is what was under way: at most what the ring holds, and the rest of one message that it has the
 * beginning of. The headers of messages stay without a bound, since a receive may match any of them.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_am_send.h"

/* What a message takes: a request, and a cell of MPIDI_BUFENLARGE_PACK_BUFFER_SIZE bytes, of which the system gives the
 * pages in use. */
#define REQUEST_KIB 1u
#define PAGE_KIB 4u

/* -- receiver -- */

/* Returns the newest unexpected message; NULL when there is none. */
const MPIR_Request *MPIDI_BUFENLARGE_unexpected_last(const MPIDI_BUFENLARGE_vci_t * vci)
{
    const MPIR_Request *first = MPIDI_global.per_vci[vci->number].unexp_list;
    return first ? first->prev : NULL;
}

static void tell(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer, bool no_eager)
{
    peer->no_eager_from = no_eager;
    vci->eager_limits += no_eager;
    MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_EAGER_LIMIT, no_eager, NULL, 0);
}

/* To be called when MPIDIG has taken an eager message, with what unexpected_last() returned before that. */
void MPIDI_BUFENLARGE_unexpected_begin(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number, const MPIR_Request * last_before,
                                       size_t bytes)
{
    const unsigned limit = MPIDI_BUFENLARGE_global.knobs.unexpected;
    MPIR_Request *rreq = (MPIR_Request *) MPIDI_BUFENLARGE_unexpected_last(vci);
    if (rreq == last_before || bytes == 0)
        return;
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    if (peer == NULL)
        return;
    const uint32_t kib = REQUEST_KIB + ((uint32_t) bytes + PAGE_KIB * 1024 - 1) / (PAGE_KIB * 1024) * PAGE_KIB;
    MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.sender) = number + 1;
    MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.unexpected_kib) = kib;
    peer->unexpected_kib += kib;
    vci->unexpected_kib += kib;
    vci->unexpected_kib_max = MPL_MAX(vci->unexpected_kib_max, vci->unexpected_kib);
    if (limit > 0 && !peer->no_eager_from && peer->unexpected_kib > limit / 1024)
        tell(vci, peer, true);
}

/* A message that was unexpected has been received. */
void MPIDI_BUFENLARGE_unexpected_end(MPIR_Request * rreq)
{
    const uint32_t number = MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.sender) - 1;
    const uint32_t kib = MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.unexpected_kib);
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(MPIDI_Request_get_vci(rreq));
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
    MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.sender) = 0;
    if (peer == NULL)
        return;
    peer->unexpected_kib -= kib;
    vci->unexpected_kib -= kib;
    if (peer->no_eager_from && peer->unexpected_kib <= MPIDI_BUFENLARGE_global.knobs.unexpected / 1024 / 2)
        tell(vci, peer, false);
}

/* -- sender -- */

void MPIDI_BUFENLARGE_eager_limit_arrived(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer, bool no_eager)
{
    if (peer->no_eager_to == no_eager)
        return;
    peer->no_eager_to = no_eager;
    vci->no_eager_peers += no_eager ? 1 : -1;
    MPIDI_BUFENLARGE_peer_paths(peer);
}

/* Whether the peer takes none, and this is some. */
bool MPIDI_BUFENLARGE_takes_no_eager(MPIR_Comm * comm, int rank, MPI_Aint count, MPI_Datatype datatype,
                                     const MPIDI_BUFENLARGE_vci_t * vci)
{
    MPI_Aint bytes;
    const uint32_t number = MPIDIU_comm_rank_to_av(comm, rank)->netmod.bufenlarge.number;
    const MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
    MPIDI_Datatype_check_size(datatype, count, bytes);
    return peer != NULL && peer->no_eager_to && bytes > 0;
}

/* Does with a message that would be eager what MPIDIG does with one that is too large for that. */
int MPIDI_BUFENLARGE_send_asking(MPIR_Comm * comm, int rank, const void *am_hdr, const void *data, MPI_Aint count,
                                 MPI_Datatype datatype, int vci, MPIR_Request * sreq)
{
    MPIDIG_hdr_t hdr = *(const MPIDIG_hdr_t *) am_hdr;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    MPIDI_BUFENLARGE_ask(sreq, &hdr, data, count, datatype);
    return MPIDI_NM_am_send_hdr(rank, comm, MPIDIG_SEND, &hdr, (MPI_Aint) sizeof(hdr), vci, vci);
}
