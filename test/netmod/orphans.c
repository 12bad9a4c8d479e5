/* SPDX-License-Identifier: MIT */
/*
 * orphans.c: a job starts another one, talks to it and disconnects; then the other one's processes die. With rounds=1
 * it is that other job. The first job, with MPI_ERRORS_ARE_FATAL, goes on in its own communicator as if nothing had
 * been, for a second. The process manager leaves it alone (run, case lost).
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "support.h"

enum { CHILDREN = 2, TAG = 3, LIMIT = 30 };

/* Each process with each of the other job. */
static void talk(MPI_Comm other)
{
    int count = 0, word = 0;
    MPI_Comm_remote_size(other, &count);
    for (int peer = 0; peer < count; peer++)
        MPI_Sendrecv(&test_rank, 1, MPI_INT, peer, TAG, &word, 1, MPI_INT, peer, TAG, other, MPI_STATUS_IGNORE);
    MPI_Barrier(other);
}

static void live(void)
{
    const double end = MPI_Wtime() + 1;
    int sum = 0, one = 1, more = 1;
    while (more) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQUAL("sum", test_size, sum);
        MPI_Barrier(MPI_COMM_WORLD);
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    /* To Hydra the children end well. */
    char *arguments[] = { "-c", "trap '' USR1; \"$0\" rounds=1; true", argv[0], NULL };
    MPI_Comm other;
    alarm(LIMIT);
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    if (test_options.rounds == 1)
        MPI_Comm_get_parent(&other);
    else
        MPI_Comm_spawn("bash", arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    talk(other);
    MPI_Comm_disconnect(&other);
    if (test_options.rounds == 1)
        raise(SIGKILL);
    live();
    return test_end();
}
