/* SPDX-License-Identifier: MIT */
/*
 * flood_lost.c: each rank sends the last one messages of bytes= (1 KiB) until it takes no more unexpected (UNEXPECTED),
 * so that a message asks before it sends its data: rounds= (4,000) at most. It receives none of them, and dies. The
 * process manager leaves the others alone (run, case lost). Checked, with errors that return: within LIMIT seconds what
 * has asked ends with an error, a synchronous message, too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { FLOOD = 1, SYNCHRONOUS, READY, LIMIT = 10 };

static void die_later(void)
{
    for (int peer = 0; peer < test_size - 1; peer++)
        MPI_Recv(NULL, 0, MPI_INT, peer, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
}

/* Within half a second. */
static int ends_soon(MPI_Request * request)
{
    const double end = MPI_Wtime() + 0.5;
    int done = 0;
    while (!done && MPI_Wtime() < end)
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done;
}

static void survive(void)
{
    const int victim = test_size - 1;
    char *data = calloc(1, test_options.bytes);
    MPI_Request plain, synchronous;
    long count = 0;
    if (data == NULL)
        FAIL("no memory");
    do {
        MPI_Isend(data, (int) test_options.bytes, MPI_BYTE, victim, FLOOD, MPI_COMM_WORLD, &plain);
    } while (ends_soon(&plain) && ++count < test_options.rounds);
    if (count == 0 || count == test_options.rounds)
        FAIL("%ld messages were taken unexpected", count);
    MPI_Issend(data, (int) test_options.bytes, MPI_BYTE, victim, SYNCHRONOUS, MPI_COMM_WORLD, &synchronous);
    MPI_Send(NULL, 0, MPI_INT, victim, READY, MPI_COMM_WORLD);
    alarm(LIMIT);
    test_expect_class("one that has asked", MPIX_ERR_PROC_FAILED, MPI_Wait(&plain, MPI_STATUS_IGNORE));
    test_expect_class("a synchronous one", MPIX_ERR_PROC_FAILED, MPI_Wait(&synchronous, MPI_STATUS_IGNORE));
    free(data);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1024, .rounds = 4000 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == test_size - 1)
        die_later();
    survive();
    MPI_Finalize();
    if (test_rank == 1)
        puts(" No Errors");
    return 0;
}
