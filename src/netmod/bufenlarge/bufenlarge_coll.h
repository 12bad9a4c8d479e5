/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_coll.h: collective operations. All are MPICH's; of allreduce the netmod chooses the algorithm for short
 * vectors.
 */
#ifndef BUFENLARGE_COLL_H_INCLUDED
#define BUFENLARGE_COLL_H_INCLUDED

#define MPIDI_NM_mpi_allreduce MPIDI_BUFENLARGE_allreduce_by_mpich
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_allreduce

/* Up to this size each step of recursive doubling costs what a message costs, whatever it carries, and it takes half as
 * many steps as a reduce-scatter and an allgather, which MPICH chooses from 9 bytes on (decision 0024). */
#define MPIDI_BUFENLARGE_ALLREDUCE_SHORT_MAX 8192

/* The user may have chosen an algorithm, or a file that does. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_allreduce_is_short(const MPIR_Comm * comm, MPI_Aint count,
                                                                  MPI_Datatype datatype)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    return size * count <= MPIDI_BUFENLARGE_ALLREDUCE_SHORT_MAX
        && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM
        && MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM == MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM_auto
        && MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE[0] == '\0';
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                                    MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                                    MPIDI_BUFENLARGE_errflag_t errflag)
{
    if (MPIDI_BUFENLARGE_allreduce_is_short(comm, count, datatype))
        return MPIR_Allreduce_intra_recursive_doubling(sendbuf, recvbuf, count, datatype, op, comm, errflag);
    return MPIDI_BUFENLARGE_allreduce_by_mpich(sendbuf, recvbuf, count, datatype, op, comm, errflag);
}

#endif /* BUFENLARGE_COLL_H_INCLUDED */
