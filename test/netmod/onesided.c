/* SPDX-License-Identifier: MIT */
/*
 * onesided.c: put and get under each kind of synchronization, on each flavor of window, of 1 B to
 * bytes= (4 MiB at most). Each rank writes to its right neighbor and reads from the rank on the
 * other side of the ring; both sides check every byte and what lies behind.
 */
#include <stdlib.h>

#include "layout.h"
#include "window_support.h"

static const size_t sizes[] = { 1, 7, 8, 64, 448, 512, 4096, 8192, 70000, 1 << 20, 4 << 20 };

/* The window: a place to be written by the left neighbor, then a pattern to be read. */
typedef struct {
    window_t window;
    size_t read_offset;
    int left, right, far_away; /* who reads from this rank is on the far side too */
    int reader;
    uint64_t turn; /* part of the key: no exchange can pass with the data of another */
} stage_t;

typedef struct {
    unsigned char *out, *in;
    size_t bytes;
} transfer_t;

static uint64_t key_of(const stage_t *stage, int source, int dest)
{
    return pattern_key(test_options.seed, source, dest, 1, stage->turn);
}

static uint64_t read_key(int owner)
{
    return pattern_key(test_options.seed, owner, 0, 2, 0);
}

static void put_right(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Put(transfer->out, (int) transfer->bytes, MPI_BYTE, stage->right,
            window_place(&stage->window, stage->right, 0), (int) transfer->bytes, MPI_BYTE,
            stage->window.win);
}

static void get_far(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Get(transfer->in, (int) transfer->bytes, MPI_BYTE, stage->far_away,
            window_place(&stage->window, stage->far_away, stage->read_offset),
            (int) transfer->bytes, MPI_BYTE, stage->window.win);
}

/* ---- the kinds of synchronization ------------------------------------------------------------- */

static void by_fence(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Win_fence(0, stage->window.win);
    put_right(stage, transfer);
    get_far(stage, transfer);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, stage->window.win);
}

static MPI_Group group_of_two(int a, int b)
{
    MPI_Group world, group;
    int ranks[2] = { a, b };
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, a == b ? 1 : 2, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void by_post_start(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Group origins = group_of_two(stage->left, stage->reader);
    MPI_Group targets = group_of_two(stage->right, stage->far_away);
    MPI_Win_post(origins, 0, stage->window.win);
    MPI_Win_start(targets, 0, stage->window.win);
    put_right(stage, transfer);
    get_far(stage, transfer);
    MPI_Win_complete(stage->window.win);
    MPI_Win_wait(stage->window.win);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void by_lock(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, stage->right, 0, stage->window.win);
    put_right(stage, transfer);
    MPI_Win_unlock(stage->right, stage->window.win);
    MPI_Win_lock(MPI_LOCK_SHARED, stage->far_away, 0, stage->window.win);
    get_far(stage, transfer);
    MPI_Win_unlock(stage->far_away, stage->window.win);
}

/* The flushed put is read back within the same epoch. */
static void by_flush(const stage_t *stage, const transfer_t *transfer)
{
    unsigned char *back = guarded_alloc(transfer->bytes);
    MPI_Win_lock_all(0, stage->window.win);
    put_right(stage, transfer);
    MPI_Win_flush(stage->right, stage->window.win);
    MPI_Get(back, (int) transfer->bytes, MPI_BYTE, stage->right,
            window_place(&stage->window, stage->right, 0), (int) transfer->bytes, MPI_BYTE,
            stage->window.win);
    get_far(stage, transfer);
    MPI_Win_flush_all(stage->window.win);
    EXPECT_PATTERN("read back after flush", back, transfer->bytes,
                   key_of(stage, test_rank, stage->right));
    MPI_Win_unlock_all(stage->window.win);
    guarded_free(back);
}

static void by_request(const stage_t *stage, const transfer_t *transfer)
{
    MPI_Request requests[2];
    int count = (int) transfer->bytes;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, stage->window.win);
    MPI_Rput(transfer->out, count, MPI_BYTE, stage->right,
             window_place(&stage->window, stage->right, 0), count, MPI_BYTE, stage->window.win,
             &requests[0]);
    MPI_Rget(transfer->in, count, MPI_BYTE, stage->far_away,
             window_place(&stage->window, stage->far_away, stage->read_offset), count, MPI_BYTE,
             stage->window.win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_PATTERN("rget, complete before the epoch ends", transfer->in, transfer->bytes,
                   read_key(stage->far_away));
    MPI_Win_unlock_all(stage->window.win);
}

static void (*const exchanges[])(const stage_t *, const transfer_t *) = { by_fence, by_post_start,
                                                                          by_lock, by_flush,
                                                                          by_request };
static const char *const exchange_names[] = { "fence", "post and start", "lock", "flush",
                                              "request" };

static void check_exchange(stage_t *stage, int how, size_t bytes)
{
    stage->turn++;
    uint64_t key = key_of(stage, test_rank, stage->right);
    transfer_t transfer = { pattern_alloc(bytes, key), guarded_alloc(bytes), bytes };
    exchanges[how](stage, &transfer);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_PATTERN(exchange_names[how], transfer.in, bytes, read_key(stage->far_away));
    window_expect(exchange_names[how], &stage->window, 0, bytes,
                  key_of(stage, stage->left, test_rank));
    window_settle(&stage->window);
    guarded_free(transfer.in);
    guarded_free(transfer.out);
}

/* ---- derived datatypes ------------------------------------------------------------------------ */

/* Written from one layout into another, and read back from there into a third. */
static void check_layouts(stage_t *stage, int n)
{
    const int sizes_of[] = { n / 16 + 3, 21 }, parts[] = { n / 16, 16 }, starts[] = { 2, 3 };
    stage->turn++;
    layout_t origin = layout_vector(layout_of_basic(MPI_INT), n, 1, 2);
    layout_t target = layout_subarray(layout_of_basic(MPI_INT), sizes_of, parts, starts);
    layout_t back = layout_hvector(layout_of_basic(MPI_INT), n / 8, 8, 37);
    ptrdiff_t low;
    size_t bytes = origin.bytes;
    unsigned char *out = guarded_alloc(layout_span(&origin, 1, &low));
    unsigned char *in = guarded_alloc(layout_span(&back, 1, &low));
    unsigned char *stream = pattern_alloc(bytes, key_of(stage, test_rank, stage->right));
    MPI_Aint place = window_place(&stage->window, stage->right, 0);
    layout_scatter(&origin, 1, out, stream);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, stage->right, 0, stage->window.win);
    MPI_Put(out, 1, origin.type, stage->right, place, 1, target.type, stage->window.win);
    MPI_Win_flush(stage->right, stage->window.win);
    MPI_Get(in, 1, back.type, stage->right, place, 1, target.type, stage->window.win);
    MPI_Win_unlock(stage->right, stage->window.win);
    layout_gather(&back, 1, in, stream);
    EXPECT_PATTERN("layouts, read back", stream, bytes, key_of(stage, test_rank, stage->right));
    window_settle(&stage->window);
    layout_gather(&target, 1, stage->window.memory, stream);
    EXPECT_PATTERN("layouts, in the window", stream, bytes, key_of(stage, stage->left, test_rank));
    /* The places between the subarray's rows must be the filler; so put it back and look. */
    for (size_t i = 0; i < bytes; i++)
        stream[i] = WINDOW_FILLER;
    layout_scatter(&target, 1, stage->window.memory, stream);
    for (size_t i = 0; i < (size_t) target.extent; i++)
        EXPECT_EQUAL("byte in a gap of the window", WINDOW_FILLER, stage->window.memory[i]);
    window_settle(&stage->window);
    guarded_free(out);
    guarded_free(in);
    guarded_free(stream);
    layout_destroy(&origin);
    layout_destroy(&target);
    layout_destroy(&back);
}

static void check_flavor(enum window_flavor flavor)
{
    stage_t stage = { .read_offset = 2 * test_options.bytes + 4096 };
    stage.left = (test_rank + test_size - 1) % test_size;
    stage.right = (test_rank + 1) % test_size;
    stage.far_away = (test_rank + test_size / 2) % test_size;
    stage.reader = (test_rank + test_size - test_size / 2) % test_size;
    stage.window = window_open(flavor, stage.read_offset + test_options.bytes);
    pattern_fill(stage.window.memory + stage.read_offset, test_options.bytes, read_key(test_rank));
    window_settle(&stage.window);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int how = 0; how < 5 && sizes[i] <= test_options.bytes; how++)
            check_exchange(&stage, how, sizes[i]);
    }
    for (int n = 64; (size_t) n * sizeof(int) <= test_options.bytes; n *= 16)
        check_layouts(&stage, n);
    window_close(&stage.window);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 4 << 20, .seed = 1 });
    for (int flavor = 0; flavor < WINDOW_FLAVORS; flavor++)
        check_flavor((enum window_flavor) flavor);
    return test_end();
}
