/* SPDX-License-Identifier: MIT */
/*
 * onesided_flood.c: each rank puts small data to all others, and gets small data from them, more often between two
 * flushes than it may have copies of: its memory does not grow beyond the bound, the data is right, and ranks that do
 * so to each other at once do not wait for each other for ever. The odd ranks sleep outside of MPI at first.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { BYTES = 200, PLACES = 500, SLEEP_US = 200000 };
/* COPIES_MAX and COPIES_OF_ONE of bufenlarge_rma_impl.h, and what else the process allocates meanwhile. */
static const size_t bound = (size_t) 4 << 20, bound_of_one = (size_t) 64 << 10, slack = (size_t) 1 << 20;

static unsigned char *memory;
static MPI_Win win;

static size_t used_bytes(void)
{
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static uint64_t key_of(int from, int to, int round, int place)
{
    return pattern_key(test_options.seed, from, to, place, (uint64_t) round);
}

static MPI_Aint place_of(int from, int place)
{
    return ((MPI_Aint) from * PLACES + place) * BYTES;
}

static void expect_bytes(const char *what, const unsigned char *data, uint64_t key)
{
    const size_t wrong = pattern_verify(data, BYTES, key);
    if (wrong < BYTES)
        FAIL("%s: byte %zu: expected 0x%02x, got 0x%02x", what, wrong, pattern_byte(key, wrong), data[wrong]);
}

/* All ranks in turn, so that each backlog is long. Returns the most memory that was in use. */
static size_t put_all(int round)
{
    const int count = (int) (test_options.bytes / BYTES);
    unsigned char data[BYTES];
    size_t most = 0;
    for (int i = 0; i < count; i++) {
        const int dest = (test_rank + 1 + i % (test_size - 1)) % test_size;
        const int place = i / (test_size - 1) % PLACES;
        pattern_fill(data, BYTES, key_of(test_rank, dest, round, place));
        MPI_Put(data, BYTES, MPI_BYTE, dest, place_of(test_rank, place), BYTES, MPI_BYTE, win);
        if (i % 64 == 0 && used_bytes() > most)
            most = used_bytes();
    }
    return most;
}

static void get_all(int round)
{
    unsigned char *in = malloc((size_t) PLACES * BYTES);
    for (int dest = 0; dest < test_size; dest++) {
        if (dest == test_rank)
            continue;
        for (int place = 0; place < PLACES; place++)
            MPI_Get(in + place * BYTES, BYTES, MPI_BYTE, dest, place_of(test_rank, place), BYTES, MPI_BYTE, win);
        MPI_Win_flush(dest, win);
        for (int place = 0; place < PLACES; place++)
            expect_bytes("what was put, from there", in + place * BYTES, key_of(test_rank, dest, round, place));
    }
    free(in);
}

static void check_memory(int round)
{
    for (int from = 0; from < test_size; from++) {
        for (int place = 0; from != test_rank && place < PLACES; place++)
            expect_bytes("what was put", memory + place_of(from, place), key_of(from, test_rank, round, place));
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 2, .seed = 1, .bytes = 12 << 20 });
    MPI_Win_allocate((MPI_Aint) test_size * PLACES * BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int round = 0; test_another_round(round); round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const size_t before = used_bytes();
        if (test_rank % 2 == 1)
            usleep(SLEEP_US);
        const size_t most = put_all(round), allowed = bound + (size_t) test_size * bound_of_one + slack;
        if (round > 0 && most > before + allowed)
            FAIL("memory grew by %zu bytes, allowed are %zu", most - before, allowed);
        MPI_Win_flush_all(win);
        get_all(round);
        MPI_Barrier(MPI_COMM_WORLD);
        check_memory(round);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return test_end();
}
