/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_shm_room.c: warns where MPICH's shared memory may not fit into /dev/shm. The system gives the memory of a
 * file there when it is first touched; where it has none left, the process ends with a bus error and no word.
 */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include <sys/statvfs.h>

void MPIDI_BUFENLARGE_shm_warn(void)
{
#ifndef MPIDI_CH4_DIRECT_NETMOD
    /* The cells of a process, once it has used them all. */
    const unsigned long long cells = (unsigned long long) MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS
        * (unsigned long long) MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE;
    struct statvfs room;
    if (MPIR_Process.local_size == 1 || MPIR_Process.local_rank != 0 || statvfs("/dev/shm", &room) != 0)
        return;
    const unsigned long long here = (unsigned long long) room.f_bavail * room.f_frsize;
    const unsigned long long most = (unsigned long long) MPIR_Process.local_size * cells;
    if (here >= most)
        return;
    char text[BUFENLARGE_MESSAGE_BYTES];
    snprintf(text, sizeof(text), "/dev/shm has %llu KiB left, and MPICH's shared memory for %d processes on a node "
             "takes up to %llu KiB there; a process that finds none left ends with a bus error (signal 7): make "
             "/dev/shm larger (docker run --shm-size) or set MPIR_CVAR_NOLOCAL=1", here >> 10,
             MPIR_Process.local_size, most >> 10);
    MPIDI_BUFENLARGE_warn(NULL, text);
#endif
}
