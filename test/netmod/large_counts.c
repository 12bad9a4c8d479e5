/* SPDX-License-Identifier: MIT */
/*
 * large_counts.c: messages and one-sided operations of more bytes than an int counts, by the functions for large
 * counts. Two ranks, each with some 2 GiB. rounds=0 leaves one-sided operations out, for which MPICH 4.0 itself counts
 * by int.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MORE = 12345 };
static const MPI_Count bytes = (MPI_Count) INT_MAX + MORE;

/* Words that differ from place to place; the last bytes are those of a word cut off. */
static uint64_t word_at(size_t i, uint64_t key)
{
    return (i + key) * UINT64_C(0x9e3779b97f4a7c15);
}

static void fill(uint64_t * data, uint64_t key)
{
    for (size_t i = 0; i <= (size_t) bytes / sizeof(*data); i++)
        data[i] = word_at(i, key);
}

static void check(const char *what, const uint64_t * data, uint64_t key)
{
    const size_t whole = (size_t) bytes / sizeof(*data);
    for (size_t i = 0; i < whole; i++)
        if (data[i] != word_at(i, key))
            FAIL("%s: word %zu is %016llx, not %016llx", what, i, (unsigned long long) data[i],
                 (unsigned long long) word_at(i, key));
    if (memcmp(&data[whole], &(uint64_t) { word_at(whole, key) }, (size_t) bytes % sizeof(*data)) != 0)
        FAIL("%s: the last bytes are not those that were sent", what);
}

static void expect_count(MPI_Status * status)
{
    MPI_Count count = 0;
    MPI_Get_count_c(status, MPI_BYTE, &count);
    EXPECT_EQUAL("bytes of the message", bytes, count);
}

/* Rank 0 sends; rank 1 has posted its receive, or looks at the message first. */
static void message(uint64_t * data, bool posted, uint64_t key)
{
    MPI_Status status;
    MPI_Request request;
    if (test_rank == 0) {
        fill(data, key);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send_c(data, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        return;
    }
    if (posted)
        MPI_Irecv_c(data, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (posted) {
        MPI_Wait(&request, &status);
    } else {
        MPI_Probe(0, 3, MPI_COMM_WORLD, &status);
        expect_count(&status);
        MPI_Recv_c(data, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status);
    }
    expect_count(&status);
    check("message", data, key);
}

/* Rank 0 writes the window of rank 1, and reads it when that has changed it. */
static void window(uint64_t * data)
{
    MPI_Win win;
    MPI_Win_create(data, test_rank == 1 ? (MPI_Aint) bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (test_rank == 0)
        fill(data, 5);
    MPI_Win_fence(0, win);
    if (test_rank == 0)
        MPI_Put_c(data, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    if (test_rank == 1) {
        check("MPI_Put", data, 5);
        fill(data, 6);
    }
    MPI_Win_fence(0, win);
    if (test_rank == 0)
        MPI_Get_c(data, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    if (test_rank == 0)
        check("MPI_Get", data, 6);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 1, .seed = 1 });
    uint64_t *data = malloc((size_t) bytes + sizeof(*data));
    if (data == NULL)
        FAIL("no memory for %lld bytes", (long long) bytes);
    message(data, true, test_options.seed);
    message(data, false, test_options.seed + 1);
    if (test_options.rounds > 0)
        window(data);
    free(data);
    return test_end();
}
