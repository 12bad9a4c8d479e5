/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_lost.c: the last rank dies in the middle of large messages; the process manager leaves the others alone
 * (run, case lost). rounds= is its role: 0 it sends, 1 it receives, 2 both, 3 it has sent and no rank has received
 * yet, 4 it aborts the job, which no rank may survive, 5 the others put into its window and get from it.
 * The survivors get an error from the call that waits; data that was complete before is right; each send that was begun
 * ends; and the survivors can exchange messages as before.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum role { SENDS, RECEIVES, BOTH, HAS_SENT, ABORTS, IS_TARGET };
enum { TAG = 71, DONE_TAG = 90, MESSAGES = 8, POLLS = 5 };

static int victim;
static enum role role;

static uint64_t key_of(int source, int dest, int i)
{
    return pattern_key(test_options.seed, source, dest, TAG, (uint64_t) i);
}

static void begin(int peer, unsigned char **out, unsigned char **in, MPI_Request *requests, int sends, int receives)
{
    const int bytes = (int) test_options.bytes;
    for (int i = 0; i < MESSAGES; i++) {
        requests[i] = requests[MESSAGES + i] = MPI_REQUEST_NULL;
        if (receives) {
            in[i] = guarded_alloc(test_options.bytes);
            MPI_Irecv(in[i], bytes, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD, &requests[i]);
        }
        if (sends) {
            out[i] = pattern_alloc(test_options.bytes, key_of(test_rank, peer, i));
            MPI_Isend(out[i], bytes, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
        }
    }
}

/* Called after a part of the messages with all others. */
static void die(void)
{
    unsigned char *out[MESSAGES], *in[MESSAGES];
    MPI_Request *requests = malloc(2 * MESSAGES * (size_t) test_size * sizeof(*requests));
    int index, done;
    for (int peer = 0; peer < victim; peer++)
        begin(peer, out, in, requests + 2 * MESSAGES * peer, role != RECEIVES, role == RECEIVES || role == BOTH);
    if (role == HAS_SENT) { /* the word is behind the messages */
        for (int peer = 0; peer < victim; peer++)
            MPI_Send(&victim, 1, MPI_INT, peer, DONE_TAG, MPI_COMM_WORLD);
    } else {
        MPI_Waitany(2 * MESSAGES * victim, requests, &index, MPI_STATUS_IGNORE);
        for (int i = 0; i < POLLS; i++)
            MPI_Testany(2 * MESSAGES * victim, requests, &index, &done, MPI_STATUS_IGNORE);
    }
    if (role == ABORTS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    raise(SIGKILL);
}

/* Returns the first error. */
static int one_round(const unsigned char *out, unsigned char *in, int bytes, MPI_Win win)
{
    int error = MPI_Put(out, bytes, MPI_BYTE, victim, 0, bytes, MPI_BYTE, win);
    if (error == MPI_SUCCESS)
        error = MPI_Accumulate(out, bytes, MPI_BYTE, victim, 0, bytes, MPI_BYTE, MPI_BXOR, win);
    if (error == MPI_SUCCESS)
        error = MPI_Get(in, bytes, MPI_BYTE, victim, 0, bytes, MPI_BYTE, win);
    return error == MPI_SUCCESS ? MPI_Win_flush(victim, win) : error;
}

/* Each process's window is as large as a message. The window is not freed: MPI_Win_free needs all processes, and one is
 * dead. */
static void put_and_get(void)
{
    const int bytes = (int) test_options.bytes;
    unsigned char *out = pattern_alloc(test_options.bytes, 1), *in = guarded_alloc(test_options.bytes), *memory;
    int flag = 0, error = MPI_SUCCESS;
    MPI_Win win;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    if (test_rank == victim) { /* the first round of operations of one of them is done */
        MPI_Recv(&flag, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < POLLS; i++)
            MPI_Iprobe(MPI_ANY_SOURCE, DONE_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    for (int i = 0; i < 100 * MESSAGES && error == MPI_SUCCESS; i++) {
        error = one_round(out, in, bytes, win);
        if (i == 0)
            MPI_Send(&victim, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD);
    }
    test_expect_class("error from a lost target", MPIX_ERR_PROC_FAILED, error);
    guarded_check(in);
    guarded_check(out);
}

/* Until the first error, which has to come. A receive without an error has all its data. */
static void await_error(MPI_Request *requests, unsigned char **in)
{
    int failed = 0;
    for (int i = 0; i < 2 * MESSAGES && !failed; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        const int error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        failed = error != MPI_SUCCESS;
        if (failed)
            test_expect_class("error from a lost process", MPIX_ERR_PROC_FAILED, error);
        if (!failed && i < MESSAGES)
            EXPECT_PATTERN("complete before the loss", in[i], test_options.bytes, key_of(victim, test_rank, i));
    }
    EXPECT_EQUAL("error from a lost process", 1, failed);
}

/* A send ends: its memory is the program's again. A receive that nothing had come for may stay. */
static void await_sends(MPI_Request *requests)
{
    for (int i = MESSAGES; i < 2 * MESSAGES; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

/* Messages that arrived before a receive asked for them: the receive ends with an error. */
static void receive_too_late(void)
{
    int word, flag = 0;
    unsigned char *in = guarded_alloc(test_options.bytes);
    MPI_Recv(&word, 1, MPI_INT, victim, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (MPI_Iprobe(victim, DONE_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        EXPECT_EQUAL("a word that was not sent", 0, flag);
    for (int i = 0; i < MESSAGES; i++)
        test_expect_class("a receive that is too late", MPIX_ERR_PROC_FAILED,
                          MPI_Recv(in, (int) test_options.bytes, MPI_BYTE, victim, TAG + i, MPI_COMM_WORLD,
                                   MPI_STATUS_IGNORE));
    guarded_free(in);
}

/* The survivors, with large messages, round their ring. */
static void check_others(void)
{
    const int right = (test_rank + 1) % victim, left = (test_rank + victim - 1) % victim;
    const int bytes = (int) test_options.bytes;
    unsigned char *out = pattern_alloc(test_options.bytes, key_of(test_rank, right, MESSAGES));
    unsigned char *in = guarded_alloc(test_options.bytes);
    MPI_Request requests[2];
    int error = MPI_Irecv(in, bytes, MPI_BYTE, left, DONE_TAG, MPI_COMM_WORLD, &requests[0]);
    error |= MPI_Isend(out, bytes, MPI_BYTE, right, DONE_TAG, MPI_COMM_WORLD, &requests[1]);
    error |= MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQUAL("error among the survivors", MPI_SUCCESS, error);
    EXPECT_PATTERN("among the survivors", in, test_options.bytes, key_of(left, test_rank, MESSAGES));
    guarded_free(in);
    guarded_free(out);
}

int main(int argc, char **argv)
{
    unsigned char *out[MESSAGES], *in[MESSAGES];
    MPI_Request requests[2 * MESSAGES];
    test_begin(argc, argv, (test_options_t) { .bytes = 16 << 20, .seed = 1 });
    if (test_size < 2)
        FAIL("ranks: expected at least 2, got %d", test_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    victim = test_size - 1;
    role = (enum role) test_options.rounds;
    if (role == IS_TARGET) {
        put_and_get();
    } else if (test_rank == victim) {
        die();
    } else if (role == HAS_SENT) {
        receive_too_late();
    } else {
        begin(victim, out, in, requests, role == RECEIVES || role == BOTH, role != RECEIVES);
        await_error(requests, in);
        await_sends(requests);
    }
    check_others();
    MPI_Finalize();
    if (test_rank == 0)
        printf(" No Errors\n");
    return 0;
}
