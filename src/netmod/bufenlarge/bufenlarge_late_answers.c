/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_late_answers.c: answers to requests that have ended. A revocation ends the requests of its communicator,
 * also those that a process that lives still answers: with the receipt of a synchronous message, the permission to send
 * a large one with gaps, or its data. Such an answer names the request by its address. It may not end another one that
 * has this address by then, so MPIDIG's callbacks for the three are replaced when the first request is ended so.
 *
 * Data that has begun to come through shared memory comes in segments, for which MPICH keeps the receive. The rest of
 * it, which may lie in shared memory although its sender has failed, is received and thrown away.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_mpich_inline.h"
#include "utlist.h"
#include <pthread.h>

/* A request that has ended. It is kept until the answers have come, so that no other one has its address. */
typedef struct ended {
    struct ended *next, *prev;
    MPIR_Request *request;
    MPI_Aint bytes;             /* a receive's message has; shared memory says only how many its first cell has */
    int answers;                /* to come */
} ended_t;

static struct {
    ended_t *list;
    pthread_mutex_t mutex;
    bool is_watched;            /* MPIDIG's callbacks for answers are these below */
    MPIDIG_am_target_msg_cb take_receipt, take_cts, take_data;  /* MPIDIG's */
} ended = {.mutex = PTHREAD_MUTEX_INITIALIZER };

/* Whether an answer is to a request that was ended; sets *bytes_p then, unless it is NULL. */
static bool is_late(MPIR_Request * request, MPI_Aint * bytes_p)
{
    ended_t *entry;
    bool is_last = false;
    pthread_mutex_lock(&ended.mutex);
    DL_SEARCH_SCALAR(ended.list, entry, request, request);
    if (entry != NULL && bytes_p != NULL)
        *bytes_p = entry->bytes;
    if (entry != NULL && --entry->answers == 0) {
        DL_DELETE(ended.list, entry);
        is_last = true;
    }
    pthread_mutex_unlock(&ended.mutex);
    if (is_last) {
        MPL_free(entry);
        MPIDI_CH4_REQUEST_FREE(request);
    }
    return entry != NULL;
}

static int drop(uint32_t attr, MPIR_Request ** request)
{
    if (attr & MPIDIG_AM_ATTR__IS_ASYNC)
        *request = NULL;
    return MPI_SUCCESS;
}

static int take_receipt(void *am_hdr, void *data, MPI_Aint bytes, uint32_t attr, MPIR_Request ** request)
{
    if (!is_late(((MPIDIG_ssend_ack_msg_t *) am_hdr)->sreq_ptr, NULL))
        return ended.take_receipt(am_hdr, data, bytes, attr, request);
    return drop(attr, request);
}

static int take_cts(void *am_hdr, void *data, MPI_Aint bytes, uint32_t attr, MPIR_Request ** request)
{
    if (!is_late(((MPIDIG_send_cts_msg_t *) am_hdr)->sreq_ptr, NULL))
        return ended.take_cts(am_hdr, data, bytes, attr, request);
    return drop(attr, request);
}

static int discarded(MPIR_Request * rreq)
{
    MPL_free(MPIDIG_REQUEST(rreq, buffer));
    MPID_Request_complete(rreq);
    return MPI_SUCCESS;
}

/* A receive for data that nobody wants. */
static MPIR_Request *discard(MPI_Aint bytes, int vci)
{
    MPIR_Request *rreq = MPIDIG_request_create(MPIR_REQUEST_KIND__RECV, 1, vci, vci);
    void *buffer = MPL_malloc(MPL_MAX(bytes, 1), MPL_MEM_BUFFER);
    MPIR_Assert(rreq != NULL && buffer != NULL);
    MPIDIG_REQUEST(rreq, buffer) = buffer;
    MPIDIG_REQUEST(rreq, count) = bytes;
    MPIDIG_REQUEST(rreq, datatype) = MPIDI_BUFENLARGE_BYTE;
    MPIDIG_REQUEST(rreq, req->target_cmpl_cb) = discarded;
    MPIDIG_recv_type_init(bytes, rreq);
    return rreq;
}

bool MPIDI_BUFENLARGE_discard_rest(MPIR_Request * rreq)
{
    const int vci = MPIDI_Request_get_vci(rreq);
    MPIR_Request **receives = MPIDI_BUFENLARGE_SHM_RECEIVES(vci);
    for (int i = 0; receives != NULL && i < MPIR_Process.local_size; i++) {
        if (receives[i] != rreq)
            continue;
        receives[i] = discard(MPIDIG_REQUEST(rreq, req->recv_async).in_data_sz, vci);
        MPIDIG_recv_setup(receives[i]);
        return true;
    }
    return false;
}

static int take_data(void *am_hdr, void *data, MPI_Aint bytes, uint32_t attr, MPIR_Request ** request)
{
    MPIR_Request *rreq = ((MPIDIG_send_data_msg_t *) am_hdr)->rreq_ptr;
    const int vci = MPIDI_Request_get_vci(rreq);
    MPI_Aint all_bytes = 0;
    if (!is_late(rreq, &all_bytes))
        return ended.take_data(am_hdr, data, bytes, attr, request);
    if (attr & MPIDIG_AM_ATTR__IS_ASYNC)
        *request = discard(all_bytes, vci);
    return MPI_SUCCESS;
}

static void watch_answers(void)
{
    MPIDIG_am_target_msg_cb *callbacks = MPIDIG_global.target_msg_cbs;
    if (ended.is_watched)
        return;
    ended.is_watched = true;
    ended.take_receipt = callbacks[MPIDIG_SSEND_ACK];
    ended.take_cts = callbacks[MPIDIG_SEND_CTS];
    ended.take_data = callbacks[MPIDIG_SEND_DATA];
    callbacks[MPIDIG_SSEND_ACK] = take_receipt;
    callbacks[MPIDIG_SEND_CTS] = take_cts;
    callbacks[MPIDIG_SEND_DATA] = take_data;
}

void MPIDI_BUFENLARGE_ended_free(void)
{
    ended_t *entry, *after;
    DL_FOREACH_SAFE(ended.list, entry, after) {
        DL_DELETE(ended.list, entry);
        MPIDI_CH4_REQUEST_FREE(entry->request);
        MPL_free(entry);
    }
    if (ended.is_watched) {
        MPIDIG_global.target_msg_cbs[MPIDIG_SSEND_ACK] = ended.take_receipt;
        MPIDIG_global.target_msg_cbs[MPIDIG_SEND_CTS] = ended.take_cts;
        MPIDIG_global.target_msg_cbs[MPIDIG_SEND_DATA] = ended.take_data;
    }
    ended.is_watched = false;
}

void MPIDI_BUFENLARGE_keep_ended(MPIR_Request * request, int answers)
{
    ended_t *entry = MPL_malloc(sizeof(*entry), MPL_MEM_OTHER);
    MPIR_Assert(entry != NULL);
    *entry = (ended_t) {.request = request,.answers = answers };
    if (request->kind == MPIR_REQUEST_KIND__RECV)
        entry->bytes = MPIDIG_recv_in_data_sz(request);
    MPIR_Request_add_ref(request);
    pthread_mutex_lock(&ended.mutex);
    watch_answers();
    DL_APPEND(ended.list, entry);
    pthread_mutex_unlock(&ended.mutex);
}
