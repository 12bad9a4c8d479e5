/* SPDX-License-Identifier: MIT */
/*
 * growth.c: one channel in one direction carries messages that do not fit the small ring, all others
 * only tiny ones. They are below the size from which data is read without a copy, which no ring has to grow
 * for. Rank 0 sends to the last rank; the last rank replies to each with a tiny message. The program
 * itself only checks data; that nothing else grew is read from the summary (run, case growth).
 */
#include <stdlib.h>

#include "support.h"

enum { TINY_BYTES = 48, TINY_TAG = 3, LARGE_TAG = 4 };

/* Tiny messages between all pairs, so that every channel is connected. */
static void exchange_tiny(int round)
{
    for (int step = 1; step < test_size; step++) {
        int dest = (test_rank + step) % test_size;
        int source = (test_rank + test_size - step) % test_size;
        unsigned char out[TINY_BYTES];
        unsigned char *in = guarded_alloc(TINY_BYTES);
        pattern_fill(out, sizeof(out),
                     pattern_key(test_options.seed, test_rank, dest, TINY_TAG, (uint64_t) round));
        MPI_Sendrecv(out, TINY_BYTES, MPI_BYTE, dest, TINY_TAG, in, TINY_BYTES, MPI_BYTE, source,
                     TINY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_PATTERN("tiny message", in, TINY_BYTES,
                       pattern_key(test_options.seed, source, test_rank, TINY_TAG,
                                   (uint64_t) round));
        guarded_free(in);
    }
}

static void send_large(int round)
{
    int last = test_size - 1;
    size_t bytes = test_options.bytes;
    uint64_t key = pattern_key(test_options.seed, 0, last, LARGE_TAG, (uint64_t) round);
    int reply = round;
    if (test_rank == 0) {
        unsigned char *data = pattern_alloc(bytes, key);
        MPI_Send(data, (int) bytes, MPI_BYTE, last, LARGE_TAG, MPI_COMM_WORLD);
        MPI_Recv(&reply, 1, MPI_INT, last, LARGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("reply", round + 1, reply);
        guarded_free(data);
    } else if (test_rank == last) {
        unsigned char *data = guarded_alloc(bytes);
        MPI_Recv(data, (int) bytes, MPI_BYTE, 0, LARGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_PATTERN("large message", data, bytes, key);
        reply = round + 1;
        MPI_Send(&reply, 1, MPI_INT, 0, LARGE_TAG, MPI_COMM_WORLD);
        guarded_free(data);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 10000, .rounds = 82, .seed = 1 });
    if (test_size < 2)
        FAIL("ranks: expected at least 2, got %d", test_size);
    exchange_tiny(0);
    for (long round = 0; test_another_round(round); round++)
        send_large((int) round);
    exchange_tiny(1);
    return test_end();
}
