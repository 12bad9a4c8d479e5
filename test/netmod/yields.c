/* SPDX-License-Identifier: MIT */
/*
 * yields.c: a rank that waits offers its processor to others, in programs with threads as well: MPICH itself does
 * not on Linux. The library's calls of sched_yield() come here and are counted while rank 0 lets the others wait.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static atomic_long yields;

int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return (int) syscall(SYS_sched_yield);
}

int main(int argc, char **argv)
{
    const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
    test_begin_threads(argc, argv, (test_options_t) { .seed = 1 }, MPI_THREAD_MULTIPLE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        nanosleep(&pause, NULL);
        for (int rank = 1; rank < test_size; rank++)
            MPI_Send(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
    } else {
        const long before = yields;
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (yields == before)
            FAIL("waited for 0.2 s without offering the processor once");
    }
    return test_end();
}
