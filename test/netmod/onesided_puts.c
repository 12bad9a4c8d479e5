/* SPDX-License-Identifier: MIT */
/*
 * onesided_puts.c: contiguous Put and Get of sizes around the limits between batches, messages, writes and reads: many
 * between two synchronizations, to all ranks, over two windows with parts and displacement units of their own, under
 * every synchronization; and what a flush means to a third process.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { ROOM = 600000, TAG_TELL = 5 };

static const int sizes[] = {
    1, 7, 8, 9, 100, 447, 448, 449, 488, 489, 1024, 4000, 6143, 6144, 8111, 8112, 8113, 8192, 12280, 12287, 12288,
    16383, 16384, 20000, 24576, 65520, 65528, 65536, 70001
};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

typedef struct {
    MPI_Win win;
    unsigned char *memory;
    int unit;
} part_t;

/* Ranks differ in their unit; of the second window the odd ranks have no part. */
static part_t windows[2];

static int unit_of(int rank)
{
    return rank % 3 == 0 ? 1 : rank % 3 == 1 ? 2 : 4;
}

static int has_part(int which, int rank)
{
    return which == 0 || rank % 2 == 0;
}

static void open_windows(void)
{
    for (int which = 0; which < 2; which++) {
        part_t *part = &windows[which];
        part->unit = unit_of(test_rank);
        part->memory = calloc(1, ROOM);
        MPI_Win_create(part->memory, has_part(which, test_rank) ? ROOM : 0, part->unit, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &part->win);
    }
}

static uint64_t key_of(int from, int to, int round, int index)
{
    return pattern_key(test_options.seed, from, to, index, (uint64_t) round);
}

/* One operation's place in the target's part: a multiple of every unit. */
static size_t place_of(int index)
{
    size_t place = 16;
    for (int i = 0; i < index; i++)
        place += ((size_t) sizes[i] + 8) / 4 * 4 + 4;
    return place;
}

static void expect_memory(const char *what, const part_t *part, size_t at, int bytes, uint64_t key)
{
    const size_t wrong = pattern_verify(part->memory + at, (size_t) bytes, key);
    if (wrong < (size_t) bytes)
        FAIL("%s: byte %zu of %d in the window: expected 0x%02x, got 0x%02x", what, wrong, bytes,
             pattern_byte(key, wrong), part->memory[at + wrong]);
}

/* -- under every synchronization -- */

enum mode { FENCE, PSCW, LOCK, FLUSH, FLUSH_LOCAL, REQUESTS, MODES };

static void begin(enum mode mode, int dest, int source, MPI_Win win)
{
    MPI_Group world, origins, targets;
    if (mode == FENCE)
        MPI_Win_fence(0, win);
    if (mode == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, dest, 0, win);
    if (mode == FLUSH || mode == FLUSH_LOCAL || mode == REQUESTS)
        MPI_Win_lock_all(0, win);
    if (mode != PSCW)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &source, &origins);
    MPI_Group_incl(world, 1, &dest, &targets);
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void end(enum mode mode, int dest, MPI_Win win)
{
    if (mode == FENCE)
        MPI_Win_fence(0, win);
    if (mode == LOCK)
        MPI_Win_unlock(dest, win);
    if (mode == FLUSH)
        MPI_Win_flush(dest, win);
    if (mode == FLUSH || mode == FLUSH_LOCAL || mode == REQUESTS)
        MPI_Win_unlock_all(win);
    if (mode == PSCW) {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
}

static void put_all(enum mode mode, unsigned char **data, int dest, MPI_Win win)
{
    MPI_Request requests[SIZES];
    for (int i = 0; i < SIZES; i++) {
        const MPI_Aint at = (MPI_Aint) place_of(i) / unit_of(dest);
        if (mode == REQUESTS)
            MPI_Rput(data[i], sizes[i], MPI_BYTE, dest, at, sizes[i], MPI_BYTE, win, &requests[i]);
        else
            MPI_Put(data[i], sizes[i], MPI_BYTE, dest, at, sizes[i], MPI_BYTE, win);
    }
    if (mode == REQUESTS)
        MPI_Waitall(SIZES, requests, MPI_STATUSES_IGNORE);
    if (mode == FLUSH_LOCAL)
        MPI_Win_flush_local(dest, win);
    for (int i = 0; i < SIZES && (mode == REQUESTS || mode == FLUSH_LOCAL); i++)
        memset(data[i], 0xee, (size_t) sizes[i]);       /* it is ours again */
}

static void get_all(enum mode mode, unsigned char **data, int dest, MPI_Win win)
{
    MPI_Request requests[SIZES];
    for (int i = 0; i < SIZES; i++) {
        const MPI_Aint at = (MPI_Aint) place_of(i) / unit_of(dest);
        if (mode == REQUESTS)
            MPI_Rget(data[i], sizes[i], MPI_BYTE, dest, at, sizes[i], MPI_BYTE, win, &requests[i]);
        else
            MPI_Get(data[i], sizes[i], MPI_BYTE, dest, at, sizes[i], MPI_BYTE, win);
    }
    if (mode == REQUESTS)
        MPI_Waitall(SIZES, requests, MPI_STATUSES_IGNORE);
    if (mode == FLUSH_LOCAL)
        MPI_Win_flush_local(dest, win);
}

static void check_mode(enum mode mode, int round)
{
    const int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    unsigned char *out[SIZES], *in[SIZES];
    MPI_Win win = windows[0].win;
    for (int i = 0; i < SIZES; i++) {
        out[i] = pattern_alloc((size_t) sizes[i], key_of(test_rank, right, round, i));
        in[i] = guarded_alloc((size_t) sizes[i]);
    }
    begin(mode, right, left, win);
    put_all(mode, out, right, win);
    end(mode, right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    for (int i = 0; i < SIZES; i++) {
        expect_memory("what was put", &windows[0], place_of(i), sizes[i], key_of(left, test_rank, round, i));
        EXPECT_EQUAL("byte behind it", 0, windows[0].memory[place_of(i) + (size_t) sizes[i]]);
    }
    MPI_Win_unlock(test_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    begin(mode, right, left, win);
    get_all(mode, in, right, win);
    if (mode == REQUESTS || mode == FLUSH_LOCAL)
        EXPECT_PATTERN("what was got, before the end", in[0], (size_t) sizes[0], key_of(test_rank, right, round, 0));
    end(mode, right, win);
    for (int i = 0; i < SIZES; i++) {
        EXPECT_PATTERN("what was got", in[i], (size_t) sizes[i], key_of(test_rank, right, round, i));
        guarded_free(in[i]);
        guarded_free(out[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- many, to all, over both windows -- */

static void check_many(int round)
{
    enum { MANY = 300, EACH = 40 };
    unsigned char *data = malloc(MANY * EACH);
    MPI_Win_lock_all(0, windows[0].win);
    MPI_Win_lock_all(0, windows[1].win);
    for (int i = 0; i < MANY; i++) {
        const int which = (i + test_rank) % 2, dest = i % test_size, bytes = 1 + i % EACH;
        const MPI_Aint at = (MPI_Aint) (test_rank * MANY + i) * EACH / unit_of(dest);
        if (!has_part(which, dest))
            continue;
        pattern_fill(data + i * EACH, (size_t) bytes, key_of(test_rank, dest, round, i));
        MPI_Put(data + i * EACH, bytes, MPI_BYTE, dest, at, bytes, MPI_BYTE, windows[which].win);
    }
    MPI_Win_flush_all(windows[0].win);
    MPI_Win_flush_all(windows[1].win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int from = 0; from < test_size; from++) {
        for (int i = 0; i < MANY; i++) {
            const int which = (i + from) % 2, bytes = 1 + i % EACH;
            if (i % test_size == test_rank && has_part(which, test_rank) && (from + 1) * MANY * EACH <= ROOM)
                expect_memory("one of many", &windows[which], (size_t) (from * MANY + i) * EACH, bytes,
                              key_of(from, test_rank, round, i));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(windows[1].win);
    MPI_Win_unlock_all(windows[0].win);
    memset(windows[0].memory, 0, ROOM);
    memset(windows[1].memory, 0, ROOM);
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- a third process: rank 0 puts to the last rank, flushes, and tells rank 1, which gets it -- */

static void check_third(int round, int bytes)
{
    const int target = test_size - 1;
    const uint64_t key = key_of(0, target, round, bytes);
    unsigned char *data = test_rank == 0 ? pattern_alloc((size_t) bytes, key) : guarded_alloc((size_t) bytes);
    MPI_Win_lock_all(0, windows[0].win);
    if (test_rank == 0) {
        MPI_Put(data, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, windows[0].win);
        MPI_Win_flush(target, windows[0].win);
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_TELL, MPI_COMM_WORLD);
    } else if (test_rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Get(data, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, windows[0].win);
        MPI_Win_flush(target, windows[0].win);
        EXPECT_PATTERN("what another has put", data, (size_t) bytes, key);
    }
    MPI_Win_unlock_all(windows[0].win);
    guarded_free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 3, .seed = 1 });
    open_windows();
    for (int round = 0; test_another_round(round); round++) {
        memset(windows[0].memory, 0, ROOM);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int mode = 0; mode < MODES; mode++)
            check_mode((enum mode) mode, round * MODES + mode);
        memset(windows[0].memory, 0, ROOM);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_size <= 32)
            check_many(round);
        for (int i = 0; i < SIZES && test_size > 2; i++)
            check_third(round, sizes[i]);
    }
    for (int which = 0; which < 2; which++) {
        MPI_Win_free(&windows[which].win);
        free(windows[which].memory);
    }
    return test_end();
}
