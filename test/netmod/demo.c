/* SPDX-License-Identifier: MIT */
/*
 * demo.c: the quickstart's job. All pairs of ranks exchange small messages. Only rank 0 sends medium ones,
 * and only to rank 1; the last rank sends one large message to rank 0, whose data goes without a copy. With
 * MPIR_CVAR_BUFENLARGE_SUMMARY=1 the table at the end shows that the channel of the medium messages has grown,
 * in one direction, and no other, and that the large message took no part of a ring.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

enum { SMALL_BYTES_MAX = 256, SMALL_ROUNDS = 10, LARGE_BYTES = 16 << 20, SMALL_TAG = 1,
       MEDIUM_TAG = 2, LARGE_TAG = 3 };

static size_t small_bytes(int source, int dest, int round)
{
    random_t random = { pattern_key(test_options.seed, source, dest, SMALL_TAG, (uint64_t) round) };
    return 1 + (size_t) random_below(&random, SMALL_BYTES_MAX);
}

static uint64_t key_of(int source, int dest, int tag, int round)
{
    return pattern_key(test_options.seed, source, dest, tag, (uint64_t) round);
}

/* Every rank sends one small message to every other one and checks what it gets. */
static void exchange_small(int round)
{
    MPI_Request *requests = malloc(2 * (size_t) test_size * sizeof(*requests));
    unsigned char **incoming = calloc((size_t) test_size, sizeof(*incoming));
    unsigned char **outgoing = calloc((size_t) test_size, sizeof(*outgoing));
    int pending = 0;
    for (int peer = 0; peer < test_size; peer++) {
        if (peer == test_rank)
            continue;
        size_t in_bytes = small_bytes(peer, test_rank, round);
        size_t out_bytes = small_bytes(test_rank, peer, round);
        incoming[peer] = guarded_alloc(in_bytes);
        outgoing[peer] = pattern_alloc(out_bytes, key_of(test_rank, peer, SMALL_TAG, round));
        MPI_Irecv(incoming[peer], (int) in_bytes, MPI_BYTE, peer, SMALL_TAG, MPI_COMM_WORLD,
                  &requests[pending++]);
        MPI_Isend(outgoing[peer], (int) out_bytes, MPI_BYTE, peer, SMALL_TAG, MPI_COMM_WORLD,
                  &requests[pending++]);
    }
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < test_size; peer++) {
        if (peer != test_rank)
            EXPECT_PATTERN("small message", incoming[peer], small_bytes(peer, test_rank, round),
                           key_of(peer, test_rank, SMALL_TAG, round));
        guarded_free(incoming[peer]);
        guarded_free(outgoing[peer]);
    }
    free(requests);
    free(incoming);
    free(outgoing);
}

static void send_one(int source, int dest, int tag, size_t bytes, int round)
{
    uint64_t key = key_of(source, dest, tag, round);
    if (test_rank == source) {
        unsigned char *data = pattern_alloc(bytes, key);
        MPI_Send(data, (int) bytes, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
        guarded_free(data);
    } else if (test_rank == dest) {
        MPI_Status status;
        unsigned char *data = guarded_alloc(bytes);
        MPI_Recv(data, (int) bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, source, tag, bytes);
        EXPECT_PATTERN("message to one rank", data, bytes, key);
        guarded_free(data);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 10000, .rounds = 8, .seed = 1 });
    if (test_size < 2)
        FAIL("ranks: expected at least 2, got %d", test_size);
    for (int round = 0; round < SMALL_ROUNDS; round++)
        exchange_small(round);
    for (long round = 0; test_another_round(round); round++) {
        send_one(0, 1, MEDIUM_TAG, test_options.bytes, (int) round);
        exchange_small(SMALL_ROUNDS + (int) round);
    }
    send_one(test_size - 1, 0, LARGE_TAG, LARGE_BYTES, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        printf("%d ranks: each sent %ld messages of 1 to %d bytes to each other one;\n"
               "rank 0 sent %ld messages of %zu bytes to rank 1, rank %d sent one of %d bytes to rank 0.\n"
               "Every byte was checked.\n",
               test_size, SMALL_ROUNDS + test_options.rounds, SMALL_BYTES_MAX,
               test_options.rounds, test_options.bytes, test_size - 1, (int) LARGE_BYTES);
    return test_end();
}
