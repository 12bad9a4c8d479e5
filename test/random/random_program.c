/* SPDX-License-Identifier: MIT */
/*
 * random_program.c: a random program, determined by a seed. Every rank draws the same steps (which communicator, which
 * call, what sizes, which root), so each rank knows what all others send. It computes without MPI what it should
 * receive, and compares.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 3, PAIR_MESSAGES_MAX = 3 };

typedef struct {
    MPI_Comm comm;
    int rank, size;
    uint64_t step;              /* its number; the values of each step are different */
    int count;                  /* words per process */
    int root;
    int nonblocking;
} scene_t;

static uint64_t seed, drawn;
static int world_rank;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns the next random number below `limit`; it is the same in all processes. */
static uint64_t draw(uint64_t limit)
{
    return mix(seed + 0x9e3779b97f4a7c15u * ++drawn) % limit;
}

/* Returns word i of what rank `from` sends to rank `to` in this step. */
static uint64_t value(const scene_t *scene, int from, int to, int i)
{
    return mix(seed ^ mix(scene->step << 40 ^ (uint64_t) from << 28 ^ (uint64_t) to << 16) ^ (uint64_t) i);
}

static void expect(const scene_t *scene, const char *what, int place, uint64_t have, uint64_t wanted)
{
    if (have == wanted)
        return;
    fprintf(stderr, "seed %llu step %llu: %s: rank %d of %d, word %d of %d: %016llx, expected %016llx\n",
            (unsigned long long) seed, (unsigned long long) scene->step, what, scene->rank, scene->size, place,
            scene->count, (unsigned long long) have, (unsigned long long) wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t *words(size_t count)
{
    uint64_t *room = calloc(count + 1, sizeof(*room));
    if (room == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return room;
}

static uint64_t *filled(const scene_t *scene, int from, int to, int count)
{
    uint64_t *data = words((size_t) count);
    for (int i = 0; i < count; i++)
        data[i] = value(scene, from, to, i);
    return data;
}

static void expect_all(const scene_t *scene, const char *what, const uint64_t *data, int from, int to, int count)
{
    for (int i = 0; i < count; i++)
        expect(scene, what, i, data[i], value(scene, from, to, i));
}

/* ---- point to point */

static int pair_count(const scene_t *scene, int from, int to)
{
    return (int) (value(scene, from, to, -1) % (PAIR_MESSAGES_MAX + 1));
}

static int pair_words(const scene_t *scene, int from, int to, int index)
{
    return (int) (value(scene, from, to, -2 - index) % (uint64_t) (scene->count + 1));
}

typedef struct {
    uint64_t *data;
    int peer, index;
} message_t;

/* Each rank sends up to PAIR_MESSAGES_MAX messages to each, all in flight at once. Every other rank posts its
 * receives before its sends. */
static void step_messages(const scene_t *scene)
{
    const int most = scene->size * PAIR_MESSAGES_MAX;
    message_t *sent = calloc((size_t) most, sizeof(*sent)), *got = calloc((size_t) most, sizeof(*got));
    MPI_Request *requests = malloc(sizeof(*requests) * 2 * (size_t) most);
    int sends = 0, receives = 0, total = 0;
    for (int round = 0; round < 2; round++) {
        const int sending = round == (scene->root + scene->rank) % 2;
        for (int peer = 0; peer < scene->size; peer++) {
            const int from = sending ? scene->rank : peer, to = sending ? peer : scene->rank;
            for (int index = 0; index < pair_count(scene, from, to); index++) {
                const int count = pair_words(scene, from, to, index);
                message_t *message = sending ? &sent[sends++] : &got[receives++];
                uint64_t *data = sending ? filled(scene, from, to, count) : words((size_t) count);
                *message = (message_t) { data, peer, index };
                if (!sending)
                    MPI_Irecv(message->data, count, MPI_UINT64_T, peer, index, scene->comm, &requests[total++]);
                else if ((index + to) % 2)
                    MPI_Isend(message->data, count, MPI_UINT64_T, peer, index, scene->comm, &requests[total++]);
                else
                    MPI_Issend(message->data, count, MPI_UINT64_T, peer, index, scene->comm, &requests[total++]);
            }
        }
    }
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < receives; i++) {
        expect_all(scene, "message", got[i].data, got[i].peer, scene->rank,
                   pair_words(scene, got[i].peer, scene->rank, got[i].index));
        free(got[i].data);
    }
    for (int i = 0; i < sends; i++)
        free(sent[i].data);
    free(sent);
    free(got);
    free(requests);
}

/* Each rank probes for a message of any source, then receives it. The tag has the number of the step, because another
 * process may be one step ahead. */
static void step_any_source(const scene_t *scene)
{
    const int to = (scene->rank + 1 + scene->root) % scene->size;
    const int from = (scene->rank + 2 * scene->size - 1 - scene->root) % scene->size;
    const int tag = 100 + (int) scene->step;
    uint64_t *data = filled(scene, scene->rank, to, scene->count);
    MPI_Request request;
    MPI_Status status;
    int count;
    MPI_Isend(data, scene->count, MPI_UINT64_T, to, tag, scene->comm, &request);
    MPI_Probe(MPI_ANY_SOURCE, tag, scene->comm, &status);
    MPI_Get_count(&status, MPI_UINT64_T, &count);
    expect(scene, "probed count", -1, (uint64_t) count, (uint64_t) scene->count);
    expect(scene, "source", -1, (uint64_t) status.MPI_SOURCE, (uint64_t) from);
    uint64_t *room = words((size_t) count);
    MPI_Recv(room, count, MPI_UINT64_T, MPI_ANY_SOURCE, tag, scene->comm, &status);
    expect_all(scene, "probed message", room, from, scene->rank, count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(data);
    free(room);
}

/* ---- collectives */

static void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void step_bcast(const scene_t *scene)
{
    const int is_root = scene->rank == scene->root;
    uint64_t *data = is_root ? filled(scene, scene->root, 0, scene->count) : words((size_t) scene->count);
    MPI_Request request;
    if (scene->nonblocking) {
        MPI_Ibcast(data, scene->count, MPI_UINT64_T, scene->root, scene->comm, &request);
        finish(&request);
    } else {
        MPI_Bcast(data, scene->count, MPI_UINT64_T, scene->root, scene->comm);
    }
    expect_all(scene, "bcast", data, scene->root, 0, scene->count);
    free(data);
}

static void step_allreduce(const scene_t *scene)
{
    uint64_t *data = filled(scene, scene->rank, 0, scene->count), *sum = words((size_t) scene->count);
    MPI_Request request;
    if (scene->nonblocking) {
        MPI_Iallreduce(data, sum, scene->count, MPI_UINT64_T, MPI_SUM, scene->comm, &request);
        finish(&request);
    } else {
        MPI_Allreduce(data, sum, scene->count, MPI_UINT64_T, MPI_SUM, scene->comm);
    }
    for (int i = 0; i < scene->count; i++) {
        uint64_t wanted = 0;
        for (int rank = 0; rank < scene->size; rank++)
            wanted += value(scene, rank, 0, i);
        expect(scene, "allreduce", i, sum[i], wanted);
    }
    free(data);
    free(sum);
}

static void step_scan(const scene_t *scene)
{
    uint64_t *data = filled(scene, scene->rank, 0, scene->count), *part = words((size_t) scene->count);
    MPI_Scan(data, part, scene->count, MPI_UINT64_T, MPI_BXOR, scene->comm);
    for (int i = 0; i < scene->count; i++) {
        uint64_t wanted = 0;
        for (int rank = 0; rank <= scene->rank; rank++)
            wanted ^= value(scene, rank, 0, i);
        expect(scene, "scan", i, part[i], wanted);
    }
    free(data);
    free(part);
}

/* Each block has a size of its own; some are empty. */
static void step_alltoallv(const scene_t *scene)
{
    const size_t bytes = sizeof(int) * (size_t) scene->size;
    int *out_counts = malloc(bytes), *out_at = malloc(bytes), *in_counts = malloc(bytes), *in_at = malloc(bytes);
    int out = 0, in = 0;
    for (int peer = 0; peer < scene->size; peer++) {
        out_counts[peer] = pair_words(scene, scene->rank, peer, 0);
        in_counts[peer] = pair_words(scene, peer, scene->rank, 0);
        out_at[peer] = out;
        in_at[peer] = in;
        out += out_counts[peer];
        in += in_counts[peer];
    }
    uint64_t *data = words((size_t) out), *room = words((size_t) in);
    for (int peer = 0; peer < scene->size; peer++)
        for (int i = 0; i < out_counts[peer]; i++)
            data[out_at[peer] + i] = value(scene, scene->rank, peer, i);
    MPI_Alltoallv(data, out_counts, out_at, MPI_UINT64_T, room, in_counts, in_at, MPI_UINT64_T, scene->comm);
    for (int peer = 0; peer < scene->size; peer++)
        expect_all(scene, "alltoallv", room + in_at[peer], peer, scene->rank, in_counts[peer]);
    free(data);
    free(room);
    free(out_counts);
    free(out_at);
    free(in_counts);
    free(in_at);
}

static void step_gather_scatter(const scene_t *scene)
{
    const int is_root = scene->rank == scene->root;
    const size_t all = is_root ? (size_t) scene->size * (size_t) scene->count : 0;
    uint64_t *data = filled(scene, scene->rank, 0, scene->count), *room = words(all);
    MPI_Gather(data, scene->count, MPI_UINT64_T, room, scene->count, MPI_UINT64_T, scene->root, scene->comm);
    for (int rank = 0; is_root && rank < scene->size; rank++)
        expect_all(scene, "gather", room + (size_t) rank * (size_t) scene->count, rank, 0, scene->count);
    memset(data, 0, sizeof(*data) * (size_t) scene->count);
    MPI_Scatter(room, scene->count, MPI_UINT64_T, data, scene->count, MPI_UINT64_T, scene->root, scene->comm);
    expect_all(scene, "scatter", data, scene->rank, 0, scene->count);
    free(data);
    free(room);
}

/* ---- the program */

static void (*const steps[])(const scene_t *) = {
    step_messages, step_any_source, step_bcast, step_allreduce, step_scan, step_alltoallv, step_gather_scatter
};

static void make_comms(MPI_Comm *comms)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % (int) (1 + draw((uint64_t) size)), world_rank, &comms[2]);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[COMMS];
    if (argc != 4)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    const int step_count = atoi(argv[2]), count_max = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    make_comms(comms);
    for (int step = 0; step < step_count; step++) {
        scene_t scene = {.comm = comms[draw(COMMS)],.step = (uint64_t) step };
        MPI_Comm_rank(scene.comm, &scene.rank);
        MPI_Comm_size(scene.comm, &scene.size);
        const uint64_t scale = draw(4);    /* many small, some large */
        scene.count = (int) draw((uint64_t) (scale == 0 ? count_max : scale == 1 ? 1000 : 40) + 1);
        scene.root = (int) (draw(1 << 20) % (uint64_t) scene.size);
        scene.nonblocking = (int) draw(2);
        steps[draw(sizeof(steps) / sizeof(steps[0]))](&scene);
    }
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    if (world_rank == 0)
        printf("ok seed=%llu\n", (unsigned long long) seed);
    MPI_Finalize();
    return 0;
}
