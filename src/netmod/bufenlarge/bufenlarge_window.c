/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_window.c: MPI_Get by remote read. Each process shares the memory of its part of a window, and a large Get
 * of contiguous data reads it (seed 004): the target's MPI has no part in it, and there is no copy. The request is
 * MPIDIG's and counted as its own are, so that all synchronization is MPIDIG's, too. Everything else of one-sided
 * communication goes by active messages, large data of it without a copy (bufenlarge_large.c).
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"

/* One process's part of a window. */
typedef struct {
    uint64_t bytes;             /* that are shared; 0: nothing is */
    uint32_t exposure;
    int disp_unit;
} part_t;

typedef struct MPIDI_BUFENLARGE_window {
    uint32_t exposure;          /* own part; 0: none */
    part_t parts[];             /* by rank in the window's communicator */
} window_t;

typedef struct {
    MPIDI_BUFENLARGE_read_t read;
    MPIR_Request *request;
} get_t;

#define WINDOW(win) (MPIDI_WIN(win, netmod.bufenlarge).window)

/* Collective. A process that cannot share its part lets the others know; its part is then read by active messages. */
int MPIDI_BUFENLARGE_window_open(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(0);
    const int size = win->comm_ptr->local_size, rank = win->comm_ptr->rank;
    MPL_pointer_attr_t attr;
    MPIR_FUNC_ENTER;

    window_t *window = MPL_calloc(1, sizeof(*window) + (size_t) size * sizeof(part_t), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!window, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    part_t *own = &window->parts[rank];
    own->disp_unit = win->disp_unit;
    MPIR_GPU_query_pointer_attr(win->base, &attr);
    if (win->size >= MPIDI_BUFENLARGE_global.large_min && attr.type != MPL_GPU_POINTER_DEV
        && bufenlarge_context_share(vci->context, win->base, (size_t) win->size,
                                    &own->exposure) == BUFENLARGE_OK) {
        window->exposure = own->exposure;
        own->bytes = (uint64_t) win->size;
    }
    WINDOW(win) = window;
    mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, window->parts, sizeof(part_t),
                               MPI_BYTE, win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_BUFENLARGE_window_close(MPIR_Win * win)
{
    window_t *window = WINDOW(win);
    if (window && window->exposure)
        bufenlarge_context_unshare(MPIDI_BUFENLARGE_vci(0)->context, window->exposure);
    MPL_free(window);
    WINDOW(win) = NULL;
}

/* Where the data lies in the target's part; false: not in what is shared. */
static bool find_source(const part_t * part, MPI_Aint target_disp, int target_count,
                        MPI_Datatype target_datatype, size_t bytes, uint64_t * offset_p)
{
    int contig;
    size_t target_bytes;
    MPI_Aint true_lb;

    MPIDI_Datatype_check_contig_size_lb(target_datatype, target_count, contig, target_bytes,
                                        true_lb);
    const MPI_Aint offset = target_disp * part->disp_unit + true_lb;
    *offset_p = (uint64_t) offset;
    return contig && target_bytes == bytes && offset >= 0 && bytes <= part->bytes
        && (uint64_t) offset <= part->bytes - bytes;
}

/* The data of a Get is here, or will not come: then progress tells the error, and nobody waits in vain. */
static void get_end(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_read_t * read,
                    bufenlarge_status_t status)
{
    MPIR_Request *request = ((get_t *) read)->request;
    MPL_free(read);
    MPIDIG_win_remote_cmpl_cnt_decr(request->u.rma.win,
                                    MPIDIG_REQUEST(request, u.origin.target_rank));
    MPID_Request_complete(request);
}

/* References and counters as in MPIDIG_do_get(). NULL: no memory. */
static get_t *get_begin(MPIR_Win * win, int target_rank)
{
    get_t *get = MPL_malloc(sizeof(*get), MPL_MEM_RMA);
    if (get == NULL)
        return NULL;
    get->read.done = get_end;
    get->request = MPIDIG_request_create(MPIR_REQUEST_KIND__RMA, 2, 0, 0);
    if (get->request == NULL) {
        MPL_free(get);
        return NULL;
    }
    get->request->u.rma.win = win;
    MPIDIG_REQUEST(get->request, u.origin.target_rank) = target_rank;
    MPIDIG_win_cmpl_cnts_incr(win, target_rank, &get->request->completion_notification);
    return get;
}

/* Begins a Get, and returns its request in *request_p, with a reference for the caller; NULL: it is to go by active
 * messages. */
int MPIDI_BUFENLARGE_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, MPI_Aint target_disp, int target_count,
                         MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p)
{
    int mpi_errno = MPI_SUCCESS;
    const window_t *window = WINDOW(win);
    MPIDI_BUFENLARGE_peer_t *peer;
    MPI_Aint true_lb;
    uint64_t offset;
    size_t bytes;
    int contig;
    MPL_pointer_attr_t attr;

    *request_p = NULL;
    MPIDI_Datatype_check_contig_size_lb(origin_datatype, origin_count, contig, bytes, true_lb);
    MPIR_GPU_query_pointer_attr(origin_addr, &attr);
    if (!window || !contig || (MPI_Aint) bytes < MPIDI_BUFENLARGE_global.large_min
        || target_rank == win->comm_ptr->rank || attr.type == MPL_GPU_POINTER_DEV
        || !find_source(&window->parts[target_rank], target_disp, target_count,
                        target_datatype, bytes, &offset))
        return MPI_SUCCESS;
    mpi_errno = MPIDI_BUFENLARGE_peer_of(win->comm_ptr, target_rank, &peer);
    MPIR_ERR_CHECK(mpi_errno);
    if (peer->lost_text)
        return MPI_SUCCESS;     /* which tells the error */

    get_t *get = get_begin(win, target_rank);
    MPIR_ERR_CHKANDJUMP(!get, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *request_p = get->request;
    const struct iovec to = {.iov_base = MPIR_get_contig_ptr(origin_addr, true_lb),.iov_len = bytes };
    const bufenlarge_status_t status =
        bufenlarge_channel_read(peer->channel, window->parts[target_rank].exposure, offset, &to, 1,
                                bytes, 0, get);
    if (status != BUFENLARGE_OK) {
        get_end(MPIDI_BUFENLARGE_vci(0), &get->read, status);
        mpi_errno = MPIDI_BUFENLARGE_error(status, bufenlarge_channel_error(peer->channel));
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
