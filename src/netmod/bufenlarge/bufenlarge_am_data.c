/* SPDX-License-Identifier: MIT */
/* bufenlarge_am_data.c: the data of one active message, which comes in fragments, on its way to the user. */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

/* Calls the handler of an active message. With MPIDIG_AM_ATTR__IS_ASYNC the data follows, and the handler sets *rreq_p
 * to the request that says where it is to go; NULL stays when nobody wants it. */
int MPIDI_BUFENLARGE_call_handler(const MPIDI_BUFENLARGE_vci_t * vci,
                                  const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr,
                                  const void *data, uint32_t attr, MPIR_Request ** rreq_p)
{
    MPIDIG_AM_ATTR_SET_VCIS(attr, vci->number, vci->number);
    return MPIDIG_global.target_msg_cbs[wire->handler_id] ((void *) am_hdr, (void *) data,
                                                           (MPI_Aint) wire->data_bytes, attr,
                                                           rreq_p);
}

/* Begins with the request that the handler gave; without one (NULL) the data is discarded. Returns what is wrong. */
const char *MPIDI_BUFENLARGE_data_begin(MPIDI_BUFENLARGE_data_t * data, MPIR_Request * rreq,
                                        uint64_t bytes)
{
    int contig;

    memset(data, 0, sizeof(*data));
    data->rreq = rreq;
    data->bytes = data->left = bytes;
    data->mode = rreq ? MPIDI_BUFENLARGE_COPY : MPIDI_BUFENLARGE_DISCARD;
    if (rreq == NULL)
        return NULL;
    if ((uint64_t) MPIDIG_recv_in_data_sz(rreq) < bytes)
        return "it sent more data than it announced";
    MPIDIG_recv_setup(rreq);
    /* The request's datatype is valid for this type of receive only. */
    if (MPIDIG_REQUEST(rreq, req->recv_async).recv_type != MPIDIG_RECV_DATATYPE
        || rreq->status.MPI_ERROR != MPI_SUCCESS)
        return NULL;
    MPIDI_Datatype_check_contig(MPIDIG_REQUEST(rreq, datatype), contig);
    if (contig)
        return NULL;
    data->mode = MPIDI_BUFENLARGE_UNPACK;
    data->buffer_bytes = MPL_MIN((size_t) bytes, MPIDI_BUFENLARGE_PACK_BYTES);
    data->buffer = MPL_malloc(data->buffer_bytes, MPL_MEM_BUFFER);
    return data->buffer ? NULL : "no memory for a message it sent";
}

/* Unpacks what the buffer has, and keeps the part of an element that is left at the end. */
static void unpack_buffer(MPIDI_BUFENLARGE_data_t * data)
{
    MPIR_Request *rreq = data->rreq;
    MPIDIG_rreq_async_t *async = &MPIDIG_REQUEST(rreq, req->recv_async);
    MPI_Aint unpacked = 0;

    int mpi_errno = MPIDI_BUFENLARGE_unpack(data->buffer, (MPI_Aint) data->buffer_have,
                                            MPIDIG_REQUEST(rreq, buffer), MPIDIG_REQUEST(rreq, count),
                                            MPIDIG_REQUEST(rreq, datatype), async->offset, &unpacked);
    /* Nothing fits any more, or it ends within an element: the types of the two sides differ. */
    bool stuck = unpacked == 0 || (data->left == 0 && (size_t) unpacked < data->buffer_have);
    if (data->buffer_have > 0 && (mpi_errno != MPI_SUCCESS || stuck)
        && rreq->status.MPI_ERROR == MPI_SUCCESS)
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    async->offset += unpacked;
    data->buffer_have -= (size_t) unpacked;
    memmove(data->buffer, data->buffer + unpacked, data->buffer_have);
    if (rreq->status.MPI_ERROR != MPI_SUCCESS)
        data->buffer_have = 0;
}

/* Takes the next fragment, which has at most the bytes that are left. */
void MPIDI_BUFENLARGE_data_take(MPIDI_BUFENLARGE_data_t * data, const void *fragment, size_t bytes)
{
    const char *from = fragment;

    data->left -= bytes;
    if (data->mode == MPIDI_BUFENLARGE_COPY && bytes > 0)
        MPIDIG_recv_copy_seg((void *) from, (MPI_Aint) bytes, data->rreq);
    if (data->mode != MPIDI_BUFENLARGE_UNPACK)
        return;
    while (bytes > 0) {
        const size_t part = MPL_MIN(bytes, data->buffer_bytes - data->buffer_have);
        memcpy(data->buffer + data->buffer_have, from, part);
        data->buffer_have += part;
        from += part;
        bytes -= part;
        if (data->buffer_have == data->buffer_bytes && bytes > 0)
            unpack_buffer(data);
    }
}

/* Ends the data: no more comes. Sets the count, which MPIDIG_recv_copy_seg leaves out after an error. */
void MPIDI_BUFENLARGE_data_end(MPIDI_BUFENLARGE_data_t * data)
{
    MPIR_Request *rreq = data->rreq;

    if (data->mode == MPIDI_BUFENLARGE_UNPACK)
        unpack_buffer(data);
    MPL_free(data->buffer);
    data->buffer = NULL;
    if (rreq && MPIDIG_REQUEST(rreq, req->recv_async).recv_type == MPIDIG_RECV_DATATYPE) {
        MPI_Aint room;
        MPIDI_Datatype_check_size(MPIDIG_REQUEST(rreq, datatype), MPIDIG_REQUEST(rreq, count),
                                  room);
        MPIR_STATUS_SET_COUNT(rreq->status, MPL_MIN(room, (MPI_Aint) data->bytes));
    }
}
