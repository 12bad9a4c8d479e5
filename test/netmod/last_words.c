/* SPDX-License-Identifier: MIT */
/*
 * last_words.c: the last rank has sent something, and waits for something, of each other rank when it dies. The process
 * manager leaves the others alone (run, case lost). Checked, with errors that return:
 *
 *   a small synchronous message of it that has arrived can still be received, when it is known to be dead
 *   a large one with gaps, matched by a receive from any source, ends with an error
 *   a large partitioned send to it, which it has begun to receive, ends with an error
 *
 * No step takes LIMIT seconds. Then the survivors agree, while a thread of each sends what another survivor receives
 * before it agrees.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "death_support.h"

enum { SMALL = 1, GAPS, PARTS, READY, LATE, BLOCKS = 5000, BYTES = 1000000, SHARED_BYTES = 200000 };

static char parts[BYTES];
static double gaps[16 * BLOCKS];

/* Which takes the data of a send before anybody receives it. */
static int by_shared_memory(void)
{
    const char *local = getenv("MPIR_CVAR_NOLOCAL");
    return local == NULL || strcmp(local, "1") != 0;
}

/* Of the partitioned sends. What is on its way to a dead process in shared memory keeps its cells, of which there are
 * 64: when the dead one has them all, nothing else goes through them. */
static int parts_bytes(void)
{
    return by_shared_memory() ? SHARED_BYTES : BYTES;
}

/* Eight of sixteen doubles: too small for a transfer of each block. */
static MPI_Datatype gapped(void)
{
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, 8, 16, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Each survivor's partitioned send waits for this process's receive, and this process makes no progress any more. */
static void die_later(void)
{
    MPI_Datatype type = gapped();
    MPI_Request requests[2], receives[64];
    for (int peer = 0; peer < test_size - 1; peer++) {
        MPI_Precv_init(parts, 1, parts_bytes(), MPI_CHAR, peer, PARTS, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[peer]);
        MPI_Start(&receives[peer]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int peer = 0; peer < test_size - 1; peer++) {
        MPI_Issend(&test_rank, 1, MPI_INT, peer, SMALL, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(gaps, 1, type, peer, GAPS, MPI_COMM_WORLD, &requests[1]);
        MPI_Send(NULL, 0, MPI_INT, peer, READY, MPI_COMM_WORLD);
    }
    usleep(300000);
    raise(SIGKILL);
}

static void survive(void)
{
    const int victim = test_size - 1;
    int word = 0;
    MPI_Datatype type = gapped();
    MPI_Request sent;
    MPI_Psend_init(parts, 1, parts_bytes(), MPI_CHAR, victim, PARTS, MPI_COMM_WORLD, MPI_INFO_NULL, &sent);
    MPI_Start(&sent);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, victim, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(100000); /* the dead rank makes no progress any more */
    MPI_Pready(0, sent);
    alarm(LIMIT);
    expect_failed("receive from any source", MPI_Recv(gaps, 1, type, MPI_ANY_SOURCE, GAPS, MPI_COMM_WORLD,
                                                      MPI_STATUS_IGNORE));
    const int error = MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || !by_shared_memory())
        expect_failed("partitioned send", error);
    MPI_Request_free(&sent);
    expect_failed("receive of what was not sent", MPI_Recv(&word, 1, MPI_INT, victim, LATE, MPI_COMM_WORLD,
                                                           MPI_STATUS_IGNORE));
    EXPECT_EQUAL("receive of what has arrived", MPI_SUCCESS,
                 MPI_Recv(&word, 1, MPI_INT, victim, SMALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT_EQUAL("word of the dead rank", victim, word);
    MPI_Type_free(&type);
}

static void *send_late(void *unused)
{
    usleep(200000);
    MPI_Send(&test_rank, 1, MPI_INT, (test_rank + 1) % (test_size - 1), LATE, MPI_COMM_WORLD);
    return unused;
}

/* The first survivor agrees at once, while its thread sends what the next one waits for before it agrees, and so on. */
static void agree(void)
{
    const int survivors = test_size - 1, before = (test_rank + survivors - 1) % survivors;
    int flag = 1, word = -1;
    pthread_t thread;
    alarm(LIMIT);
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    pthread_create(&thread, NULL, send_late, NULL);
    if (test_rank > 0)
        MPI_Recv(&word, 1, MPI_INT, before, LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("agreement", MPI_SUCCESS, MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    pthread_join(thread, NULL);
    if (test_rank == 0)
        MPI_Recv(&word, 1, MPI_INT, before, LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("word of the one before", before, word);
}

int main(int argc, char **argv)
{
    test_begin_threads(argc, argv, (test_options_t) { .rounds = 1 }, MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (test_rank == test_size - 1)
        die_later();
    survive();
    agree();
    return end_of_survivors();
}
