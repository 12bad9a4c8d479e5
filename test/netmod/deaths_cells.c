/* SPDX-License-Identifier: MIT */
/*
 * deaths_cells.c: all ranks but three are killed while they put messages into the shared memory of those three, as fast
 * as they can. The moment is drawn from the seed, and now and then it is in the midst of what a process does to a queue
 * of the node. The three go on: they receive what comes until all others are dead, then they send to each other, more
 * messages than a process has cells. No step takes LIMIT seconds. The process manager leaves the three alone (run, case
 * dying).
 */
#include <stdio.h>
#include <stdlib.h>

#include "death_support.h"

enum { SURVIVORS = 3, TAG = 5, LATEST_US = 200000, AFTERWARDS = 2000 };

static void send_until_killed(MPI_Comm comm)
{
    long word = test_rank;
    test_die_within(LATEST_US, test_options.seed * 31 + (uint64_t) test_rank);
    for (int to = 0;; to = (to + 1) % SURVIVORS)
        MPI_Send(&word, 1, MPI_LONG, to, TAG, comm);
}

static int receive_until_error(MPI_Comm comm)
{
    for (;;) {
        long word = -1;
        MPI_Status status;
        const int error = MPI_Recv(&word, 1, MPI_LONG, MPI_ANY_SOURCE, TAG, comm, &status);
        if (error != MPI_SUCCESS)
            return error;
        EXPECT_EQUAL("the sender's rank", status.MPI_SOURCE, word);
    }
}

static void receive_until_all_are_dead(MPI_Comm comm)
{
    for (int dead = 0; dead < test_size - SURVIVORS; dead = acknowledge(comm)) {
        step("receive from any source");
        expect_failed("receive from any source", receive_until_error(comm));
    }
}

static void exchange(MPI_Comm comm)
{
    const int to = (test_rank + 1) % SURVIVORS, from = (test_rank + SURVIVORS - 1) % SURVIVORS;
    step("exchange");
    for (int i = 0; i < AFTERWARDS; i++) {
        int out = test_rank * AFTERWARDS + i, in = -1;
        expect_well("exchange", MPI_Sendrecv(&out, 1, MPI_INT, to, TAG + 1, &in, 1, MPI_INT, from, TAG + 1, comm,
                                             MPI_STATUS_IGNORE));
        EXPECT_EQUAL("word of a survivor", from * AFTERWARDS + i, in);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    if (test_size <= SURVIVORS)
        FAIL("%d ranks: allowed are %d and more", test_size, SURVIVORS + 1);
    if (test_rank == 0)
        fprintf(stderr, "seed %llu: %d of %d ranks\n", (unsigned long long) test_options.seed, test_size - SURVIVORS,
                test_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    if (test_rank >= SURVIVORS)
        send_until_killed(comm);
    receive_until_all_are_dead(comm);
    exchange(comm);
    return end_of_survivors();
}
