/* SPDX-License-Identifier: MIT */
/*
 * flood_mixed.c: a rank receives rounds= (4,000) messages of bytes= (1 KiB) through shared memory, and then starts as
 * many to a rank elsewhere, which takes some of them unexpected and has to be asked before the others (UNEXPECTED). So
 * requests that were of shared memory are those that ask. The answers have to go to the netmod, though MPICH looks in
 * the request where they belong to. For two nodes of two ranks, or what MPICH takes for that (setting mixed).
 */
#include <stdlib.h>

#include "support.h"

enum { NEAR_TAG = 1, FAR_TAG = 2, SIGNAL_TAG = 3, REPEATS = 3 };

static uint64_t key_of(int source, long number)
{
    return pattern_key(test_options.seed, source, 0, FAR_TAG, (uint64_t) number);
}

/* All at once, so that there are as many requests. */
static void receive_near(int source, MPI_Request *requests, unsigned char **data)
{
    const int count = (int) test_options.rounds, bytes = (int) test_options.bytes;
    for (int number = 0; number < count; number++) {
        data[number] = guarded_alloc(test_options.bytes);
        MPI_Irecv(data[number], bytes, MPI_BYTE, source, NEAR_TAG, MPI_COMM_WORLD, &requests[number]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, source, SIGNAL_TAG, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int number = 0; number < count; number++) {
        EXPECT_PATTERN("message of the same node", data[number], test_options.bytes, key_of(source, number));
        guarded_free(data[number]);
    }
}

static void send_near(int dest)
{
    MPI_Recv(NULL, 0, MPI_BYTE, dest, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long number = 0; number < test_options.rounds; number++) {
        unsigned char *data = pattern_alloc(test_options.bytes, key_of(test_rank, number));
        MPI_Send(data, (int) test_options.bytes, MPI_BYTE, dest, NEAR_TAG, MPI_COMM_WORLD);
        guarded_free(data);
    }
}

static void send_far(int dest, MPI_Request *requests, unsigned char **data)
{
    const int count = (int) test_options.rounds;
    for (int number = 0; number < count; number++) {
        int done;
        data[number] = pattern_alloc(test_options.bytes, key_of(test_rank, number));
        MPI_Isend(data[number], (int) test_options.bytes, MPI_BYTE, dest, FAR_TAG, MPI_COMM_WORLD, &requests[number]);
        MPI_Test(&requests[number], &done, MPI_STATUS_IGNORE);  /* what forbids more may come */
    }
    MPI_Send(NULL, 0, MPI_BYTE, dest, SIGNAL_TAG, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int number = 0; number < count; number++)
        guarded_free(data[number]);
}

static void receive_far(int source)
{
    MPI_Recv(NULL, 0, MPI_BYTE, source, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long number = 0; number < test_options.rounds; number++) {
        MPI_Status status;
        unsigned char *data = guarded_alloc(test_options.bytes);
        MPI_Recv(data, (int) test_options.bytes, MPI_BYTE, source, FAR_TAG, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, source, FAR_TAG, test_options.bytes);
        EXPECT_PATTERN("message from elsewhere", data, test_options.bytes, key_of(source, number));
        guarded_free(data);
    }
}

/* The first rank that does, or does not, share memory with rank 0. */
static int first_rank(int near)
{
    int shares = test_shares_memory(0), found = -1, *all = malloc((size_t) test_size * sizeof(int));
    if (all == NULL)
        FAIL("no memory");
    MPI_Allgather(&shares, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = test_size - 1; rank > 0; rank--)
        found = (all[rank] != 0) == near ? rank : found;
    free(all);
    if (found < 0)
        FAIL("no rank %s shared memory with rank 0", near ? "has" : "is without");
    return found;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1024, .rounds = 4000, .seed = 1 });
    const int near = first_rank(1), far = first_rank(0);
    MPI_Request *requests = calloc((size_t) test_options.rounds, sizeof(MPI_Request));
    unsigned char **data = calloc((size_t) test_options.rounds, sizeof(*data));
    if (requests == NULL || data == NULL)
        FAIL("no memory");
    for (int i = 0; i < REPEATS; i++) {
        if (test_rank == 0)
            receive_near(near, requests, data);
        else if (test_rank == near)
            send_near(0);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0)
            send_far(far, requests, data);
        else if (test_rank == far)
            receive_far(0);
    }
    free(requests);
    free(data);
    return test_end();
}
