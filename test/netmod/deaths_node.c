/* SPDX-License-Identifier: MIT */
/*
 * deaths_node.c: the last rank dies, and the others go on with collective operations that MPICH does by flags in the
 * node's shared memory, as it does from the fifth call in a communicator on, with MPI_ERRORS_RETURN (run, case lost).
 * rounds= is what they do: 0 barriers, 1 sums for all, 2 sums for rank 0, 3 broadcasts, each until it is an error; and,
 * in steps of four, when the rank dies: when the flags have been used, before the first call, before the one that
 * prepares the flags. Who has the error revokes the communicator, and all go on without the dead rank in the same way.
 * No step takes LIMIT seconds.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "death_support.h"

enum operation { BARRIER, ALLREDUCE, REDUCE, BCAST, OPERATIONS };
enum { AFTER = 20, COUNT = 3 };

static const int calls_before[] = { 20, 0, 4 };
static enum operation operation;

static int collective(MPI_Comm comm, int size, int round)
{
    int in[COUNT], out[COUNT] = { 0 }, rank, error = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < COUNT; i++)
        in[i] = operation == BCAST && rank != 0 ? 0 : round + i;
    switch (operation) {
        case BARRIER:
            return MPI_Barrier(comm);
        case ALLREDUCE:
            error = MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
            break;
        case REDUCE:
            error = MPI_Reduce(in, out, COUNT, MPI_INT, MPI_SUM, 0, comm);
            break;
        case BCAST:
            error = MPI_Bcast(in, COUNT, MPI_INT, 0, comm);
            memcpy(out, in, sizeof(out));
            break;
        case OPERATIONS:
            break;
    }
    const bool has_result = error == MPI_SUCCESS && (rank == 0 || operation != REDUCE);
    for (int i = 0; has_result && i < COUNT; i++)
        EXPECT_EQUAL("result", (operation == BCAST ? 1 : size) * (round + i), out[i]);
    return error;
}

/* Rank 0 need not wait for the others in a broadcast, nor these for it in a reduction: an error may come late. */
static void until_error(MPI_Comm comm, int round)
{
    int error = MPI_SUCCESS;
    step("until there is an error");
    for (; error == MPI_SUCCESS; round++)
        error = collective(comm, test_size, round);
    expect_lost("the collective operation", comm, error);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, rest;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    const long moments = sizeof(calls_before) / sizeof(calls_before[0]);
    if (test_options.rounds < 0 || test_options.rounds >= OPERATIONS * moments)
        FAIL("rounds=%ld: allowed is rounds=0 to %ld", test_options.rounds, OPERATIONS * moments - 1);
    operation = (enum operation) (test_options.rounds % OPERATIONS);
    const int before = calls_before[test_options.rounds / OPERATIONS];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < before; round++)
        expect_well("before", collective(comm, test_size, round));
    if (test_rank == test_size - 1)
        raise(SIGKILL);
    until_error(comm, before);
    step("shrink");
    expect_well("shrink", MPIX_Comm_shrink(comm, &rest));
    step("without the dead rank");
    for (int round = 0; round < AFTER; round++)
        expect_well("after", collective(rest, test_size - 1, round));
    MPI_Comm_free(&rest);
    MPI_Comm_free(&comm);
    return end_of_survivors();
}
