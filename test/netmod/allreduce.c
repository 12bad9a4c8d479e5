/* SPDX-License-Identifier: MIT */
/*
 * allreduce.c: allreduce of a vector that is short for the netmod, and of one that is just not. Checked: each sum. How
 * many messages they take, the summary tells: of 4 ranks, 2 each for a short one, and 4 for the other.
 */
#include <stdlib.h>

#include "support.h"

enum { ROUNDS = 200, SHORT = 8192 / sizeof(double) };

static void sum_up(double *mine, double *sums, int count, int round)
{
    const double ranks = test_size;
    for (int i = 0; i < count; i++)
        mine[i] = (double) (test_rank * ROUNDS + round + i);
    MPI_Allreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (sums[i] != ranks * (ranks - 1) / 2 * ROUNDS + ranks * (round + i))
            FAIL("round %d: element %d of %d is %g", round, i, count, sums[i]);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    double *mine = malloc((SHORT + 1) * sizeof(double)), *sums = malloc((SHORT + 1) * sizeof(double));
    for (int round = 0; round < ROUNDS; round++) {
        sum_up(mine, sums, SHORT, round);
        sum_up(mine, sums, SHORT + 1, round);
    }
    free(mine);
    free(sums);
    return test_end();
}
