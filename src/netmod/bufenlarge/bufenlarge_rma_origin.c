/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_origin.c: MPI_Put and MPI_Get of contiguous data, at their origin, without MPIDIG. A large Put is an
 * RDMA write into the target's window memory, a large Get is a read of it: the target's MPI has no part in them, and
 * there is no copy. Small ones go in batches (bufenlarge_rma_batch.c). All other one-sided communication goes by active
 * messages of MPIDIG.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"

typedef MPIDI_BUFENLARGE_operation_t operation_t;
typedef MPIDI_BUFENLARGE_win_part_t part_t;
typedef MPIDI_BUFENLARGE_window_t window_t;

/* A write or read under way. */
typedef struct {
    MPIDI_BUFENLARGE_read_t read;       /* of a read */
    MPIDI_BUFENLARGE_pending_t *pending;
    const MPIDI_BUFENLARGE_peer_t *peer;
    MPIR_Request *request;      /* or NULL */
} transfer_t;

/* Finds the data's place in the target's part. Returns false when the data is not contiguous or goes beyond the part.
 * */
static bool find_place(const part_t * part, MPI_Aint target_disp, MPI_Aint target_count,
                       MPI_Datatype target_datatype, operation_t * operation)
{
    int contig;
    size_t bytes;
    MPI_Aint true_lb;

    MPIDI_Datatype_check_contig_size_lb(target_datatype, target_count, contig, bytes, true_lb);
    const MPI_Aint offset = target_disp * (MPI_Aint) part->disp_unit + true_lb;
    operation->offset = (uint64_t) offset;
    return contig && bytes == operation->bytes && offset >= 0 && bytes <= part->bytes
        && operation->offset <= part->bytes - bytes;
}

/* Fills in the operation, when there is room for its copy. Returns false when MPIDIG has to do it: for a lost peer too,
 * because MPIDIG returns the error. */
static bool plan(const void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, operation_t * operation)
{
    window_t *window = MPIDI_BUFENLARGE_WINDOW(win);
    MPI_Aint true_lb;
    int contig;

    if (unlikely(MPIDI_BUFENLARGE_window_vci(win)->copied > MPIDI_BUFENLARGE_COPIES_MAX))
        MPIDI_BUFENLARGE_rma_make_room(win, target_rank);
    MPIDI_Datatype_check_contig_size_lb(origin_datatype, origin_count, contig, operation->bytes,
                                        true_lb);
    if (!window || !contig || operation->bytes == 0 || target_rank == win->comm_ptr->rank
        || !find_place(&window->parts[target_rank], target_disp, target_count, target_datatype,
                       operation))
        return false;
    if (MPIDI_BUFENLARGE_on_device(origin_addr)
        || MPIDI_BUFENLARGE_peer_of(win->comm_ptr, target_rank, MPIDI_WIN(win, am_vci), &operation->peer)
        != MPI_SUCCESS
        || operation->peer->lost_text || !MPIDI_BUFENLARGE_rma_of(operation->peer))
        return false;
    operation->window = window;
    operation->target = target_rank;
    operation->addr = MPIR_get_contig_ptr(origin_addr, true_lb);
    return true;
}

/* Makes a request: one reference is the caller's, the other goes when the operation ends, which is told to the netmod
 * for a lost peer, too. Returns NULL when there is no memory for it. */
static MPIR_Request *create_request(const MPIR_Win * win)
{
    const int vci = MPIDI_WIN(win, am_vci);
    MPIR_Request *request = MPIDIG_request_create(MPIR_REQUEST_KIND__RMA, 2, vci, vci);
    if (request != NULL)
        MPIDI_BUFENLARGE_hold(request);
    return request;
}

static transfer_t *transfer_create(const operation_t * operation, MPIR_Request * request)
{
    transfer_t *transfer = MPL_malloc(sizeof(*transfer), MPL_MEM_RMA);
    if (transfer) {
        transfer->pending = &operation->window->pending[operation->target];
        transfer->peer = operation->peer;
        transfer->request = request;
    }
    return transfer;
}

static void transfer_end(transfer_t * transfer, bufenlarge_status_t status)
{
    MPIR_Request *request = transfer->request;
    if (request && status != BUFENLARGE_OK)
        request->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(transfer->peer);
    MPL_free(transfer);
    if (request)
        MPID_Request_complete(request);
}

/* Hands the request of an operation that has begun to the caller; frees the request of one that has not. */
static void conclude(MPIR_Request * request, bool begun, bool complete, MPIR_Request ** request_p)
{
    if (request == NULL)
        return;
    if (complete || !begun)
        MPID_Request_complete(request);
    if (begun)
        *request_p = request;
    else
        MPIDI_CH4_REQUEST_FREE(request);
}

/* -- Put -- */

/* The library's write_done callback. */
void MPIDI_BUFENLARGE_write_done(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status)
{
    transfer_t *transfer = cookie;
    transfer->pending->writes--;
    transfer_end(transfer, status);
}

/* Returns false when the operation has to go as a message of MPIDIG. */
static bool put_write(const operation_t * operation, MPIR_Request * request)
{
    const part_t *part = &operation->window->parts[operation->target];
    transfer_t *transfer = transfer_create(operation, request);
    if (transfer == NULL)
        return false;
    if (bufenlarge_channel_write(operation->peer->channel, &part->memory, operation->offset,
                                 operation->addr, operation->bytes, transfer) != BUFENLARGE_OK) {
        MPL_free(transfer);
        return false;
    }
    MPIDI_BUFENLARGE_note_write(operation);
    return true;
}

/* Returns whether the Put has begun; if not, MPIDIG does it. Unless request_p is NULL, sets *request_p to the request,
 * with a reference for the caller. */
bool MPIDI_BUFENLARGE_put(const void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p)
{
    operation_t operation;
    MPIR_Request *request = NULL;
    if (!plan(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
              target_datatype, win, &operation))
        return false;
    const bool by_rdma = (MPI_Aint) operation.bytes >= MPIDI_BUFENLARGE_global.put_write_min
        && operation.window->parts[target_rank].memory.flags & BUFENLARGE_WINDOW_WRITABLE;
    if (request_p && (request = create_request(win)) == NULL)
        return false;
    const bool begun = by_rdma ? put_write(&operation, request) : MPIDI_BUFENLARGE_put_copy(&operation);
    conclude(request, begun, !by_rdma, request_p);        /* small data is copied */
    return begun;
}

/* -- Get -- */

/* Called when the data is here, or will not come. */
static void get_end(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_read_t * read,
                    bufenlarge_status_t status)
{
    transfer_t *transfer = (transfer_t *) read;
    transfer->pending->gets--;
    transfer_end(transfer, status);
}

/* Returns false when the operation has to go as a message of MPIDIG. */
static bool get_read(const operation_t * operation, MPIR_Request * request)
{
    const part_t *part = &operation->window->parts[operation->target];
    const struct iovec to = {.iov_base = operation->addr,.iov_len = operation->bytes };
    transfer_t *transfer = transfer_create(operation, request);
    if (transfer == NULL)
        return false;
    transfer->read.done = get_end;
    if (bufenlarge_channel_read(operation->peer->channel, part->memory.source, operation->offset,
                                &to, 1, operation->bytes, 0, transfer) != BUFENLARGE_OK) {
        MPL_free(transfer);
        return false;
    }
    operation->window->pending[operation->target].gets++;
    MPIDI_BUFENLARGE_pending_list(operation->window, operation->target);
    return true;
}

/* As MPIDI_BUFENLARGE_put(). */
bool MPIDI_BUFENLARGE_get(void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p)
{
    operation_t operation;
    MPIR_Request *request = NULL;
    if (!plan(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
              target_datatype, win, &operation))
        return false;
    const bool by_rdma = (MPI_Aint) operation.bytes >= MPIDI_BUFENLARGE_global.get_read_min
        && operation.window->parts[target_rank].memory.source != 0;
    if (request_p && (request = create_request(win)) == NULL)
        return false;
    const bool begun = by_rdma ? get_read(&operation, request)
        : MPIDI_BUFENLARGE_get_copy(&operation, request);
    conclude(request, begun, false, request_p);
    return begun;
}
