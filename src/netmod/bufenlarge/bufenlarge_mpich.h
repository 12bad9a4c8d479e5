/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_mpich.h: names for the types, fields and functions that differ between the versions of MPICH (decision
 * 0041). Only this file, bufenlarge_mpich_inline.h, which has the functions that MPICH calls with other parameters, and
 * bufenlarge_places.c, which has to do with MPICH's address tables, ask for the version.
 */
#ifndef BUFENLARGE_MPICH_H_INCLUDED
#define BUFENLARGE_MPICH_H_INCLUDED

#include <mpidimpl.h>
#include "mpidch4r.h"
#include "ch4_impl.h"

/* Whether this is MPICH major.minor or later; previews of a version count as it. */
#define MPIDI_BUFENLARGE_MPICH_SINCE(major, minor) \
    (MPICH_NUMVERSION >= (major) * 10000000 + (minor) * 100000)

/* -- locks: since 4.1 MPIDIG's sends, receives and probes leave them to their caller -- */

/* The lock of a VCI. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
#define MPIDI_BUFENLARGE_LOCK(vci) MPIDI_VCI_LOCK(vci)
#else
#define MPIDI_BUFENLARGE_LOCK(vci) MPIDI_VCI(vci).lock
#endif

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_MPIDIG_ENTER(vci) MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci))
#define MPIDI_BUFENLARGE_MPIDIG_EXIT(vci) MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci))
#else
#define MPIDI_BUFENLARGE_MPIDIG_ENTER(vci)
#define MPIDI_BUFENLARGE_MPIDIG_EXIT(vci)
#endif

/* The hooks of MPIDIG that wait for own one-sided operations: since 4.2 it calls them with the lock. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_HOOK_ENTER(vci)
#define MPIDI_BUFENLARGE_HOOK_EXIT(vci)
#else
#define MPIDI_BUFENLARGE_HOOK_ENTER(vci) MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci))
#define MPIDI_BUFENLARGE_HOOK_EXIT(vci) MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci))
#endif

/* A receive from any source is posted in shared memory first, and here under the lock that this has taken. */
#if defined(MPIDI_CH4_DIRECT_NETMOD) || !MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_RECEIVE_ENTER(rank, vci) MPIDI_BUFENLARGE_MPIDIG_ENTER(vci)
#define MPIDI_BUFENLARGE_RECEIVE_EXIT(rank, vci) MPIDI_BUFENLARGE_MPIDIG_EXIT(vci)
#elif MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_RECEIVE_ENTER(rank, vci) \
    do { if ((rank) != MPI_ANY_SOURCE) MPIDI_BUFENLARGE_MPIDIG_ENTER(vci); } while (0)
#define MPIDI_BUFENLARGE_RECEIVE_EXIT(rank, vci) \
    do { if ((rank) != MPI_ANY_SOURCE) MPIDI_BUFENLARGE_MPIDIG_EXIT(vci); } while (0)
#else
#define MPIDI_BUFENLARGE_RECEIVE_ENTER(rank, vci) MPID_THREAD_CS_ENTER_REC_VCI(MPIDI_BUFENLARGE_LOCK(vci))
#define MPIDI_BUFENLARGE_RECEIVE_EXIT(rank, vci) MPIDI_BUFENLARGE_MPIDIG_EXIT(vci)
#endif

/* -- processes: their places in MPICH's address tables -- */

/* What names a place, its entry, and the entry of a rank in the local group of an intercommunicator. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
typedef MPIR_Lpid MPIDI_BUFENLARGE_place_t;
#define MPIDI_BUFENLARGE_av_of_place(place) MPIDIU_lpid_to_av_slow(place)
#define MPIDI_BUFENLARGE_av_of_local(comm, rank) \
    MPIDIU_lpid_to_av(MPIR_Group_rank_to_lpid((comm)->local_group, rank))
#define MPIDI_BUFENLARGE_av_of_world(rank) MPIDIU_lpid_to_av(rank)
#define MPIDI_BUFENLARGE_table_count() MPIDI_global.avt_mgr.n_avts
#define MPIDI_BUFENLARGE_table(i) MPIDI_global.avt_mgr.av_tables[i]
#else
typedef uint64_t MPIDI_BUFENLARGE_place_t;
#define MPIDI_BUFENLARGE_av_of_place(place) \
    (&MPIDIU_get_av(MPIDIU_GPID_GET_AVTID(place), MPIDIU_GPID_GET_LPID(place)))
MPL_STATIC_INLINE_PREFIX MPIDI_av_entry_t *MPIDI_BUFENLARGE_av_of_local(MPIR_Comm * comm, int rank)
{
    int index = 0, table = 0;
    MPIDIU_comm_rank_to_pid_local(comm, rank, &index, &table);
    return &MPIDIU_get_av(table, index);
}
#define MPIDI_BUFENLARGE_av_of_world(rank) (&MPIDIU_get_av(0, rank))
#define MPIDI_BUFENLARGE_table_count() MPIDIU_get_n_avts()
#define MPIDI_BUFENLARGE_table(i) MPIDIU_get_av_table(i)
#endif

/* Since 5.0 the functions by which processes of two jobs connect are called with the first VCI's lock: ENTER and EXIT
 * take it before, BREAK and RESUME let other threads have it since. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
#define MPIDI_BUFENLARGE_CONNECT_ENTER()
#define MPIDI_BUFENLARGE_CONNECT_EXIT()
#define MPIDI_BUFENLARGE_CONNECT_BREAK() MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0))
#define MPIDI_BUFENLARGE_CONNECT_RESUME() MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0))
#else
#define MPIDI_BUFENLARGE_CONNECT_ENTER() MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0))
#define MPIDI_BUFENLARGE_CONNECT_EXIT() MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0))
#define MPIDI_BUFENLARGE_CONNECT_BREAK()
#define MPIDI_BUFENLARGE_CONNECT_RESUME()
#endif

/* -- requests -- */

/* The source and tag of a receive, as the user gave them until it has matched; and the source of a partitioned one. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
#define MPIDI_BUFENLARGE_SOURCE(rreq) ((rreq)->status.MPI_SOURCE)
#define MPIDI_BUFENLARGE_TAG(rreq) ((rreq)->status.MPI_TAG)
#define MPIDI_BUFENLARGE_PART_SOURCE(rreq) ((rreq)->status.MPI_SOURCE)
#else
#define MPIDI_BUFENLARGE_SOURCE(rreq) MPIDIG_REQUEST(rreq, u.recv.source)
#define MPIDI_BUFENLARGE_TAG(rreq) MPIDIG_REQUEST(rreq, u.recv.tag)
#define MPIDI_BUFENLARGE_PART_SOURCE(rreq) MPIDI_PART_REQUEST(rreq, u.recv.source)
#endif

/* The receive posted in shared memory along with one from any source, and the other way round. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_PARTNER(rreq) ((rreq)->dev.anysrc_partner)
#else
#define MPIDI_BUFENLARGE_PARTNER(rreq) MPIDI_REQUEST_ANYSOURCE_PARTNER(rreq)
#endif

#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
typedef int MPIDI_BUFENLARGE_context_id_t;
#else
typedef MPIR_Context_id_t MPIDI_BUFENLARGE_context_id_t;
#endif

/* Finds the first posted receive for a message of the netmod; NULL: there is none. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_BUFENLARGE_find_posted(int vci, int source, int tag,
                                                                    MPIDI_BUFENLARGE_context_id_t context_id)
{
    MPIR_Request **posted = &MPIDI_global.per_vci[vci].posted_list;
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
    return MPIDIG_rreq_find(source, tag, context_id, posted, false, MPIDIG_PT2PT_POSTED);
#else
    return MPIDIG_rreq_find(source, tag, context_id, posted, MPIDIG_PT2PT_POSTED);
#endif
}

/* -- partitioned communication -- */

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_mpidig_precv_init(void *buf, int partitions, MPI_Aint count,
                                                                MPI_Datatype datatype, int source, int tag,
                                                                MPIR_Comm * comm, MPIR_Info * info,
                                                                MPIR_Request ** request)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
    return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, source, tag, comm, info, false, request);
#else
    return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
#endif
}

/* -- sizes and counts -- */

/* The size of the buffers for unexpected messages. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_PACK_BUFFER_SIZE MPIR_CVAR_CH4_PACK_BUFFER_SIZE
#else
#define MPIDI_BUFENLARGE_PACK_BUFFER_SIZE MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE
#endif

/* Counts of one-sided operations. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
typedef MPI_Aint MPIDI_BUFENLARGE_count_t;
#else
typedef int MPIDI_BUFENLARGE_count_t;
#endif

/* -- datatypes -- */

/* Bytes, in calls of MPICH's own functions. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
#define MPIDI_BUFENLARGE_BYTE MPIR_BYTE_INTERNAL
#else
#define MPIDI_BUFENLARGE_BYTE MPI_BYTE
#endif

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                   MPI_Aint offset, void *packed, MPI_Aint bytes, MPI_Aint * got_p)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
    return MPIR_Typerep_pack(buf, count, datatype, offset, packed, bytes, got_p, MPIR_TYPEREP_FLAG_NONE);
#else
    return MPIR_Typerep_pack(buf, count, datatype, offset, packed, bytes, got_p);
#endif
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_unpack(const void *packed, MPI_Aint bytes, void *buf, MPI_Aint count,
                                                     MPI_Datatype datatype, MPI_Aint offset, MPI_Aint * got_p)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
    return MPIR_Typerep_unpack(packed, bytes, buf, count, datatype, offset, got_p, MPIR_TYPEREP_FLAG_NONE);
#else
    return MPIR_Typerep_unpack(packed, bytes, buf, count, datatype, offset, got_p);
#endif
}

/* Returns how many segments the first `bytes` bytes have. */
MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_BUFENLARGE_segments(MPI_Aint count, MPI_Datatype datatype, MPI_Aint bytes)
{
    MPI_Aint segments = 1;
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
    MPIR_Typerep_iov_len(count, datatype, bytes, &segments, NULL);
#else
    MPIR_Typerep_iov_len(count, datatype, bytes, &segments);
#endif
    return segments;
}

/* -- collective operations: how they tell each other of an error -- */

#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
typedef int MPIDI_BUFENLARGE_errflag_t;
#define MPIDI_BUFENLARGE_NO_ERROR 0
#elif MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
typedef MPIR_Errflag_t MPIDI_BUFENLARGE_errflag_t;
#define MPIDI_BUFENLARGE_NO_ERROR MPIR_ERR_NONE
#else
typedef MPIR_Errflag_t *MPIDI_BUFENLARGE_errflag_t;
#define MPIDI_BUFENLARGE_NO_ERROR (&(MPIR_Errflag_t) { MPIR_ERR_NONE })
#endif

/* -- progress hooks, which are called without a lock: since 4.3 those of no VCI are -- */

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
#define MPIDI_BUFENLARGE_HOOK(name) int name(int no_vci, int *made_progress)
#define MPIDI_BUFENLARGE_hook_register(hook, id_p) MPIR_Progress_hook_register(-1, hook, id_p)
#else
#define MPIDI_BUFENLARGE_HOOK(name) int name(int *made_progress)
#define MPIDI_BUFENLARGE_hook_register(hook, id_p) MPIR_Progress_hook_register(hook, id_p)
#endif

/* -- progress -- */

/* Events in shared memory change the count. Until 4.1 MPICH's waits look at what they wait for when it has changed;
 * later they do in each round. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_progress_count(vci) ((int) MPIDI_BUFENLARGE_shm_events[vci])
#define MPIDI_BUFENLARGE_wake_waits(vci) do { } while (0)
#else
#define MPIDI_BUFENLARGE_progress_count(vci) MPL_atomic_relaxed_load_int(&MPIDI_VCI(vci).progress_count)
#define MPIDI_BUFENLARGE_wake_waits(vci) \
    MPL_atomic_relaxed_store_int(&MPIDI_VCI(vci).progress_count, MPIDI_BUFENLARGE_progress_count(vci) + 1)
#endif

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_shm_progress(vci, made_progress_p) MPIDI_SHM_progress(vci, made_progress_p)
#else
#define MPIDI_BUFENLARGE_shm_progress(vci, made_progress_p) MPIDI_SHM_progress(vci, 0)
#endif

/* -- the process manager -- */

/* Returns its list of processes that have ended, to be freed; NULL: there is none. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_failed_list() MPIR_pmi_get_jobattr("PMI_dead_processes")
#else
#define MPIDI_BUFENLARGE_failed_list() MPIR_pmi_get_failed_procs()
#endif

/* -- the beginning of MPI, and VCIs -- */

/* All VCIs, with those for MPIX streams, which came with 4.1. 5.0 knows of more than one only when MPI_COMM_WORLD
 * exists, and that is when it asks for them. Before, it asks since 4.2 how many there are. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_RESERVED_VCIS MPIR_CVAR_CH4_RESERVE_VCIS
#define MPIDI_BUFENLARGE_VCIS MPIDI_global.n_total_vcis
#else
#define MPIDI_BUFENLARGE_RESERVED_VCIS 0
#define MPIDI_BUFENLARGE_VCIS MPIDI_global.n_vcis
#endif
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
#define MPIDI_BUFENLARGE_WANTED_VCIS (MPIR_CVAR_CH4_NUM_VCIS + MPIDI_BUFENLARGE_RESERVED_VCIS)
#else
#define MPIDI_BUFENLARGE_WANTED_VCIS MPIDI_BUFENLARGE_VCIS
int MPIDI_BUFENLARGE_init_vcis(int num_vcis, int *num_vcis_actual);
#endif

/* Since 5.0 a netmod begins with the first communicator, which is made to be MPI_COMM_WORLD. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
int MPIDI_BUFENLARGE_init_world(void);
#define MPIDI_BUFENLARGE_begin_with_world() MPIR_CVAR_PMI_DISABLE_GROUP = 1
#define MPIDI_BUFENLARGE_comm_begins(comm) (((comm)->attr & MPIR_COMM_ATTR__BOOTSTRAP) != 0)
#else
#define MPIDI_BUFENLARGE_begin_with_world() do { } while (0)
#define MPIDI_BUFENLARGE_comm_begins(comm) false
#endif

/* The shared memory through which the processes of a node begin: since 5.0 whoever needs it makes it. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0) && (defined(MPL_HAVE_INITSHM) || defined(MPIDI_CH4_DIRECT_NETMOD))
#define MPIDI_BUFENLARGE_node_begin() MPIDU_Init_shm_init()
#define MPIDI_BUFENLARGE_node_end() MPIDU_Init_shm_finalize()
#else
#define MPIDI_BUFENLARGE_node_begin() MPI_SUCCESS
#define MPIDI_BUFENLARGE_node_end() MPI_SUCCESS
#endif

/* Since 4.3 the user may leave out MPICH's barrier between init_local and the first communicator. */
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
#define MPIDI_BUFENLARGE_BARRIER_LEFT_OUT MPIR_CVAR_INIT_SKIP_PMI_BARRIER
#else
#define MPIDI_BUFENLARGE_BARRIER_LEFT_OUT false
#endif

/* -- the standard ABI: a library of its own in 5.0, where the handles of programs are pointers -- */

/* The communicator that a program has bound a variable of MPI_T to; MPICH's own conversion is declared too late. */
static inline MPI_Comm MPIDI_BUFENLARGE_bound_comm(void *object)
{
#ifdef BUILD_MPI_ABI
    const ABI_Comm comm = *(ABI_Comm *) object;
    if (comm == ABI_COMM_WORLD)
        return MPI_COMM_WORLD;
    if (comm == ABI_COMM_SELF)
        return MPI_COMM_SELF;
    return comm == ABI_COMM_NULL ? MPI_COMM_NULL : ((MPIR_Comm *) comm)->handle;
#else
    return *(MPI_Comm *) object;
#endif
}

#endif /* BUFENLARGE_MPICH_H_INCLUDED */
