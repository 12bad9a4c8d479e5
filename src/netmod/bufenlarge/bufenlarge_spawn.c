/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_spawn.c: processes outside MPI_COMM_WORLD (spawn, connect, accept, join). MPICH's upid is the library's
 * process name, by which any process can connect to it. The processes that connect have no communicator yet; they
 * agree on one with messages that have a tag (KIND_SPAWN), which wait (bufenlarge_spawn_queue.c) until a call asks
 * for that tag.
 */
#include "mpidimpl.h"
#include "bufenlarge_spawn.h"
#include "bufenlarge_noinline.h"

/* Stands for the number of a process that has a place in an address table. */
#define HAS_PLACE UINT32_MAX

/* ---- names */

static uint32_t *number_at(int avtid, int lpid)
{
    return &MPIDIU_get_av(avtid, lpid).netmod.bufenlarge.number;
}

int MPIDI_BUFENLARGE_get_local_upids(MPIR_Comm * comm, int **local_upid_size, char **local_upids)
{
    int mpi_errno = MPI_SUCCESS;
    const bufenlarge_context_t *context = MPIDI_BUFENLARGE_main_vci()->context;
    int *sizes = MPL_malloc(comm->local_size * sizeof(int), MPL_MEM_ADDRESS);
    char *names = MPL_malloc((size_t) comm->local_size * BUFENLARGE_NAME_BYTES, MPL_MEM_ADDRESS);
    MPIR_FUNC_ENTER;

    MPIR_ERR_CHKANDJUMP(!sizes || !names, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIR_ERR_CHKANDJUMP(!context, mpi_errno, MPI_ERR_INTERN, "**bufenlarge_closed");
    for (int rank = 0; rank < comm->local_size; rank++) {
        int lpid = 0, avtid = 0;
        MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
        bufenlarge_status_t status =
            bufenlarge_context_name(context, *number_at(avtid, lpid), names + rank * BUFENLARGE_NAME_BYTES);
        MPIR_ERR_CHKANDJUMP(status != BUFENLARGE_OK, mpi_errno, MPI_ERR_INTERN, "**intern");
        sizes[rank] = BUFENLARGE_NAME_BYTES;
    }
    *local_upid_size = sizes;
    *local_upids = names;

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    MPL_free(sizes);
    MPL_free(names);
    goto fn_exit;
}

static int number_of_name(const char *name, int bytes, uint32_t * number_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    MPIR_ERR_CHKANDJUMP(bytes != BUFENLARGE_NAME_BYTES || vci->context == NULL
                        || bufenlarge_context_add_peer(vci->context, name, number_p) != BUFENLARGE_OK,
                        mpi_errno, MPI_ERR_PORT, "**bufenlarge_name");
    MPIDI_BUFENLARGE_forget_note(*number_p);

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Puts the processes that have no place yet, `count` of them, into a new table. */
static int make_table(const uint32_t * numbers, int size, int count, uint64_t * gpids)
{
    int avtid, lpid = 0;
    int mpi_errno = count > 0 ? MPIDIU_new_avt(count, &avtid) : MPI_SUCCESS;
    for (int i = 0; mpi_errno == MPI_SUCCESS && i < size; i++) {
        if (numbers[i] == HAS_PLACE)
            continue;
        *number_at(avtid, lpid) = numbers[i];
        gpids[i] = MPIDIU_GPID_CREATE(avtid, lpid);
        lpid++;
    }
    return mpi_errno;
}

int MPIDI_BUFENLARGE_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                                    uint64_t * remote_gpids)
{
    int mpi_errno = MPI_SUCCESS, count = 0;
    const char *name = remote_upids;
    uint32_t *numbers = MPL_calloc(size, sizeof(*numbers), MPL_MEM_ADDRESS);
    MPIR_FUNC_ENTER;

    MPIR_ERR_CHKANDJUMP(!numbers, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_main_vci());
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    for (int i = 0; i < size; i++) {
        mpi_errno = number_of_name(name, remote_upid_size[i], &numbers[i]);
        MPIR_ERR_CHECK(mpi_errno);
        if (MPIDI_BUFENLARGE_find_gpid(numbers[i], &remote_gpids[i]))
            numbers[i] = HAS_PLACE;
        else
            count++;
        name += remote_upid_size[i];
    }
    mpi_errno = make_table(numbers, size, count, remote_gpids);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(numbers);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- messages outside of any communicator */

/* Makes one round of progress in which other threads have their turn, too. Sets *late_p when the time is over; a
 * timeout of 0 seconds is none. */
static int wait_a_round(const MPL_time_t * begin, int timeout, bool * late_p)
{
    int mpi_errno = MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    *late_p = timeout > 0 && MPIDI_BUFENLARGE_seconds_since(begin) >= timeout;
    return mpi_errno;
}

static int port_error(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**bufenlarge_port");
    return mpi_errno;
}

static MPIDI_BUFENLARGE_peer_t *peer_of_gpid(uint64_t gpid)
{
    const int avtid = MPIDIU_GPID_GET_AVTID(gpid), lpid = MPIDIU_GPID_GET_LPID(gpid);
    return MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_main_vci(), *number_at(avtid, lpid));
}

/* Returns when the library has taken the message. A process that cannot be reached is, to a process that connects, a
 * port that does not exist. */
int MPIDI_BUFENLARGE_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size,
                                  int timeout)
{
    MPL_time_t begin;
    bool late = false;
    MPL_wtime(&begin);

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    MPIDI_BUFENLARGE_peer_t *peer = peer_of_gpid(remote_gpid);
    const bool sent = peer
        && MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_SPAWN, (uint32_t) tag, buf, (size_t) size);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    while (sent && peer->backlog && !peer->lost_text && !late) {
        int mpi_errno = wait_a_round(&begin, timeout, &late);
        if (mpi_errno != MPI_SUCCESS && !peer->lost_text)
            return mpi_errno;
    }
    return sent && !late && !peer->lost_text ? MPI_SUCCESS : port_error();
}

int MPIDI_BUFENLARGE_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    MPL_time_t begin;
    bool late = false;
    MPL_wtime(&begin);

    while (!MPIDI_BUFENLARGE_spawn_take(tag, buf, (size_t) size)) {
        if (late)
            return port_error();
        int mpi_errno = wait_a_round(&begin, timeout, &late);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
    }
    return MPI_SUCCESS;
}
