/* SPDX-License-Identifier: MIT */
/*
 * sessions.c: mpiexec gives the processes of a node one session where there are more of them than processors, since
 * Linux may schedule by session and sched_yield(2) makes way within one only (MPICH patch 0009); otherwise each has its
 * own. In both cases each has a process group of its own, by which mpiexec ends it. All ranks are on one node.
 */
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

static int by_value(const void *a, const void *b)
{
    const long x = *(const long *) a, y = *(const long *) b;
    return (x > y) - (x < y);
}

/* How many different values the ranks have. */
static int count_different(long own)
{
    int different = 1;
    long *all = malloc((size_t) test_size * sizeof(*all));
    if (all == NULL)
        FAIL("no memory");
    MPI_Allgather(&own, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
    qsort(all, (size_t) test_size, sizeof(*all), by_value);
    for (int i = 1; i < test_size; i++)
        different += all[i] != all[i - 1];
    free(all);
    return different;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int sessions = count_different(getsid(0)), expected = test_size > processors ? 1 : test_size;
    if (sessions != expected)
        FAIL("%d ranks on %ld processors have %d sessions, not %d", test_size, processors, sessions, expected);
    const int groups = count_different(getpgrp());
    if (groups != test_size)
        FAIL("%d ranks have %d process groups", test_size, groups);
    return test_end();
}
