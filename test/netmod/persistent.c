/* SPDX-License-Identifier: MIT */
/*
 * persistent.c: what MPI itself lets stay registered, without anybody who tells that memory is unmapped: the memory of
 * persistent and of partitioned requests, which are started again and again, and that of MPI_Alloc_mem. Each rank sends
 * to its right neighbor. Receives are started before or after the messages come, from one rank or from any, and may
 * have more room than there is data. Data that the program changes between two starts is the data that arrives.
 * Arguments: bytes, rounds, seed.
 */
#include <stdlib.h>

#include "support.h"

enum { TAG = 47, PARTS = 4 };

static int left, right;
static size_t bytes;

static uint64_t key_of(int from, const char *what, long round)
{
    return pattern_key(test_options.seed, from, (from + 1) % test_size, what[0], (uint64_t) round);
}

static void fill(unsigned char *out, const char *what, long round)
{
    pattern_fill(out, bytes, key_of(test_rank, what, round));
}

static void verify(const unsigned char *in, const char *what, long round)
{
    const uint64_t key = key_of(left, what, round);
    const size_t wrong = pattern_verify(in, bytes, key);
    if (wrong < bytes)
        FAIL("%s, round %ld: byte %zu: expected 0x%02x, got 0x%02x", what, round, wrong, pattern_byte(key, wrong),
             in[wrong]);
}

/* MPI_Startall with the receive first, or the receive when the message may have come. */
static void start(MPI_Request requests[2], long round)
{
    if (round % 2 == 0) {
        MPI_Startall(2, requests);
        return;
    }
    MPI_Start(&requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[0]);
}

static void by_persistent_requests(const char *what, int any_source, int synchronous)
{
    unsigned char *in = malloc(2 * bytes), *out = malloc(bytes);
    MPI_Request requests[2];
    const int source = any_source ? MPI_ANY_SOURCE : left;
    MPI_Recv_init(in, (int) (2 * bytes), MPI_BYTE, source, TAG, MPI_COMM_WORLD, &requests[0]);
    if (synchronous)
        MPI_Ssend_init(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Send_init(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    for (long round = 0; test_another_round(round); round++) {
        MPI_Status statuses[2];
        int got;
        fill(out, what, round);
        start(requests, round);
        MPI_Waitall(2, requests, statuses);
        MPI_Get_count(&statuses[0], MPI_BYTE, &got);
        EXPECT_EQUAL("bytes of a message", bytes, got);
        verify(in, what, round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(in);
    free(out);
}

static void by_partitioned_requests(const char *what)
{
    unsigned char *in = malloc(bytes), *out = malloc(bytes);
    const MPI_Count part = (MPI_Count) (bytes / PARTS);
    MPI_Request requests[2];
    MPI_Precv_init(in, PARTS, part, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out, PARTS, part, MPI_BYTE, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (long round = 0; test_another_round(round); round++) {
        fill(out, what, round);
        MPI_Startall(2, requests);
        for (int i = PARTS - 1; i >= 0; i--)
            MPI_Pready(i, requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        verify(in, what, round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(in);
    free(out);
}

static void in_memory_of_mpi(const char *what)
{
    unsigned char *in, *out;
    MPI_Alloc_mem((MPI_Aint) bytes, MPI_INFO_NULL, &in);
    MPI_Alloc_mem((MPI_Aint) bytes, MPI_INFO_NULL, &out);
    for (long round = 0; test_another_round(round); round++) {
        fill(out, what, round);
        MPI_Sendrecv(out, (int) bytes, MPI_BYTE, right, TAG, in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        verify(in, what, round);
    }
    MPI_Free_mem(in);
    MPI_Free_mem(out);
}

/* Requests that have nothing to keep, and some that the program frees while they are active. */
static void others(void)
{
    unsigned char *in = malloc(bytes), *out = malloc(bytes);
    MPI_Request requests[3];
    MPI_Recv_init(in, (int) bytes, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, (int) bytes, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &requests[1]);
    MPI_Send_init(out, (int) bytes, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &requests[2]);
    fill(out, "self", 0);
    MPI_Startall(3, requests);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    if (pattern_verify(in, bytes, key_of(test_rank, "self", 0)) < bytes)
        FAIL("the message to this process is wrong");
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    MPI_Recv_init(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    fill(out, "freed", 0);
    MPI_Startall(2, requests);
    MPI_Request_free(&requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    verify(in, "freed", 0);
    MPI_Request_free(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);        /* the right neighbor has what the freed request sent */
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1, .rounds = 500, .bytes = 65536 });
    bytes = test_options.bytes / PARTS * PARTS;
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    by_persistent_requests("persistent", 0, 0);
    by_persistent_requests("any source", 1, 0);
    by_persistent_requests("synchronous", 0, 1);
    by_partitioned_requests("Partitioned");
    in_memory_of_mpi("memory of MPI");
    others();
    return test_end();
}
