/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_failure_end.c: ends what waits for a process that has failed, or in a communicator that was revoked.
 *
 * What the netmod itself holds is ended by its holder when the process is given up (bufenlarge_progress.c): a message
 * in a backlog, an advertised source, data on its way in. What is left waits for an answer of the other process, and
 * MPICH has no list of it:
 *
 *   a receive that was posted
 *   a receive that has asked for its data
 *   a send that has asked whether it may send its data, or waits for the acknowledgement of a synchronous send
 *   a one-sided operation whose request the user waits for
 *   a partitioned send or receive
 *
 * So all requests of the VCI are looked through, at once after a failure and then every LOOK_SECONDS. A job without
 * failures that meets no other job pays nothing for it, and requests that are made later, or go through shared memory,
 * end just so.
 */
#include "mpidimpl.h"
#include "bufenlarge_consensus.h"
#include "bufenlarge_spawn.h"
#include "utlist.h"

/* -- posted receives -- */

static int receive_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * rreq)
{
    const int source = MPIDI_BUFENLARGE_SOURCE(rreq);
    const bool repairs = MPIDI_BUFENLARGE_is_repair_tag(MPIDI_BUFENLARGE_TAG(rreq));
    MPIR_Comm *repaired = repairs ? rreq->comm : MPIDI_COMM(rreq->comm, netmod.bufenlarge).repaired;
    if (!repairs && MPIDI_BUFENLARGE_is_ended(rreq->comm))
        return MPIDI_BUFENLARGE_revoked_error();
    if (repaired && MPIDI_BUFENLARGE_repair_is_given_up(repaired))
        return MPIDI_BUFENLARGE_revoked_error();
    if (source != MPI_ANY_SOURCE)
        return MPIDI_BUFENLARGE_rank_error(vci, rreq->comm, source);
    /* With this MPICH itself leaves the receive posted, and says so. */
    return MPIR_CVAR_ENABLE_FT ? MPI_SUCCESS : MPIDI_BUFENLARGE_any_source_error(rreq->comm);
}

static void unpost(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * rreq)
{
    MPIDIG_delete_posted(rreq, &MPIDI_global.per_vci[vci->number].posted_list);
    MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(rreq, datatype));
}

static void complete_receive(MPIR_Request * rreq, int error)
{
    rreq->status.MPI_SOURCE = MPIDI_BUFENLARGE_SOURCE(rreq);
    rreq->status.MPI_TAG = MPIDI_BUFENLARGE_TAG(rreq);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    rreq->status.MPI_ERROR = error;
    MPID_Request_complete(rreq);
}

/* A receive from any source is posted twice, for shared memory and for the netmod; the user has the first. */
static void unpost_partner(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * rreq)
{
#ifndef MPIDI_CH4_DIRECT_NETMOD
    MPIR_Request *partner = MPIDI_BUFENLARGE_PARTNER(rreq);
    if (partner == NULL)
        return;
    unpost(vci, partner);
    MPIDI_BUFENLARGE_PARTNER(rreq) = NULL;
    MPIDI_BUFENLARGE_PARTNER(partner) = NULL;
    MPID_Request_complete(partner);
    MPIDI_CH4_REQUEST_FREE(partner);
#endif
}

static bool is_second(MPIR_Request * rreq)
{
#ifndef MPIDI_CH4_DIRECT_NETMOD
    return !MPIDI_REQUEST(rreq, is_local) && MPIDI_BUFENLARGE_PARTNER(rreq) != NULL;
#else
    return false;
#endif
}

/* Ends the first posted receive that waits in vain. Returns false when there is none. */
static bool end_a_receive(const MPIDI_BUFENLARGE_vci_t * vci)
{
    MPIR_Request *rreq;
    DL_FOREACH(MPIDI_global.per_vci[vci->number].posted_list, rreq) {
        const int error = rreq->comm && !is_second(rreq) ? receive_error(vci, rreq) : MPI_SUCCESS;
        if (error == MPI_SUCCESS)
            continue;
        unpost_partner(vci, rreq);
        unpost(vci, rreq);
        complete_receive(rreq, error);
        return true;
    }
    return false;
}

/* -- requests that wait for an answer -- */

typedef bool (*look_t) (const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * req, const MPIR_Request * other);

/* Looks at the requests of a VCI, which shares them with no other, until `look` says that it has found one. */
static bool find_request(const MPIDI_BUFENLARGE_vci_t * vci, look_t look, const MPIR_Request * other)
{
    const MPIR_Object_alloc_t *pool = &MPIR_Request_mem[vci->number];
    bool found = false;
    for (int i = 0; pool->initialized && i < pool->direct_size && !found; i++)
        found = look(vci, (MPIR_Request *) pool->direct + i, other);
    for (int block = 0; block < pool->indirect_size; block++) {
        for (int i = 0; i < REQUEST_NUM_INDICES && !found; i++)
            found = look(vci, (MPIR_Request *) pool->indirect[block] + i, other);
    }
    return found;
}

/* A receive that is not posted any more waits for its data. One that MPICH had made before it matched waits for another
 * receive instead, which ends it, and has no fields of its own. */
static int matched_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * rreq)
{
    return rreq->comm && MPIDIG_recv_initialized(rreq) && MPIDI_BUFENLARGE_SOURCE(rreq) >= 0 ? receive_error(vci, rreq)
        : MPI_SUCCESS;
}

/* One whose data is advertised ends when the receiver gives the data back. It reads it until then. */
static int send_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * sreq)
{
    const uint64_t status = MPIDIG_REQUEST(sreq, req->status);
    if (MPIDIG_REQUEST(sreq, netmod_am.bufenlarge.held) > 0)
        return MPI_SUCCESS;
    const bool asks = (status & MPIDIG_REQ_RTS) != 0;
    const bool awaits_receipt = (status & MPIDIG_REQ_PEER_SSEND) != 0 && MPIR_cc_get(*sreq->cc_ptr) == 1;
    if (sreq->comm == NULL || !(asks || awaits_receipt))
        return MPI_SUCCESS;
    return MPIDI_BUFENLARGE_is_ended(sreq->comm) ? MPIDI_BUFENLARGE_revoked_error()
        : MPIDI_BUFENLARGE_rank_error(vci, sreq->comm, MPIDIG_REQUEST(sreq, u.send.dest));
}

/* Only the origin's request of an operation like MPI_Rput has a second reference, the user's. */
static int one_sided_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * req)
{
    return MPIR_Object_get_ref(req) < 2 ? MPI_SUCCESS
        : MPIDI_BUFENLARGE_rank_error(vci, req->u.rma.win->comm_ptr, MPIDIG_REQUEST(req, u.origin.target_rank));
}

/* Whether this is the request with which the netmod sends the data of a partitioned send. It completes the user's. */
static bool has_parts_of(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * data, const MPIR_Request * req)
{
    return data->kind == MPIR_REQUEST_KIND__PART && MPIR_Object_get_ref(data) > 0 && MPIDIG_REQUEST(data, req) != NULL
        && MPIDIG_REQUEST(data, netmod_am.bufenlarge.held) > 0
        && MPIDIG_REQUEST(data, req->part_am_req.part_req_ptr) == req;
}

static int partitioned_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * req)
{
    const bool sends = req->kind == MPIR_REQUEST_KIND__PART_SEND;
    const int rank = sends ? MPIDI_PART_REQUEST(req, u.send.dest) : MPIDI_BUFENLARGE_PART_SOURCE(req);
    const int error = req->comm ? MPIDI_BUFENLARGE_rank_error(vci, req->comm, rank) : MPI_SUCCESS;
    return error != MPI_SUCCESS && sends && find_request(vci, has_parts_of, req) ? MPI_SUCCESS : error;
}

static int request_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * req)
{
    if (req->kind == MPIR_REQUEST_KIND__PART_SEND || req->kind == MPIR_REQUEST_KIND__PART_RECV)
        return partitioned_error(vci, req);
    if (MPIDIG_REQUEST(req, req) == NULL)
        return MPI_SUCCESS;
    const bool held = MPIDIG_REQUEST(req, netmod_am.bufenlarge.held) > 0;
    switch (req->kind) {
        case MPIR_REQUEST_KIND__RECV:
            return held ? MPI_SUCCESS : matched_error(vci, req);
        case MPIR_REQUEST_KIND__SEND:
            return send_error(vci, req);
        case MPIR_REQUEST_KIND__RMA:
            return held ? MPI_SUCCESS : one_sided_error(vci, req);
        default:
            return MPI_SUCCESS;
    }
}

/* Whatever else would have completed it will not come. */
static void complete_with(MPIR_Request * req, int error)
{
    req->status.MPI_ERROR = error;
    for (int left = MPIR_cc_get(*req->cc_ptr); left > 0; left--)
        MPID_Request_complete(req);
}

/* Whether the other process lives, and answers. */
static bool is_revoked(int error)
{
    return MPIR_ERR_GET_CLASS(error) == MPIX_ERR_REVOKED;
}

static void end_send(MPIR_Request * sreq, int error)
{
    const uint64_t status = MPIDIG_REQUEST(sreq, req->status);
    const bool asks = (status & MPIDIG_REQ_RTS) != 0, awaits_receipt = (status & MPIDIG_REQ_PEER_SSEND) != 0;
    if (is_revoked(error))
        MPIDI_BUFENLARGE_keep_ended(sreq, asks + awaits_receipt);
    if (asks)
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    complete_with(sreq, error);
}

/* As if its data had come: other receives may end with it, the one that the user has of a receive from any source. Its
 * sender waits for nothing any more. */
static void end_matched(MPIR_Request * rreq, int error)
{
    if (!MPIDI_BUFENLARGE_discard_rest(rreq) && is_revoked(error))
        MPIDI_BUFENLARGE_keep_ended(rreq, 1);
    rreq->status.MPI_ERROR = error;
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDIG_REQUEST(rreq, req->status) &= ~MPIDIG_REQ_PEER_SSEND;
    MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq);
}

static void end_request(MPIR_Request * req, int error)
{
    switch (req->kind) {
        case MPIR_REQUEST_KIND__PART_SEND:
        case MPIR_REQUEST_KIND__PART_RECV:
            req->status.MPI_ERROR = error;
            MPIR_cc_set(req->cc_ptr, 0);        /* it is not freed when it is complete */
            break;
        case MPIR_REQUEST_KIND__SEND:
            end_send(req, error);
            break;
        case MPIR_REQUEST_KIND__RECV:
            end_matched(req, error);
            break;
        default:
            complete_with(req, error);
            break;
    }
}

/* Ends a request that waits in vain. */
static bool look_at_request(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Request * req, const MPIR_Request * unused)
{
    const bool waits = MPIR_Object_get_ref(req) > 0 && !MPIR_cc_is_complete(req->cc_ptr)
        && MPIDI_Request_get_vci(req) == vci->number;
    const int error = waits ? request_error(vci, req) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        end_request(req, error);
    return false;
}

void MPIDI_BUFENLARGE_failure_end(MPIDI_BUFENLARGE_vci_t * vci)
{
    while (end_a_receive(vci))
        continue;
    if (vci == MPIDI_BUFENLARGE_main_vci())
        MPIDI_BUFENLARGE_reach_out(vci);
    find_request(vci, look_at_request, NULL);
    MPIDI_BUFENLARGE_give_back(vci);
    /* With MPIR_CVAR_ENABLE_FT MPICH's waits see themselves that a receive from any source may wait in vain. */
    MPIDI_BUFENLARGE_wake_waits(vci->number);
}

/* -- sends -- */

/* Makes a send to a process that has failed a request that is complete, with that error in its status: an error of the
 * call itself would make MPICH's collective operations leave a receive that they have posted. Other errors stay. */
int MPIDI_BUFENLARGE_send_failed(int mpi_errno, MPIR_Comm * comm, int vci, MPIR_Request ** request)
{
    if (MPIR_ERR_GET_CLASS(mpi_errno) != MPIX_ERR_PROC_FAILED)
        return mpi_errno;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci));
    if (*request == NULL && (*request = MPIDIG_request_create(MPIR_REQUEST_KIND__SEND, 2, vci, vci)) != NULL) {
        (*request)->comm = comm;
        MPIR_Comm_add_ref(comm);
    }
    if (*request != NULL)
        complete_with(*request, mpi_errno);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci));
    return *request ? MPI_SUCCESS : mpi_errno;
}
