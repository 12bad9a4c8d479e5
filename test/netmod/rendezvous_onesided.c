/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_onesided.c: put, get, accumulate and get_accumulate of megabytes, contiguous and in few large blocks at
 * origin, target and result, under each kind of synchronization, to a neighbor and to oneself. Several operations are
 * under way at once; sums show that each was done once.
 */
#include <stdlib.h>

#include "window_support.h"

enum { VALUES = 1 << 18, OPERATIONS = 4, TURNS = 5 };

typedef uint32_t value_t;

static int left, right;
static window_t window;

/* The types, each of VALUES values of which nothing else is read or written. */
enum shape { WHOLE, HALVES, ROWS, BACKWARD, SHAPES };

static MPI_Datatype make_type(enum shape shape)
{
    MPI_Datatype type;
    if (shape == WHOLE)
        MPI_Type_contiguous(VALUES, MPI_UINT32_T, &type);
    else if (shape == HALVES)
        MPI_Type_vector(2, VALUES / 2, VALUES / 2 + 1, MPI_UINT32_T, &type);
    else if (shape == ROWS)
        MPI_Type_vector(32, VALUES / 32, VALUES / 32 + 7, MPI_UINT32_T, &type);
    else
        MPI_Type_vector(16, VALUES / 16, -(VALUES / 16), MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
    return type;
}

static size_t place_of(enum shape shape, size_t i)
{
    switch (shape) {
        case WHOLE:
            return i;
        case HALVES:
            return i + i / (VALUES / 2);
        case ROWS:
            return i + i / (VALUES / 32) * 7;
        default:
            return (15 - i / (VALUES / 16)) * (VALUES / 16) + i % (VALUES / 16);
    }
}

/* The lower bound of a type, in values. */
static size_t origin_of(enum shape shape)
{
    return shape == BACKWARD ? 15 * (VALUES / 16) : 0;
}

enum { ROOM = VALUES + 32 * 7, GAP_VALUE = 0x33333333 };

static value_t value_at(int rank, int turn, size_t i)
{
    return (value_t) (rank * 1000003 + turn * 7919) + (value_t) i * 2654435761u;
}

static value_t *origin_alloc(enum shape shape, int turn)
{
    value_t *data = malloc(ROOM * sizeof(*data));
    for (size_t i = 0; i < ROOM; i++)
        data[i] = GAP_VALUE;
    for (size_t i = 0; i < VALUES; i++)
        data[place_of(shape, i)] = value_at(test_rank, turn, i);
    return data;
}

/* The operations, each to its own part of the target's window. */
typedef struct {
    enum shape origin, target;
    int turn, dest;
    value_t *out[OPERATIONS];
    value_t *back;
    MPI_Datatype origin_type, target_type;
} job_t;

static MPI_Aint place(const job_t *job, int part)
{
    return window_place(&window, job->dest,
                        ((size_t) part * ROOM + origin_of(job->target)) * sizeof(value_t));
}

static void issue(const job_t *job)
{
    const size_t first = origin_of(job->origin);
    MPI_Put(job->out[0] + first, 1, job->origin_type, job->dest, place(job, 0), 1, job->target_type, window.win);
    MPI_Accumulate(job->out[1] + first, 1, job->origin_type, job->dest, place(job, 1), 1, job->target_type, MPI_SUM,
                   window.win);
    MPI_Accumulate(job->out[2] + first, 1, job->origin_type, job->dest, place(job, 1), 1, job->target_type, MPI_SUM,
                   window.win);
    MPI_Get_accumulate(job->out[3] + first, 1, job->origin_type, job->back + first, 1, job->origin_type, job->dest,
                       place(job, 2), 1, job->target_type, MPI_SUM, window.win);
}

static void by_fence(const job_t *job)
{
    MPI_Win_fence(0, window.win);
    issue(job);
    MPI_Win_fence(0, window.win);
}

static void by_post_start(const job_t *job)
{
    MPI_Group world, origins, targets;
    const int from = job->dest == test_rank ? test_rank : left;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &from, &origins);
    MPI_Group_incl(world, 1, &job->dest, &targets);
    MPI_Win_post(origins, 0, window.win);
    MPI_Win_start(targets, 0, window.win);
    issue(job);
    MPI_Win_complete(window.win);
    MPI_Win_wait(window.win);
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void by_lock(const job_t *job)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, job->dest, 0, window.win);
    issue(job);
    MPI_Win_unlock(job->dest, window.win);
}

static void by_flush(const job_t *job)
{
    MPI_Win_lock_all(0, window.win);
    issue(job);
    MPI_Win_flush_local(job->dest, window.win);
    MPI_Win_flush(job->dest, window.win);
    MPI_Win_unlock_all(window.win);
}

static void by_request(const job_t *job)
{
    const size_t first = origin_of(job->origin);
    MPI_Request requests[4];
    MPI_Win_lock_all(0, window.win);
    MPI_Rput(job->out[0] + first, 1, job->origin_type, job->dest, place(job, 0), 1, job->target_type, window.win,
             &requests[0]);
    for (int i = 1; i < 3; i++)
        MPI_Raccumulate(job->out[i] + first, 1, job->origin_type, job->dest, place(job, 1), 1, job->target_type,
                        MPI_SUM, window.win, &requests[i]);
    MPI_Rget_accumulate(job->out[3] + first, 1, job->origin_type, job->back + first, 1, job->origin_type, job->dest,
                        place(job, 2), 1, job->target_type, MPI_SUM, window.win, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(window.win);
}

static void (*const ways[TURNS])(const job_t *) = { by_fence, by_post_start, by_lock, by_flush, by_request };

static void expect_part(const char *what, const value_t *memory, const job_t *job, const value_t line[2])
{
    for (size_t i = 0; i < VALUES; i++) {
        const size_t at = place_of(job->target, i);
        const value_t expected = line[0] + (value_t) i * 2654435761u * line[1];
        if (memory[at] != expected)
            FAIL("%s, shapes %d to %d, way %d: value %zu: expected %u, got %u", what, job->origin, job->target,
                 job->turn % TURNS, i, (unsigned) expected, (unsigned) memory[at]);
    }
    for (size_t i = 0; job->target == ROWS && i < 31; i++) {
        for (size_t j = 1; j < 8; j++)
            EXPECT_EQUAL(what, GAP_VALUE, memory[place_of(ROWS, (i + 1) * (VALUES / 32) - 1) + j]);
    }
}

/* What the window has now, where it had GAP_VALUE everywhere; then it has that again. */
static void check_window(const job_t *job, int source)
{
    const value_t *memory = (const value_t *) (const void *) window.memory;
    value_t base[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++)
        base[i] = value_at(source, job->turn + i, 0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, window.win);
    expect_part("put", memory, job, (const value_t[]) { base[0], 1 });
    expect_part("accumulate", memory + ROOM, job, (const value_t[]) { GAP_VALUE + base[1] + base[2], 2 });
    expect_part("get_accumulate", memory + 2 * ROOM, job, (const value_t[]) { GAP_VALUE + base[3], 1 });
    for (size_t i = 0; i < window.bytes; i++)
        window.memory[i] = WINDOW_FILLER;
    MPI_Win_unlock(test_rank, window.win);
}

/* Gets what the right neighbor put into its own window, into each shape. */
static void check_get(enum shape origin, enum shape target)
{
    value_t *memory = (value_t *) (void *) window.memory, *in = malloc(ROOM * sizeof(*in));
    MPI_Datatype origin_type = make_type(origin), target_type = make_type(target);
    for (size_t i = 0; i < VALUES; i++)
        memory[place_of(target, i)] = value_at(test_rank, 99, i);
    window_settle(&window);
    for (size_t i = 0; i < ROOM; i++)
        in[i] = GAP_VALUE;
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window.win);
    MPI_Get(in + origin_of(origin), 1, origin_type, right,
            window_place(&window, right, origin_of(target) * sizeof(value_t)), 1, target_type, window.win);
    MPI_Type_free(&origin_type);
    MPI_Type_free(&target_type);
    MPI_Win_unlock(right, window.win);
    for (size_t i = 0; i < VALUES; i++) {
        if (in[place_of(origin, i)] != value_at(right, 99, i))
            FAIL("get, shapes %d from %d: value %zu is wrong", origin, target, i);
    }
    for (size_t i = place_of(origin, VALUES - 1) + 1; origin == ROWS && i < ROOM; i++)
        EXPECT_EQUAL("behind what was got", GAP_VALUE, in[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < window.bytes; i++)
        window.memory[i] = WINDOW_FILLER;
    window_settle(&window);
    free(in);
}

static void check_operations(enum shape origin, enum shape target, int turn, int dest)
{
    job_t job = { .origin = origin, .target = target, .turn = turn, .dest = dest };
    job.origin_type = make_type(origin);
    job.target_type = make_type(target);
    for (int i = 0; i < OPERATIONS; i++)
        job.out[i] = origin_alloc(origin, turn + i);
    job.back = malloc(ROOM * sizeof(*job.back));
    ways[turn % TURNS](&job);
    for (size_t i = 0; i < VALUES; i++) {
        if (job.back[place_of(origin, i)] != GAP_VALUE)
            FAIL("result of get_accumulate: value %zu: expected %u, got %u", i, (unsigned) GAP_VALUE,
                 (unsigned) job.back[place_of(origin, i)]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_window(&job, dest == test_rank ? test_rank : left);
    window_settle(&window);
    MPI_Type_free(&job.origin_type);
    MPI_Type_free(&job.target_type);
    for (int i = 0; i < OPERATIONS; i++)
        free(job.out[i]);
    free(job.back);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    for (int flavor = 0; flavor < WINDOW_FLAVORS; flavor++) {
        window = window_open((enum window_flavor) flavor, 3 * ROOM * sizeof(value_t));
        for (int turn = 0; turn < SHAPES * SHAPES; turn++) {
            check_operations((enum shape) (turn / SHAPES), (enum shape) (turn % SHAPES), turn + flavor, right);
            check_get((enum shape) (turn / SHAPES), (enum shape) (turn % SHAPES));
        }
        check_operations(ROWS, HALVES, flavor, test_rank);
        window_close(&window);
    }
    return test_end();
}
