/* SPDX-License-Identifier: MIT */
/*
 * deaths.c: ranks die, and the process manager leaves the others alone (run, case lost). rounds= is the scene:
 *
 *   0 two ranks die one after the other, and each survivor waits for both
 *   1 receives, probes and sends after the loss: each fails at once, also the second time
 *   2 bystanders: a communicator without the dead rank, with MPI_ERRORS_ARE_FATAL, works on, also from any source
 *   3 a rank dies that nobody has spoken to, and MPI_Finalize ends
 *   4 sends that wait for an answer: synchronous, small and large, partitioned, and large ones that nobody receives
 *   5 a receive from any source, which concerns the dead rank
 *   6 windows: operations with requests, lock and flush with the dead rank; then a window without it
 *   7 acknowledge, revoke, shrink and agree; the coordinator, rank 0, dies in the first agreement
 *
 * The last rank dies, in 0 also the one before it, in 7 rank 0. Checked: the class of each error, that survivors can
 * exchange messages, that no step takes LIMIT seconds, MPI_Finalize too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "death_support.h"
#include "window_support.h"

enum scene { TWO, AGAIN, BYSTANDERS, UNKNOWN, SENDS, ANY, WINDOWS, REPAIR, SCENES };
enum { TAG = 5, LARGE = 1000000 };

static enum scene scene;
static int victims, survivors;
static char large[LARGE];

static int is_victim(int rank)
{
    return scene == REPAIR ? rank == 0 : rank >= test_size - victims;
}

/* All survivors, in a ring of messages and with a barrier of messages, so that no collective operation is needed. */
static void exchange(int tag)
{
    int from = 0;
    step("exchange");
    for (int peer = 0; peer < test_size; peer++) {
        if (is_victim(peer) || peer == test_rank)
            continue;
        EXPECT_EQUAL("exchange", MPI_SUCCESS,
                     MPI_Sendrecv(&test_rank, 1, MPI_INT, peer, tag, &from, 1, MPI_INT, peer, tag, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE));
        EXPECT_EQUAL("word of a survivor", peer, from);
    }
}

static void wait_for_both(void)
{
    MPI_Request requests[2], partitioned;
    int words[2];
    step("receives from two");
    MPI_Precv_init(large, 2, LARGE / 2, MPI_CHAR, test_size - 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &partitioned);
    MPI_Start(&partitioned);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, test_size - 1 - i, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        expect_failed("receive from a dead rank", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    expect_failed("partitioned receive", MPI_Wait(&partitioned, MPI_STATUS_IGNORE));
    MPI_Request_free(&partitioned);
}

static void again(void)
{
    const int victim = test_size - 1;
    int word = 0;
    for (int i = 0; i < 3; i++) {
        step("receive again");
        expect_failed("receive", MPI_Recv(&word, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        step("probe again");
        expect_failed("probe", MPI_Probe(victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        step("send again");
        expect_failed("send", MPI_Send(&word, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD));
        expect_failed("large send", MPI_Send(large, LARGE, MPI_CHAR, victim, TAG, MPI_COMM_WORLD));
        expect_failed("both", MPI_Sendrecv(&word, 1, MPI_INT, victim, TAG, &word, 1, MPI_INT, victim, TAG,
                                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void stand_by(MPI_Comm others)
{
    const double end = MPI_Wtime() + 1;
    int sum = 0, one = 1, more = 1, from = -1;
    MPI_Comm_set_errhandler(others, MPI_ERRORS_ARE_FATAL);
    step("bystanders");
    while (more) {
        MPI_Barrier(others);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
        EXPECT_EQUAL("sum", survivors, sum);
        MPI_Sendrecv(&test_rank, 1, MPI_INT, (test_rank + 1) % survivors, TAG, &from, 1, MPI_INT, MPI_ANY_SOURCE, TAG,
                     others, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("from any source", (test_rank + survivors - 1) % survivors, from);
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, others);
    }
}

static void wait_for_answers(void)
{
    const int victim = test_size - 1;
    MPI_Request requests[4];
    step("sends");
    MPI_Psend_init(large, 2, LARGE / 2, MPI_CHAR, victim, TAG + 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
    MPI_Start(&requests[3]);
    MPI_Pready(0, requests[3]);
    MPI_Issend(large, 1, MPI_CHAR, victim, TAG + 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(large, LARGE, MPI_CHAR, victim, TAG + 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(large, LARGE, MPI_CHAR, victim, TAG + 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(large, 1, MPI_CHAR, victim, TAG, MPI_COMM_WORLD); /* when it has one of all it dies */
    for (int i = 0; i < 4; i++)
        expect_failed("send without an answer", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

static void receive_from_any(void)
{
    int word = 0, flag = 0;
    MPI_Request request;
    step("any source");
    expect_failed("receive from any source",
                  MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
    step("any source, tested");
    int error = MPI_SUCCESS;
    while (!flag && error == MPI_SUCCESS)
        error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    expect_failed("test of a receive from any source", error);
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    step("any source, acknowledged");
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 1, MPI_COMM_WORLD, &request);
    MPI_Send(&test_rank, 1, MPI_INT, (test_rank + 1) % survivors, TAG + 1, MPI_COMM_WORLD);
    EXPECT_EQUAL("acknowledged", MPI_SUCCESS, MPI_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQUAL("word", (test_rank + survivors - 1) % survivors, word);
}

/* -- windows -- */

/* Operations whose requests wait for data, of the dead rank and of one that lives. */
static void wait_for_data(MPI_Win win)
{
    const int victim = test_size - 1, next = (test_rank + 1) % survivors;
    int one = 1, got[3], errors[3] = { MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS };
    MPI_Request requests[3];
    step("one-sided requests");
    while (errors[0] == MPI_SUCCESS || errors[1] == MPI_SUCCESS) {
        errors[0] = MPI_Rget(&got[0], 1, MPI_INT, victim, 0, 1, MPI_INT, win, &requests[0]);
        errors[1] = MPI_Rget_accumulate(&one, 1, MPI_INT, &got[1], 1, MPI_INT, victim, 0, 1, MPI_INT, MPI_SUM, win,
                                        &requests[1]);
        errors[2] = MPI_Rget(&got[2], 1, MPI_INT, next, 0, 1, MPI_INT, win, &requests[2]);
        for (int i = 0; i < 3; i++)
            errors[i] = errors[i] == MPI_SUCCESS ? MPI_Wait(&requests[i], MPI_STATUS_IGNORE) : errors[i];
        EXPECT_EQUAL("MPI_Rget of a survivor", MPI_SUCCESS, errors[2]);
    }
    expect_failed("MPI_Rget", errors[0]);
    expect_failed("MPI_Rget_accumulate", errors[1]);
}

static void use_windows(MPI_Comm others)
{
    const int victim = test_size - 1;
    int *memory, one = 1, got = 0;
    MPI_Win win, own, locked = window_open(WINDOW_CREATE, sizeof(int)).win; /* not shared within a node */
    MPI_Win_set_errhandler(locked, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, locked);
    for (int rank = 0; rank < test_size; rank++)
        EXPECT_EQUAL("flush", MPI_SUCCESS, MPI_Win_flush(rank, locked));
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == victim)
        raise(SIGKILL);
    wait_for_data(locked);
    step("lock");
    if (test_rank == 1) /* it knows before it locks */
        expect_failed("receive", MPI_Recv(&got, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    int error = MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win);
    if (error == MPI_SUCCESS) {
        error = MPI_Accumulate(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, MPI_SUM, win);
        while (error == MPI_SUCCESS)
            error = MPI_Win_flush(victim, win) | MPI_Get(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
    }
    expect_failed("lock and flush", error);
    step("a window without the dead rank");
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, others, &memory, &own);
    *memory = 0;
    MPI_Win_fence(0, own);
    for (int rank = 0; rank < survivors; rank++)
        MPI_Accumulate(&one, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, own);
    EXPECT_EQUAL("fence of the survivors", MPI_SUCCESS, MPI_Win_fence(0, own));
    EXPECT_EQUAL("sum in the window", survivors, *memory);
    MPI_Win_free(&own);
}

/* -- repair -- */

/* The last rank does it, while the others receive from it. */
static void revoke(MPI_Comm comm)
{
    int word = 0, class = MPI_SUCCESS;
    step("revoke");
    if (test_rank == test_size - 1) {
        MPIX_Comm_revoke(comm);
        return;
    }
    MPI_Error_class(MPI_Recv(&word, 1, MPI_INT, test_size - 1, TAG, comm, MPI_STATUS_IGNORE), &class);
    EXPECT_EQUAL("receive in a revoked communicator", MPIX_ERR_REVOKED, class);
}

static void repair(void)
{
    int flag = test_rank == 1 ? 0 : 7, size = 0, rank = 0, sum = 0, one = 1;
    MPI_Comm copy, shrunk;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        raise(SIGKILL);
    step("agree");
    expect_failed("agreement", MPIX_Comm_agree(copy, &flag));
    EXPECT_EQUAL("flag", 0, flag);
    EXPECT_EQUAL("acknowledged failures", 1, acknowledge(copy));
    step("agree again");
    flag = 3;
    EXPECT_EQUAL("agreement after acknowledgement", MPI_SUCCESS, MPIX_Comm_agree(copy, &flag));
    EXPECT_EQUAL("flag", 3, flag);
    revoke(copy);
    step("shrink");
    EXPECT_EQUAL("shrink", MPI_SUCCESS, MPIX_Comm_shrink(copy, &shrunk));
    MPI_Comm_size(shrunk, &size);
    MPI_Comm_rank(shrunk, &rank);
    EXPECT_EQUAL("size of what is left", test_size - 1, size);
    EXPECT_EQUAL("rank in it", test_rank - 1, rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk);
    EXPECT_EQUAL("sum", size, sum);
    MPI_Comm_free(&shrunk);
    MPI_Comm_free(&copy);
}

/* Every rank is connected to every other one, unless the scene is about one that is not. */
static void act(MPI_Comm others)
{
    if (scene != UNKNOWN)
        test_connect_all(TAG);
    if (scene == SENDS && is_victim(test_rank)) {
        for (int peer = 0; peer < survivors; peer++)
            MPI_Recv(large, 1, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (scene == TWO && test_rank == test_size - 2)
        usleep(300000);
    if (scene < WINDOWS && is_victim(test_rank))
        raise(SIGKILL);
    switch (scene) {
        case TWO: wait_for_both(); break;
        case AGAIN: again(); break;
        case BYSTANDERS: stand_by(others); break;
        case SENDS: wait_for_answers(); break;
        case ANY: receive_from_any(); break;
        case WINDOWS: use_windows(others); break;
        case REPAIR: repair(); break;
        default: usleep(500000); break;
    }
    exchange(TAG + 20);
}

int main(int argc, char **argv)
{
    MPI_Comm others;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    scene = (enum scene) test_options.rounds;
    if (test_options.rounds >= SCENES || test_size < 4)
        FAIL("rounds=%ld with %d ranks: allowed is rounds=0 to %d with 4 or more", test_options.rounds, test_size,
             SCENES - 1);
    victims = scene == TWO ? 2 : 1;
    survivors = test_size - victims;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    others = MPI_COMM_NULL;
    if (scene == BYSTANDERS || scene == WINDOWS)
        MPI_Comm_split(MPI_COMM_WORLD, is_victim(test_rank), test_rank, &others);
    act(others);
    return end_of_survivors();
}
