/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_eager.c: eager messages with the short header of MPIDI_BUFENLARGE_eager_t, incoming.
 *
 * When a message is here as a whole, and a receive with a plain buffer waits for it, the netmod copies it
 * there and completes the receive: it does what MPIDIG would do, less what MPIDIG does for other messages.
 * All other messages go to MPIDIG with a header of MPIDIG's own kind.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_am_send.h"
#include "bufenlarge_members.h"
#include "utlist.h"

/* Makes MPIDIG's header. No eager message gets an acknowledgement, so there is no sreq_ptr. */
static void make_hdr(const MPIDI_BUFENLARGE_eager_t * eager, MPIDIG_hdr_t * hdr)
{
    hdr->src_rank = eager->src_rank;
    hdr->tag = eager->tag;
    hdr->context_id = eager->context_id;
    hdr->error_bits = eager->error_bits;
    hdr->flags = MPIDIG_AM_SEND_FLAGS_NONE;
    hdr->sreq_ptr = NULL;
    hdr->data_sz = eager->data_bytes;
    hdr->rndv_hdr_sz = 0;
}

/* Returns what is wrong with a header, NULL when nothing is. */
static const char *check_header(const MPIDI_BUFENLARGE_eager_t * eager)
{
    if (unlikely(eager->data_bytes > (size_t) MPIDI_BUFENLARGE_PACK_BUFFER_SIZE))
        return "it sent an eager message that is too large";
    if (unlikely(eager->error_bits != MPI_SUCCESS && eager->error_bits != MPI_ERR_OTHER
                 && eager->error_bits != MPIX_ERR_PROC_FAILED))
        return "it sent an eager message with an unknown error";
    return NULL;
}

/* Returns whether the message fills whole elements of the receive's buffer, the elements are contiguous,
 * and no other receive was posted along with this one (for MPI_ANY_SOURCE, in shared memory). */
static bool is_plain(const MPIR_Request * rreq, size_t data_bytes)
{
    const MPI_Datatype datatype = MPIDIG_REQUEST(rreq, datatype);

    if (MPIDI_BUFENLARGE_PARTNER(rreq) != NULL || !HANDLE_IS_BUILTIN(datatype))
        return false;
    const size_t element = (size_t) MPIR_Datatype_get_basic_size(datatype);
    const size_t room = element * (size_t) MPIDIG_REQUEST(rreq, count);
    if (data_bytes != room && (data_bytes > room || data_bytes % element != 0))
        return false;
    return !MPIDI_BUFENLARGE_on_device(MPIDIG_REQUEST(rreq, buffer));
}

/* Returns true when a plain receive was waiting, and has the message now. */
static bool complete_posted(int vci, const MPIDI_BUFENLARGE_eager_t * eager, const void *data,
                            int *error_p)
{
    MPIR_Request **posted = &MPIDI_global.per_vci[vci].posted_list;
    MPIR_Request *rreq = MPIDI_BUFENLARGE_find_posted(vci, eager->src_rank, eager->tag, eager->context_id);
    if (rreq == NULL || !is_plain(rreq, eager->data_bytes))
        return false;
    DL_DELETE(*posted, rreq);
    MPIDIG_PVAR_QUEUE_LEVEL_DEC(MPIDIG_PT2PT_POSTED);
#ifndef MPIDI_CH4_DIRECT_NETMOD
    MPIDI_REQUEST(rreq, is_local) = 0;
#endif
    rreq->status.MPI_SOURCE = eager->src_rank;
    rreq->status.MPI_TAG = eager->tag;
    rreq->status.MPI_ERROR = eager->error_bits == MPI_SUCCESS ? MPI_SUCCESS
        : MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, eager->error_bits, "**fail", 0);
    if (eager->data_bytes > 0)
        memcpy(MPIDIG_REQUEST(rreq, buffer), data, eager->data_bytes);
    MPIR_STATUS_SET_COUNT(rreq->status, eager->data_bytes);
    *error_p = MPID_Request_complete(rreq);
    return true;
}

/* Takes a message that is here as a whole. Returns what is wrong with it. */
const char *MPIDI_BUFENLARGE_eager_deliver(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                           const MPIDI_BUFENLARGE_eager_t * eager, const void *data)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDIG_hdr_t hdr;
    uint32_t attr = 0;

    const char *text = check_header(eager);
    if (text == NULL && unlikely(MPIDI_BUFENLARGE_is_other_job(number)))
        text = MPIDI_BUFENLARGE_check_sender(number, eager->context_id, eager->src_rank);
    if (unlikely(text != NULL))
        return text;
    if (unlikely(!complete_posted(vci->number, eager, data, &mpi_errno))) {
        const MPIR_Request *last = MPIDI_BUFENLARGE_unexpected_last(vci);
        make_hdr(eager, &hdr);
        MPIDIG_AM_ATTR_SET_VCIS(attr, vci->number, vci->number);
        mpi_errno = MPIDIG_global.target_msg_cbs[MPIDIG_SEND] (&hdr, (void *) data,
                                                               (MPI_Aint) eager->data_bytes, attr,
                                                               NULL);
        MPIDI_BUFENLARGE_unexpected_begin(vci, number, last, eager->data_bytes);
    }
    if (unlikely(mpi_errno != MPI_SUCCESS))
        MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
    return NULL;
}

/* Turns the header of a message in several fragments, which has been collected, into the header of an
 * active message, and sets *have_p to its length. Returns what is wrong with it. */
const char *MPIDI_BUFENLARGE_eager_expand(MPIDI_BUFENLARGE_header_t * header, size_t * have_p)
{
    MPIDI_BUFENLARGE_eager_t eager;
    MPIDIG_hdr_t hdr;

    memcpy(&eager, &header->wire, sizeof(eager));
    const char *text = check_header(&eager);
    if (text != NULL)
        return text;
    make_hdr(&eager, &hdr);
    *have_p = MPIDI_BUFENLARGE_header_fill(header, MPIDIG_SEND, &hdr, (MPI_Aint) sizeof(hdr),
                                           eager.data_bytes);
    return NULL;
}
