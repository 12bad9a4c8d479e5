/* SPDX-License-Identifier: MIT */
/*
 * deaths_later.c: the last rank dies, and collective operations that were begun without it end: nonblocking ones, and
 * such that are made of these. A process that has not taken part cannot be part of a result, so each ends with
 * MPIX_ERR_PROC_FAILED in every survivor, within LIMIT seconds (run, case lost).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "death_support.h"

enum { TAG = 5, WORDS = 30000, COMMS = 8 };

static MPI_Comm comms[COMMS], ring;
static int next_comm;
static int own[WORDS], result[WORDS];

/* Each operation has a communicator of its own. */
static MPI_Comm fresh(void)
{
    alarm(LIMIT);
    return comms[next_comm++];
}

static void expect_lost_later(const char *what, MPI_Request request)
{
    expect_failed(what, MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void reduce(int words)
{
    MPI_Request request;
    char what[64];
    snprintf(what, sizeof(what), "MPI_Iallreduce of %d", words);
    MPI_Iallreduce(own, result, words, MPI_INT, MPI_SUM, fresh(), &request);
    expect_lost_later(what, request);
}

static void act(void)
{
    MPI_Request request;
    reduce(1);
    reduce(WORDS);
    MPI_Ibarrier(fresh(), &request);
    expect_lost_later("MPI_Ibarrier", request);
    MPI_Ibcast(result, 1, MPI_INT, test_size - 1, fresh(), &request);
    expect_lost_later("MPI_Ibcast from the dead rank", request);
    MPI_Iallgather(own, 1, MPI_INT, result, 1, MPI_INT, fresh(), &request);
    expect_lost_later("MPI_Iallgather", request);
    alarm(LIMIT);
    const int error = MPI_Neighbor_alltoall(own, 1, MPI_INT, result, 1, MPI_INT, ring);
    if (test_rank == 0 || test_rank == test_size - 2)
        expect_failed("MPI_Neighbor_alltoall beside the dead rank", error);
}

int main(int argc, char **argv)
{
    int period = 1;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &period, 0, &ring);
    test_connect_all(TAG);
    if (test_rank == test_size - 1)
        raise(SIGKILL);
    act();
    return end_of_survivors();
}
