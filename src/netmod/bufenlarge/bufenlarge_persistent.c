/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_persistent.c: the memory of persistent and partitioned requests, whose registrations may stay while the
 * request lives (mpich-patches, 0045). A program may free it while the request is inactive, and use it for something
 * else, so only messages of such a request use these registrations: a message is one when the calling thread has
 * started a request with its memory, or when it is of MPICH's partitioned communication.
 *
 * Noncontiguous data is not kept.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_memory.h"
#include "uthash.h"

/* A request that was started once. */
typedef struct {
    UT_hash_handle hh;
    const MPIR_Request *request;
    void *memory;
    size_t bytes;
} kept_t;

static kept_t *kept_list;       /* by request, under the lock of VCI 0 */

/* All partitioned requests that find_memory() takes are in the list. */
static bool parts_are_kept = true;

/* What the request that the calling thread starts now was created with; NULL outside of that. */
static MPL_TLS const void *starts;

static bool is_partitioned(const MPIR_Request * request)
{
    return request->kind == MPIR_REQUEST_KIND__PART_SEND || request->kind == MPIR_REQUEST_KIND__PART_RECV;
}

/* Finds the memory of a persistent or partitioned request with so much data that it is registered. */
static bool find_memory(const MPIR_Request * request, kept_t * kept, const void **buffer_p)
{
    MPI_Aint count, true_lb;
    MPI_Datatype datatype;
    int contig;

    if (is_partitioned(request)) {
        *buffer_p = MPIDI_PART_REQUEST(request, buffer);
        count = MPIDI_PART_REQUEST(request, count) * request->u.part.partitions;
        datatype = MPIDI_PART_REQUEST(request, datatype);
    } else {
        *buffer_p = MPIDI_PREQUEST(request, buffer);
        count = MPIDI_PREQUEST(request, count);
        datatype = MPIDI_PREQUEST(request, datatype);
    }
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, kept->bytes, true_lb);
    if (!contig || (MPI_Aint) kept->bytes < MPIDI_BUFENLARGE_global.rendezvous_min
        || MPIDI_BUFENLARGE_on_device(*buffer_p))
        return false;
    kept->memory = MPIR_get_contig_ptr(*buffer_p, true_lb);
    kept->request = request;
    return true;
}

/* Enters the request. Returns false when there is no memory for that; *is_new_p says whether it was not known. */
static bool enter(const kept_t * made, bool * is_new_p)
{
    kept_t *kept;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    HASH_FIND_PTR(kept_list, &made->request, kept);
    *is_new_p = kept == NULL && (kept = MPL_malloc(sizeof(*kept), MPL_MEM_BUFFER)) != NULL;
    if (*is_new_p) {
        *kept = *made;
        HASH_ADD_PTR(kept_list, request, kept, MPL_MEM_BUFFER);
    } else if (kept == NULL) {
        parts_are_kept = false;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    return kept != NULL;
}

void MPIDI_BUFENLARGE_request_starts(MPIR_Request * request)
{
    kept_t made;
    const void *buffer;
    bool is_new;
    if (!find_memory(request, &made, &buffer) || !enter(&made, &is_new))
        return;
    if (is_new)
        MPIDI_BUFENLARGE_memory_keep(made.memory, made.bytes, BUFENLARGE_PERSISTENT);
    starts = buffer;
}

/* Whether MPICH has received by its own means for this request: it came from this process, or from nobody. */
static bool is_received_here(const MPIR_Request * request)
{
    const MPIR_Comm *comm = request->comm;
    const int rank = MPIDI_PREQUEST(request, rank);
    return rank == MPI_PROC_NULL || (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM
                                     && (comm->remote_size == 1 || rank == comm->rank));
}

/* The receive that was posted, if it waits; one from any source is posted in shared memory, too. */
static void mark(MPIR_Request * receive)
{
    if (receive == NULL || MPIR_Request_is_complete(receive))
        return;
    const int vci ATTRIBUTE((unused)) = MPIDI_Request_get_vci(receive);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci));
    MPIDIG_REQUEST(receive, netmod_am.bufenlarge.persistent) = true;
#ifndef MPIDI_CH4_DIRECT_NETMOD
    if (!MPIR_Request_is_complete(receive) && MPIDI_BUFENLARGE_PARTNER(receive) != NULL)
        MPIDIG_REQUEST(MPIDI_BUFENLARGE_PARTNER(receive), netmod_am.bufenlarge.persistent) = true;
#endif
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci));
}

void MPIDI_BUFENLARGE_request_started(MPIR_Request * request)
{
    if (starts == NULL)
        return;
    starts = NULL;
    if (request->kind != MPIR_REQUEST_KIND__PREQUEST_RECV || is_received_here(request))
        return;
    mark(request->u.persist.real_request);
}

void MPIDI_BUFENLARGE_request_ends(MPIR_Request * request)
{
    kept_t *kept;
    if (request->kind != MPIR_REQUEST_KIND__PREQUEST_SEND && request->kind != MPIR_REQUEST_KIND__PREQUEST_RECV
        && !is_partitioned(request))
        return;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    HASH_FIND_PTR(kept_list, &request, kept);
    if (kept != NULL)
        HASH_DEL(kept_list, kept);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    if (kept == NULL)
        return;
    MPIDI_BUFENLARGE_memory_release(kept->memory, kept->bytes, BUFENLARGE_PERSISTENT);
    MPL_free(kept);
}

unsigned MPIDI_BUFENLARGE_persistence(const void *buffer, bool contig, uint64_t bytes, int handler_id)
{
    if (!contig || bytes < (uint64_t) MPIDI_BUFENLARGE_global.rendezvous_min)
        return 0;
    const bool is_part = handler_id == MPIDIG_PART_SEND_DATA && parts_are_kept;
    return is_part || (starts != NULL && buffer == starts) ? BUFENLARGE_PERSISTENT : 0;
}

void MPIDI_BUFENLARGE_persistent_free(void)
{
    kept_t *kept, *next;
    HASH_ITER(hh, kept_list, kept, next) {
        HASH_DEL(kept_list, kept);
        MPL_free(kept);
    }
}
