/* SPDX-License-Identifier: MIT */
/*
 * starve.c: small messages beside one very large one. Rank 0 sends bytes= (32 MiB) to rank 1, on
 * whose channels all ranks exchange numbered small messages at the same time. First the receiver
 * does not take the large message at all: the small ones have to get through regardless. Then it
 * takes it, and the small ones go on beside it. Checked: every byte, and that the numbers of each
 * pair of ranks come in order.
 */
#include <stdlib.h>

#include "support.h"

enum { LARGE_TAG = 1, SMALL_TAG = 2, BURST = 4, SMALL_BYTES_MAX = 2000 };

static uint64_t sequence; /* of the next small message; the same on all ranks */

static uint64_t large_key(long round)
{
    return pattern_key(test_options.seed, 0, 1, LARGE_TAG, (uint64_t) round);
}

/* Sizes follow from the number, so that an overtaking message is also one of a wrong size. */
static size_t small_bytes(uint64_t number)
{
    random_t random = { number };
    return sizeof(number) + random_size(&random, SMALL_BYTES_MAX - sizeof(number));
}

static uint64_t small_key(int source, int dest, uint64_t number)
{
    return pattern_key(test_options.seed, source, dest, SMALL_TAG, number);
}

/* BURST numbered messages from each rank to each other one, all with the same tag. */
static void exchange_small(void)
{
    int count = 0, most = 2 * BURST * test_size;
    MPI_Request *requests = malloc((size_t) most * sizeof(*requests));
    unsigned char **data = malloc((size_t) most * sizeof(*data));
    for (int i = 0; i < BURST; i++) {
        for (int peer = 0; peer < test_size; peer++) {
            uint64_t number = sequence + (uint64_t) i;
            int bytes = (int) small_bytes(number);
            if (peer == test_rank)
                continue;
            int receive = count++, send = count++;
            data[receive] = guarded_alloc(SMALL_BYTES_MAX);
            data[send] = pattern_alloc((size_t) bytes, small_key(test_rank, peer, number));
            MPI_Irecv(data[receive], SMALL_BYTES_MAX, MPI_BYTE, peer, SMALL_TAG, MPI_COMM_WORLD,
                      &requests[receive]);
            MPI_Isend(data[send], bytes, MPI_BYTE, peer, SMALL_TAG, MPI_COMM_WORLD,
                      &requests[send]);
        }
    }
    MPI_Status *statuses = malloc((size_t) most * sizeof(*statuses));
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++) { /* receives are the even ones, peers go up but for oneself */
        uint64_t number = sequence + (uint64_t) (i / (2 * (test_size - 1)));
        int peer = i / 2 % (test_size - 1);
        peer += peer >= test_rank;
        if (i % 2 == 0) {
            EXPECT_STATUS(&statuses[i], peer, SMALL_TAG, small_bytes(number));
            EXPECT_PATTERN("small message", data[i], small_bytes(number),
                           small_key(peer, test_rank, number));
        }
        guarded_free(data[i]);
    }
    sequence += BURST;
    free(statuses);
    free(requests);
    free(data);
}

static void check_round(long round, int exchanges)
{
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned char *data = NULL;
    size_t bytes = test_options.bytes;
    if (test_rank == 0) {
        data = pattern_alloc(bytes, large_key(round));
        MPI_Isend(data, (int) bytes, MPI_BYTE, 1, LARGE_TAG, MPI_COMM_WORLD, &request);
    }
    for (int i = 0; i < exchanges; i++) /* the large message has no receive yet */
        exchange_small();
    if (test_rank == 1) {
        data = guarded_alloc(bytes);
        MPI_Irecv(data, (int) bytes, MPI_BYTE, 0, LARGE_TAG, MPI_COMM_WORLD, &request);
    }
    for (int i = 0; i < exchanges; i++)
        exchange_small();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (test_rank == 1)
        EXPECT_PATTERN("large message", data, bytes, large_key(round));
    guarded_free(data);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 32 << 20, .rounds = 3, .seed = 1 });
    if (test_size < 2)
        FAIL("ranks: expected at least 2, got %d", test_size);
    for (long round = 0; test_another_round(round); round++)
        check_round(round, 20);
    return test_end();
}
