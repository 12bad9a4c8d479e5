/* SPDX-License-Identifier: MIT */
/* bufenlarge_am_send.c: sends that the fast path could not do, or not to the end, and control messages. */
#include "mpidimpl.h"
#include "bufenlarge_unexpected.h"

/* Whether a message to a process that has failed is dropped without an error. MPIDIG waits for the answer to those of
 * windows, and the wait ends with the error of the process: that of the message MPIDIG would turn into one of
 * synchronization. With an error of the acknowledgement the data of a synchronous message would be lost. */
static bool is_dropped(int handler_id)
{
    return handler_id == MPIDIG_WIN_LOCK || handler_id == MPIDIG_WIN_LOCKALL || handler_id == MPIDIG_WIN_UNLOCK
        || handler_id == MPIDIG_WIN_UNLOCKALL || handler_id == MPIDIG_SSEND_ACK;
}

/* Sends the rest of a message whose data is contiguous or empty. */
int MPIDI_BUFENLARGE_send_rest(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_peer_t *peer = NULL;
    MPIR_FUNC_ENTER;

    mpi_errno = MPIDI_BUFENLARGE_reachable_peer(comm, rank, send, &peer);
    if (mpi_errno != MPI_SUCCESS && peer != NULL && peer->lost_text && is_dropped(send->handler_id)) {
        mpi_errno = MPI_SUCCESS;
        goto fn_exit;
    }
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_BUFENLARGE_deferred_t *deferred = MPIDI_BUFENLARGE_deferred_create(send);
    MPIR_ERR_CHKANDJUMP(!deferred, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIDI_BUFENLARGE_backlog_append(peer, deferred);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Sends noncontiguous data, or data in a GPU's memory, and packs it a chunk at a time. MPI lets the user
 * free the datatype before the message has gone, so the message holds a reference. */
int MPIDI_BUFENLARGE_send_packed(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send,
                                 MPI_Aint count, MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_peer_t *peer;
    MPIR_FUNC_ENTER;

    mpi_errno = MPIDI_BUFENLARGE_reachable_peer(comm, rank, send, &peer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_BUFENLARGE_deferred_t *deferred = MPIDI_BUFENLARGE_deferred_create(send);
    MPIR_ERR_CHKANDJUMP(!deferred, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    deferred->chunk = NULL;
    deferred->chunk_bytes = 0;
    deferred->pack_buf = send->data;
    deferred->pack_count = count;
    deferred->pack_datatype = datatype;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    MPIDI_BUFENLARGE_backlog_append(peer, deferred);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Continues a send without a request that the library took in part, or that found the channel lost. The
 * user has to keep the data until the rest has gone, so it needs a request after all. */
int MPIDI_BUFENLARGE_send_begun(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send,
                                MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    if (send->status == BUFENLARGE_OK) {
        send->sreq = MPIDIG_request_create(MPIR_REQUEST_KIND__SEND, 2, send->vci, send->vci);
        MPIR_ERR_CHKANDJUMP(!send->sreq, mpi_errno, MPIX_ERR_NOREQ, "**nomemreq");
        send->sreq->comm = comm;
        MPIR_Comm_add_ref(comm);
        *request = send->sreq;
    }
    mpi_errno = MPIDI_BUFENLARGE_send_rest(comm, rank, send);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Sends a control message of the netmod to `peer`; `detail` goes in its header, the data is copied. Nothing waits for
 * it but the drain of MPI_Finalize. Returns false when it cannot be sent. */
bool MPIDI_BUFENLARGE_send_control(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_kind_t kind,
                                   uint32_t detail, const void *data, size_t bytes)
{
    MPIDI_BUFENLARGE_header_t header = {.wire.kind = (uint8_t) kind,.wire.detail = detail,
        .wire.data_bytes = bytes
    };
    const MPIDI_BUFENLARGE_send_t send = {.header = &header,.header_bytes = sizeof(header.wire),
        .data_bytes = bytes,.data = data
    };
    MPIDI_BUFENLARGE_deferred_t *deferred =
        peer->lost_text ? NULL : MPIDI_BUFENLARGE_deferred_copy(&send);

    if (deferred == NULL)
        return false;
    if (kind == MPIDI_BUFENLARGE_KIND_EAGER_LIMIT)
        MPIDI_BUFENLARGE_backlog_overtake(peer, deferred);
    else
        MPIDI_BUFENLARGE_backlog_append(peer, deferred);
    return true;
}
