/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_window.c: windows. Each process registers the memory of its part as window memory, and all tell each other
 * where it is. With that an origin writes and reads it by RDMA (bufenlarge_rma_origin.c). Who waits for a process by a
 * window asks here whether it has failed.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_rma_impl.h"

typedef MPIDI_BUFENLARGE_win_part_t part_t;
typedef MPIDI_BUFENLARGE_window_t window_t;

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

static void register_part(MPIR_Win * win, part_t * own)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
    if (bufenlarge_context_register_window(vci->context, win->base, (size_t) own->bytes, &own->memory)
        != BUFENLARGE_OK)
        memset(&own->memory, 0, sizeof(own->memory));
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
}

static void deregister_part(MPIR_Win * win, const part_t * own)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
    bufenlarge_context_deregister_window(vci->context, own->memory.source);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
}

/* Collective. A process that cannot register its part lets the others know; they reach it with small operations and
 * messages. */
int MPIDI_BUFENLARGE_window_create(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    window_t *window = window_alloc(win);
    MPIR_ERR_CHKANDJUMP(!window || !window->parts || !window->pending || !window->listed,
                        mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    part_t *own = &window->parts[win->comm_ptr->rank];
    own->disp_unit = win->disp_unit;
    if (!MPIDI_BUFENLARGE_on_device(win->base))
        own->bytes = (uint64_t) win->size;
    if (own->bytes > 0)
        register_part(win, own);
    MPIDI_BUFENLARGE_WINDOW(win) = window;
    mpi_errno = MPIR_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, window->parts, sizeof(part_t),
                               MPIDI_BUFENLARGE_BYTE, win->comm_ptr, MPIDI_BUFENLARGE_NO_ERROR);
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
        deregister_part(win, &window->parts[win->comm_ptr->rank]);
    window_destroy(window);
    MPIDI_BUFENLARGE_WINDOW(win) = NULL;
}

/* -- failed processes -- */

static int group_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Win * win, MPIR_Group * group)
{
    int *ranks = MPL_malloc((size_t) group->size * sizeof(int), MPL_MEM_RMA);
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_CHKANDJUMP(!ranks, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIDIG_fill_ranks_in_win_grp(win, group, ranks);
    for (int i = 0; mpi_errno == MPI_SUCCESS && i < group->size; i++)
        mpi_errno = MPIDI_BUFENLARGE_rank_error(vci, win->comm_ptr, ranks[i]);

  fn_exit:
    MPL_free(ranks);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_BUFENLARGE_window_error(MPIR_Win * win, int rank, MPIR_Group * group)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(MPIDI_WIN(win, am_vci));
    if (likely(!MPL_atomic_relaxed_load_int(&vci->watches)))
        return MPI_SUCCESS;
    if (rank >= 0)
        return MPIDI_BUFENLARGE_rank_error(vci, win->comm_ptr, rank);
    return group ? group_error(vci, win, group) : MPIDI_BUFENLARGE_members_error(vci, win->comm_ptr);
}

static int members_error(MPIR_Win * win)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));
    const int mpi_errno = MPIDI_BUFENLARGE_window_error(win, -1, NULL);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));
    return mpi_errno;
}

/* Tells the other members of a window that a collective call on it has ended with an error, when that is because a
 * process has failed: they may wait for this one, and no program can revoke the window's communicator. Returns the
 * error, of class MPIX_ERR_PROC_FAILED in those, too, that have learned of it by the revocation. Without any lock. Of a
 * window whose creation has failed the VCI may be one that does not exist, as MPICH names it to its hook. */
int MPIDI_BUFENLARGE_window_collective(MPIR_Win * win, int mpi_errno)
{
    MPIDI_WIN(win, am_vci) %= MPIDI_global.n_vcis;
    const int class = MPIR_ERR_GET_CLASS(mpi_errno);
    const int lost = members_error(win);
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && (class != MPI_ERR_OTHER || lost == MPI_SUCCESS))
        return mpi_errno;
    MPID_Comm_revoke(win->comm_ptr, 0);
    if (class == MPIX_ERR_PROC_FAILED)
        return mpi_errno;
    return lost != MPI_SUCCESS ? lost
        : MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_PEER, "another member of the window has lost a process");
}
