/* SPDX-License-Identifier: MIT */
/*
 * onesided_atomic.c: accumulate, get_accumulate, fetch_and_op and compare_and_swap. Concurrent
 * updates must neither be lost nor torn: counters that all ranks raise at once must give each
 * value out exactly once, and sums must hold every rank's share.
 */
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "window_support.h"

enum { RAISES = 40, TARGET = 0 };

static const size_t counts[] = { 1, 7, 56, 64, 1024, 9000, 512 * 1024 };

static uint64_t share_of(int rank, size_t i)
{
    return pattern_key(test_options.seed, rank, 0, 0, i);
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b;
}

static uint64_t exclusive_or(uint64_t a, uint64_t b)
{
    return a ^ b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

typedef struct {
    const char *name;
    MPI_Op op;
    uint64_t (*function)(uint64_t, uint64_t);
} operation_t;

static const operation_t operations[] = { { "sum", MPI_SUM, add },
                                          { "bxor", MPI_BXOR, exclusive_or },
                                          { "max", MPI_MAX, larger } };

/* Every rank accumulates its share into every rank's window; each holds the result of all. */
static void check_accumulate(const window_t *window, const operation_t *operation, size_t count)
{
    uint64_t *mine = malloc(count * sizeof(*mine)), *values = (void *) window->memory;
    for (size_t i = 0; i < count; i++)
        mine[i] = share_of(test_rank, i);
    memset(window->memory, 0, count * sizeof(*values));
    window_settle(window);
    MPI_Win_lock_all(0, window->win);
    for (int step = 0; step < test_size; step++) {
        int peer = (test_rank + step) % test_size;
        MPI_Accumulate(mine, (int) count, MPI_UINT64_T, peer, window_place(window, peer, 0),
                       (int) count, MPI_UINT64_T, operation->op, window->win);
    }
    MPI_Win_unlock_all(window->win);
    window_settle(window);
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        for (int rank = 0; rank < test_size; rank++)
            expected = operation->function(expected, share_of(rank, i));
        if (values[i] != expected)
            FAIL("accumulate %s: value %zu of %zu: expected %llx, got %llx", operation->name, i,
                 count, (unsigned long long) expected, (unsigned long long) values[i]);
    }
    window_settle(window);
    free(mine);
}

/* Rank after rank adds its share and gets what was there before; ranks take turns by a barrier,
 * so what must come is known. MPI_NO_OP reads, MPI_REPLACE writes. */
static void check_get_accumulate(const window_t *window, size_t count)
{
    uint64_t *mine = malloc(count * sizeof(*mine)), *before = malloc(count * sizeof(*before));
    for (size_t i = 0; i < count; i++)
        mine[i] = share_of(test_rank, i);
    memset(window->memory, 0, count * sizeof(*mine));
    window_settle(window);
    for (int turn = 0; turn < test_size; turn++) {
        MPI_Op op = turn == test_size - 1 ? MPI_REPLACE : MPI_SUM;
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window->win);
        if (turn == test_rank)
            MPI_Get_accumulate(mine, (int) count, MPI_UINT64_T, before, (int) count, MPI_UINT64_T,
                               TARGET, window_place(window, TARGET, 0), (int) count, MPI_UINT64_T,
                               op, window->win);
        MPI_Win_unlock(TARGET, window->win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        for (int rank = 0; rank < test_rank; rank++)
            expected += share_of(rank, i);
        EXPECT_EQUAL("get_accumulate: value before", expected, before[i]);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window->win);
    MPI_Get_accumulate(NULL, 0, MPI_UINT64_T, before, (int) count, MPI_UINT64_T, TARGET,
                       window_place(window, TARGET, 0), (int) count, MPI_UINT64_T, MPI_NO_OP,
                       window->win);
    MPI_Win_unlock(TARGET, window->win);
    for (size_t i = 0; i < count; i++)
        EXPECT_EQUAL("get_accumulate: replaced value", share_of(test_size - 1, i), before[i]);
    window_settle(window);
    free(mine);
    free(before);
}

/* ---- counters --------------------------------------------------------------------------------- */

static uint64_t raise_by_fetch_and_op(const window_t *window)
{
    uint64_t one = 1, before = 0;
    MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, TARGET, window_place(window, TARGET, 0),
                     MPI_SUM, window->win);
    MPI_Win_flush(TARGET, window->win);
    return before;
}

static uint64_t raise_by_get_accumulate(const window_t *window)
{
    uint64_t one = 1, before = 0;
    MPI_Request request;
    MPI_Rget_accumulate(&one, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, TARGET,
                        window_place(window, TARGET, 0), 1, MPI_UINT64_T, MPI_SUM, window->win,
                        &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return before;
}

static uint64_t raise_by_compare_and_swap(const window_t *window)
{
    uint64_t seen = 0, expected;
    do {
        expected = seen;
        uint64_t raised = expected + 1;
        MPI_Compare_and_swap(&raised, &expected, &seen, MPI_UINT64_T, TARGET,
                             window_place(window, TARGET, 0), window->win);
        MPI_Win_flush(TARGET, window->win);
    } while (seen != expected);
    return seen;
}

/* All ranks raise one counter at once; together they must have seen 0, 1, 2, ... once each. */
static void check_counter(const window_t *window, const char *name,
                          uint64_t (*raise_counter)(const window_t *))
{
    uint64_t mine[RAISES];
    size_t all = RAISES * (size_t) test_size;
    uint64_t *seen = malloc(all * sizeof(*seen));
    int *times = calloc(all, sizeof(*times));
    memset(window->memory, 0, sizeof(uint64_t));
    window_settle(window);
    MPI_Win_lock_all(0, window->win);
    for (int i = 0; i < RAISES; i++)
        mine[i] = raise_counter(window);
    MPI_Win_unlock_all(window->win);
    MPI_Allgather(mine, RAISES, MPI_UINT64_T, seen, RAISES, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t i = 0; i < all; i++) {
        if (seen[i] >= all || ++times[seen[i]] > 1)
            FAIL("%s: rank %zu got %llu of 0 to %zu, which is too large or was given before",
                 name, i / RAISES, (unsigned long long) seen[i], all - 1);
    }
    window_settle(window);
    free(seen);
    free(times);
}

/* ---- derived datatypes ------------------------------------------------------------------------ */

/* All ranks accumulate their share, laid out as `origins` elements of `origin`, onto `targets` elements of `target`; no
 * value beside these changes. Takes both layouts over. */
static void check_layouts(const char *what, const window_t *window, layout_t origin, int origins,
                          layout_t target, int targets)
{
    ptrdiff_t low, target_low;
    size_t count = origin.bytes * (size_t) origins / sizeof(uint64_t);
    size_t mine_bytes = layout_span(&origin, origins, &low);
    size_t all = layout_span(&target, targets, &target_low) / sizeof(uint64_t) + 1;
    all += (size_t) target_low / sizeof(uint64_t);
    mine_bytes += (size_t) low;
    uint64_t *shares = malloc(count * sizeof(*shares)), *sums = calloc(count, sizeof(*sums));
    uint64_t *expected = calloc(all, sizeof(*expected)), *values = (void *) window->memory;
    unsigned char *mine = malloc(mine_bytes);
    for (size_t i = 0; i < count; i++) {
        shares[i] = share_of(test_rank, i);
        for (int rank = 0; rank < test_size; rank++)
            sums[i] += share_of(rank, i);
    }
    memset(mine, 0xff, mine_bytes);
    layout_scatter(&origin, origins, mine, (void *) shares);
    layout_scatter(&target, targets, (void *) expected, (void *) sums);
    memset(window->memory, 0, all * sizeof(*values));
    window_settle(window);
    MPI_Win_fence(0, window->win);
    MPI_Accumulate(mine, origins, origin.type, TARGET, window_place(window, TARGET, 0), targets,
                   target.type, MPI_SUM, window->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
    for (size_t i = 0; test_rank == TARGET && i < all; i++)
        EXPECT_EQUAL(what, expected[i], values[i]);
    window_settle(window);
    free(mine);
    free(expected);
    free(sums);
    free(shares);
    layout_destroy(&origin);
    layout_destroy(&target);
}

/* Every other element of the origin onto every third of the target. */
static void check_strided(const window_t *window, int n)
{
    check_layouts("strided accumulate", window, layout_vector(layout_of_basic(MPI_UINT64_T), n, 1, 2),
                  1, layout_vector(layout_of_basic(MPI_UINT64_T), n, 1, 3), 1);
}

/* Onto `n` elements of three values without gaps, which begin `place` values behind their address. */
static void check_without_gaps(const window_t *window, int n, int place)
{
    const int length = 3;
    check_layouts("accumulate without gaps", window, layout_of_basic(MPI_UINT64_T), n * length,
                  layout_indexed(layout_of_basic(MPI_UINT64_T), 1, &length, &place), n);
}

static void check_flavor(enum window_flavor flavor)
{
    window_t window = window_open(flavor, test_options.bytes + 4096);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i] * sizeof(uint64_t) > test_options.bytes)
            break;
        for (size_t j = 0; j < sizeof(operations) / sizeof(operations[0]); j++)
            check_accumulate(&window, &operations[j], counts[i]);
        check_get_accumulate(&window, counts[i]);
    }
    check_counter(&window, "fetch_and_op", raise_by_fetch_and_op);
    check_counter(&window, "get_accumulate", raise_by_get_accumulate);
    check_counter(&window, "compare_and_swap", raise_by_compare_and_swap);
    for (int n = 1; 3 * (size_t) n * sizeof(uint64_t) <= test_options.bytes; n *= 20) {
        check_strided(&window, n);
        check_without_gaps(&window, n, 0);
        check_without_gaps(&window, n, 2);
    }
    window_close(&window);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 4 << 20, .seed = 1 });
    for (int flavor = 0; flavor < WINDOW_FLAVORS; flavor++)
        check_flavor((enum window_flavor) flavor);
    return test_end();
}
