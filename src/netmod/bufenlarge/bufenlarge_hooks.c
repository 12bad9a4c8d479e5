/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_hooks.c: the functions that MPICH calls when it makes and frees objects. MPIDIG does
 * windows and partitioned communication, on active messages; the other functions are empty,
 * each for the reason given there.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_members.h"
#include "bufenlarge_memory.h"
#include "bufenlarge_mpich_inline.h"

/* -- communicators: MPICH's address tables have the processes; the netmod keeps which failures are acknowledged -- */

int MPIDI_BUFENLARGE_mpi_comm_commit_pre_hook(MPIR_Comm * comm)
{
    if (MPIDI_BUFENLARGE_comm_begins(comm)) {
        const int mpi_errno = MPIDI_BUFENLARGE_init_world();
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
    }
    MPIDI_COMM(comm, netmod.bufenlarge).consensus = NULL;
    MPIDI_COMM(comm, netmod.bufenlarge).acknowledged = 0;
    MPIDI_COMM(comm, netmod.bufenlarge).listed = false;
    MPIDI_COMM(comm, netmod.bufenlarge).repaired = MPIDI_BUFENLARGE_repaired;
    MPIDI_COMM(comm, netmod.bufenlarge).made_in = 0;
    MPIDI_BUFENLARGE_revoked_inherit(comm);
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_comm_commit_post_hook(MPIR_Comm * comm)
{
    MPIDI_BUFENLARGE_members_begin(comm);
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_comm_free_hook(MPIR_Comm * comm)
{
    MPIDI_BUFENLARGE_members_end(comm);
    MPIDI_BUFENLARGE_consensus_forget(comm);
    return MPI_SUCCESS;
}

/* This netmod acts on no hint. */
int MPIDI_BUFENLARGE_comm_set_hints(MPIR_Comm * comm, MPIR_Info * info)
{
    return MPI_SUCCESS;
}

/* -- operations and datatypes: MPICH itself computes and packs -- */

int MPIDI_BUFENLARGE_mpi_op_commit_hook(MPIR_Op * op_p)
{
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_op_free_hook(MPIR_Op * op_p)
{
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_type_commit_hook(MPIR_Datatype * datatype_p)
{
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_type_free_hook(MPIR_Datatype * datatype_p)
{
    return MPI_SUCCESS;
}

/* -- partitioned communication -- */

int MPIDI_BUFENLARGE_mpi_psend_init(const void *buf, int partitions, MPI_Aint count,
                                    MPI_Datatype datatype, int dest, int tag, MPIR_Comm * comm,
                                    MPIR_Info * info, MPIDI_av_entry_t * av,
                                    MPIR_Request ** request)
{
    return MPIDIG_mpi_psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request);
}

int MPIDI_BUFENLARGE_mpi_precv_init(void *buf, int partitions, MPI_Aint count,
                                    MPI_Datatype datatype, int source, int tag, MPIR_Comm * comm,
                                    MPIR_Info * info, MPIDI_av_entry_t * av,
                                    MPIR_Request ** request)
{
    return MPIDI_BUFENLARGE_mpidig_precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
}

/* -- windows -- */

int MPIDI_BUFENLARGE_mpi_win_create(void *base, MPI_Aint length, int disp_unit, MPIR_Info * info,
                                    MPIR_Comm * comm_ptr, MPIR_Win ** win_ptr)
{
    return MPIDIG_mpi_win_create(base, length, disp_unit, info, comm_ptr, win_ptr);
}

int MPIDI_BUFENLARGE_mpi_win_allocate(MPI_Aint length, int disp_unit, MPIR_Info * info,
                                      MPIR_Comm * comm_ptr, void *baseptr, MPIR_Win ** win_ptr)
{
    return MPIDIG_mpi_win_allocate(length, disp_unit, info, comm_ptr, baseptr, win_ptr);
}

int MPIDI_BUFENLARGE_mpi_win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info * info_ptr,
                                             MPIR_Comm * comm_ptr, void **base_ptr,
                                             MPIR_Win ** win_ptr)
{
    return MPIDIG_mpi_win_allocate_shared(size, disp_unit, info_ptr, comm_ptr, base_ptr, win_ptr);
}

int MPIDI_BUFENLARGE_mpi_win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win)
{
    return MPIDIG_mpi_win_create_dynamic(info, comm, win);
}

int MPIDI_BUFENLARGE_mpi_win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPIDIG_mpi_win_attach(win, base, size);
}

int MPIDI_BUFENLARGE_mpi_win_detach(MPIR_Win * win, const void *base)
{
    return MPIDIG_mpi_win_detach(win, base);
}

int MPIDI_BUFENLARGE_mpi_win_set_info(MPIR_Win * win, MPIR_Info * info)
{
    return MPIDIG_mpi_win_set_info(win, info);
}

int MPIDI_BUFENLARGE_mpi_win_get_info(MPIR_Win * win, MPIR_Info ** info_p_p)
{
    return MPIDIG_mpi_win_get_info(win, info_p_p);
}

int MPIDI_BUFENLARGE_mpi_win_free(MPIR_Win ** win_ptr)
{
    return MPIDIG_mpi_win_free(win_ptr);
}

/* All processes use one VCI for a window. MPICH may name one that does not exist, and one for each process where the
 * communicator has MPIX streams. */
static int begin_window(MPIR_Win * win)
{
    MPIDI_BUFENLARGE_window_one_vci(win);
    MPIDI_WIN(win, am_vci) %= MPIDI_global.n_vcis;
    MPIDI_WIN(win, netmod.bufenlarge).window = NULL;
    return MPI_SUCCESS;
}

/* Registers the window's memory, so that all processes can read and write it without the target's MPI. */
static int begin_registered_window(MPIR_Win * win)
{
    begin_window(win);
    return MPIDI_BUFENLARGE_window_create(win);
}

int MPIDI_BUFENLARGE_mpi_win_create_hook(MPIR_Win * win)
{
    return begin_registered_window(win);
}

/* The own part is memory that MPI has given out, and messages may go from there, too. */
int MPIDI_BUFENLARGE_mpi_win_allocate_hook(MPIR_Win * win)
{
    if (win->size > 0)
        MPIDI_BUFENLARGE_memory_keep(win->base, (size_t) win->size, 0);
    return begin_registered_window(win);
}

int MPIDI_BUFENLARGE_mpi_win_allocate_shared_hook(MPIR_Win * win)
{
    return begin_window(win);
}

int MPIDI_BUFENLARGE_mpi_win_create_dynamic_hook(MPIR_Win * win)
{
    return begin_window(win);
}

/* The memory of dynamic windows is not registered, so there is nothing to do when it comes and goes. */
int MPIDI_BUFENLARGE_mpi_win_attach_hook(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_win_detach_hook(MPIR_Win * win, const void *base)
{
    return MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_mpi_win_free_hook(MPIR_Win * win)
{
    MPIDI_BUFENLARGE_window_free(win);
    if (win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE && win->size > 0)
        MPIDI_BUFENLARGE_memory_release(win->base, (size_t) win->size, 0);
    return MPI_SUCCESS;
}
