/* SPDX-License-Identifier: MIT */
/*
 * collectives_v.c: the collectives with own counts for each rank, blocking and nonblocking. Counts
 * differ and some are 0; places are in reverse order with gaps, and the gaps must stay untouched.
 */
#include <stdlib.h>

#include "collectives_support.h"

static const uint64_t untouched = 0xeeeeeeeeeeeeeeeeu; /* what values_room() is filled with */

/* Blocks for each peer: how many values, and where. */
typedef struct {
    int *counts;
    int *places;
    size_t total; /* values that the blocks and the gaps span */
} blocks_t;

/* What rank `from` sends to rank `to`: uneven, 0 for some pairs. */
static int count_between(const scene_t *scene, int from, int to)
{
    return (int) ((long) scene->count * ((from * 3 + to * 5) % 7) / 6);
}

static blocks_t blocks_create(const scene_t *scene)
{
    blocks_t blocks = { malloc((size_t) scene->size * sizeof(int)),
                        malloc((size_t) scene->size * sizeof(int)), 0 };
    if (!blocks.counts || !blocks.places)
        FAIL("no memory for %d counts", scene->size);
    return blocks;
}

/* The last rank's block lies first; two values of gap before each. */
static void blocks_place(blocks_t *blocks, int size)
{
    blocks->total = 0;
    for (int peer = size - 1; peer >= 0; peer--) {
        blocks->places[peer] = (int) blocks->total + 2;
        blocks->total += (size_t) blocks->counts[peer] + 2;
    }
}

/* Blocks of what this rank gets from (or, with `sending`, sends to) every other one. */
static blocks_t blocks_of_pairs(const scene_t *scene, int sending)
{
    blocks_t blocks = blocks_create(scene);
    for (int peer = 0; peer < scene->size; peer++)
        blocks.counts[peer] = sending ? count_between(scene, scene->rank, peer)
                                      : count_between(scene, peer, scene->rank);
    blocks_place(&blocks, scene->size);
    return blocks;
}

/* Blocks of one count per rank, as all ranks know them. */
static blocks_t blocks_of_ranks(const scene_t *scene)
{
    blocks_t blocks = blocks_create(scene);
    for (int peer = 0; peer < scene->size; peer++)
        blocks.counts[peer] = count_between(scene, peer, 0);
    blocks_place(&blocks, scene->size);
    return blocks;
}

static void blocks_destroy(blocks_t *blocks)
{
    free(blocks->counts);
    free(blocks->places);
}

static void expect_gaps(const char *what, const blocks_t *blocks, const uint64_t *values, int size)
{
    for (int peer = 0; peer < size; peer++) {
        for (int i = 1; i <= 2; i++) {
            if (values[blocks->places[peer] - i] != untouched)
                FAIL("%s: value %d before the block of rank %d was overwritten", what, i, peer);
        }
    }
}

/* Values in the block of `peer` are those of `peer`, from element `first` on. */
static void expect_block(const char *what, const blocks_t *blocks, const uint64_t *values,
                         int peer, size_t first)
{
    expect_values(what, values + blocks->places[peer], peer, first, (size_t) blocks->counts[peer]);
}

static void check_gatherv(const scene_t *scene)
{
    blocks_t blocks = blocks_of_ranks(scene);
    int count = blocks.counts[scene->rank];
    uint64_t *mine = values_alloc(scene->rank, 0, (size_t) count);
    uint64_t *room = values_room(blocks.total);
    RUN(scene, Gatherv, Igatherv, mine, count, MPI_UINT64_T, room, blocks.counts, blocks.places,
        MPI_UINT64_T, scene->root, scene->comm);
    for (int peer = 0; scene->rank == scene->root && peer < scene->size; peer++)
        expect_block("gatherv", &blocks, room, peer, 0);
    expect_gaps("gatherv", &blocks, room, scene->size);
    RUN(scene, Allgatherv, Iallgatherv, mine, count, MPI_UINT64_T, room, blocks.counts,
        blocks.places, MPI_UINT64_T, scene->comm);
    for (int peer = 0; peer < scene->size; peer++)
        expect_block("allgatherv", &blocks, room, peer, 0);
    expect_gaps("allgatherv", &blocks, room, scene->size);
    values_free(mine);
    values_free(room);
    blocks_destroy(&blocks);
}

static void check_scatterv(const scene_t *scene)
{
    blocks_t blocks = blocks_of_ranks(scene);
    size_t count = (size_t) blocks.counts[scene->rank];
    uint64_t *send = values_alloc(scene->root, 0, blocks.total), *room = values_room(count);
    RUN(scene, Scatterv, Iscatterv, send, blocks.counts, blocks.places, MPI_UINT64_T, room,
        (int) count, MPI_UINT64_T, scene->root, scene->comm);
    expect_values("scatterv", room, scene->root, (size_t) blocks.places[scene->rank], count);
    values_free(send);
    values_free(room);
    blocks_destroy(&blocks);
}

/* Each block to a peer begins with the sender's element number 1000 * peer. */
static uint64_t *values_for_peers(const scene_t *scene, const blocks_t *blocks)
{
    uint64_t *send = values_room(blocks->total);
    for (int peer = 0; peer < scene->size; peer++) {
        for (int i = 0; i < blocks->counts[peer]; i++)
            send[blocks->places[peer] + i] = value_of(scene->rank, 1000 * (size_t) peer
                                                                       + (size_t) i);
    }
    return send;
}

static void expect_from_peers(const char *what, const scene_t *scene, const blocks_t *blocks,
                              const uint64_t *room)
{
    for (int peer = 0; peer < scene->size; peer++)
        expect_block(what, blocks, room, peer, 1000 * (size_t) scene->rank);
    expect_gaps(what, blocks, room, scene->size);
}

static void check_alltoallv(const scene_t *scene)
{
    blocks_t out = blocks_of_pairs(scene, 1), in = blocks_of_pairs(scene, 0);
    uint64_t *send = values_for_peers(scene, &out), *room = values_room(in.total);
    RUN(scene, Alltoallv, Ialltoallv, send, out.counts, out.places, MPI_UINT64_T, room, in.counts,
        in.places, MPI_UINT64_T, scene->comm);
    expect_from_peers("alltoallv", scene, &in, room);
    values_free(send);
    values_free(room);
    blocks_destroy(&out);
    blocks_destroy(&in);
}

/* The same with bytes as places, one contiguous type for each peer on the sending side and plain
 * values on the receiving side. */
static void check_alltoallw(const scene_t *scene)
{
    size_t size = (size_t) scene->size;
    blocks_t out = blocks_of_pairs(scene, 1), in = blocks_of_pairs(scene, 0);
    uint64_t *send = values_for_peers(scene, &out), *room = values_room(in.total);
    MPI_Datatype *out_types = malloc(size * sizeof(*out_types));
    MPI_Datatype *in_types = malloc(size * sizeof(*in_types));
    int *ones = malloc(size * sizeof(*ones));
    for (int peer = 0; peer < scene->size; peer++) {
        ones[peer] = 1;
        in_types[peer] = MPI_UINT64_T;
        MPI_Type_contiguous(out.counts[peer], MPI_UINT64_T, &out_types[peer]);
        MPI_Type_commit(&out_types[peer]);
        out.places[peer] *= (int) sizeof(uint64_t);
        in.places[peer] *= (int) sizeof(uint64_t);
    }
    RUN(scene, Alltoallw, Ialltoallw, send, ones, out.places, out_types, room, in.counts,
        in.places, in_types, scene->comm);
    for (int peer = 0; peer < scene->size; peer++) {
        MPI_Type_free(&out_types[peer]);
        in.places[peer] /= (int) sizeof(uint64_t);
    }
    expect_from_peers("alltoallw", scene, &in, room);
    values_free(send);
    values_free(room);
    free(ones);
    free(out_types);
    free(in_types);
    blocks_destroy(&out);
    blocks_destroy(&in);
}

static void check_all(const scene_t *scene)
{
    check_gatherv(scene);
    check_scatterv(scene);
    check_alltoallv(scene);
    check_alltoallw(scene);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 800000, .seed = 1 });
    run_scenes(check_all, (int) (test_options.bytes / sizeof(uint64_t)));
    return test_end();
}
