/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_window.c: MPI_Put and MPI_Get of contiguous data without MPIDIG. Each process shares the memory of its
 * part of a window. A large Put is an RDMA write into it, a large Get a remote read of it (seed 004): the target's MPI has
 * no part in them, and there is no copy. Small ones travel in batches (bufenlarge_rma_batch.c). Everything else of
 * one-sided communication goes by active messages.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
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

static window_t *window_alloc(MPIR_Win * win)
{
    const size_t size = (size_t) win->comm_ptr->local_size;
    window_t *window = MPL_calloc(1, sizeof(*window), MPL_MEM_RMA);
    if (window == NULL)
        return NULL;
    window->win = win;
    window->parts = MPL_calloc(size, sizeof(*window->parts), MPL_MEM_RMA);
    window->pending = MPL_calloc(size, sizeof(*window->pending), MPL_MEM_RMA);
    window->listed = MPL_calloc(size, sizeof(*window->listed), MPL_MEM_RMA);
    return window;
}

static void window_destroy(window_t * window)
{
    if (window == NULL)
        return;
    MPL_free(window->parts);
    MPL_free(window->pending);
    MPL_free(window->listed);
    MPL_free(window);
}

static void share_part(MPIR_Win * win, part_t * own)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci->number).lock);
    if (bufenlarge_context_register_window(vci->context, win->base, (size_t) own->bytes, &own->memory)
        != BUFENLARGE_OK)
        memset(&own->memory, 0, sizeof(own->memory));
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci->number).lock);
}

static void unshare_part(MPIR_Win * win, const part_t * own)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci->number).lock);
    bufenlarge_context_deregister_window(vci->context, own->memory.source);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci->number).lock);
}

/* Collective. A process that cannot share its part lets the others know: small operations reach it all the same. */
int MPIDI_BUFENLARGE_window_create(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPL_pointer_attr_t attr;
    MPIR_FUNC_ENTER;

    window_t *window = window_alloc(win);
    MPIR_ERR_CHKANDJUMP(!window || !window->parts || !window->pending || !window->listed,
                        mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    part_t *own = &window->parts[win->comm_ptr->rank];
    own->disp_unit = win->disp_unit;
    MPIR_GPU_query_pointer_attr(win->base, &attr);
    if (attr.type != MPL_GPU_POINTER_DEV)
        own->bytes = (uint64_t) win->size;
    if (own->bytes > 0)
        share_part(win, own);
    MPIDI_BUFENLARGE_WINDOW(win) = window;
    mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, window->parts, sizeof(part_t),
                               MPI_BYTE, win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    if (MPIDI_BUFENLARGE_WINDOW(win) == NULL)
        window_destroy(window);
    goto fn_exit;
}

void MPIDI_BUFENLARGE_window_free(MPIR_Win * win)
{
    window_t *window = MPIDI_BUFENLARGE_WINDOW(win);
    if (window && window->parts[win->comm_ptr->rank].memory.source)
        unshare_part(win, &window->parts[win->comm_ptr->rank]);
    window_destroy(window);
    MPIDI_BUFENLARGE_WINDOW(win) = NULL;
}

/* Where the data lies in the target's part; false: it is not contiguous, or goes beyond it. */
static bool find_place(const part_t * part, MPI_Aint target_disp, int target_count,
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

/* Whether an operation need not be MPIDIG's. Of a lost peer it is, which tells the error. */
static bool plan(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, int target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, operation_t * operation)
{
    window_t *window = MPIDI_BUFENLARGE_WINDOW(win);
    MPI_Aint true_lb;
    int contig;
    MPL_pointer_attr_t attr;

    MPIDI_Datatype_check_contig_size_lb(origin_datatype, origin_count, contig, operation->bytes,
                                        true_lb);
    if (!window || !contig || operation->bytes == 0 || target_rank == win->comm_ptr->rank
        || !find_place(&window->parts[target_rank], target_disp, target_count, target_datatype,
                       operation))
        return false;
    MPIR_GPU_query_pointer_attr(origin_addr, &attr);
    if (attr.type == MPL_GPU_POINTER_DEV
        || MPIDI_BUFENLARGE_peer_of(win->comm_ptr, target_rank, MPIDI_WIN(win, am_vci), &operation->peer)
        != MPI_SUCCESS
        || operation->peer->lost_text || !MPIDI_BUFENLARGE_rma_of(operation->peer))
        return false;
    operation->window = window;
    operation->target = target_rank;
    operation->addr = MPIR_get_contig_ptr(origin_addr, true_lb);
    return true;
}

/* One reference is the caller's, one is dropped at the end. NULL: no memory. */
static MPIR_Request *create_request(const MPIR_Win * win)
{
    const int vci = MPIDI_WIN(win, am_vci);
    return MPIDIG_request_create(MPIR_REQUEST_KIND__RMA, 2, vci, vci);
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

/* Hands the request of an operation that has begun to the caller; ends that of one that has not. */
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

/* The library's written callback. */
void MPIDI_BUFENLARGE_write_done(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status)
{
    transfer_t *transfer = cookie;
    transfer->pending->writes--;
    transfer_end(transfer, status);
}

/* False: it is to go as a message. */
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

/* Returns whether the Put has begun; else it is MPIDIG's. *request_p, unless NULL, is set to its request, with a
 * reference for the caller. */
bool MPIDI_BUFENLARGE_put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, int target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p)
{
    operation_t operation;
    MPIR_Request *request = NULL;
    if (!plan(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
              target_datatype, win, &operation))
        return false;
    const bool large = (MPI_Aint) operation.bytes >= MPIDI_BUFENLARGE_global.put_write_min
        && operation.window->parts[target_rank].memory.flags;
    if (request_p && (request = create_request(win)) == NULL)
        return false;
    const bool begun = large ? put_write(&operation, request) : MPIDI_BUFENLARGE_put_copy(&operation);
    conclude(request, begun, !large, request_p);        /* small data is copied */
    return begun;
}

/* -- Get -- */

/* The data is here, or will not come. */
static void get_end(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_read_t * read,
                    bufenlarge_status_t status)
{
    transfer_t *transfer = (transfer_t *) read;
    transfer->pending->gets--;
    transfer_end(transfer, status);
}

/* False: it is to go as a message. */
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
bool MPIDI_BUFENLARGE_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, int target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p)
{
    operation_t operation;
    MPIR_Request *request = NULL;
    if (!plan(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
              target_datatype, win, &operation))
        return false;
    const bool large = (MPI_Aint) operation.bytes >= MPIDI_BUFENLARGE_global.get_read_min
        && operation.window->parts[target_rank].memory.source;
    if (request_p && (request = create_request(win)) == NULL)
        return false;
    const bool begun = large ? get_read(&operation, request)
        : MPIDI_BUFENLARGE_get_copy(&operation, request);
    conclude(request, begun, false, request_p);
    return begun;
}
