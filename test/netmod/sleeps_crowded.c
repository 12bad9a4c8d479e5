/* SPDX-License-Identifier: MIT */
/*
 * sleeps_crowded.c: where a job has more ranks than processors, and others keep these, a rank that waits in MPI sleeps
 * by itself. Rank 0 waits for 0.5 s while all the others compute. A sleep is a voluntary context switch, a yield is
 * not.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

static long voluntary_switches(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
}

int main(int argc, char **argv)
{
    enum { SLEEPS_LEAST = 50 };
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    if (test_size <= sysconf(_SC_NPROCESSORS_ONLN) + 1)
        FAIL("%d ranks are too few for this machine", test_size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        const long before = voluntary_switches();
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const long sleeps = voluntary_switches() - before;
        if (sleeps < SLEEPS_LEAST)
            FAIL("%ld sleeps in a wait of 0.5 s, at least %d are expected", sleeps, (int) SLEEPS_LEAST);
    } else {
        for (const double end = MPI_Wtime() + 0.5; MPI_Wtime() < end;)
            continue;
        if (test_rank == 1)
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return test_end();
}
