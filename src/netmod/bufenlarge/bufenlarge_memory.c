/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_memory.c: memory that MPI itself has given out, so that its registrations may stay until MPI gets it back.
 * MPICH asks the netmod for memory of MPI_Alloc_mem, but for what is to be of a certain kind (mpich-patches, 0045).
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_memory.h"

/* What a context refuses is registered for each transfer. */
void MPIDI_BUFENLARGE_memory_keep(void *memory, size_t bytes, unsigned flags)
{
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(i);
        if (vci->context == NULL)
            continue;
        MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
        bufenlarge_context_keep_memory(vci->context, memory, bytes, flags);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
    }
}

void MPIDI_BUFENLARGE_memory_release(void *memory, size_t bytes, unsigned flags)
{
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(i);
        if (vci->context == NULL)
            continue;
        MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
        bufenlarge_context_release_memory(vci->context, memory, bytes, flags);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci->number));
    }
}

void *MPIDI_BUFENLARGE_mpi_alloc_mem(MPI_Aint size, MPIR_Info * info_ptr)
{
    void *memory = MPIDIG_mpi_alloc_mem(size, info_ptr);
    if (memory && size >= MPIDI_BUFENLARGE_global.rendezvous_min)
        MPIDI_BUFENLARGE_memory_keep(memory, (size_t) size, 0);
    return memory;
}

int MPIDI_BUFENLARGE_mpi_free_mem(void *ptr)
{
    MPIDI_BUFENLARGE_memory_release(ptr, 0, 0);   /* which knows it by its beginning, or does not know it */
    return MPIDIG_mpi_free_mem(ptr);
}
