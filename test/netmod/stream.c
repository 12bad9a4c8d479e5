/* SPDX-License-Identifier: MIT */
/*
 * stream.c: much data in both directions between neighbours (rank ^ 1). bytes= is the largest message;
 * each round is a window of messages of random sizes, most of them large, and rounds go on until
 * every pair has moved rounds= MiB (both directions together). Checked: every byte, tag and size.
 */
#include <stdlib.h>

#include "support.h"

enum { WINDOW = 16 };

static size_t message_bytes(int source, uint64_t index)
{
    random_t random = { pattern_key(test_options.seed, source, 0, 0, index) };
    if (random_below(&random, 4) == 0)
        return random_size(&random, test_options.bytes);
    return test_options.bytes - random_below(&random, test_options.bytes / 8 + 1);
}

/* One window each way; returns the bytes moved. */
static size_t exchange_window(int peer, uint64_t first)
{
    MPI_Request requests[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];
    unsigned char *to[WINDOW], *from[WINDOW];
    size_t moved = 0;
    for (int i = 0; i < WINDOW; i++) {
        from[i] = guarded_alloc(test_options.bytes);
        MPI_Irecv(from[i], (int) test_options.bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < WINDOW; i++) {
        const uint64_t index = first + (uint64_t) i;
        const size_t bytes = message_bytes(test_rank, index);
        to[i] = pattern_alloc(bytes, pattern_key(test_options.seed, test_rank, peer, i, index));
        MPI_Isend(to[i], (int) bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[WINDOW + i]);
        moved += bytes;
    }
    MPI_Waitall(2 * WINDOW, requests, statuses);
    for (int i = 0; i < WINDOW; i++) {
        const uint64_t index = first + (uint64_t) i;
        const size_t bytes = message_bytes(peer, index);
        EXPECT_STATUS(&statuses[i], peer, i, bytes);
        EXPECT_PATTERN("message", from[i], bytes, pattern_key(test_options.seed, peer, test_rank, i, index));
        moved += bytes;
        guarded_free(from[i]);
        guarded_free(to[i]);
    }
    return moved;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 256 << 10, .rounds = 16, .seed = 1 });
    if (test_size % 2 != 0)
        FAIL("ranks: expected an even number, got %d", test_size);
    const size_t wanted = (size_t) test_options.rounds << 20;
    uint64_t index = 0;
    for (size_t moved = 0; moved < wanted; index += WINDOW)
        moved += exchange_window(test_rank ^ 1, index);
    return test_end();
}
