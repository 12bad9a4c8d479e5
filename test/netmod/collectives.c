/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: the collectives with equal counts, blocking and nonblocking, over several
 * communicators, with counts from 0 to bytes= / 8 (100,000 at most), against values worked out
 * locally. The user's operation does not commute, so the order of the ranks is checked too.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectives_support.h"

/* ---- moving data ------------------------------------------------------------------------------ */

static void check_bcast(const scene_t *scene)
{
    size_t count = (size_t) scene->count;
    uint64_t *values = scene->rank == scene->root ? values_alloc(scene->root, 0, count)
                                                  : values_room(count);
    RUN(scene, Bcast, Ibcast, values, scene->count, MPI_UINT64_T, scene->root, scene->comm);
    expect_values("bcast", values, scene->root, 0, count);
    values_free(values);
}

/* In place at the root in every other scene. */
static void check_gather(const scene_t *scene, int in_place)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    int is_root = scene->rank == scene->root;
    uint64_t *mine = values_alloc(scene->rank, 0, count);
    uint64_t *room = is_root ? values_room(all) : NULL;
    for (size_t i = 0; is_root && i < count; i++)
        room[(size_t) scene->rank * count + i] = in_place ? mine[i] : 0;
    const void *send = in_place && is_root ? MPI_IN_PLACE : mine;
    RUN(scene, Gather, Igather, send, scene->count, MPI_UINT64_T, room, scene->count,
        MPI_UINT64_T, scene->root, scene->comm);
    for (int peer = 0; is_root && peer < scene->size; peer++)
        expect_values("gather", room + (size_t) peer * count, peer, 0, count);
    values_free(room);
    values_free(mine);
}

static void check_scatter(const scene_t *scene)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    uint64_t *send = scene->rank == scene->root ? values_alloc(scene->root, 0, all) : NULL;
    uint64_t *room = values_room(count);
    RUN(scene, Scatter, Iscatter, send, scene->count, MPI_UINT64_T, room, scene->count,
        MPI_UINT64_T, scene->root, scene->comm);
    expect_values("scatter", room, scene->root, (size_t) scene->rank * count, count);
    values_free(send);
    values_free(room);
}

static void check_allgather(const scene_t *scene)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    uint64_t *mine = values_alloc(scene->rank, 0, count), *room = values_room(all);
    RUN(scene, Allgather, Iallgather, mine, scene->count, MPI_UINT64_T, room, scene->count,
        MPI_UINT64_T, scene->comm);
    for (int peer = 0; peer < scene->size; peer++)
        expect_values("allgather", room + (size_t) peer * count, peer, 0, count);
    values_free(mine);
    values_free(room);
}

static void check_alltoall(const scene_t *scene)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    uint64_t *send = values_alloc(scene->rank, 0, all), *room = values_room(all);
    RUN(scene, Alltoall, Ialltoall, send, scene->count, MPI_UINT64_T, room, scene->count,
        MPI_UINT64_T, scene->comm);
    for (int peer = 0; peer < scene->size; peer++)
        expect_values("alltoall", room + (size_t) peer * count, peer,
                      (size_t) scene->rank * count, count);
    RUN(scene, Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, scene->count,
        MPI_UINT64_T, scene->comm);
    for (int peer = 0; peer < scene->size; peer++)
        expect_values("alltoall in place", send + (size_t) peer * count, peer,
                      (size_t) scene->rank * count, count);
    values_free(send);
    values_free(room);
}

/* ---- reducing --------------------------------------------------------------------------------- */

/* Affine maps x -> a * x + b modulo 2^32, a in the upper half of a value and b in the lower; to
 * apply one after the other is associative and does not commute. */
static uint64_t compose(uint64_t first, uint64_t second)
{
    uint32_t a = (uint32_t) (first >> 32), b = (uint32_t) first;
    uint32_t c = (uint32_t) (second >> 32), d = (uint32_t) second;
    return (uint64_t) (uint32_t) (a * c) << 32 | (uint32_t) (c * b + d);
}

static void compose_op(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    const uint64_t *first = in;
    uint64_t *second = inout;
    for (int i = 0; i < *count; i++)
        second[i] = compose(first[i], second[i]);
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

static operation_t operations[] = { { "sum", MPI_SUM, add },
                                    { "bxor", MPI_BXOR, exclusive_or },
                                    { "max", MPI_MAX, larger },
                                    { "compose", MPI_OP_NULL, compose } };

/* Element i reduced over ranks 0 .. ranks - 1, in this order. */
static void expect_reduced(const operation_t *operation, const uint64_t *values, size_t first,
                           size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = value_of(0, first + i);
        for (int rank = 1; rank < ranks; rank++)
            expected = operation->function(expected, value_of(rank, first + i));
        if (values[i] != expected)
            FAIL("%s over %d ranks: value %zu: expected %llx, got %llx", operation->name, ranks,
                 first + i, (unsigned long long) expected, (unsigned long long) values[i]);
    }
}

static void check_reduce(const scene_t *scene, const operation_t *operation)
{
    size_t count = (size_t) scene->count;
    uint64_t *mine = values_alloc(scene->rank, 0, count), *room = values_room(count);
    RUN(scene, Reduce, Ireduce, mine, room, scene->count, MPI_UINT64_T, operation->op,
        scene->root, scene->comm);
    if (scene->rank == scene->root)
        expect_reduced(operation, room, 0, count, scene->size);
    RUN(scene, Allreduce, Iallreduce, mine, room, scene->count, MPI_UINT64_T, operation->op,
        scene->comm);
    expect_reduced(operation, room, 0, count, scene->size);
    RUN(scene, Scan, Iscan, mine, room, scene->count, MPI_UINT64_T, operation->op, scene->comm);
    expect_reduced(operation, room, 0, count, scene->rank + 1);
    RUN(scene, Exscan, Iexscan, mine, room, scene->count, MPI_UINT64_T, operation->op,
        scene->comm);
    if (scene->rank > 0)
        expect_reduced(operation, room, 0, count, scene->rank);
    RUN(scene, Allreduce, Iallreduce, MPI_IN_PLACE, mine, scene->count, MPI_UINT64_T,
        operation->op, scene->comm);
    expect_reduced(operation, mine, 0, count, scene->size);
    values_free(mine);
    values_free(room);
}

/* Blocks of equal size, and of sizes that differ with one of them empty. */
static void check_reduce_scatter(const scene_t *scene, const operation_t *operation)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    uint64_t *mine = values_alloc(scene->rank, 0, all), *room = values_room(all);
    int *counts = malloc((size_t) scene->size * sizeof(*counts));
    RUN(scene, Reduce_scatter_block, Ireduce_scatter_block, mine, room, scene->count,
        MPI_UINT64_T, operation->op, scene->comm);
    expect_reduced(operation, room, (size_t) scene->rank * count, count, scene->size);
    size_t before = 0;
    for (int peer = 0; peer < scene->size; peer++) {
        counts[peer] = scene->count * peer / scene->size;
        before += peer < scene->rank ? (size_t) counts[peer] : 0;
    }
    RUN(scene, Reduce_scatter, Ireduce_scatter, mine, room, counts, MPI_UINT64_T, operation->op,
        scene->comm);
    expect_reduced(operation, room, before, (size_t) counts[scene->rank], scene->size);
    values_free(mine);
    values_free(room);
    free(counts);
}

/* ---- together --------------------------------------------------------------------------------- */

/* Three nonblocking collectives of one communicator under way at once. */
static void check_overlapping(const scene_t *scene)
{
    size_t count = (size_t) scene->count, all = count * (size_t) scene->size;
    MPI_Request requests[3];
    uint64_t *mine = values_alloc(scene->rank, 0, all), *sum = values_room(count);
    uint64_t *gathered = values_room(all), *swapped = values_room(all);
    MPI_Iallreduce(mine, sum, scene->count, MPI_UINT64_T, MPI_SUM, scene->comm, &requests[0]);
    MPI_Iallgather(mine, scene->count, MPI_UINT64_T, gathered, scene->count, MPI_UINT64_T,
                   scene->comm, &requests[1]);
    MPI_Ialltoall(mine, scene->count, MPI_UINT64_T, swapped, scene->count, MPI_UINT64_T,
                  scene->comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect_reduced(&operations[0], sum, 0, count, scene->size);
    for (int peer = 0; peer < scene->size; peer++) {
        expect_values("overlapping allgather", gathered + (size_t) peer * count, peer, 0, count);
        expect_values("overlapping alltoall", swapped + (size_t) peer * count, peer,
                      (size_t) scene->rank * count, count);
    }
    values_free(mine);
    values_free(sum);
    values_free(gathered);
    values_free(swapped);
}

/* Each rank in turn comes only after its neighbour has found the others' barrier still open. */
static void check_nonblocking_barrier(const scene_t *scene, int late)
{
    int next = (late + 1) % scene->size, done = 0, word = late;
    MPI_Request request;
    if (scene->rank == late)
        MPI_Recv(&word, 1, MPI_INT, next, 77, scene->comm, MPI_STATUS_IGNORE);
    MPI_Ibarrier(scene->comm, &request);
    for (int i = 0; scene->rank == next && i < 50; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("barrier done before the last rank has come", 0, done);
    }
    if (scene->rank == next)
        MPI_Send(&word, 1, MPI_INT, late, 77, scene->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Whether the ranks' clocks are one: those of two hosts differ by more than a barrier takes. */
static int one_clock(const scene_t *scene)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
    int length, same, all;
    MPI_Get_processor_name(name, &length);
    memcpy(first, name, sizeof(first));
    MPI_Bcast(first, (int) sizeof(first), MPI_CHAR, 0, scene->comm);
    same = strcmp(first, name) == 0;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_LAND, scene->comm);
    return all;
}

/* The clock says who left before another came. Across hosts only the order of messages does, in
 * check_nonblocking_barrier(). */
static void check_blocking_barrier(const scene_t *scene, int late)
{
    struct timespec pause = { .tv_nsec = 2000000 };
    const int one_clock_here = one_clock(scene);
    if (scene->rank == late)
        nanosleep(&pause, NULL);
    double came = MPI_Wtime();
    MPI_Barrier(scene->comm);
    double left = MPI_Wtime();
    MPI_Bcast(&came, 1, MPI_DOUBLE, late, scene->comm);
    if (left < came && one_clock_here)
        FAIL("barrier: left %g s before rank %d came", came - left, late);
}

static void check_barrier(const scene_t *scene)
{
    for (int late = 0; late < scene->size && scene->size > 1 && scene->count == 1; late++) {
        if (scene->nonblocking)
            check_nonblocking_barrier(scene, late);
        else
            check_blocking_barrier(scene, late);
    }
}

static void check_all(const scene_t *scene)
{
    check_barrier(scene);
    check_bcast(scene);
    check_gather(scene, 0);
    check_gather(scene, 1);
    check_scatter(scene);
    check_allgather(scene);
    check_alltoall(scene);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        check_reduce(scene, &operations[i]);
        check_reduce_scatter(scene, &operations[i]);
    }
    check_overlapping(scene);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 800000, .seed = 1 });
    MPI_Op_create(compose_op, 0, &operations[3].op);
    run_scenes(check_all, (int) (test_options.bytes / sizeof(uint64_t)));
    MPI_Op_free(&operations[3].op);
    return test_end();
}
