/* SPDX-License-Identifier: MIT */
/*
 * p2p_sizes.c: every size at which a transport may go wrong, blocking, in both directions.
 *
 * Two lists: single sizes around powers of two and around the slots' edges up to bytes=, and runs
 * of neighbouring sizes (all from 0 to 640, and below 2,048 and 8,192), which hit the edge of a
 * slot whatever the headers in it take. Pairs (0,1), (2,3), ... exchange with MPI_Send and
 * MPI_Recv; then all ranks pass the same size round the ring with MPI_Sendrecv.
 */
#include <stdlib.h>

#include "support.h"

enum { SIZES_MAX = 512, WINDOW = 32 };

static const size_t edges[] = { 72,   100,  256,   464,   488,   512,   2048,
                                8168, 8192, 8232, 16384, 65536, 69632, 131072 };

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *) a, y = *(const size_t *) b;
    return (x > y) - (x < y);
}

static int add_around(size_t *sizes, int count, size_t edge)
{
    for (size_t bytes = edge - 1; bytes <= edge + 1; bytes++) {
        if (bytes <= test_options.bytes)
            sizes[count++] = bytes;
    }
    return count;
}

static int list_sizes(size_t *sizes)
{
    int count = 0;
    for (size_t bytes = 0; bytes < 9 && bytes <= test_options.bytes; bytes++)
        sizes[count++] = bytes;
    for (size_t power = 16; power <= test_options.bytes; power *= 2)
        count = add_around(sizes, count, power);
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        count = add_around(sizes, count, edges[i]);
    qsort(sizes, (size_t) count, sizeof(*sizes), compare_sizes);
    int unique = 0;
    for (int i = 0; i < count; i++) {
        if (i == 0 || sizes[i] != sizes[i - 1])
            sizes[unique++] = sizes[i];
    }
    return unique;
}

static uint64_t key_of(int source, int dest, int tag)
{
    return pattern_key(test_options.seed, source, dest, tag, 0);
}

static void send_one(unsigned char *data, size_t bytes, int dest, int tag)
{
    pattern_fill(data, bytes, key_of(test_rank, dest, tag));
    MPI_Send(data, (int) bytes, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
}

static void receive_one(unsigned char *data, size_t bytes, int source, int tag)
{
    MPI_Status status;
    guarded_limit(data, bytes);
    MPI_Recv(data, (int) bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, source, tag, bytes);
    EXPECT_PATTERN("received", data, bytes, key_of(source, test_rank, tag));
}

static void exchange_in_pairs(unsigned char *out, unsigned char *in, size_t bytes, int tag)
{
    int peer = test_rank ^ 1;
    if (peer >= test_size)
        return;
    if (test_rank < peer) {
        send_one(out, bytes, peer, tag);
        receive_one(in, bytes, peer, tag);
    } else {
        receive_one(in, bytes, peer, tag);
        send_one(out, bytes, peer, tag);
    }
}

static void exchange_in_ring(unsigned char *out, unsigned char *in, size_t bytes, int tag)
{
    int dest = (test_rank + 1) % test_size;
    int source = (test_rank + test_size - 1) % test_size;
    MPI_Status status;
    pattern_fill(out, bytes, key_of(test_rank, dest, tag));
    guarded_limit(in, bytes);
    MPI_Sendrecv(out, (int) bytes, MPI_BYTE, dest, tag, in, (int) bytes, MPI_BYTE, source, tag,
                 MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, source, tag, bytes);
    EXPECT_PATTERN("received from the left", in, bytes, key_of(source, test_rank, tag));
}

/* WINDOW messages of neighbouring sizes at once to the right, and as many from the left. */
static void exchange_run(size_t bytes_first)
{
    int dest = (test_rank + 1) % test_size;
    int source = (test_rank + test_size - 1) % test_size;
    MPI_Request requests[2 * WINDOW];
    unsigned char *in[WINDOW], *out[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        size_t bytes = bytes_first + (size_t) i;
        in[i] = guarded_alloc(bytes);
        out[i] = pattern_alloc(bytes, key_of(test_rank, dest, (int) bytes));
        MPI_Irecv(in[i], (int) bytes, MPI_BYTE, source, (int) bytes, MPI_COMM_WORLD,
                  &requests[2 * i]);
        MPI_Isend(out[i], (int) bytes, MPI_BYTE, dest, (int) bytes, MPI_COMM_WORLD,
                  &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        size_t bytes = bytes_first + (size_t) i;
        EXPECT_PATTERN("one of a run", in[i], bytes, key_of(source, test_rank, (int) bytes));
        guarded_free(in[i]);
        guarded_free(out[i]);
    }
}

static void exchange_runs(size_t from, size_t to)
{
    for (size_t bytes = from; bytes < to && bytes + WINDOW <= test_options.bytes; bytes += WINDOW)
        exchange_run(bytes);
}

int main(int argc, char **argv)
{
    size_t sizes[SIZES_MAX];
    test_begin(argc, argv, (test_options_t) { .bytes = (size_t) 64 << 20, .seed = 1 });
    exchange_runs(0, 640);
    exchange_runs(2048 - 96, 2048 + WINDOW);
    exchange_runs(8192 - 96, 8256 + WINDOW);
    unsigned char *out = guarded_alloc(test_options.bytes);
    unsigned char *in = guarded_alloc(test_options.bytes);
    int count = list_sizes(sizes);
    for (int i = 0; i < count; i++) {
        exchange_in_pairs(out, in, sizes[i], 2 * i);
        exchange_in_ring(out, in, sizes[i], 2 * i + 1);
    }
    guarded_free(out);
    guarded_free(in);
    return test_end();
}
