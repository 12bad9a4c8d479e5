/* SPDX-License-Identifier: MIT */
/*
 * sleeps.c: a rank that waits in MPI sleeps, and a message wakes it (tcp); a rank that computes between its tests is
 * not put to sleep. The processor time of a wait of 0.4 s, and the time of round trips, tell.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"

static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Rank 0 lets rank 1 wait. */
static void wait_long(void)
{
    const struct timespec pause = { .tv_nsec = 400 * 1000 * 1000 };
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        nanosleep(&pause, NULL);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (test_rank == 1) {
        const double before = processor_seconds();
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (processor_seconds() - before > 0.1)
            FAIL("a wait of 0.4 s took %.3f s of processor time", processor_seconds() - before);
    }
}

/* Each message finds the other side asleep. If one did not wake it, a sleep of 1 ms would end the wait. */
static void wake_often(void)
{
    enum { ROUNDS = 200 };
    const struct timespec pause = { .tv_nsec = 100 * 1000 };
    double asleep = 0;
    for (int round = 0; round < ROUNDS && test_rank < 2; round++) {
        if (test_rank == 1) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            continue;
        }
        nanosleep(&pause, NULL);
        const double begin = MPI_Wtime();
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        asleep += MPI_Wtime() - begin > 0.9e-3;
    }
    if (asleep > ROUNDS / 2)
        FAIL("%.0f of %d messages did not wake their receiver", asleep, ROUNDS);
}

/* Rank 1 computes for 50 us between its tests. */
static void test_often(void)
{
    MPI_Request request;
    double longest = 0, total = 0;
    int done = 0, tests = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
        nanosleep(&pause, NULL);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else if (test_rank == 1) {
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        for (; !done; tests++) {
            for (const double end = MPI_Wtime() + 50e-6; MPI_Wtime() < end;)
                continue;
            const double begin = MPI_Wtime();
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            const double spent = MPI_Wtime() - begin;
            longest = spent > longest ? spent : longest;
            total += spent;
        }
        if (total > 0.4e-3 * tests)
            FAIL("%d calls of MPI_Test between computations took %.6f s, the longest %.6f", tests, total, longest);
    }
}

int main(int argc, char **argv)
{
    setenv("MPIR_CVAR_BUFENLARGE_SLEEP_AFTER", "20us", 1);
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    wait_long();
    wake_often();
    test_often();
    return test_end();
}
