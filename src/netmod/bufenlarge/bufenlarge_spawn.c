/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_spawn.c: processes outside MPI_COMM_WORLD (spawn, connect, accept, join). MPICH's upid is the library's
 * process name, by which any process can connect to it. The processes that connect have no communicator yet; they
 * agree on one with messages that have a tag (KIND_SPAWN), which wait (bufenlarge_spawn_queue.c) until a call asks
 * for that tag. Since MPICH 5.0 the leaders of any two groups that make an intercommunicator talk so, too
 * (KIND_LEADERS): with a certain process, in the context of a communicator.
 */
#include "mpidimpl.h"
#include "bufenlarge_spawn.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_noinline.h"

/* ---- names */

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
        const uint32_t number = MPIDI_BUFENLARGE_number_of(comm, rank);
        bufenlarge_status_t status = bufenlarge_context_name(context, number, names + rank * BUFENLARGE_NAME_BYTES);
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

/* With the first VCI's lock. */
int MPIDI_BUFENLARGE_number_of_name(const char *name, int bytes, uint32_t * number_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();

    MPIR_ERR_CHKANDJUMP(bytes != BUFENLARGE_NAME_BYTES || vci->context == NULL
                        || bufenlarge_context_add_peer(vci->context, name, number_p) != BUFENLARGE_OK,
                        mpi_errno, MPI_ERR_PORT, "**bufenlarge_name");
    MPIDI_BUFENLARGE_forget_note(*number_p);
    MPIDI_BUFENLARGE_failure_watch(false);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- messages outside of any communicator */

/* Makes one round of progress in which other threads have their turn, too. Sets *late_p when the time is over; a
 * timeout of 0 seconds is none. */
static int wait_a_round(const MPL_time_t * begin, int timeout, bool * late_p)
{
    MPIDI_BUFENLARGE_CONNECT_BREAK();
    int mpi_errno = MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIDI_BUFENLARGE_CONNECT_RESUME();
    *late_p = timeout > 0 && MPIDI_BUFENLARGE_seconds_since(begin) >= timeout;
    return mpi_errno;
}

static int port_error(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**bufenlarge_port");
    return mpi_errno;
}

static MPIDI_BUFENLARGE_peer_t *peer_at(MPIDI_BUFENLARGE_place_t place)
{
    return MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_main_vci(),
                                     MPIDI_BUFENLARGE_av_of_place(place)->netmod.bufenlarge.number);
}

static bool take(const MPIDI_BUFENLARGE_spawn_key_t * key, void *buf, int size)
{
    size_t got;
    MPIDI_BUFENLARGE_CONNECT_ENTER();
    const bool found = MPIDI_BUFENLARGE_spawn_take(key, buf, (size_t) size, &got);
    MPIDI_BUFENLARGE_CONNECT_EXIT();
    return found;
}

static bool is_lost(const MPIDI_BUFENLARGE_peer_t * peer)
{
    return peer && peer->lost_text;
}

/* Who this thread has sent its name to, and waits for an answer from: to a process that accepts anybody may come. */
static MPL_TLS MPIDI_BUFENLARGE_peer_t *callee;

/* For which this thread connects or accepts: the others wait in it, and leave it when it is revoked. */
static MPL_TLS MPIR_Comm *connects_for;

void MPIDI_BUFENLARGE_connects_for(MPIR_Comm * comm)
{
    connects_for = comm;
}

/* One round, whose error is none when it is the loss of `peer`, which may be NULL. */
static int wait_to_connect(const MPIDI_BUFENLARGE_peer_t * peer, const MPL_time_t * begin, int timeout, bool * late_p)
{
    const int mpi_errno = wait_a_round(begin, timeout, late_p);
    if (mpi_errno != MPI_SUCCESS && !is_lost(peer))
        return mpi_errno;
    return connects_for && connects_for->revoked ? MPIDI_BUFENLARGE_revoked_error() : MPI_SUCCESS;
}

/* Returns when the library has taken the message. A process that cannot be reached is, to a process that connects, a
 * port that does not exist. */
int MPIDI_BUFENLARGE_dynamic_send(MPIDI_BUFENLARGE_place_t remote, int tag, const void *buf, int size,
                                  int timeout)
{
    MPL_time_t begin;
    bool late = false;
    MPL_wtime(&begin);

    MPIDI_BUFENLARGE_CONNECT_ENTER();
    MPIDI_BUFENLARGE_peer_t *peer = peer_at(remote);
    const bool sent = peer
        && MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_SPAWN, (uint32_t) tag, buf, (size_t) size);
    MPIDI_BUFENLARGE_CONNECT_EXIT();
    while (sent && peer->backlog && !peer->lost_text && !late) {
        const int mpi_errno = wait_to_connect(peer, &begin, timeout, &late);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
    }
    const bool taken = sent && !late && !peer->lost_text;
    callee = taken && size > BUFENLARGE_NAME_BYTES ? peer : NULL;
    return taken ? MPI_SUCCESS : port_error();
}

int MPIDI_BUFENLARGE_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    const MPIDI_BUFENLARGE_peer_t *from = callee;
    const MPIDI_BUFENLARGE_spawn_key_t key =
        MPIDI_BUFENLARGE_spawn_key(tag, from ? from->number : MPIDI_BUFENLARGE_ANYBODY);
    MPL_time_t begin;
    bool late = false;
    MPL_wtime(&begin);

    callee = NULL;
    while (!take(&key, buf, size)) {
        if (late || is_lost(from))
            return port_error();
        const int mpi_errno = wait_to_connect(from, &begin, timeout, &late);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
    }
    return MPI_SUCCESS;
}

/* Why the exchange with the other leader cannot go on; MPI_SUCCESS when it can. A communicator that MPICH makes for a
 * connect or an accept is an intercommunicator, and knows of no revocation. */
static int leaders_error(const MPIDI_BUFENLARGE_peer_t * peer, const MPIR_Comm * peer_comm, bool late)
{
    if (peer->lost_text)
        return MPIDI_BUFENLARGE_peer_error(peer);
    if (peer_comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && peer_comm->revoked)
        return MPIDI_BUFENLARGE_revoked_error();
    return late ? port_error() : MPI_SUCCESS;
}

/* Exchanges a message with the other leader; that of 0 bytes is none. A leader that connects anew after its time was
 * over has left its first messages here, whose sizes are others. Called since MPICH 5.0 only. */
int MPIDI_BUFENLARGE_dynamic_sendrecv(MPIDI_BUFENLARGE_place_t remote, MPIR_Comm * peer_comm, int tag,
                                      const void *send_buf, int send_size, void *recv_buf, int recv_size, int timeout)
{
    MPIDI_BUFENLARGE_peer_t *peer = peer_at(remote);
    MPL_time_t begin;
    size_t got = (size_t) recv_size;
    bool late = false;
    MPL_wtime(&begin);

    callee = NULL;
    if (peer == NULL || (send_size > 0 && !MPIDI_BUFENLARGE_leaders_send(peer, (uint32_t) peer_comm->context_id, tag,
                                                                         send_buf, (size_t) send_size)))
        return port_error();
    const MPIDI_BUFENLARGE_spawn_key_t key = {.kind = MPIDI_BUFENLARGE_KIND_LEADERS,.tag = tag,.peer = peer->number,
        .context_id = (uint32_t) peer_comm->recvcontext_id
    };
    while (peer->backlog
           || (recv_size > 0 && !MPIDI_BUFENLARGE_spawn_take(&key, recv_buf, (size_t) recv_size, &got))) {
        int mpi_errno = leaders_error(peer, peer_comm, late);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
        mpi_errno = wait_a_round(&begin, timeout, &late);
        if (mpi_errno != MPI_SUCCESS && !peer->lost_text)
            return mpi_errno;
    }
    return got == (size_t) recv_size ? MPI_SUCCESS : port_error();
}
